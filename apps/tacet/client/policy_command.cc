#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"

#include "apps/tacet/client/client_command.h"
#include "apps/tacet/program/unlock_flags.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/agreement/member_keys.h"
#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/config/agreed_query.h"
#include "tacet/config/policy_file.h"
#include "tacet/crypto/locked_secret.h"
#include "tacet/ledger/attempt_cost.h"
#include "tacet/policy/permission.h"
#include "tacet/policy/policy_signature.h"
#include "tacet/site/site_policy.h"
#include "tacet/statistics/query_learner.h"
#include "tacet/storage/file/membership.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"
#include "tacet/storage/file/site_folder.h"

namespace tacet::app::client {
namespace {

using storage::file::SiteFolder;

constexpr std::string_view kOfficerPurpose = "officer's key";
constexpr std::string_view kPolicyHomeHelp = "folder of the site";
constexpr std::string_view kPolicyHelp =
    "policy file, with its signature in FILE.sig; when not given, policy.toml in the site's folder";

absl::StatusOr<crypto::SigningKey> UnlockOfficer(const std::string& path,
                                                 const crypto::Unlocker& unlocker) {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes locked, storage::file::ReadSecretFile(path));
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes seed,
                         crypto::UnlockSecret(locked.Expose(), kOfficerPurpose, unlocker));
  return crypto::SigningKey::FromSeed(std::move(seed));
}

class PolicyKeyCommand : public program::Command {
 public:
  std::string_view name() const override { return "key"; }
  std::string_view summary() const override { return "make an officer's key"; }
  void Register(program::Options& options) override {
    options.AddPositional("file", "file for the key, which no site's operator gets", {}, true,
                          &file_);
    unlock_.Register(options);
  }
  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.New(kOfficerPurpose));
    // An earlier call may have ended before it told the fingerprint.
    absl::StatusOr<crypto::SigningKey> officer = UnlockOfficer(file_, unlocker);
    if (!officer.ok()) {
      crypto::SystemEntropy entropy;
      officer = crypto::SigningKey::Generate(entropy);
      TACET_ASSIGN_OR_RETURN(
          const base::Bytes locked,
          crypto::LockSecret(officer->Seed(), kOfficerPurpose, unlocker, entropy));
      TACET_RETURN_IF_ERROR(storage::file::WriteSecretFile(file_, locked));
    }
    fmt::print("officer     {}\n", agreement::FingerprintText(officer->public_key()));
    return absl::OkStatus();
  }

 private:
  std::string file_;
  program::UnlockFlags unlock_;
};

class PolicySignCommand : public program::Command {
 public:
  std::string_view name() const override { return "sign"; }
  std::string_view summary() const override { return "check and sign a policy file"; }
  void Register(program::Options& options) override {
    options.AddPositional("policy", "policy file (docs/formats/policy.md)", {}, true, &policy_);
    options.AddString("officer", "file of the officer's key", &officer_);
    unlock_.Register(options);
    options.Require("officer");
  }
  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const base::Bytes text, storage::file::ReadFile(policy_));
    TACET_ASSIGN_OR_RETURN(const policy::SitePolicy policy,
                           config::ParseSitePolicy(base::AsText(text), policy_));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing(kOfficerPurpose));
    TACET_ASSIGN_OR_RETURN(const crypto::SigningKey officer, UnlockOfficer(officer_, unlocker));
    const std::filesystem::path signature = site::SignaturePath(policy_);
    TACET_RETURN_IF_ERROR(storage::file::ReplaceFile(signature, policy::SignPolicy(text, officer)));
    fmt::print(
        "signature   {}\nserial      {}\nsites       {}\npopulation  {}\nlimit       epsilon {} a "
        "year at delta {}\n",
        signature.string(), policy.serial, fmt::join(policy.sites, ", "), policy.population,
        policy.epsilon_per_year, policy.delta);
    return absl::OkStatus();
  }

 private:
  std::string policy_, officer_;
  program::UnlockFlags unlock_;
};

class PolicyPinCommand : public program::Command {
 public:
  std::string_view name() const override { return "pin"; }
  std::string_view summary() const override {
    return "pin an officer in the site's identity: it then runs under a policy of theirs only";
  }
  void Register(program::Options& options) override {
    options.AddPositional("fingerprint", "the officer's, as `tacet client policy key` prints it",
                          {}, true, &fingerprint_);
    options.AddString("home", kPolicyHomeHelp, &home_);
    options.AddString("policy", kPolicyHelp, &policy_);
    unlock_.Register(options);
  }
  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const crypto::PublicKey officer,
                           agreement::ParseFingerprint(fingerprint_));
    TACET_ASSIGN_OR_RETURN(const SiteFolder folder, SiteFolder::Open(home_));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("site's identity"));
    TACET_ASSIGN_OR_RETURN(const agreement::MemberKeys keys, folder.UnlockKeys(unlocker));
    if (keys.officer.has_value()) TACET_RETURN_IF_ERROR(CheckSuccessor(*keys.officer, officer));
    crypto::SystemEntropy entropy;
    TACET_RETURN_IF_ERROR(folder.PinOfficer(officer, unlocker, entropy));
    fmt::print("officer     {}\n", agreement::FingerprintText(officer));
    return absl::OkStatus();
  }

 private:
  // The officer before must have named the next one.
  absl::Status CheckSuccessor(const crypto::PublicKey& before,
                              const crypto::PublicKey& officer) const {
    if (before == officer) return absl::OkStatus();
    TACET_ASSIGN_OR_RETURN(const site::SignedPolicy signed_policy,
                           site::LoadPolicy(site::PolicyPath(home_, policy_), before));
    if (signed_policy.policy.successor == officer) return absl::OkStatus();
    return base::PermissionDenied(
        "this site pins the officer {}, whose policy {} does not name this one as policy.successor",
        agreement::FingerprintText(before), signed_policy.source);
  }

  std::string home_ = "tacet-site";
  std::string fingerprint_;
  std::optional<std::string> policy_;
  program::UnlockFlags unlock_;
};

class PolicyCheckCommand : public program::Command {
 public:
  std::string_view name() const override { return "check"; }
  std::string_view summary() const override {
    return "compare the agreement that was joined with the site's policy";
  }
  void Register(program::Options& options) override {
    options.AddString("home", kPolicyHomeHelp, &home_);
    options.AddString("policy", kPolicyHelp, &policy_);
    options.AddUint("records", "number of records at this site", &records_);
    options.AddFlag("json", "print JSON", &json_);
    unlock_.Register(options);
    options.Require("records");
  }
  absl::Status Run() override {
    TACET_ASSIGN_OR_RETURN(const SiteFolder folder, SiteFolder::Open(home_));
    TACET_ASSIGN_OR_RETURN(const storage::file::Membership membership,
                           storage::file::MembershipOf(folder, home_));
    TACET_ASSIGN_OR_RETURN(const crypto::Unlocker unlocker, unlock_.Existing("site's identity"));
    TACET_ASSIGN_OR_RETURN(const agreement::MemberKeys keys, folder.UnlockKeys(unlocker));
    TACET_ASSIGN_OR_RETURN(const std::optional<site::SignedPolicy> signed_policy,
                           site::LoadSitePolicy(site::PolicyPath(home_, policy_), keys.officer));
    if (!signed_policy.has_value()) {
      return base::NotFound("{} has no policy, and its identity pins no officer", home_);
    }
    TACET_ASSIGN_OR_RETURN(const config::RunConfig agreed,
                           config::ParseRunConfig(membership.manifest.annex(), "the agreement"));
    if (!membership.member.has_value()) {
      return base::FailedPrecondition("{} is the server's folder: a policy is for a site", home_);
    }
    const agreement::ManifestMember& site = membership.manifest.members()[*membership.member];
    if (config::IsQuery(agreed)) {
      TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded,
                             config::ParseQuery(agreed.query.text, "the agreed query"));
      TACET_RETURN_IF_ERROR(
          tacet::statistics::CheckQueryTerms(*loaded.query, membership.manifest.manifest().spec()));
    }
    TACET_ASSIGN_OR_RETURN(const policy::DataUse use,
                           config::DataUseOf(agreed, site.name, records_));
    TACET_ASSIGN_OR_RETURN(
        const std::vector<policy::Violation> violations,
        policy::ViolationsOf(signed_policy->policy, membership.manifest.manifest(), use));
    TACET_ASSIGN_OR_RETURN(const uint64_t fit,
                           AttemptsThatFit(signed_policy->policy, membership.manifest.manifest()));
    Print(*signed_policy, violations, membership.manifest.manifest().attempt_budget(), fit);
    if (violations.empty()) return absl::OkStatus();
    return base::PermissionDenied("{} refuses epoch {} of {}", signed_policy->source,
                                  membership.manifest.epoch(), membership.manifest.federation());
  }

 private:
  // For the agreement's attempts, in a year in which nothing else is charged.
  static absl::StatusOr<uint64_t> AttemptsThatFit(const policy::SitePolicy& policy,
                                                  const agreement::Manifest& manifest) {
    TACET_ASSIGN_OR_RETURN(
        accounting::PrivacyFilter year,
        accounting::PrivacyFilter::Create({.budget_epsilon = policy.epsilon_per_year,
                                           .delta = policy.delta,
                                           .composition = accounting::Composition::kAnyEvents}));
    return year.ChargesThatFit(
        ledger::AttemptEventFor(manifest.spec(), ledger::ChargingRule::kAnnouncedAttempts,
                                policy.smallest_unit(), manifest.spec().privacy.neighbouring),
        manifest.attempt_budget());
  }

  void Print(const site::SignedPolicy& signed_policy,
             const std::vector<policy::Violation>& violations, uint64_t attempts,
             uint64_t fit) const {
    base::JsonValue list = base::JsonValue::MakeArray();
    for (const policy::Violation& violation : violations) {
      if (!json_) fmt::print("{}: {}\n", violation.key, violation.text);
      list.Append(
          base::JsonValue::MakeObject().Set("key", violation.key).Set("text", violation.text));
    }
    if (json_) {
      fmt::print("{}\n", base::JsonValue::MakeObject()
                             .Set("policy", signed_policy.source)
                             .Set("serial", signed_policy.policy.serial)
                             .Set("population", signed_policy.policy.population)
                             .Set("allowed", violations.empty())
                             .Set("violations", std::move(list))
                             .Set("attempts", attempts)
                             .Set("attempts_that_fit", fit)
                             .Dump(2));
      return;
    }
    if (violations.empty()) {
      fmt::print("allowed by {}, number {}\n", signed_policy.source, signed_policy.policy.serial);
    }
    fmt::print("{} of {} permitted attempts fit into the budget of a year\n", fit, attempts);
  }

  std::string home_ = "tacet-site";
  std::optional<std::string> policy_;
  uint64_t records_ = 0;
  bool json_ = false;
  program::UnlockFlags unlock_;
};

}  // namespace

std::unique_ptr<program::Command> NewClientPolicyCommand() {
  std::vector<std::unique_ptr<program::Command>> commands;
  commands.push_back(std::make_unique<PolicyKeyCommand>());
  commands.push_back(std::make_unique<PolicySignCommand>());
  commands.push_back(std::make_unique<PolicyPinCommand>());
  commands.push_back(std::make_unique<PolicyCheckCommand>());
  return std::make_unique<program::CommandGroup>(
      "policy", "limits that the site's privacy officer sets and signs", std::move(commands));
}

}  // namespace tacet::app::client
