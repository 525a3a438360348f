// Cost of an attempt of a federation, in the terms of a ledger.
#ifndef TACET_LEDGER_ATTEMPT_COST_H_
#define TACET_LEDGER_ATTEMPT_COST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/agreement/charged_terms.h"
#include "tacet/agreement/manifest.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/hash.h"
#include "tacet/ledger/ledger_format.h"

namespace tacet::ledger {

// A training's own budget, for its own attempts alone. Events are for the agreement's unit and
// neighbours. One-event composition unless an earlier epoch had another event. In a federation
// whose terms can change each of the two rules has half of the agreement's delta.
struct FederationBudget {
  accounting::SpendingTerms terms;
  accounting::SamplingEvent event;  // of an attempt under the present manifest
};

// Cost of attempts under another manifest of the training, in the training's own budget.
struct EarlierEvent {
  crypto::Digest manifest_hash{};
  accounting::SamplingEvent event;
};

// Cost of each attempt of one training of a federation, and the attempts that there can be.
struct AttemptCost {
  crypto::Digest federation{};  // Manifest::federation()
  uint32_t training = 0;        // ManifestSpec::training: its epochs are this one and later ones
  crypto::Digest manifest_hash{};
  uint32_t member = kEveryMember;  // whose data are charged
  ChargingRule rule = ChargingRule::kAnnouncedAttempts;
  accounting::SamplingEvent event;  // for the ledger's unit and neighbours
  uint32_t rounds = 0;
  uint32_t spare_attempts = 0;
  uint32_t first_round = 0;  // with which announcements under this manifest began
  std::optional<FederationBudget> budget = std::nullopt;
  std::vector<EarlierEvent> earlier_events = {};  // where they are others

  // For an attempt under one of the training's manifests, in its own budget, which there must be.
  const accounting::SamplingEvent& BudgetEventUnder(const crypto::Digest& hash) const;
};

// The event that is charged for one attempt, here and again when an audit is verified:
// agreement::ChargedEvent. With own seals and unit client nothing is sampled; records and persons
// are drawn by the site's own coins under either rule. Noise 0 when the agreement leaves out noise
// or clipping and so has no guarantee.
accounting::SamplingEvent AttemptEvent(const agreement::ManifestSpec& agreed, ChargingRule rule);

// The same attempt for another unit and other neighbours. A guarantee for a client holds for its
// persons, and one for a person for its records, against replacement; for zero-out neighbours twice
// the clip norm is charged, without sampling. None holds the other way (noise 0).
accounting::SamplingEvent AttemptEventFor(const agreement::ManifestSpec& agreed, ChargingRule rule,
                                          accounting::Unit unit,
                                          accounting::Neighbouring neighbouring);

// For a ledger with this header. `earlier` are the epochs before the manifest's: those of earlier
// trainings do not count.
AttemptCost AttemptCostOf(const agreement::Manifest& manifest, const LedgerHeader& header,
                          ChargingRule rule, uint32_t first_round = 0,
                          std::span<const agreement::EpochLink> earlier = {});

// Agreements under which `charges` were made, each planned once, with the attempts of each, in the
// order of their last charges. `agreed_under` gives a manifest's agreement, or null. DataLoss for a
// charge whose manifest is unknown, errors of Manifest::CreateWithoutMembers.
absl::StatusOr<std::vector<agreement::ChargedTerms>> TermsOfCharges(
    std::span<const LedgerEntry> charges,
    const std::function<const agreement::ManifestSpec*(const crypto::Digest&)>& agreed_under);

// Header of a ledger that counts what the agreement costs, against its budget: all attempts of one
// event. The population, the ledger's identity and the time are left to the caller.
LedgerHeader LedgerHeaderOf(const agreement::ManifestSpec& agreed);

// The rule of a site that names none: announced-attempts, but own-seals where the server draws the
// cohorts. Every attempt that is announced would there be charged as if it had this site's data.
ChargingRule DefaultRule(const agreement::ManifestSpec& agreed);

// FailedPrecondition for own-seals where members toss secret coins and all upload (dummy uploads):
// the ledger's charges, and the writes to its disk, would show on which attempts the coin fell.
absl::Status CheckRuleFits(const agreement::ManifestSpec& agreed, ChargingRule rule);

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_ATTEMPT_COST_H_
