// Budgets of a ledger: of its population, of any year, and of trainings that have their own.
#ifndef TACET_LEDGER_LEDGER_BUDGETS_H_
#define TACET_LEDGER_LEDGER_BUDGETS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_filter.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/hash.h"
#include "tacet/ledger/attempt_cost.h"
#include "tacet/ledger/ledger_format.h"

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

class LedgerBudgets {
 public:
  static absl::StatusOr<LedgerBudgets> Create(const LedgerHeader& header,
                                              std::optional<YearlyBudget> year);

  // For all charges.
  const accounting::PrivacyFilter& spending() const { return spending_; }
  std::optional<YearlyBudget> year() const {
    return year_.has_value() ? std::optional(year_->budget) : std::nullopt;
  }
  // Whether the population or the year has a budget.
  bool limits_charges() const { return limits_population_ || year_.has_value(); }

  // Whether one more attempt at this cost exceeds the year's budget and not the population's, as
  // CheckRoom found last.
  bool OnlyYearIsSpent(const AttemptCost& cost) {
    return year_.has_value() && !year_->spending.CheckRoomFor(cost.event, 1).ok() &&
           spending_.CheckRoomFor(cost.event, 1).ok();
  }

  absl::Status Add(const LedgerEntry& entry);
  // FailedPrecondition for an event of a kind that the ledger cannot add up.
  absl::Status CheckKind(const AttemptCost& cost);
  // ResourceExhausted where one more attempt at this cost exceeds a budget. `entries` are all
  // charges so far; the clock is asked where a year has a budget.
  absl::Status CheckRoom(const AttemptCost& cost, std::span<const LedgerEntry> entries,
                         const base::UnixClock& clock);

 private:
  struct Year {
    YearlyBudget budget;
    accounting::PrivacyFilter spending;
    size_t begins = 0;  // index of its first charge
  };
  // Training with a budget of its own; the first `counted` charges of the ledger are in it.
  struct OwnBudget {
    accounting::PrivacyFilter spending;
    size_t counted = 0;
  };

  LedgerBudgets(accounting::PrivacyFilter spending, std::optional<Year> year, bool limited)
      : spending_(std::move(spending)), year_(std::move(year)), limits_population_(limited) {}

  // For the year that ends now.
  absl::Status LeaveOldYears(std::span<const LedgerEntry> entries, uint64_t now);
  absl::StatusOr<accounting::PrivacyFilter*> OwnSpending(const AttemptCost& cost,
                                                         std::span<const LedgerEntry> entries);

  accounting::PrivacyFilter spending_;
  std::optional<Year> year_;
  bool limits_population_;
  std::map<std::pair<crypto::Digest, uint32_t>, OwnBudget> trainings_;  // federation, training
};

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_LEDGER_BUDGETS_H_
