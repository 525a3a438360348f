#include "tacet/secagg/aggregate.h"

#include <algorithm>
#include <cmath>

#include "tacet/base/status.h"

namespace tacet::secagg {

AggregateBound::AggregateBound(const dp::MechanismPlan& plan, uint32_t participants)
    : scale_(plan.spec().params.scale),
      centre_(static_cast<int64_t>(participants * plan.offset())),
      limits_(dp::SumLimitsOf(plan, participants)),
      participants_(participants),
      counts_units_(plan.spec().sums_of_clipped) {}

void AggregateBound::Append(std::span<const uint64_t> sums) {
  double largest = 0;
  double square = 0;
  for (const uint64_t sum : sums) {
    const double x = static_cast<double>(static_cast<int64_t>(sum) - centre_);
    largest = std::max(largest, std::abs(x));
    square += x * x;
  }
  seen_ = std::max(seen_, scale_ * largest);
  seen_square_ += scale_ * scale_ * square;
}

absl::Status AggregateBound::Check() const {
  if (!(seen_ <= limits_.coordinate)) {
    return base::DataLoss(
        "a coordinate of the sum of {} updates is {:.4g}, honest sums stay within {:.4g}: a "
        "participant sent more than clipping allows",
        participants_, seen_, limits_.coordinate);
  }
  if (!(seen_square_ <= limits_.norm * limits_.norm)) {
    return base::DataLoss(
        "the sum of {} updates has norm {:.4g}, honest sums stay within {:.4g}: a participant sent "
        "more than clipping allows{}",
        participants_, std::sqrt(seen_square_), limits_.norm,
        counts_units_ ? ", or the sites have more units than the agreement's expected_batch says"
                      : "");
  }
  return absl::OkStatus();
}

}  // namespace tacet::secagg
