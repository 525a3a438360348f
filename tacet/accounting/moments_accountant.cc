#include "tacet/accounting/moments_accountant.h"

#include <algorithm>
#include <cmath>

#include "tacet/accounting/log_math.h"
#include "tacet/accounting/log_moments.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

bool ReleasesNothing(const std::vector<WeightedEvent>& mixture) {
  return std::ranges::all_of(mixture, [](const WeightedEvent& part) {
    return part.probability == 0 || part.event.sampling_rate == 0;
  });
}

// alpha(order) of a round, by its parts as GroupMixture makes them.
double LogMomentOfRound(const std::vector<WeightedEvent>& parts, int order) {
  double log_excess = -kInfinity;  // of the mean moment over 1
  for (const WeightedEvent& part : parts) {
    const double log_moment = LogMoment(part.event, order);
    if (log_moment > 0) {
      log_excess = LogAddExp(log_excess, std::log(part.probability) + LogExpm1(log_moment));
    }
  }
  const double log_mean = LogOnePlusExp(log_excess);
  return std::isnan(log_mean) ? kInfinity : log_mean;
}

}  // namespace

absl::StatusOr<MomentsResult> MomentsEpsilon(const std::vector<RepeatedEvent>& stream, double delta,
                                             int max_order) {
  TACET_RETURN_IF_ERROR(CheckStream(stream));
  TACET_RETURN_IF_ERROR(CheckDelta(delta));
  if (max_order < 1 || max_order > kMaxMomentsOrders) {
    return base::InvalidArgument("the highest order is {}, expected 1 to {}", max_order,
                                 kMaxMomentsOrders);
  }
  std::vector<double> log_moments(max_order);
  bool releases_nothing = true;
  for (const RepeatedEvent& repeated : stream) {
    if (repeated.count == 0 || ReleasesNothing(repeated.round)) continue;
    releases_nothing = false;
    const auto parts = GroupMixture(repeated.round, GroupedFor::kUpperBound);
    for (int order = 1; order <= max_order; ++order) {
      log_moments[order - 1] +=
          static_cast<double>(repeated.count) * LogMomentOfRound(parts, order);
    }
  }
  if (releases_nothing) return MomentsResult{.epsilon = 0, .order = 0};
  MomentsResult best{.epsilon = kInfinity, .order = 0};
  for (int order = 1; order <= max_order; ++order) {
    const double epsilon = (log_moments[order - 1] - std::log(delta)) / order;
    if (epsilon < best.epsilon) best = {.epsilon = epsilon, .order = order};
  }
  return best;
}

}  // namespace tacet::accounting
