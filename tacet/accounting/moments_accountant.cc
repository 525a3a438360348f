#include "tacet/accounting/moments_accountant.h"

#include <cmath>

#include "tacet/accounting/log_math.h"
#include "tacet/accounting/log_moments.h"
#include "tacet/base/status.h"

namespace tacet::accounting {

absl::Status CheckDelta(double delta) {
  if (!(delta > 0 && delta < 1)) {
    return base::InvalidArgument("delta is {}, expected a probability above 0 and below 1", delta);
  }
  return absl::OkStatus();
}

absl::StatusOr<MomentsAccountant> MomentsAccountant::Create(const SamplingEvent& event,
                                                            int max_order) {
  return CreateForMixture({{.probability = 1, .event = event}}, max_order);
}

absl::StatusOr<MomentsAccountant> MomentsAccountant::CreateForMixture(
    const std::vector<WeightedEvent>& mixture, int max_order) {
  TACET_RETURN_IF_ERROR(CheckMixture(mixture));
  if (max_order < 1 || max_order > kMaxOrders) {
    return base::InvalidArgument("the highest order is {}, expected 1 to {}", max_order,
                                 kMaxOrders);
  }
  bool releases_nothing = true;
  for (const WeightedEvent& part : mixture) {
    releases_nothing &= part.probability == 0 || part.event.sampling_rate == 0;
  }
  const std::vector<WeightedEvent> parts = GroupMixture(mixture, GroupedFor::kUpperBound);
  std::vector<double> log_moments(max_order);
  for (int order = 1; order <= max_order; ++order) {
    double log_excess = -kInfinity;  // of the mean moment over 1
    for (const WeightedEvent& part : parts) {
      const double log_moment = LogMoment(part.event, order);
      if (log_moment > 0) {
        log_excess = LogAddExp(log_excess, std::log(part.probability) + LogExpm1(log_moment));
      }
    }
    const double log_mean = LogOnePlusExp(log_excess);
    log_moments[order - 1] = std::isnan(log_mean) ? kInfinity : log_mean;
  }
  return MomentsAccountant(std::move(log_moments), releases_nothing);
}

absl::StatusOr<MomentsResult> MomentsAccountant::Epsilon(uint64_t rounds, double delta) const {
  TACET_RETURN_IF_ERROR(CheckDelta(delta));
  if (rounds == 0 || releases_nothing_) {
    return MomentsResult{.epsilon = 0, .order = 0};
  }
  MomentsResult best{.epsilon = kInfinity, .order = 0};
  for (int order = 1; order <= max_order(); ++order) {
    const double epsilon =
        (static_cast<double>(rounds) * log_moments_[order - 1] - std::log(delta)) / order;
    if (epsilon < best.epsilon) {
      best = {.epsilon = epsilon, .order = order};
    }
  }
  return best;
}

absl::StatusOr<MomentsResult> MomentsEpsilon(const SamplingEvent& event, uint64_t rounds,
                                             double delta) {
  TACET_ASSIGN_OR_RETURN(MomentsAccountant accountant, MomentsAccountant::Create(event));
  return accountant.Epsilon(rounds, delta);
}

}  // namespace tacet::accounting
