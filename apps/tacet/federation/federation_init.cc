#include <string>
#include <utility>

#include "fmt/core.h"

#include "apps/tacet/federation/federation_command.h"
#include "apps/tacet/federation/training_terms.h"
#include "apps/tacet/program/unlock_flags.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/manifest_text.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/status.h"
#include "tacet/coordinator/federation_setup.h"
#include "tacet/coordinator/federation_steps.h"
#include "tacet/report/privacy_json.h"

namespace tacet::app::federation {
namespace {

constexpr uint64_t kMaxDays = 36'500;

class FederationInitCommand : public program::Command {
 public:
  std::string_view name() const override { return "init"; }
  std::string_view summary() const override {
    return "create a federation: agreement, certificate authority, first epoch key, initial model";
  }

  void Register(program::Options& options) override {
    options.AddString("folder", coordinator::kFolderHelp, &folder_);
    options.AddString("name", "name of the federation: lower-case letters, digits, hyphens",
                      &name_);
    terms_.Register(options);
    options.AddUint(
        "members", "planned number of members, for the check of the plan; 0: as many as the cohort",
        &members_);
    options.AddUint("days", "days for which the authority's certificate is valid", &days_);
    options.AddFlag("json", "print JSON", &json_);
    unlock_.Register(options);
    options.Require("name");
  }

  absl::Status Run() override {
    TACET_RETURN_IF_ERROR(agreement::CheckSiteName(name_));
    if (days_ == 0 || days_ > kMaxDays) {
      return base::InvalidArgument("--days is {}, it must be from 1 to {}", days_, kMaxDays);
    }
    TACET_ASSIGN_OR_RETURN(const PlannedTraining training, terms_.Load(members_));
    TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                           agreement::GuaranteesOf(training.plan, training.plan.attempt_budget()));
    base::JsonValue privacy = tacet::report::PrivacyJson(guarantees, training.warnings);
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.New("coordinator's keys"));
    TACET_ASSIGN_OR_RETURN(
        const crypto::PublicKey coordinator,
        coordinator::FoundFederation(
            {.folder = folder_, .name = name_, .terms = training.terms, .days = days_}, unlocker));
    Print(training, guarantees, std::move(privacy), coordinator);
    return absl::OkStatus();
  }

 private:
  void Print(const PlannedTraining& training, const accounting::Guarantees& guarantees,
             base::JsonValue privacy, const crypto::PublicKey& coordinator) const {
    if (json_) {
      fmt::print("{}\n", base::JsonValue::MakeObject()
                             .Set("federation", name_)
                             .Set("folder", folder_)
                             .Set("coordinator", base::ToHex(coordinator))
                             .Set("dimension", training.plan.spec().dimension)
                             .Set("privacy", std::move(privacy))
                             .Set("warnings", base::JsonList(training.warnings))
                             .Dump(2));
      return;
    }
    fmt::print(
        "{}{}{}\nfolder      {}\ncoordinator {}\n\nTell every site the coordinator's fingerprint "
        "through a channel that nobody can alter. Each site makes its keys with\n  tacet client "
        "request --name NAME\n"
        "and sends you its request; enrol it with\n  tacet federation enrol NAME --request FILE\n",
        agreement::AgreementText(training.plan), agreement::EpsilonLines(training.plan, guarantees),
        agreement::WarningLines(training.warnings), folder_,
        agreement::FingerprintText(coordinator));
  }

  std::string folder_ = std::string(coordinator::kDefaultFolder);
  std::string name_;
  TrainingTermsFlags terms_;
  uint64_t members_ = 0;
  uint64_t days_ = 3650;
  bool json_ = false;
  program::UnlockFlags unlock_;
};

}  // namespace

std::unique_ptr<program::Command> NewFederationInitCommand() {
  return std::make_unique<FederationInitCommand>();
}

}  // namespace tacet::app::federation
