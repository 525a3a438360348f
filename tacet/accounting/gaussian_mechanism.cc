#include "tacet/accounting/gaussian_mechanism.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tacet/accounting/log_math.h"

namespace tacet::accounting {

double GaussianLogDelta(double mu, double epsilon) {
  if (mu == kInfinity) {
    return 0;
  }
  if (epsilon == 0) {
    return std::log(std::erf(mu / (2 * std::numbers::sqrt2)));
  }
  return LogSubExp(LogNormalTail(epsilon / mu - mu / 2),
                   epsilon + LogNormalTail(epsilon / mu + mu / 2));
}

double GaussianEpsilon(double mu, double delta) {
  if (!(mu > 0)) {
    return 0;
  }
  if (!std::isfinite(mu)) {
    return kInfinity;
  }
  // A relative allowance for the rounding of log_delta keeps the answer on the safe side.
  const double target = std::log(delta) - 1e-12 * (1 + std::abs(std::log(delta)));
  if (GaussianLogDelta(mu, 0) <= target) {
    return 0;
  }
  double low = 0;
  double high = std::max(mu, 1.0);
  while (GaussianLogDelta(mu, high) > target) {
    low = high;
    high *= 2;
    if (!std::isfinite(high)) {
      return kInfinity;
    }
  }
  while (high - low > 1e-13 * high + 1e-300) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) {
      break;
    }
    (GaussianLogDelta(mu, middle) > target ? low : high) = middle;
  }
  return high;
}

}  // namespace tacet::accounting
