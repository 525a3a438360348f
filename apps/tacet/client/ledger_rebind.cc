#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "fmt/core.h"

#include "apps/tacet/client/client_command.h"
#include "apps/tacet/client/site_data.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/ledger_folder.h"

namespace tacet::app::client {
namespace {

class LedgerRebindCommand : public program::Command {
 public:
  std::string_view name() const override { return "rebind"; }
  std::string_view summary() const override {
    return "carry over what was spent to data that were changed (an erased patient, new rows)";
  }

  void Register(program::Options& options) override {
    options.AddPositional("path", "path of the ledger, in its folder beside data.key", {}, true,
                          &path_);
    options.AddString("data", "the changed data, as for `tacet client run`", &data_);
    options.AddUint("client", "number of this site among the data set's clients, from 0", &client_);
    options.AddString("reason", "why the data were changed; it stays in the ledger for ever",
                      &reason_);
    options.Require("data");
    options.Require("reason");
  }

  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const storage::file::SiteData data, SiteDataOfFiles(data_, client_));
    const std::filesystem::path ledger = path_;
    TACET_ASSIGN_OR_RETURN(const auto folder,
                           storage::file::LedgerFolder::OpenExisting(ledger.parent_path()));
    TACET_RETURN_IF_ERROR(folder.Rebind(ledger, data.digest, reason_));
    fmt::print("{} counts for {} from now on, together with all that was charged before\n", path_,
               data_);
    return absl::OkStatus();
  }

 private:
  std::string path_, data_, reason_;
  std::optional<uint64_t> client_;
};

}  // namespace

std::unique_ptr<program::Command> NewLedgerRebindCommand() {
  return std::make_unique<LedgerRebindCommand>();
}

}  // namespace tacet::app::client
