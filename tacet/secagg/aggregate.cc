#include "tacet/secagg/aggregate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tacet/base/status.h"

namespace tacet::secagg {

AggregateBound::AggregateBound(const dp::MechanismPlan& plan, uint32_t participants)
    : scale_(plan.spec().params.scale),
      centre_(static_cast<int64_t>(participants * plan.offset())),
      participants_(participants) {
  const dp::MechanismSpec& spec = plan.spec();
  const double most = participants * spec.params.coordinate_bound;  // of the sum of the updates
  const double stddev = plan.sum_stddev(participants, most);
  largest_ = most + 10 * stddev;
  largest_square_ = std::numeric_limits<double>::infinity();
  if (!spec.params.without_clipping && !spec.sums_of_clipped) {
    const auto d = static_cast<double>(spec.dimension);
    const double norm = participants * spec.params.clip_norm;
    const double variance = stddev * stddev;
    largest_square_ =
        d * variance + 8 * variance * std::sqrt(2 * d) + 16 * stddev * norm + norm * norm;
  }
}

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
  if (!(seen_ <= largest_)) {
    return base::DataLoss(
        "a coordinate of the sum of {} updates is {:.4g}, honest sums stay within {:.4g}: a "
        "participant sent more than clipping allows",
        participants_, seen_, largest_);
  }
  if (!(seen_square_ <= largest_square_)) {
    return base::DataLoss(
        "the sum of {} updates has norm {:.4g}, honest sums stay within {:.4g}: a participant sent "
        "more than clipping allows",
        participants_, std::sqrt(seen_square_), std::sqrt(largest_square_));
  }
  return absl::OkStatus();
}

}  // namespace tacet::secagg
