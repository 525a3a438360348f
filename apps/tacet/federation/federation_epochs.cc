// The two subcommands that give the epoch's keys.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/federation/federation_command.h"
#include "apps/tacet/federation/mailbox_flags.h"
#include "apps/tacet/federation/training_terms.h"
#include "apps/tacet/program/unlock_flags.h"
#include "tacet/agreement/manifest_text.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/status.h"
#include "tacet/coordinator/enrolled_parties.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/coordinator/federation_steps.h"
#include "tacet/coordinator/kept_exchange_keys.h"
#include "tacet/coordinator/site_kit.h"
#include "tacet/storage/file/coordinator_folder.h"

namespace tacet::app::federation {
namespace {

using storage::file::CoordinatorFolder;
using storage::file::CoordinatorKeys;
using storage::file::EnrolledSite;

constexpr std::string_view kCommitteeHelp =
    "name of a member on the committee, which decrypts sums together; may be repeated; default: "
    "the "
    "members that were enrolled first";

constexpr std::string_view kServerHelp =
    "HOST:PORT at which sites reach the server, for their kits; when not given, the server's first "
    "host and port 7443";

// Files of an epoch, for the coordinator to send.
struct EpochFiles {
  std::vector<coordinator::HandedOut> invitations;
  std::vector<std::filesystem::path> kits;
};

void PrintFiles(const EpochFiles& files, const agreement::SignedManifest& manifest,
                const CoordinatorKeys& keys) {
  fmt::print("epoch {} of {} with {} members, manifest {}\n", manifest.epoch(),
             manifest.federation(), manifest.members().size(),
             base::ToHex(manifest.manifest().hash()));
  for (const coordinator::HandedOut& one : files.invitations) {
    fmt::print("  {:<40} {}\n", one.name, one.file.string());
  }
  fmt::print(
      "Send each its own file; a site accepts it with\n"
      "  tacet client join FILE --coordinator \"{}\"\n",
      agreement::FingerprintText(keys.signing.public_key()));
  if (!files.kits.empty()) {
    fmt::print("Send each site its kit, too: instructions, configuration and unit file, as {}\n",
               files.kits.front().string());
  }
}

base::JsonValue FilesJson(const EpochFiles& files, const agreement::SignedManifest& manifest,
                          const CoordinatorKeys& keys) {
  return base::JsonValue::MakeObject()
      .Set("federation", manifest.federation())
      .Set("epoch", manifest.epoch())
      .Set("manifest_hash", base::ToHex(manifest.manifest().hash()))
      .Set("coordinator", agreement::FingerprintText(keys.signing.public_key()))
      .Set("invitations", base::JsonList(files.invitations,
                                         [](const coordinator::HandedOut& one) {
                                           return base::JsonValue::MakeObject()
                                               .Set("name", one.name)
                                               .Set("file", one.file.string());
                                         }))
      .Set("kits", base::JsonList(files.kits,
                                  [](const std::filesystem::path& kit) { return kit.string(); }));
}

// Its lines would stand next to the JSON.
absl::Status CheckOutput(bool json, const MailboxFlags& mailbox) {
  if (!json || !mailbox.given()) return absl::OkStatus();
  return base::InvalidArgument("--json goes without --mailbox");
}

// Writes the epoch's files, calls `print` with them, leaves invitations in the mailbox, and forgets
// earlier epochs.
absl::Status HandOut(const coordinator::CoordinatorParts& parts,
                     const agreement::SignedManifest& manifest,
                     const crypto::SecretBytes& epoch_key, const std::string& server,
                     const MailboxFlags& mailbox,
                     const std::function<void(const EpochFiles&)>& print) {
  CoordinatorFolder& folder = parts.folder;
  EpochFiles files;
  TACET_ASSIGN_OR_RETURN(files.invitations, coordinator::WriteInvitations(
                                                folder, manifest, parts.keys.signing, epoch_key));
  TACET_ASSIGN_OR_RETURN(
      files.kits, coordinator::WriteSiteKits(manifest, server, folder.path() / "invitations"));
  print(files);
  TACET_RETURN_IF_ERROR(mailbox.LeaveInvitations(manifest, epoch_key, parts));
  // By `seal-key` too: both end a `rotate` that was interrupted.
  TACET_RETURN_IF_ERROR(folder.ForgetEpochsBefore(manifest.epoch()));
  std::fflush(stdout);
  return storage::file::EndHandingOut(folder);
}

class FederationSealKeyCommand : public program::Command {
 public:
  std::string_view name() const override { return "seal-key"; }
  std::string_view summary() const override {
    return "sign the epoch's manifest and encrypt its key for each member, one invitation file a "
           "member";
  }
  void Register(program::Options& options) override {
    options.AddString("folder", coordinator::kFolderHelp, &folder_);
    options.AddStrings("committee", kCommitteeHelp, &committee_);
    options.AddString("server", kServerHelp, &server_);
    mailbox_.Register(options);
    options.AddFlag("json", "print JSON", &json_);
    unlock_.Register(options);
  }
  absl::Status Run() override {
    TACET_RETURN_IF_ERROR(CheckOutput(json_, mailbox_));
    TACET_ASSIGN_OR_RETURN(CoordinatorFolder folder, CoordinatorFolder::Open(folder_));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("coordinator's keys"));
    TACET_ASSIGN_OR_RETURN(const CoordinatorKeys keys, folder.UnlockKeys(unlocker));
    TACET_ASSIGN_OR_RETURN(const agreement::SignedManifest manifest,
                           coordinator::SignLatestManifest(folder, keys.signing, committee_));
    TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes epoch_key,
                           folder.EpochKey(manifest.epoch(), unlocker));
    return HandOut({.folder = folder, .keys = keys, .unlocker = unlocker}, manifest, epoch_key,
                   server_, mailbox_, [&](const EpochFiles& files) {
                     if (json_) {
                       fmt::print("{}\n", FilesJson(files, manifest, keys).Dump(2));
                     } else {
                       PrintFiles(files, manifest, keys);
                     }
                   });
  }

 private:
  std::string folder_ = std::string(coordinator::kDefaultFolder);
  std::vector<std::string> committee_;
  std::string server_;
  bool json_ = false;
  MailboxFlags mailbox_;
  program::UnlockFlags unlock_;
};

class FederationRotateCommand : public program::Command {
 public:
  std::string_view name() const override { return "rotate"; }
  std::string_view summary() const override {
    return "begin an epoch with fresh keys and delete the keys of earlier ones; adds sites "
           "enrolled since the last epoch and drops removed ones. With --config or --query the "
           "federation's next training, or query, begins with it";
  }
  void Register(program::Options& options) override {
    options.AddString("folder", coordinator::kFolderHelp, &folder_);
    terms_.Register(options);
    options.AddStrings("remove", "name of a site to remove; may be repeated", &removed_);
    options.AddStrings("committee", kCommitteeHelp, &committee_);
    options.AddString("server", kServerHelp, &server_);
    mailbox_.Register(options);
    options.AddFlag("keep-exchange-keys",
                    "begin the epoch although committee members have not renewed their exchange "
                    "keys. A thief of enough of these keys decrypts the recorded uploads of "
                    "every epoch that has had them",
                    &keep_exchange_keys_);
    options.AddFlag("json", "print JSON", &json_);
    unlock_.Register(options);
  }
  absl::Status Run() override {
    TACET_RETURN_IF_ERROR(CheckOutput(json_, mailbox_));
    TACET_ASSIGN_OR_RETURN(CoordinatorFolder folder, CoordinatorFolder::Open(folder_));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("coordinator's keys"));
    TACET_ASSIGN_OR_RETURN(const CoordinatorKeys keys, folder.UnlockKeys(unlocker));
    TACET_ASSIGN_OR_RETURN(std::optional<coordinator::NextEpoch> next,
                           coordinator::BegunEpoch(AsGiven(), unlocker, folder));
    const bool resumed = next.has_value();
    if (!resumed) {
      TACET_ASSIGN_OR_RETURN(next, Begin(keys, unlocker, folder));
    } else if (!json_) {
      fmt::print(
          "This command began epoch {} before, and now ends its work. To begin another epoch, run "
          "it once more.\n",
          next->manifest.epoch());
    }
    return HandOut({.folder = folder, .keys = keys, .unlocker = unlocker}, next->manifest,
                   next->key, server_, mailbox_, [&](const EpochFiles& files) {
                     if (!json_) {
                       TellKept(next->kept, next->manifest);
                       PrintFiles(files, next->manifest, keys);
                       return;
                     }
                     fmt::print("{}\n",
                                FilesJson(files, next->manifest, keys)
                                    .Set("resumed", resumed)
                                    .Set("kept_exchange_keys",
                                         base::JsonValue::MakeObject()
                                             .Set("committee", base::JsonList(next->kept.committee))
                                             .Set("others", base::JsonList(next->kept.others)))
                                    .Dump(2));
                   });
  }

 private:
  // By this text a later call knows its work again.
  std::string AsGiven() const {
    std::string text = "tacet federation rotate" + terms_.AsGiven();
    for (const std::string& name : removed_) text += " --remove " + name;
    for (const std::string& name : committee_) text += " --committee " + name;
    if (keep_exchange_keys_) text += " --keep-exchange-keys";
    return text;
  }

  absl::StatusOr<coordinator::NextEpoch> Begin(const CoordinatorKeys& keys,
                                               const crypto::Unlocker& unlocker,
                                               CoordinatorFolder& folder) const {
    const std::set<std::string> removed(removed_.begin(), removed_.end());
    TACET_ASSIGN_OR_RETURN(const std::optional<PlannedTraining> training, Planned(removed, folder));
    TACET_RETURN_IF_ERROR(mailbox_.TakePrekeys(removed, keys, folder));
    TACET_ASSIGN_OR_RETURN(
        coordinator::NextEpoch next,
        coordinator::BeginNextEpoch({.terms = training ? &training->terms : nullptr,
                                     .removed = removed,
                                     .committee = committee_,
                                     .server = server_,
                                     .keep_exchange_keys = keep_exchange_keys_},
                                    AsGiven(), keys.signing, unlocker, folder));
    if (training.has_value() && !json_) {
      fmt::print("{}{}\n", agreement::AgreementText(next.manifest.manifest()),
                 agreement::WarningLines(training->warnings));
    }
    return next;
  }

  // The training that begins; nothing when one continues.
  absl::StatusOr<std::optional<PlannedTraining>> Planned(const std::set<std::string>& removed,
                                                         const CoordinatorFolder& folder) const {
    if (!terms_.given()) return std::nullopt;
    TACET_ASSIGN_OR_RETURN(const std::vector<EnrolledSite> sites,
                           coordinator::EnrolledWithout(removed, folder));
    return terms_.Load(static_cast<uint64_t>(std::ranges::count_if(
        sites, [](const EnrolledSite& site) { return !site.request.server; })));
  }

  static void TellKept(const coordinator::KeptExchangeKeys& kept,
                       const agreement::SignedManifest& manifest) {
    if (!kept.committee.empty()) {
      fmt::print("warning     the committee keeps exchange keys of an earlier epoch: {}. {}\n",
                 coordinator::NamesText(kept.committee), coordinator::LossByKeptKeys(manifest));
    }
    if (!kept.others.empty()) {
      fmt::print(
          "note        outside the committee, these members keep their exchange keys: {}. Anyone "
          "who takes such a key, and the epoch keys, decrypts the recorded uploads of that member "
          "alone.\n",
          coordinator::NamesText(kept.others));
    }
  }

  bool keep_exchange_keys_ = false, json_ = false;
  std::string folder_ = std::string(coordinator::kDefaultFolder);
  std::vector<std::string> committee_;
  std::vector<std::string> removed_;
  TrainingTermsFlags terms_;
  std::string server_;
  MailboxFlags mailbox_;
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
