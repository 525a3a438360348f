#include "tacet/site/site_ledger.h"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "tacet/base/bytes.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/base/unix_clock.h"
#include "tacet/ledger/ledger_anchor.h"
#include "tacet/ledger/ledger_in_memory.h"
#include "tacet/storage/file/ledger_file.h"
#include "tacet/storage/file/ledger_place.h"
#include "tacet/storage/file/member_state_folder.h"
#include "tacet/storage/file/posix_file.h"

namespace tacet::site {
namespace {

namespace fs = std::filesystem;

using ledger::ChargingRule;
using storage::file::LedgerTerms;

constexpr std::string_view kAnchor = "ledger.anchor";

absl::StatusOr<fs::path> FolderOf(const SiteLedgerSpec& spec) {
  const std::string& given = spec.config.folder;
  if (!spec.policy.has_value()) return storage::file::LedgerFolderPath(given);
  const std::string& only = spec.policy->policy.ledger_folder;
  if (!given.empty() && fs::path(given) != fs::path(only)) {
    return base::PermissionDenied("{}: ledger.folder: the ledgers are in {}, not in {}",
                                  spec.policy->source, only, given);
  }
  return fs::path(only);
}

// The rule that policy or flag names; nothing when none does.
absl::StatusOr<std::optional<ChargingRule>> NamedRule(const SiteLedgerSpec& spec) {
  const std::optional<ChargingRule> only =
      spec.policy.has_value() ? spec.policy->policy.rule : std::nullopt;
  const std::optional<ChargingRule> given = spec.config.rule;
  if (only.has_value() && given.has_value() && *given != *only) {
    return base::PermissionDenied("{}: ledger.rule: charges are by {}, not by {}",
                                  spec.policy->source, ledger::ChargingRuleName(*only),
                                  ledger::ChargingRuleName(*given));
  }
  return only.has_value() ? only : given;
}

bool IsOfTraining(const ledger::LedgerEntry& charge, const agreement::Manifest& manifest) {
  return ledger::IsOfTraining(charge, manifest.federation(), manifest.spec().training);
}

// Members may change in mid-run, and the default with them: the rule of the first charge stays.
ChargingRule RuleOf(const SiteLedgerSpec& spec, const std::optional<ChargingRule>& named,
                    const ledger::PrivacyLedger& ledger) {
  if (named.has_value()) return *named;
  const auto charge = std::ranges::find_if(ledger.entries(), [&](const ledger::LedgerEntry& entry) {
    return IsOfTraining(entry, spec.manifest);
  });
  return charge == ledger.entries().end() ? ledger::DefaultRule(spec.manifest.spec())
                                          : charge->rule;
}

// A ledger refuses charges by two rules, too, but only once an attempt comes.
absl::Status CheckRule(const SiteLedgerSpec& spec, const SiteLedger& site) {
  TACET_RETURN_IF_ERROR(ledger::CheckRuleFits(spec.manifest.spec(), site.rule));
  const std::vector<ledger::LedgerEntry>& charges = site.ledger->entries();
  const auto other = std::ranges::find_if(charges, [&](const ledger::LedgerEntry& charge) {
    return IsOfTraining(charge, spec.manifest) && charge.rule != site.rule;
  });
  if (other == charges.end()) return absl::OkStatus();
  return base::FailedPrecondition(
      "this training was charged by {} in the ledger of the population \"{}\": it cannot continue "
      "by "
      "{}, rules are never mixed",
      ledger::ChargingRuleName(other->rule), site.ledger->header().population,
      ledger::ChargingRuleName(site.rule));
}

LedgerTerms TermsOf(const SiteLedgerSpec& spec) {
  const accounting::PrivacyTarget& agreed = spec.manifest.spec().privacy;
  LedgerTerms terms{.unit = agreed.unit,
                    .neighbouring = agreed.neighbouring,
                    .delta = agreed.delta,
                    .budget_epsilon = spec.config.budget_epsilon,
                    .composition = spec.config.composition};
  if (spec.policy.has_value()) {
    // Whatever the policy allows can be counted for its smallest unit.
    terms.unit = spec.policy->policy.smallest_unit();
    terms.delta = spec.policy->policy.delta;
  }
  return terms;
}

// A home's anchors. A backup may put back the first with the ledger, and never the second: no
// backup holds the state.
std::vector<fs::path> AnchorsOf(const fs::path& home) {
  return {home / kAnchor, home / storage::file::kMemberState / kAnchor};
}

bool IsReadable(const fs::path& anchor) {
  const absl::StatusOr<base::Bytes> bytes = storage::file::ReadFile(anchor);
  return bytes.ok() && ledger::ReadLedgerAnchor(*bytes).ok();
}

// An anchor of another version was not damaged, and nobody is told to delete it.
absl::Status CheckVersion(const fs::path& anchor) {
  const absl::StatusOr<base::Bytes> bytes = storage::file::ReadFile(anchor);
  if (!bytes.ok() || bytes->size() < base::kPreambleBytes ||
      !base::AsText(*bytes).starts_with(base::format::kLedgerAnchor.magic)) {
    return absl::OkStatus();
  }
  base::ByteReader reader(*bytes, "anchor of the ledger");
  return base::Annotate(base::ReadPreamble(base::format::kLedgerAnchor, reader), anchor.string());
}

// Both are written before the first attempt, so a home that has begun attempts has lost a missing
// one. That in the state is enough: no backup holds it, so it is the newer one.
absl::Status CheckAnchors(const SiteLedgerSpec& spec, std::span<const fs::path> anchors) {
  std::error_code error;
  const fs::path &own = anchors[0], &in_state = anchors[1];
  for (const fs::path& anchor : anchors) TACET_RETURN_IF_ERROR(CheckVersion(anchor));
  if (IsReadable(in_state)) {
    const absl::StatusOr<base::Bytes> bytes = storage::file::ReadFile(own);
    const bool is_damaged = bytes.ok() && !ledger::ReadLedgerAnchor(*bytes).ok();
    if (is_damaged) fs::remove(own, error);  // it is written again from the ledger
    return absl::OkStatus();
  }
  const bool is_damaged = fs::exists(in_state, error);
  if (is_damaged) TACET_RETURN_IF_ERROR(storage::file::ReadFile(in_state).status());
  for (const absl::Status& kept :
       {spec.state.LoadMemory().status(), spec.state.LoadCheckpoint().status()}) {
    if (kept.code() == absl::StatusCode::kNotFound) continue;
    TACET_RETURN_IF_ERROR(kept);
    return base::FailedPrecondition(
        "the state of {} has begun attempts, but {} is {}. If the ledger of this site is the one "
        "that was charged last, run `rm -r {}`: the site takes its state from the others. Else put "
        "that ledger back first",
        spec.home.string(), in_state.string(), is_damaged ? "damaged" : "missing",
        in_state.parent_path().string());
  }
  return absl::OkStatus();
}

// Before a ledger is made: an earlier policy has a valid signature, and a new ledger has seen none.
absl::Status CheckLatestPolicy(const SiteLedgerSpec& spec,
                               const storage::file::LedgerFolder& folder) {
  if (!spec.policy.has_value()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const uint64_t latest, folder.LatestPolicy());
  const uint64_t serial = spec.policy->policy.serial;
  if (serial >= latest) return absl::OkStatus();
  return base::FailedPrecondition(
      "{} has serial number {}, but a population of this site was charged under number {}: put the "
      "later policy back, or have the officer sign this one with a larger number",
      spec.policy->source, serial, latest);
}

absl::Status AdoptPolicy(const SiteLedgerSpec& spec, ledger::PrivacyLedger& ledger) {
  if (spec.policy.has_value()) {
    return base::Annotate(ledger.AdoptPolicy(spec.policy->digest, spec.policy->policy.serial),
                          spec.policy->source);
  }
  if (!ledger.policy().has_value()) return absl::OkStatus();
  return base::FailedPrecondition(
      "the population \"{}\" is charged under the policy number {} of its officer, and this home "
      "has "
      "none: pin the officer (tacet client policy pin) and put policy.toml into {}",
      ledger.header().population, ledger.policy()->serial, spec.home.string());
}

// Before the home's anchors name the ledger: another site's is not this one's.
absl::Status CheckMember(const SiteLedgerSpec& spec, const fs::path& path) {
  absl::StatusOr<ledger::RecoveredLedger> found = storage::file::LedgerFile::Read(path);
  if (!found.ok()) return absl::OkStatus();  // LedgerFolder tells what is wrong
  ledger::OpenedLedger read = ledger::LedgerInMemory(found->header);
  read.found = *std::move(found);
  TACET_ASSIGN_OR_RETURN(const auto ledger, ledger::PrivacyLedger::Create(std::move(read)));
  ledger::AttemptCost cost;
  cost.federation = spec.manifest.federation();
  cost.training = spec.manifest.spec().training;
  cost.manifest_hash = spec.manifest.hash();
  cost.member = spec.member;
  return ledger->CheckMember(cost);
}

}  // namespace

absl::StatusOr<SiteLedger> OpenSiteLedger(const SiteLedgerSpec& spec) {
  SiteLedger site;
  TACET_ASSIGN_OR_RETURN(site.folder, FolderOf(spec));
  TACET_ASSIGN_OR_RETURN(const std::optional<ChargingRule> named, NamedRule(spec));
  std::vector<fs::path> anchors = AnchorsOf(spec.home);
  TACET_RETURN_IF_ERROR(CheckAnchors(spec, anchors));
  if (!spec.config.anchor.empty()) anchors.emplace_back(spec.config.anchor);
  TACET_ASSIGN_OR_RETURN(const auto folder, storage::file::LedgerFolder::Open(site.folder));
  TACET_RETURN_IF_ERROR(CheckLatestPolicy(spec, folder));
  const std::string population = spec.policy.has_value() ? spec.policy->policy.population
                                                         : std::string(ledger::kMainPopulation);
  TACET_RETURN_IF_ERROR(CheckMember(spec, folder.PathOf(population)));
  TACET_ASSIGN_OR_RETURN(
      ledger::OpenedLedger opened,
      folder.OpenOrCreate(population, TermsOf(spec), anchors, base::SystemUnixSeconds()));
  TACET_ASSIGN_OR_RETURN(site.ledger,
                         ledger::PrivacyLedger::Create(std::move(opened), base::SystemUnixSeconds,
                                                       spec.permission.year()));
  site.rule = RuleOf(spec, named, *site.ledger);
  TACET_RETURN_IF_ERROR(CheckRule(spec, site));
  TACET_RETURN_IF_ERROR(AdoptPolicy(spec, *site.ledger));
  return site;
}

}  // namespace tacet::site
