// Privacy ledger of a data owner. It is charged before anything is sealed, and it refuses a charge
// beyond the budget.
#ifndef TACET_LEDGER_PRIVACY_LEDGER_H_
#define TACET_LEDGER_PRIVACY_LEDGER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_filter.h"
#include "tacet/agreement/manifest.h"
#include "tacet/base/unix_clock.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/ledger/ledger_store.h"
#include "tacet/secagg/attempt.h"

namespace tacet::ledger {

// Cost of each attempt of one federation, and the attempts that there can be.
struct AttemptCost {
  crypto::Digest federation{};  // the agreement's digest
  crypto::Digest manifest_hash{};
  accounting::SamplingEvent event;
  uint32_t rounds = 0;
  uint32_t spare_attempts = 0;
  uint32_t first_round = 0;  // with which announcements under this manifest began
};

// The event that a ledger of this rule is charged for one attempt, here and again when an audit is
// verified: agreement::ChargedEvent under announced-attempts, without sampling under own-seals;
// noise 0 when the agreement leaves out noise or clipping and so has no guarantee.
accounting::SamplingEvent AttemptEvent(const agreement::ManifestSpec& agreed, ChargingRule rule);

AttemptCost AttemptCostOf(const agreement::Manifest& manifest, ChargingRule rule,
                          uint32_t first_round = 0);

// Header of a ledger that counts what the agreement costs, against its budget: announced attempts,
// all of one event. Name and digest of the data, and the time, are left to the caller.
LedgerHeader LedgerHeaderOf(const agreement::ManifestSpec& agreed);

// Not thread-safe: one charge at a time.
class PrivacyLedger {
 public:
  static absl::StatusOr<std::unique_ptr<PrivacyLedger>> Create(
      OpenedLedger opened, base::UnixClock clock = base::SystemUnixSeconds);
  PrivacyLedger(const PrivacyLedger&) = delete;
  PrivacyLedger& operator=(const PrivacyLedger&) = delete;

  // To be called, and to have returned OK, before anything of attempt `now` is sealed.
  //
  // Under announced-attempts every announced attempt that is missing is charged first: those in
  // `announced` (in any order, known ones may be among them), and those that must have been there
  // since the last one of this manifest (a round without attempt, an attempt before `now`'s).
  // They are spent already, so the budget does not stop them; it is `now` that it refuses.
  //
  // The very same charge again is OK and changes nothing. InvalidArgument: an attempt that the
  // federation cannot have. FailedPrecondition: the same attempt at another cost, one that was
  // caught up with (no budget stopped that, so nothing may be sealed on it), a cost that is against
  // the ledger's rule, unit or composition, a ledger that failed before.
  // ResourceExhausted: the budget would be exceeded. Unavailable, DataLoss: the store failed; the
  // ledger refuses everything from then on.
  absl::Status ChargeForSealing(const AttemptCost& cost, const secagg::AttemptNumber& now,
                                std::span<const secagg::AttemptNumber> announced = {});

  // Charges attempts in which this owner has no part: under announced-attempts those in `announced`
  // that are missing, and those that must have been there before the last of them. The budget does
  // not stop it. Under own-seals nothing is charged. Errors as above.
  absl::Status ChargeAnnounced(const AttemptCost& cost,
                               std::span<const secagg::AttemptNumber> announced);

  const LedgerHeader& header() const { return header_; }
  const std::vector<LedgerEntry>& entries() const { return entries_; }
  const accounting::PrivacyFilter& spending() const { return spending_; }
  bool Holds(const ChargeLabel& label) const { return by_label_.contains(label); }
  // Releases charged for one federation, under whichever manifests.
  uint64_t ChargesOf(const crypto::Digest& federation) const;

 private:
  PrivacyLedger(OpenedLedger opened, accounting::PrivacyFilter spending, base::UnixClock clock);

  absl::Status CheckUsable() const;
  absl::Status CatchUp(const AttemptCost& cost, const secagg::AttemptNumber& now,
                       std::span<const secagg::AttemptNumber> announced);
  absl::Status Append(const AttemptCost& cost, const secagg::AttemptNumber& number,
                      ChargeKind kind);
  void Remember(const LedgerEntry& entry);

  LedgerHeader header_;
  std::vector<LedgerEntry> entries_;
  LedgerAnchor end_;
  std::unique_ptr<LedgerStore> store_;
  accounting::PrivacyFilter spending_;
  base::UnixClock clock_;
  absl::Status failure_;                                  // of the store
  std::map<ChargeLabel, size_t> by_label_;                // index into entries_
  std::map<crypto::Digest, secagg::AttemptNumber> last_;  // of each manifest
  std::map<crypto::Digest, uint64_t> federation_charges_;
};

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_PRIVACY_LEDGER_H_
