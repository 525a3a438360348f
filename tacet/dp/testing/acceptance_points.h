// Random points of PTRS' acceptance test, compared with 200 bits. Tests only.
#ifndef TACET_DP_TESTING_ACCEPTANCE_POINTS_H_
#define TACET_DP_TESTING_ACCEPTANCE_POINTS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tacet/crypto/random.h"
#include "tacet/dp/elementary.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/testing/reference.h"

namespace tacet::dp::testing {

// Largest absolute errors of log(acceptance) within 12 and within 5 standard deviations.
struct AcceptanceErrors {
  double within_12 = 0;
  double within_5 = 0;
};

inline double Fraction(crypto::Random& random) {
  return (static_cast<double>(random.NextU64() >> 11) + 0.5) * 0x1p-53;
}

// Rates spread evenly in logarithm over [10, 2^31), k over +-12 standard deviations, t over (0,
// 1/2].
inline AcceptanceErrors MeasureAcceptance(uint64_t seed, int points) {
  crypto::InsecureSeededEntropy entropy(seed, "acceptance");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  AcceptanceErrors errors;
  for (int i = 0; i < points; ++i) {
    const double rate = 10.0 * std::exp(Fraction(random) * 19.18);
    const double z = 24.0 * Fraction(random) - 12.0;
    const double k = std::floor(rate + z * std::sqrt(rate));
    if (k < 0) continue;
    const double t = 0.5 * std::pow(Fraction(random), 3);
    const PoissonHat hat = PoissonHat::For(rate);
    const PoissonAcceptance acceptance = PoissonAcceptance::For(hat, k, t, rate);
    const double computed = -0.5 * Log(acceptance.factor) - acceptance.exponent;
    const double error =
        std::abs(static_cast<double>(Real(computed) - ReferenceLogAcceptance(hat, k, t, rate)));
    errors.within_12 = std::max(errors.within_12, error);
    if (std::abs(z) <= 5) errors.within_5 = std::max(errors.within_5, error);
  }
  return errors;
}

}  // namespace tacet::dp::testing

#endif  // TACET_DP_TESTING_ACCEPTANCE_POINTS_H_
