#include "apps/tacet/attack/bound_comparison.h"

#include <algorithm>

#include "fmt/format.h"

#include "tacet/base/status.h"

namespace tacet::app::attack {

std::string_view BoundVerdictName(BoundVerdict verdict) {
  switch (verdict) {
    case BoundVerdict::kWithin:
      return "within";
    case BoundVerdict::kUndecided:
      return "undecided";
    case BoundVerdict::kExceeded:
      return "exceeded";
  }
  return "";
}

double LimitConfidence(double joint, size_t comparisons) {
  return 1 - (1 - joint) / (2 * static_cast<double>(std::max<size_t>(comparisons, 1)));
}

absl::StatusOr<BoundComparison> CompareWithBound(const tacet::attack::OperatingPoint& point,
                                                 const TruePositiveBound& bound,
                                                 double confidence) {
  BoundComparison comparison{
      .false_positive_rate_at_most = point.FalsePositiveRateAtMost(confidence),
      .true_positive_rate_at_least = point.TruePositiveRateAtLeast(confidence)};
  if (comparison.false_positive_rate_at_most < 1) {
    TACET_ASSIGN_OR_RETURN(comparison.bound, bound(comparison.false_positive_rate_at_most));
  }
  if (comparison.true_positive_rate_at_least > comparison.bound) {
    comparison.verdict = BoundVerdict::kExceeded;
  } else if (point.true_positive_rate() > comparison.bound) {
    comparison.verdict = BoundVerdict::kUndecided;
  }
  return comparison;
}

std::string ConclusionOf(std::span<const BoundComparison> comparisons, double joint) {
  const auto count = [&](BoundVerdict verdict) {
    return std::ranges::count(comparisons, verdict, &BoundComparison::verdict);
  };
  const double confidence = 100 * joint;
  if (const auto exceeded = count(BoundVerdict::kExceeded); exceeded > 0) {
    return fmt::format(
        "THE BOUND IS EXCEEDED in {} of {} comparisons, at a joint confidence of {:g} %: either "
        "the run did not do what its accounting says, or the candidates are not what this test "
        "takes them for; do not rely on epsilon before this is understood",
        exceeded, comparisons.size(), confidence);
  }
  if (const auto undecided = count(BoundVerdict::kUndecided); undecided > 0) {
    return fmt::format(
        "no comparison exceeds the bound at the joint confidence of {:g} %; in {} of {} the "
        "measured rate is above the bound but its lower limit is not, and more candidates would "
        "decide",
        confidence, undecided, comparisons.size());
  }
  return fmt::format("the measured true-positive rate is within the bound in all {} comparisons",
                     comparisons.size());
}

}  // namespace tacet::app::attack
