// The two subcommands that hand out the epoch's keys.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/federation/federation_command.h"
#include "apps/tacet/federation/federation_setup.h"
#include "apps/tacet/program/unlock_flags.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::app::federation {
namespace {

using storage::file::CoordinatorFolder;
using storage::file::CoordinatorKeys;

constexpr std::string_view kCommitteeHelp =
    "name of a member on the committee, which decrypts sums together; may be repeated; default: "
    "the "
    "members that were enrolled first";

absl::Status HandOut(CoordinatorFolder& folder, const CoordinatorKeys& keys,
                     const crypto::Unlocker& unlocker, std::span<const std::string> committee) {
  TACET_ASSIGN_OR_RETURN(const agreement::SignedManifest manifest,
                         SignLatestManifest(folder, keys.signing, committee));
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes epoch_key,
                         folder.EpochKey(manifest.epoch(), unlocker));
  TACET_ASSIGN_OR_RETURN(const std::vector<HandedOut> handed_out,
                         WriteInvitations(folder, manifest, keys.signing, epoch_key));
  fmt::print("epoch {} of {} with {} members, manifest {}\n", manifest.epoch(),
             manifest.federation(), manifest.members().size(),
             base::ToHex(manifest.manifest().hash()));
  for (const HandedOut& one : handed_out) {
    fmt::print("  {:<40} {}\n", one.name, one.file.string());
  }
  fmt::print(
      "Send each its own file; a site accepts it with\n"
      "  tacet client join FILE --coordinator \"{}\"\n",
      agreement::FingerprintText(keys.signing.public_key()));
  return absl::OkStatus();
}

class FederationSealKeyCommand : public program::Command {
 public:
  std::string_view name() const override { return "seal-key"; }
  std::string_view summary() const override {
    return "sign the epoch's manifest and encrypt its key for each member, one invitation file a "
           "member";
  }
  void Register(program::Options& options) override {
    options.AddString("folder", kFolderHelp, &folder_);
    options.AddStrings("committee", kCommitteeHelp, &committee_);
    unlock_.Register(options);
  }
  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(CoordinatorFolder folder, CoordinatorFolder::Open(folder_));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("coordinator's keys"));
    TACET_ASSIGN_OR_RETURN(const CoordinatorKeys keys, folder.UnlockKeys(unlocker));
    return HandOut(folder, keys, unlocker, committee_);
  }

 private:
  std::string folder_ = std::string(kDefaultFolder);
  std::vector<std::string> committee_;
  program::UnlockFlags unlock_;
};

class FederationRotateCommand : public program::Command {
 public:
  std::string_view name() const override { return "rotate"; }
  std::string_view summary() const override {
    return "begin an epoch with a fresh key; adds sites enrolled since the last epoch and drops "
           "removed ones";
  }
  void Register(program::Options& options) override {
    options.AddString("folder", kFolderHelp, &folder_);
    options.AddStrings("remove", "name of a site to remove; may be repeated", &removed_);
    options.AddStrings("committee", kCommitteeHelp, &committee_);
    unlock_.Register(options);
  }
  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(CoordinatorFolder folder, CoordinatorFolder::Open(folder_));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("coordinator's keys"));
    TACET_ASSIGN_OR_RETURN(const CoordinatorKeys keys, folder.UnlockKeys(unlocker));
    TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
    for (const std::string& name : removed_) TACET_RETURN_IF_ERROR(folder.Remove(name));
    crypto::SystemEntropy entropy;
    TACET_RETURN_IF_ERROR(folder.BeginEpoch(epoch + 1, entropy.Draw(32), unlocker, entropy));
    return HandOut(folder, keys, unlocker, committee_);
  }

 private:
  std::string folder_ = std::string(kDefaultFolder);
  std::vector<std::string> committee_;
  std::vector<std::string> removed_;
  program::UnlockFlags unlock_;
};

}  // namespace

std::unique_ptr<program::Command> NewFederationSealKeyCommand() {
  return std::make_unique<FederationSealKeyCommand>();
}
std::unique_ptr<program::Command> NewFederationRotateCommand() {
  return std::make_unique<FederationRotateCommand>();
}

}  // namespace tacet::app::federation
