// The subcommands that change a running federation by one call each.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet/federation/federation_command.h"
#include "apps/tacet/federation/mailbox_flags.h"
#include "apps/tacet/federation/told_fingerprint.h"
#include "apps/tacet/federation/training_terms.h"
#include "apps/tacet/program/unlock_flags.h"
#include "tacet/agreement/initial_model.h"
#include "tacet/agreement/manifest_text.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/status.h"
#include "tacet/base/stop_signal.h"
#include "tacet/coordinator/enrolled_parties.h"
#include "tacet/coordinator/epoch_change.h"
#include "tacet/storage/file/coordinator_folder.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::app::federation {
namespace {

using storage::file::CoordinatorFolder;
using storage::file::CoordinatorKeys;

// The folder's training, or query, is not begun again by a call that meant to begin it once:
// another change, or `seal-key`, may have come between.
absl::Status CheckNotBegun(const TrainingTermsFlags& terms, const CoordinatorFolder& folder) {
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, folder.Epoch());
  TACET_ASSIGN_OR_RETURN(base::Bytes bytes, folder.SignedManifest(epoch));
  TACET_ASSIGN_OR_RETURN(agreement::SignedManifest manifest,
                         agreement::SignedManifest::Read(bytes));
  // Terms depend on the number of sites with which their training began.
  const uint32_t first = manifest.manifest().spec().training;
  TACET_ASSIGN_OR_RETURN(bytes, folder.SignedManifest(first));
  TACET_ASSIGN_OR_RETURN(manifest, agreement::SignedManifest::Read(bytes));
  const absl::StatusOr<PlannedTraining> planned = terms.Load(manifest.members().size());
  const storage::file::TrainingTerms& present = folder.parts().terms;
  if (!planned.ok() || planned->terms.agreement != present.agreement) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const auto known, agreement::ReadInitialModel(present.initial_model));
  TACET_ASSIGN_OR_RETURN(const auto asked,
                         agreement::ReadInitialModel(planned->terms.initial_model));
  if (known.parameters != asked.parameters) return absl::OkStatus();
  return base::FailedPrecondition(
      "epoch {} began with these terms, and they hold in epoch {} still: nothing was begun. With "
      "--again all sites begin them once more, and pay for them once more",
      first, epoch);
}

// Common part: folder, server, keys, progress and exit code.
class ChangeCommand : public program::Command {
 public:
  void Register(program::Options& options) override {
    options.AddString("folder", coordinator::kFolderHelp, &folder_);
    mailbox_.Register(options);
    options.AddDouble("wait-seconds",
                      "seconds to wait for the server, for the sites' keys, and for their answers",
                      &wait_seconds_);
    unlock_.Register(options);
  }

  absl::Status Run() override {
    if (!(wait_seconds_ >= 0)) {
      return base::InvalidArgument("--wait-seconds is {}: expected 0 or more", wait_seconds_);
    }
    TACET_ASSIGN_OR_RETURN(CoordinatorFolder folder, CoordinatorFolder::Open(folder_));
    TACET_RETURN_IF_ERROR(mailbox_.UseDefault(folder, newcomer()));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("coordinator's keys"));
    TACET_ASSIGN_OR_RETURN(const CoordinatorKeys keys, folder.UnlockKeys(unlocker));
    const base::StopSignal stop("\ntacet: ending; the same command continues\n");
    const coordinator::ChangeHooks hooks = mailbox_.HooksOf(keys, folder, wait_seconds_);
    TACET_ASSIGN_OR_RETURN(const coordinator::ChangeEnd end,
                           Change({.folder = folder, .keys = keys, .unlocker = unlocker}, hooks));
    Finish(end);
    return absl::OkStatus();
  }
  int exit_code() const override { return exit_code_; }

 protected:
  virtual absl::StatusOr<coordinator::ChangeEnd> Change(const coordinator::CoordinatorParts& parts,
                                                        const coordinator::ChangeHooks& hooks) = 0;
  const std::string& mailbox() const { return mailbox_.server(); }
  // The party that comes with the change; empty where none does.
  virtual std::string newcomer() const { return {}; }

 private:
  void Finish(const coordinator::ChangeEnd& end) {
    std::vector<std::string> silent;
    for (const coordinator::SiteAnswer& site : end.sites) {
      if (!site.joined && site.fields.empty()) silent.push_back(site.name);
    }
    if (!silent.empty()) {
      fmt::print(
          "silent      no answer of {} yet. A site that runs with --follow, or joins with "
          "--server, answers by itself. The same command waits again\n",
          coordinator::NamesText(silent));
    }
    if (end.all_joined()) {
      fmt::print("done        epoch {} has been joined by every site that was asked\n",
                 end.manifest.epoch());
    }
    exit_code_ = end.needs_person() ? program::kNeedsPerson
                 : end.all_joined() ? 0
                                    : program::kIncomplete;
  }

  std::string folder_ = std::string(coordinator::kDefaultFolder);
  MailboxFlags mailbox_;
  double wait_seconds_ = kChangeSeconds;
  program::UnlockFlags unlock_;
  int exit_code_ = 0;
};

// Change that begins an epoch.
class EpochCommand : public ChangeCommand {
 public:
  void Register(program::Options& options) override {
    options.AddStrings("committee",
                       "name of a member on the committee; may be repeated; default: the present "
                       "committee, where its members have renewed their keys, then other members",
                       &committee_);
    ChangeCommand::Register(options);
  }

 protected:
  // The specification with `text`, by which the command knows its work again.
  coordinator::EpochChangeSpec Spec(const std::string& text) const {
    coordinator::EpochChangeSpec spec{.asked = fmt::format("tacet federation {}{}", name(), text)};
    for (const std::string& member : committee_) spec.asked += " --committee " + member;
    spec.next.committee = committee_;
    spec.kit_server = mailbox();
    return spec;
  }

 private:
  std::vector<std::string> committee_;
};

class TermsCommand : public EpochCommand {
 public:
  void Register(program::Options& options) override {
    options.AddFlag("again",
                    "begin it once more, and pay for it once more, where the present training or "
                    "query has the same terms, and every site has joined it",
                    &again_);
    options.AddFlag("give-up",
                    "begin it although the present training or query has not ended: what that has "
                    "not published is lost",
                    &give_up_);
    options.AddStrings("remove",
                       "name of a site that leaves with this epoch; may be repeated. A query needs "
                       "all of its sites, so a site leaves with what comes behind it",
                       &removed_);
    EpochCommand::Register(options);
  }

 protected:
  absl::StatusOr<coordinator::ChangeEnd> Change(const coordinator::CoordinatorParts& parts,
                                                const coordinator::ChangeHooks& hooks) override {
    const TrainingTermsFlags terms = Terms();
    TACET_ASSIGN_OR_RETURN(const std::string text, terms.AsRead());
    const std::set<std::string> removed(removed_.begin(), removed_.end());
    std::string leaving;
    for (const std::string& name : removed) leaving += " --remove " + name;
    coordinator::EpochChangeSpec spec = Spec(text + leaving);
    spec.again = again_;
    spec.gives_up = give_up_;
    spec.next.removed = removed;
    spec.terms = [&]() -> absl::StatusOr<storage::file::TrainingTerms> {
      if (!again_) TACET_RETURN_IF_ERROR(CheckNotBegun(terms, parts.folder));
      TACET_ASSIGN_OR_RETURN(const std::vector<storage::file::EnrolledSite> sites,
                             coordinator::EnrolledWithout(removed, parts.folder));
      TACET_ASSIGN_OR_RETURN(PlannedTraining planned,
                             terms.Load(static_cast<uint64_t>(std::ranges::count_if(
                                 sites, [](const storage::file::EnrolledSite& site) {
                                   return !site.request.server;
                                 }))));
      fmt::print("{}{}\n", agreement::AgreementText(planned.plan),
                 agreement::WarningLines(planned.warnings));
      return std::move(planned.terms);
    };
    return coordinator::ChangeEpoch(spec, parts, hooks);
  }
  virtual TrainingTermsFlags Terms() const = 0;

 private:
  bool again_ = false, give_up_ = false;
  std::vector<std::string> removed_;
};

class TrainCommand final : public TermsCommand {
 public:
  std::string_view name() const override { return "train"; }
  std::string_view summary() const override {
    return "begin the next training at all sites, in one command: it waits until each has joined "
           "or asks its people; exit code 3 while sites are silent, 4 where one asks";
  }
  void Register(program::Options& options) override {
    options.AddPositional("config", "TOML file with the terms of the agreement", {}, true,
                          &config_);
    options.AddString("initial-model",
                      "with model.name = \"external\": file of the parameters before the first "
                      "round",
                      &initial_model_);
    TermsCommand::Register(options);
  }

 private:
  TrainingTermsFlags Terms() const override {
    return TrainingTermsFlags::Of(config_, {}, initial_model_);
  }
  std::string config_;
  std::optional<std::string> initial_model_;
};

class AskCommand final : public TermsCommand {
 public:
  std::string_view name() const override { return "ask"; }
  std::string_view summary() const override {
    return "begin a query at all sites, in one command, as `train` begins a training";
  }
  void Register(program::Options& options) override {
    options.AddPositional("query", "query file (docs/formats/query.md)", {}, true, &query_);
    TermsCommand::Register(options);
  }

 private:
  TrainingTermsFlags Terms() const override {
    return TrainingTermsFlags::Of({}, query_, std::nullopt);
  }
  std::string query_;
};

class RemoveCommand final : public EpochCommand {
 public:
  std::string_view name() const override { return "remove"; }
  std::string_view summary() const override {
    return "begin an epoch without some sites, in one command";
  }
  void Register(program::Options& options) override {
    options.AddPositional("name", "name of the site that leaves", {}, true, &name_);
    options.AddStrings("also", "name of another site that leaves; may be repeated", &also_);
    EpochCommand::Register(options);
  }

 private:
  absl::StatusOr<coordinator::ChangeEnd> Change(const coordinator::CoordinatorParts& parts,
                                                const coordinator::ChangeHooks& hooks) override {
    std::set<std::string> removed(also_.begin(), also_.end());
    removed.insert(name_);
    std::string text;
    for (const std::string& name : removed) text += " " + name;
    coordinator::EpochChangeSpec spec = Spec(text);
    spec.next.removed = std::move(removed);
    return coordinator::ChangeEpoch(spec, parts, hooks);
  }
  std::string name_;
  std::vector<std::string> also_;
};

// Change with a party that is new.
class NewcomerCommand : public EpochCommand {
 public:
  void Register(program::Options& options) override {
    options.AddPositional("name", "name of the party that comes", {}, true, &name_);
    options.AddString("request", "request file that it sent", &request_);
    options.AddString("fingerprint",
                      "fingerprint of the request, as the party tells it; asked for on the "
                      "terminal when not given",
                      &fingerprint_);
    options.AddUint("days", "days for which its certificate is valid", &days_);
    EpochCommand::Register(options);
    options.Require("request");
  }

 protected:
  absl::StatusOr<coordinator::ChangeEnd> ChangeWith(bool is_server,
                                                    coordinator::EpochChangeSpec spec,
                                                    const coordinator::CoordinatorParts& parts,
                                                    const coordinator::ChangeHooks& hooks) const {
    TACET_ASSIGN_OR_RETURN(const base::Bytes bytes, storage::file::ReadFile(request_));
    TACET_ASSIGN_OR_RETURN(const agreement::EnrolmentRequest request,
                           agreement::ReadEnrolmentRequest(bytes));
    if (request.name != name_ || request.server != is_server) {
      return base::InvalidArgument("{} is the request of {} to be {}, expected {} to be {}",
                                   request_, request.name, request.server ? "the server" : "a site",
                                   name_, is_server ? "the server" : "a site");
    }
    // Checked before anything, and again by a call that is resumed.
    TACET_ASSIGN_OR_RETURN(const bool recognised, parts.folder.Recognises(request));
    if (!recognised || fingerprint_.has_value()) {
      TACET_RETURN_IF_ERROR(CheckFingerprint(name_, bytes, fingerprint_));
    }
    spec.asked += fmt::format(" (request {})",
                              agreement::FingerprintText(agreement::RequestFingerprint(bytes)));
    spec.enrol = [&] {
      return coordinator::EnrolParty(bytes, days_, parts.keys.authority, parts.folder);
    };
    return coordinator::ChangeEpoch(spec, parts, hooks);
  }
  std::string newcomer() const override { return name_; }

 private:
  std::string name_, request_;
  std::optional<std::string> fingerprint_;
  uint64_t days_ = 365;
};

class AddCommand final : public NewcomerCommand {
 public:
  std::string_view name() const override { return "add"; }
  std::string_view summary() const override {
    return "enrol a site and begin an epoch with it, in one command; its own invitation goes as a "
           "file";
  }

 private:
  absl::StatusOr<coordinator::ChangeEnd> Change(const coordinator::CoordinatorParts& parts,
                                                const coordinator::ChangeHooks& hooks) override {
    return ChangeWith(false, Spec(" " + newcomer()), parts, hooks);
  }
};

class MoveServerCommand final : public NewcomerCommand {
 public:
  std::string_view name() const override { return "move-server"; }
  std::string_view summary() const override {
    return "enrol another server and begin an epoch with it, in one command; the sites hear of it "
           "at the server before, and the new server's invitation goes as a file";
  }

 private:
  absl::StatusOr<coordinator::ChangeEnd> Change(const coordinator::CoordinatorParts& parts,
                                                const coordinator::ChangeHooks& hooks) override {
    coordinator::EpochChangeSpec spec = Spec(" " + newcomer());
    TACET_ASSIGN_OR_RETURN(const std::vector<storage::file::EnrolledSite> sites,
                           parts.folder.Enrolled());
    for (const storage::file::EnrolledSite& site : sites) {
      if (site.request.server && site.request.name != newcomer()) {
        spec.next.removed.insert(site.request.name);
      }
    }
    return ChangeWith(true, std::move(spec), parts, hooks);
  }
};

class RenewCommand final : public ChangeCommand {
 public:
  std::string_view name() const override { return "renew"; }
  std::string_view summary() const override {
    return "renew the certificates of all sites and of the server, in one command";
  }
  void Register(program::Options& options) override {
    options.AddUint("days",
                    "days for which the certificates are valid, at most until the authority's "
                    "certificate expires",
                    &days_);
    ChangeCommand::Register(options);
  }

 private:
  absl::StatusOr<coordinator::ChangeEnd> Change(const coordinator::CoordinatorParts& parts,
                                                const coordinator::ChangeHooks& hooks) override {
    return coordinator::RenewCertificates(days_, parts, hooks);
  }
  uint64_t days_ = 365;
};

}  // namespace

std::vector<std::unique_ptr<program::Command>> NewFederationChangeCommands() {
  std::vector<std::unique_ptr<program::Command>> commands;
  commands.push_back(std::make_unique<TrainCommand>());
  commands.push_back(std::make_unique<AskCommand>());
  commands.push_back(std::make_unique<AddCommand>());
  commands.push_back(std::make_unique<RemoveCommand>());
  commands.push_back(std::make_unique<MoveServerCommand>());
  commands.push_back(std::make_unique<RenewCommand>());
  return commands;
}

}  // namespace tacet::app::federation
