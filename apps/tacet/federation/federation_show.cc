#include <string>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/federation/federation_command.h"
#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/manifest_text.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/status.h"
#include "tacet/config/site_config.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/report/privacy_json.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::app::federation {
namespace {

using storage::file::CoordinatorFolder;

class FederationShowCommand : public program::Command {
 public:
  std::string_view name() const override { return "show"; }
  std::string_view summary() const override {
    return "agreement, its members, and the privacy guarantee in words";
  }
  void Register(program::Options& options) override {
    options.AddString("folder", coordinator::kFolderHelp, &folder_);
    options.AddFlag("json", "print JSON", &json_);
  }
  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const CoordinatorFolder folder, CoordinatorFolder::Open(folder_));
    TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
    const absl::StatusOr<base::Bytes> bytes = folder.SignedManifest(epoch);
    if (bytes.status().code() == absl::StatusCode::kNotFound) return ShowUnsigned(folder, epoch);
    TACET_RETURN_IF_ERROR(bytes.status());
    TACET_ASSIGN_OR_RETURN(const agreement::SignedManifest manifest,
                           agreement::SignedManifest::Read(*bytes));
    if (json_) {
      const agreement::Manifest& agreed = manifest.manifest();
      TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                             agreement::GuaranteesOf(agreement::PermittedTerms(agreed)));
      TACET_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                             agreement::PrivacyWarnings(agreed.spec()));
      base::JsonValue privacy = tacet::report::PrivacyJson(guarantees, warnings);
      fmt::print("{}\n", agreement::SignedManifestJson(manifest, std::move(privacy)).Dump(2));
      return absl::OkStatus();
    }
    TACET_ASSIGN_OR_RETURN(const std::string text, agreement::SignedManifestText(manifest));
    TACET_ASSIGN_OR_RETURN(const std::string model, config::ExternalModelLines(manifest.annex()));
    fmt::print("{}{}", model, text);
    return absl::OkStatus();
  }

 private:
  absl::Status ShowUnsigned(const CoordinatorFolder& folder, uint32_t epoch) const {
    TACET_ASSIGN_OR_RETURN(const auto sites, folder.Enrolled());
    if (json_) {
      fmt::print("{}\n",
                 base::JsonValue::MakeObject()
                     .Set("federation", folder.parts().federation)
                     .Set("epoch", epoch)
                     .Set("manifest_hash", nullptr)
                     .Set("enrolled",
                          base::JsonList(sites, [](const auto& site) { return site.request.name; }))
                     .Dump(2));
      return absl::OkStatus();
    }
    fmt::print(
        "name        {}, epoch {}: its manifest is not signed yet (tacet federation "
        "seal-key)\n",
        folder.parts().federation, epoch);
    for (const auto& site : sites) {
      fmt::print("enrolled    {:<40} {}\n", site.request.name,
                 site.request.server ? "server" : "site");
    }
    fmt::print("\n{}", folder.parts().terms.agreement);
    return absl::OkStatus();
  }

  std::string folder_ = std::string(coordinator::kDefaultFolder);
  bool json_ = false;
};

}  // namespace

std::unique_ptr<program::Command> NewFederationShowCommand() {
  return std::make_unique<FederationShowCommand>();
}

}  // namespace tacet::app::federation
