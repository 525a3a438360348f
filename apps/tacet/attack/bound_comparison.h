// Comparison of measured operating points with the bound of a guarantee.
#ifndef TACET_APPS_TACET_ATTACK_BOUND_COMPARISON_H_
#define TACET_APPS_TACET_ATTACK_BOUND_COMPARISON_H_

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/attack/operating_point.h"

namespace tacet::app::attack {

// Largest true-positive rate at a false-positive rate in (0, 1), by the guarantee.
using TruePositiveBound = std::function<absl::StatusOr<double>(double false_positive_rate)>;

enum class BoundVerdict {
  kWithin,     // the measured true-positive rate is at most the bound
  kUndecided,  // it is above the bound, but its lower limit is not
  kExceeded,   // its lower limit is above the bound
};
std::string_view BoundVerdictName(BoundVerdict verdict);

// One row of a table: the two numbers that are compared, and what follows.
struct BoundComparison {
  double false_positive_rate_at_most = 1;
  double true_positive_rate_at_least = 0;
  double bound = 1;  // at false_positive_rate_at_most
  BoundVerdict verdict = BoundVerdict::kWithin;
};

// For each limit, such that all limits of that many comparisons (two each) hold together with
// probability `joint` (Bonferroni): 1 - (1 - joint) / (2 comparisons).
double LimitConfidence(double joint, size_t comparisons);

// Limits at `confidence` each. Where the guarantee holds, kExceeded has a probability of at most
// 2 (1 - confidence), over the choice of the candidates.
absl::StatusOr<BoundComparison> CompareWithBound(const tacet::attack::OperatingPoint& point,
                                                 const TruePositiveBound& bound, double confidence);

// The sentence that follows from all comparisons of a run; `joint` is their confidence.
std::string ConclusionOf(std::span<const BoundComparison> comparisons, double joint);

}  // namespace tacet::app::attack

#endif  // TACET_APPS_TACET_ATTACK_BOUND_COMPARISON_H_
