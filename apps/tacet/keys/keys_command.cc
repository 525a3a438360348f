#include "apps/tacet/keys/keys_command.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/program/unlock_flags.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/storage/file/locked_files.h"

namespace tacet::app::keys {
namespace {

class KeysChangeCommand : public program::Command {
 public:
  std::string_view name() const override { return "change"; }
  std::string_view summary() const override {
    return "encrypt keys with another passphrase or key file";
  }
  void Register(program::Options& options) override {
    options.AddPositional("path",
                          "folder of a site, of the server or of the coordinator, or the file of "
                          "an officer's key",
                          {}, true, &path_);
    present_.Register(options);
    next_.Register(options, "new-");
  }
  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files,
                           storage::file::LockedFilesAt(path_));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker present, present_.Existing("keys"));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker next, next_.New("keys"));
    crypto::SystemEntropy entropy;
    TACET_RETURN_IF_ERROR(storage::file::ChangeUnlocker(files, present, next, entropy));
    for (const std::filesystem::path& file : files) fmt::print("changed     {}\n", file.string());
    fmt::print(
        "\nThe old passphrase or key file opens copies that were made before: delete old "
        "copies.\n");
    return absl::OkStatus();
  }

 private:
  std::string path_;
  program::UnlockFlags present_, next_;
};

}  // namespace

std::unique_ptr<program::Command> NewKeysCommand() {
  std::vector<std::unique_ptr<program::Command>> commands;
  commands.push_back(std::make_unique<KeysChangeCommand>());
  return std::make_unique<program::CommandGroup>("keys", "care for keys at rest",
                                                 std::move(commands));
}

}  // namespace tacet::app::keys
