#include "tacet/dp/sum_limits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tacet/dp/sum_bound.h"

namespace tacet::dp {
namespace {

// For one limit, in all attempts: 2^-42.
constexpr double kLogRefused = -42 * std::numbers::ln2;
// Standard deviations of a normal variable that the proof leaves out: probability 1.5e-23.
constexpr double kLeftOut = 10;

double UpdatesNorm(const MechanismSpec& spec, uint32_t participants) {
  if (spec.params.without_clipping) return std::numeric_limits<double>::infinity();
  const double contributions = spec.sums_of_clipped
                                   ? spec.most_contributions
                                   : std::min<double>(participants, spec.most_contributions);
  return contributions * spec.params.clip_norm;
}

}  // namespace

SumLimits SumLimitsOf(const MechanismPlan& plan, uint32_t participants) {
  const MechanismSpec& spec = plan.spec();
  const auto d = static_cast<double>(spec.dimension);
  const double level = std::log(static_cast<double>(spec.attempts)) - kLogRefused;
  SumLimits limits{.updates_norm = UpdatesNorm(spec, participants)};
  const double most = std::min(participants * spec.params.coordinate_bound, limits.updates_norm);
  if (spec.params.noise_law == NoiseLaw::kDiscreteLaplace) {
    limits.coordinate = most + plan.LaplaceTail(participants, -level - std::log(d));
    limits.norm = std::sqrt(d) * limits.coordinate;
    return limits;
  }
  const SumBoundSpec sum{.cohort = static_cast<double>(participants),
                         .coordinate_bound = most / participants,
                         .sum_stddev = plan.participant_stddev() * std::sqrt(participants),
                         .offset = -plan.mu(),
                         .scale = spec.params.scale};
  limits.coordinate = SumTailQuantile(sum, -level - std::log(d));
  // Chernoff's method for |x|^2 needs the moments of x_i up to 2 l coordinate + sqrt(2 l) kLeftOut,
  // l < 1 / (2 v) and v at least the variance.
  const double variance = std::pow(plan.sum_stddev(participants, most), 2);
  const double v =
      SumVarianceProxy(sum, limits.coordinate / variance + kLeftOut / std::sqrt(variance));
  const double square = std::pow(limits.updates_norm, 2);
  const double tail = d + 2 * std::sqrt((d + 2 * square / v) * level) + 2 * level;
  limits.norm = std::sqrt(square + v * tail);
  const double most_norm = std::sqrt(d) * limits.coordinate;
  if (!(limits.norm < most_norm)) limits.norm = most_norm;  // also where v or N is infinite
  return limits;
}

double ReachOfOne(const MechanismPlan& plan, uint32_t participants) {
  const SumLimits limits = SumLimitsOf(plan, participants);
  const auto d = static_cast<double>(plan.spec().dimension);
  const double others = d * std::pow(plan.sum_stddev(participants - 1), 2);
  return std::min(std::sqrt(std::max(0.0, std::pow(limits.norm, 2) - others)),
                  std::sqrt(d) * limits.coordinate);
}

double MostDrawn(double expected) { return expected + 10 * std::sqrt(expected) + 30; }

}  // namespace tacet::dp
