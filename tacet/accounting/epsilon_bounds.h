// Bounds of epsilon for a stream of events: one row an accountant, and the headline. This is the
// only place where events become an epsilon; tools/check_includes.py keeps the accountants'
// headers out of other files.
#ifndef TACET_ACCOUNTING_EPSILON_BOUNDS_H_
#define TACET_ACCOUNTING_EPSILON_BOUNDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

// kMoments is the paper's. For cohorts whose size is known its moments are those of one pair of
// data sets that is not proved to be the worst: its rows are then a convention, for comparison.
// kFixedOrderRdp and kGaussianFilter are the judges of a privacy filter (privacy_filter.h). kBudget
// is the budget of the agreement, at which members stop: it bounds epsilon without a computation.
enum class Accountant {
  kMoments,
  kRdp,
  kPld,
  kFixedSizeTight,
  kFixedOrderRdp,
  kGaussianFilter,
  kBudget
};

// Those that a stream of events can be asked about.
inline constexpr Accountant kAccountants[] = {Accountant::kMoments, Accountant::kRdp,
                                              Accountant::kPld, Accountant::kFixedSizeTight};

// moments, rdp, pld, fixed-size-tight, fixed-order-rdp, gaussian-filter, budget.
std::string_view AccountantName(Accountant accountant);

struct EpsilonBound {
  Accountant accountant = Accountant::kMoments;
  double epsilon = 0;                        // infinity: no finite bound
  std::optional<double> epsilon_lower = {};  // the true epsilon is at least this, if known
  // Where it is anybody's choice how many clients are here: the constant number that attains
  // `epsilon_lower`.
  std::optional<uint64_t> attained_here = {};
  double order = 0;       // of the minimum, for accountants with orders
  bool is_proved = true;  // false: never the headline; `note` says why
  std::string note = {};
};

struct EpsilonBounds {
  std::vector<EpsilonBound> rows = {};

  // The smallest proved bound: a minimum over valid bounds is valid, and no accountant is always
  // the smallest. Of equal ones the first. Null when there is none.
  const EpsilonBound* headline() const;
  // Epsilon of the headline; infinity without one.
  double epsilon() const;
  // Null when the accountant has no row.
  const EpsilonBound* Of(Accountant accountant) const;
};

// More kinds of rounds than these are not asked of the accountant: it would take seconds.
inline constexpr size_t kMaxPldRounds = 16;
inline constexpr size_t kMaxRdpRounds = 256;

// A row for each of `accountants` (of kAccountants), in their order. An accountant has none where
// it does not apply (fixed-size-tight), where the stream has too many kinds of rounds for it, and
// where an earlier one's proved bound is at most `enough`. An empty stream costs 0.
// InvalidArgument when the stream or delta is out of range.
absl::StatusOr<EpsilonBounds> BoundEpsilon(const std::vector<RepeatedEvent>& stream, double delta,
                                           std::span<const Accountant> accountants = kAccountants,
                                           double enough = -1);

// An upper bound alone, by the losses' distribution, for a search that asks often: in a tenth of
// the time. Infinity where the stream has too many kinds of rounds.
absl::StatusOr<double> UpperEpsilon(const std::vector<RepeatedEvent>& stream, double delta);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_EPSILON_BOUNDS_H_
