#include "tacet/dp/precision.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tacet::dp {

double RoundingOfDraw(const DrawRates& rates) {
  const double units =
      std::max(18 * std::sqrt(rates.largest), 20 * rates.bound / std::sqrt(rates.least));
  return 0x1p-53 * units + 1e-14;
}

double PrecisionEpsilon(double rho, double draws, double delta1) {
  return rho * std::sqrt(-2.0 * draws * std::log(delta1)) + 0.5 * draws * rho * rho;
}

double PrecisionDelta(double epsilon1, double epsilon, double delta, double delta1) {
  return std::expm1(epsilon1) * delta + (1.0 + std::exp(epsilon + epsilon1)) * delta1;
}

double TruncationTerm(double draws, double z, double epsilon) {
  return draws * std::erfc(z / std::numbers::sqrt2) * (1.0 + std::exp(epsilon));
}

}  // namespace tacet::dp
