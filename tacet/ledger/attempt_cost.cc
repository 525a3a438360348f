#include "tacet/ledger/attempt_cost.h"

#include <algorithm>
#include <utility>

#include "tacet/agreement/manifest_bytes.h"
#include "tacet/base/status.h"

namespace tacet::ledger {
namespace {

using accounting::Neighbouring;
using accounting::SamplingEvent;
using accounting::Unit;

// A larger unit holds all the data of a smaller one.
int SizeOf(Unit unit) {
  switch (unit) {
    case Unit::kRecord:
      return 1;
    case Unit::kPerson:
      return 2;
    case Unit::kClient:
      return 3;
  }
  return 3;
}

// Whether the agreement bounds how far one unit's contribution is from another's, 2 S, and not how
// long one is: queries for replace-one neighbours (docs/security/statistics.md).
bool BoundsDistance(const agreement::ManifestSpec& agreed) {
  return agreed.model == agreement::kQueryModel && agreed.privacy.unit != Unit::kClient &&
         agreed.privacy.neighbouring == Neighbouring::kReplaceOne;
}

// The same release, of which it is known that the unit takes part; `sampling` says so.
void LeaveOutSampling(accounting::Sampling sampling, SamplingEvent& event) {
  event.sampling = sampling;
  event.sampling_rate = 1;
  event.pool = event.least = 0;
}

}  // namespace

SamplingEvent AttemptEvent(const agreement::ManifestSpec& agreed, ChargingRule rule) {
  return AttemptEventFor(agreed, rule, agreed.privacy.unit, agreed.privacy.neighbouring);
}

SamplingEvent AttemptEventFor(const agreement::ManifestSpec& agreed, ChargingRule rule, Unit unit,
                              Neighbouring neighbouring) {
  SamplingEvent event{.unit = unit,
                      .neighbouring = neighbouring,
                      .sampling = accounting::Sampling::kFixedSize,
                      .clip_norm = agreed.mechanism.clip_norm};
  if (SizeOf(unit) <= SizeOf(agreed.privacy.unit)) {
    // A unit that is a part of the agreed one turns its contribution into another one, not into
    // nothing. Such a change, too, is at most 2 S long. As replace-one without sampling it is the
    // change to nothing of a contribution of 2 S.
    const bool is_part = SizeOf(unit) < SizeOf(agreed.privacy.unit);
    const bool becomes_another =
        neighbouring == Neighbouring::kZeroOut && (is_part || BoundsDistance(agreed));
    agreement::ManifestSpec seen = agreed;
    seen.privacy.neighbouring = becomes_another ? Neighbouring::kReplaceOne : neighbouring;
    event = agreement::ChargedEvent(seen);
    event.unit = unit;
    if (becomes_another) {
      event.neighbouring = Neighbouring::kZeroOut;
      event.clip_norm *= 2;
      LeaveOutSampling(accounting::Sampling::kFixedSize, event);
    }
  }
  const bool cohorts_draw = agreed.privacy.unit == Unit::kClient || unit == Unit::kClient;
  if (rule == ChargingRule::kOwnSeals && cohorts_draw) {
    LeaveOutSampling(accounting::Sampling::kNone, event);
  }
  return event;
}

const SamplingEvent& AttemptCost::BudgetEventUnder(const crypto::Digest& hash) const {
  const auto found = std::ranges::find(earlier_events, hash, &EarlierEvent::manifest_hash);
  return found == earlier_events.end() ? budget->event : found->event;
}

AttemptCost AttemptCostOf(const agreement::Manifest& manifest, const LedgerHeader& header,
                          ChargingRule rule, uint32_t first_round,
                          std::span<const agreement::EpochLink> earlier) {
  const agreement::ManifestSpec& agreed = manifest.spec();
  AttemptCost cost{.federation = manifest.federation(),
                   .training = agreed.training,
                   .manifest_hash = manifest.hash(),
                   .rule = rule,
                   .event = AttemptEventFor(agreed, rule, header.unit, header.neighbouring),
                   .rounds = agreed.rounds,
                   .spare_attempts = agreed.spare_attempts,
                   .first_round = first_round};
  // A ledger of this federation alone has the budget in its header.
  const LedgerHeader own = LedgerHeaderOf(agreed);
  if (agreed.privacy.budget_epsilon > 0 && !(own.spending == header.spending)) {
    FederationBudget budget{.terms = own.spending, .event = AttemptEvent(agreed, rule)};
    // In a live federation somebody may change terms after seeing a model. The rule before a change
    // and the one after it have half of delta each.
    if (agreed.federation != crypto::Digest{}) budget.terms.delta /= 2;
    for (const agreement::EpochLink& link : earlier) {
      if (link.agreed.training != agreed.training) continue;
      SamplingEvent event = AttemptEvent(link.agreed, rule);
      event.unit = budget.event.unit;
      event.neighbouring = budget.event.neighbouring;
      if (accounting::SameEvent(event, budget.event)) continue;
      budget.terms.composition = accounting::Composition::kAnyEvents;
      cost.earlier_events.push_back({.manifest_hash = link.hash, .event = event});
    }
    cost.budget = budget;
  }
  return cost;
}

absl::StatusOr<std::vector<agreement::ChargedTerms>> TermsOfCharges(
    std::span<const LedgerEntry> charges,
    const std::function<const agreement::ManifestSpec*(const crypto::Digest&)>& agreed_under) {
  struct Charged {
    base::Bytes agreement;
    agreement::ManifestSpec agreed;
    uint64_t attempts = 0;
    bool own_seals = false;
  };
  std::vector<Charged> all;
  for (const LedgerEntry& entry : charges) {
    const agreement::ManifestSpec* agreed = agreed_under(entry.label.manifest_hash);
    if (agreed == nullptr) {
      return base::DataLoss("an attempt was charged under the manifest {}, which is missing",
                            base::ToHex(entry.label.manifest_hash));
    }
    base::Bytes bytes = agreement::AgreementBytes(*agreed);
    auto known = std::ranges::find(all, bytes, &Charged::agreement);
    if (known == all.end()) {
      all.push_back({.agreement = std::move(bytes), .agreed = *agreed});
      known = all.end() - 1;
      known->agreed.members.clear();
    } else {
      known = std::rotate(known, known + 1, all.end());
    }
    known->attempts += entry.count;
    known->own_seals = known->own_seals || entry.rule == ChargingRule::kOwnSeals;
  }
  std::vector<agreement::ChargedTerms> terms;
  for (Charged& one : all) {
    TACET_ASSIGN_OR_RETURN(agreement::Manifest plan,
                           agreement::Manifest::CreateWithoutMembers(std::move(one.agreed)));
    terms.push_back(
        {.plan = std::move(plan), .attempts = one.attempts, .own_seals = one.own_seals});
  }
  return terms;
}

LedgerHeader LedgerHeaderOf(const agreement::ManifestSpec& agreed) {
  LedgerHeader header;
  header.unit = agreed.privacy.unit;
  header.neighbouring = agreed.privacy.neighbouring;
  header.spending = {.budget_epsilon = agreed.privacy.budget_epsilon,
                     .delta = agreed.privacy.delta,
                     .composition = accounting::Composition::kOneEvent};
  return header;
}

absl::Status CheckRuleFits(const agreement::ManifestSpec& agreed, ChargingRule rule) {
  if (!agreed.sampling.dummy_uploads || rule != ChargingRule::kOwnSeals) return absl::OkStatus();
  return base::FailedPrecondition(
      "charges are by own-seals, but in this federation a member's coin is secret "
      "(dummy_uploads): a charge of its own attempts alone shows it in the ledger and in the "
      "writes to the disk; leave out ledger.rule (--ledger-rule), or choose announced-attempts. "
      "Where the site's policy says own-seals, its officer has to change it; a training that was "
      "charged by own-seals cannot continue under such terms");
}

ChargingRule DefaultRule(const agreement::ManifestSpec& agreed) {
  return agreement::ServerDrawsCohorts(agreed) ? ChargingRule::kOwnSeals
                                               : ChargingRule::kAnnouncedAttempts;
}

}  // namespace tacet::ledger
