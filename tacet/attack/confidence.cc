#include "tacet/attack/confidence.h"

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/beta.hpp>

namespace tacet::attack {

Interval ExactInterval(uint64_t successes, uint64_t trials, double confidence) {
  if (trials == 0) return {};
  const double missed = (1 - confidence) / 2;
  const auto right = static_cast<double>(successes);
  const auto wrong = static_cast<double>(trials - successes);
  return {.low = successes == 0 ? 0 : boost::math::ibeta_inv(right, wrong + 1, missed),
          .high = successes == trials ? 1 : boost::math::ibetac_inv(right + 1, wrong, missed)};
}

Interval AreaInterval(double area, uint64_t positives, uint64_t negatives, double confidence) {
  if (positives == 0 || negatives == 0) return {};
  const auto members = static_cast<double>(positives);
  const auto others = static_cast<double>(negatives);
  // Both of two positives, and both of two negatives, on the right side of one of the other kind.
  const double two_positives = area / (2 - area) - area * area;
  const double two_negatives = 2 * area * area / (1 + area) - area * area;
  const double variance =
      (area * (1 - area) + (members - 1) * two_positives + (others - 1) * two_negatives) /
      (members * others);
  const double z = boost::math::quantile(boost::math::normal(), (1 + confidence) / 2);
  const double reach = z * std::sqrt(std::max(0.0, variance));
  return {.low = std::max(0.0, area - reach), .high = std::min(1.0, area + reach)};
}

}  // namespace tacet::attack
