// Privacy ledger of a data owner. It is charged before anything is sealed, and it refuses a charge
// beyond the budget.
#ifndef TACET_LEDGER_PRIVACY_LEDGER_H_
#define TACET_LEDGER_PRIVACY_LEDGER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_filter.h"
#include "tacet/base/unix_clock.h"
#include "tacet/ledger/attempt_cost.h"
#include "tacet/ledger/ledger_book.h"
#include "tacet/ledger/ledger_budgets.h"
#include "tacet/ledger/ledger_format.h"
#include "tacet/ledger/ledger_store.h"
#include "tacet/secagg/attempt.h"

namespace tacet::ledger {

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

  // After a refusal: whether it is the year's budget that refuses, not the population's.
  bool OnlyYearIsSpent(const AttemptCost& cost) { return budgets_.OnlyYearIsSpent(cost); }

  // Writes down the policy under which charges are made. The same again changes nothing.
  // FailedPrecondition when the ledger knows a later one, or another with this serial number.
  absl::Status AdoptPolicy(const crypto::Digest& digest, uint64_t serial);

  const LedgerHeader& header() const { return book_.header(); }
  const std::vector<LedgerEntry>& entries() const { return book_.entries(); }
  const std::vector<LedgerRefusal>& refusals() const { return book_.refusals(); }
  const std::optional<LedgerPolicy>& policy() const { return book_.policy(); }
  const accounting::PrivacyFilter& spending() const { return budgets_.spending(); }
  std::optional<YearlyBudget> year() const { return budgets_.year(); }
  // The others are LedgerBook's.
  bool Holds(const ChargeLabel& label) const { return book_.Holds(label); }
  bool HoldsForSealing(const ChargeLabel& label) const { return book_.HoldsForSealing(label); }
  bool Knows(const ChargeLabel& label) const { return book_.Knows(label); }
  absl::Status CheckMember(const AttemptCost& cost) const { return book_.CheckMember(cost); }
  uint64_t ChargesOf(const crypto::Digest& federation, uint32_t training = 0) const {
    return book_.ChargesOf(federation, training);
  }

 private:
  PrivacyLedger(LedgerHeader header, std::unique_ptr<LedgerStore> store, LedgerBudgets budgets,
                base::UnixClock clock)
      : store_(std::move(store)),
        clock_(std::move(clock)),
        book_(std::move(header)),
        budgets_(std::move(budgets)) {}

  absl::Status CheckUsable() const;
  // An error of the store. One that may pass leaves the next turn to find out what is there.
  absl::Status Failed(const absl::Status& status);
  // Does `act` while no other process charges, knowing all charges.
  absl::Status InTurn(const std::function<absl::Status()>& act);
  absl::Status ChargeInTurn(const AttemptCost& cost, const LedgerEntry& entry,
                            std::span<const secagg::AttemptNumber> announced);
  absl::Status CatchUp(const AttemptCost& cost, const secagg::AttemptNumber& now,
                       std::span<const secagg::AttemptNumber> announced);
  absl::Status Append(LedgerRecord record);
  // DataLoss for what no ledger can hold.
  absl::Status Remember(const LedgerRecord& record);
  uint64_t Now() const;

  std::unique_ptr<LedgerStore> store_;
  base::UnixClock clock_;
  absl::Status failure_;  // of the store, permanent
  LedgerBook book_;
  LedgerBudgets budgets_;
};

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_PRIVACY_LEDGER_H_
