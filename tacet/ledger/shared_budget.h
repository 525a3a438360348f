// One privacy budget for several runs of a process. Each run is charged before it begins, with all
// attempts that its agreement permits, and its end gives back those that were not made.
#ifndef TACET_LEDGER_SHARED_BUDGET_H_
#define TACET_LEDGER_SHARED_BUDGET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include <sys/types.h>

#include "tacet/accounting/privacy_event.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/agreement/manifest.h"
#include "tacet/base/mutex.h"

namespace tacet::ledger {

struct BudgetTerms {
  accounting::Unit unit = accounting::Unit::kClient;
  accounting::Neighbouring neighbouring = accounting::Neighbouring::kReplaceOne;
  double epsilon = 0;   // > 0, finite
  double delta = 1e-5;  // in (0, 1)
};

// A run that was charged to a budget.
struct BudgetedRun {
  std::string name;
  accounting::SamplingEvent event;  // of one attempt
  uint64_t attempts = 0;            // charged; all permitted ones while the run continues
  bool ended = false;
};

class SharedBudget;

// The charge of one run. Without an end it stays at all permitted attempts.
class RunCharge {
 public:
  RunCharge(std::shared_ptr<SharedBudget> budget, size_t run, uint64_t permitted)
      : budget_(std::move(budget)), run_(run), permitted_(permitted) {}
  RunCharge(const RunCharge&) = delete;
  RunCharge& operator=(const RunCharge&) = delete;
  ~RunCharge();

  // Attempts made so far. To be told before anything of the last one is drawn or sealed.
  void Made(uint64_t attempts) { made_ = attempts; }
  uint64_t made() const { return made_; }

 private:
  std::shared_ptr<SharedBudget> budget_;
  size_t run_;
  uint64_t permitted_;
  uint64_t made_ = 0;
};

// Composition is that of ledgers with any events (accounting::PrivacyFilter): runs may be chosen
// after results of earlier ones were seen. Thread-safe. Of one process: a forked one would count
// apart from it, and is refused.
class SharedBudget : public std::enable_shared_from_this<SharedBudget> {
 public:
  // InvalidArgument names the term, its value and its range.
  static absl::StatusOr<std::shared_ptr<SharedBudget>> Create(const BudgetTerms& terms);
  SharedBudget(const SharedBudget&) = delete;
  SharedBudget& operator=(const SharedBudget&) = delete;

  // Charges all attempts of a run, or nothing. InvalidArgument where its unit or neighbours are
  // not the budget's; ResourceExhausted where the attempts do not fit, with the noise that would;
  // FailedPrecondition in a forked process.
  absl::StatusOr<std::unique_ptr<RunCharge>> Charge(std::string_view name,
                                                    const agreement::ManifestSpec& agreed);

  // Epsilon of all charges. While all are of one event, the smallest bound of all accountants, else
  // that of the filter. FailedPrecondition in a forked process.
  absl::StatusOr<double> Spent() const;
  // The largest epsilon of one more Gaussian release without sampling that would be admitted, at
  // the budget's delta; 0 when none is. FailedPrecondition in a forked process.
  absl::StatusOr<double> Remaining() const;
  // In the order of their charges. FailedPrecondition in a forked process.
  absl::StatusOr<std::vector<BudgetedRun>> Runs() const;

  const BudgetTerms& terms() const { return terms_; }

 private:
  friend class RunCharge;

  SharedBudget(const BudgetTerms& terms, accounting::PrivacyFilter filter);

  absl::Status CheckProcess() const;
  absl::StatusOr<accounting::PrivacyFilter> Filter() const;
  void End(size_t run, uint64_t unmade);

  const BudgetTerms terms_;
  const pid_t process_;
  mutable base::Mutex mutex_;
  accounting::PrivacyFilter filter_ ABSL_GUARDED_BY(mutex_);
  std::vector<BudgetedRun> runs_ ABSL_GUARDED_BY(mutex_);
};

// A budget that a run is charged to, and the name of the run there.
struct BudgetUse {
  std::shared_ptr<SharedBudget> budget = nullptr;  // null: none
  std::string name = {};
};

}  // namespace tacet::ledger

#endif  // TACET_LEDGER_SHARED_BUDGET_H_
