#include "tacet/ledger/ledger_budgets.h"

#include "tacet/base/status.h"

namespace tacet::ledger {

using accounting::PrivacyFilter;

absl::StatusOr<LedgerBudgets> LedgerBudgets::Create(const LedgerHeader& header,
                                                    std::optional<YearlyBudget> year) {
  TACET_ASSIGN_OR_RETURN(PrivacyFilter spending, PrivacyFilter::Create(header.spending));
  std::optional<Year> of_year;
  if (year.has_value()) {
    TACET_ASSIGN_OR_RETURN(PrivacyFilter filter,
                           PrivacyFilter::Create({.budget_epsilon = year->epsilon,
                                                  .delta = year->delta,
                                                  .composition = header.spending.composition}));
    of_year = Year{.budget = *std::move(year), .spending = std::move(filter)};
  }
  return LedgerBudgets(std::move(spending), std::move(of_year), header.spending.budget_epsilon > 0);
}

absl::Status LedgerBudgets::Add(const LedgerEntry& entry) {
  TACET_RETURN_IF_ERROR(spending_.Add(entry.event, entry.count));
  return year_.has_value() ? year_->spending.Add(entry.event, entry.count) : absl::OkStatus();
}

absl::Status LedgerBudgets::CheckKind(const AttemptCost& cost) {
  return spending_.CheckRoomFor(cost.event, 0);
}

absl::Status LedgerBudgets::CheckRoom(const AttemptCost& cost, std::span<const LedgerEntry> entries,
                                      const base::UnixClock& clock) {
  TACET_RETURN_IF_ERROR(spending_.CheckRoomFor(cost.event, 1));
  if (year_.has_value()) {
    TACET_RETURN_IF_ERROR(LeaveOldYears(entries, clock()));
    TACET_RETURN_IF_ERROR(
        base::Annotate(year_->spending.CheckRoomFor(cost.event, 1), year_->budget.source));
  }
  if (!cost.budget.has_value()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(PrivacyFilter* const own, OwnSpending(cost, entries));
  return base::Annotate(own->CheckRoomFor(cost.budget->event, 1),
                        "the training's own budget (privacy.budget_epsilon of its agreement)");
}

absl::Status LedgerBudgets::LeaveOldYears(std::span<const LedgerEntry> entries, uint64_t now) {
  for (size_t& first = year_->begins; first < entries.size(); ++first) {
    const LedgerEntry& entry = entries[first];
    if (now - entry.time < kSecondsAYear) break;
    TACET_RETURN_IF_ERROR(year_->spending.Remove(entry.event, entry.count));
  }
  return absl::OkStatus();
}

absl::StatusOr<PrivacyFilter*> LedgerBudgets::OwnSpending(const AttemptCost& cost,
                                                          std::span<const LedgerEntry> entries) {
  const std::pair training(cost.federation, cost.training);
  auto own = trainings_.find(training);
  if (own == trainings_.end()) {
    TACET_ASSIGN_OR_RETURN(PrivacyFilter filter, PrivacyFilter::Create(cost.budget->terms));
    own = trainings_.emplace(training, OwnBudget{.spending = std::move(filter)}).first;
  }
  PrivacyFilter& filter = own->second.spending;
  for (size_t& next = own->second.counted; next < entries.size(); ++next) {
    const LedgerEntry& entry = entries[next];
    if (!IsOfTraining(entry, cost.federation, cost.training)) continue;
    TACET_RETURN_IF_ERROR(
        filter.Add(cost.BudgetEventUnder(entry.label.manifest_hash), entry.count));
  }
  return &filter;
}

}  // namespace tacet::ledger
