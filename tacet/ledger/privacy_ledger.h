// Privacy ledger of a data owner. It is charged before anything is sealed, and it refuses a charge
// beyond the budget.
#ifndef TACET_LEDGER_PRIVACY_LEDGER_H_
#define TACET_LEDGER_PRIVACY_LEDGER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_filter.h"
#include "tacet/base/unix_clock.h"
#include "tacet/ledger/attempt_cost.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/ledger/ledger_store.h"
#include "tacet/secagg/attempt.h"

namespace tacet::ledger {

// The longest calendar year, so that no year, whenever it begins, spends more than its budget.
inline constexpr uint64_t kSecondsAYear = 366 * base::kSecondsADay;

// Largest epsilon of the charges of any year, at `delta`.
struct YearlyBudget {
  double epsilon = 0;  // > 0
  double delta = 0;
  std::string source;  // file and field, for refusals

  friend bool operator==(const YearlyBudget&, const YearlyBudget&) = default;
};

// One owner's view of a ledger that other processes may charge, too: what they charged counts as
// soon as this one is about to charge. Not thread-safe: one charge at a time.
class PrivacyLedger {
 public:
  static absl::StatusOr<std::unique_ptr<PrivacyLedger>> Create(
      OpenedLedger opened, base::UnixClock clock = base::SystemUnixSeconds,
      std::optional<YearlyBudget> year = std::nullopt);
  PrivacyLedger(const PrivacyLedger&) = delete;
  PrivacyLedger& operator=(const PrivacyLedger&) = delete;

  // To be called, and to have returned OK, before anything of attempt `now` is sealed.
  //
  // Under announced-attempts every announced attempt that is missing is charged first: those in
  // `announced` (in any order, known ones may be among them), and those that must have been there
  // since the last one of this training (a round without attempt, an attempt before `now`'s).
  // They are spent already, so the budget does not stop them; it is `now` that it refuses.
  //
  // The very same charge again is OK and changes nothing. InvalidArgument: an attempt that the
  // federation cannot have, because of its number or because all attempts that the agreement
  // permits (rounds and spare ones, in all epochs of the training) were charged.
  // FailedPrecondition: the same attempt at another cost, one that was caught up with (no budget
  // stopped that, so nothing may be sealed on it), a cost that is against the training's rule or
  // the ledger's unit or composition, an epoch before the last one that was charged, another
  // manifest or another member of it, a ledger that failed before. ResourceExhausted: the budget of
  // the population, of the year or of the training would be exceeded, now or when it was asked
  // before; a refused attempt is never charged. Unavailable: another process keeps the ledger, or
  // its disk fails; nothing was acknowledged, and the same call may succeed later. DataLoss: the
  // ledger is damaged or another one, and refuses everything from then on.
  absl::Status ChargeForSealing(const AttemptCost& cost, const secagg::AttemptNumber& now,
                                std::span<const secagg::AttemptNumber> announced = {});

  // Charges attempts in which this owner has no part: under announced-attempts those in `announced`
  // that are missing, and those that must have been there before the last of them. The budget does
  // not stop it. Under own-seals nothing is charged. Errors as above.
  absl::Status ChargeAnnounced(const AttemptCost& cost,
                               std::span<const secagg::AttemptNumber> announced);

  // Writes down the policy under which charges are made. The same again changes nothing.
  // FailedPrecondition when the ledger knows a later one, or another with this serial number.
  absl::Status AdoptPolicy(const crypto::Digest& digest, uint64_t serial);

  const LedgerHeader& header() const { return header_; }
  const std::vector<LedgerEntry>& entries() const { return entries_; }
  const std::vector<LedgerRefusal>& refusals() const { return refusals_; }
  const std::optional<LedgerPolicy>& policy() const { return policy_; }
  const accounting::PrivacyFilter& spending() const { return spending_; }
  std::optional<YearlyBudget> year() const {
    return year_.has_value() ? std::optional(year_->budget) : std::nullopt;
  }
  bool Holds(const ChargeLabel& label) const { return by_label_.contains(label); }
  // Charged for an update of this owner.
  bool HoldsForSealing(const ChargeLabel& label) const {
    const auto charged = by_label_.find(label);
    return charged != by_label_.end() && entries_[charged->second].kind == ChargeKind::kSealing;
  }
  // Charged or refused.
  bool Knows(const ChargeLabel& label) const { return Holds(label) || refused_.contains(label); }
  // One ledger stands for one member of a manifest: FailedPrecondition when it was charged for
  // another one.
  absl::Status CheckMember(const AttemptCost& cost) const;
  // Releases charged for one training of a federation, under whichever manifests.
  uint64_t ChargesOf(const crypto::Digest& federation, uint32_t training = 0) const;

 private:
  PrivacyLedger(LedgerHeader header, std::unique_ptr<LedgerStore> store,
                accounting::PrivacyFilter spending, base::UnixClock clock);

  absl::Status CheckUsable() const;
  absl::Status CheckCharge(const AttemptCost& cost, const LedgerEntry& entry) const;
  // Charges go on under the federation's last epoch or a later one, and under one manifest an
  // epoch.
  absl::Status CheckEpoch(const AttemptCost& cost, uint32_t epoch) const;
  // An error of the store. One that may pass leaves the next turn to find out what is there.
  absl::Status Failed(const absl::Status& status);
  // Does `act` while no other process charges, knowing all charges.
  absl::Status InTurn(const std::function<absl::Status()>& act);
  absl::Status ChargeInTurn(const AttemptCost& cost, const LedgerEntry& entry,
                            std::span<const secagg::AttemptNumber> announced);
  // What is known of the attempt already; nothing when it has to be charged.
  std::optional<absl::Status> Earlier(const LedgerEntry& entry) const;
  absl::Status CheckRoom(const AttemptCost& cost);
  absl::Status CatchUp(const AttemptCost& cost, const secagg::AttemptNumber& now,
                       std::span<const secagg::AttemptNumber> announced);
  absl::Status Append(LedgerRecord record);
  // What was charged in one epoch of a federation.
  struct KnownEpoch {
    crypto::Digest manifest_hash{};
    uint32_t member = kEveryMember;
    uint32_t last_round = 0;
    uint64_t charges = 0;
    std::optional<ChargingRule> rule;  // of the first charge; none: attempts were refused only
  };
  using KnownEpochs = std::map<uint32_t, KnownEpoch>;
  // Of a charge or a refusal.
  template <typename Record>
  KnownEpoch& See(const Record& record);
  // The epochs of a training that are known, in order: those from its first one on. None follows
  // it, since an epoch before the last one is not charged.
  KnownEpochs EpochsOf(const crypto::Digest& federation, uint32_t training) const;
  uint64_t Now() const;
  // Of the year that ends now.
  absl::Status LeaveOldYears();

  // DataLoss for what no ledger can hold.
  absl::Status Remember(const LedgerRecord& record);
  absl::Status Remember(const LedgerEntry& entry);
  absl::Status Remember(const LedgerRefusal& refusal);
  absl::Status Remember(const LedgerPolicy& policy);

  LedgerHeader header_;
  std::unique_ptr<LedgerStore> store_;
  base::UnixClock clock_;
  absl::Status failure_;  // of the store, for good

  std::vector<LedgerEntry> entries_;
  std::vector<LedgerRefusal> refusals_;
  std::optional<LedgerPolicy> policy_;
  std::map<ChargeLabel, size_t> by_label_;  // index into entries_
  std::set<ChargeLabel> refused_;
  std::map<crypto::Digest, secagg::AttemptNumber> last_;  // of each manifest
  std::map<crypto::Digest, KnownEpochs> epochs_;          // by federation

  accounting::PrivacyFilter spending_;
  struct Year {
    YearlyBudget budget;
    accounting::PrivacyFilter spending;
    size_t begins = 0;  // index of its first charge in entries_
  };
  std::optional<Year> year_;
  // Training with a budget of its own; the first `counted` entries of the ledger are in it.
  struct OwnBudget {
    accounting::PrivacyFilter spending;
    size_t counted = 0;
  };
  std::map<std::pair<crypto::Digest, uint32_t>, OwnBudget> trainings_;  // federation, training
};

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_PRIVACY_LEDGER_H_
