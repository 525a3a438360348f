// Random points of the acceptance tests of Poisson draws, the exact one compared with 200 bits.
// Tests only.
#ifndef TACET_DP_ACCEPTANCE_POINTS_FOR_TEST_H_
#define TACET_DP_ACCEPTANCE_POINTS_FOR_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tacet/crypto/random.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/poisson_trial.h"
#include "tacet/dp/reference_for_test.h"

namespace tacet::dp::testing {

// Largest absolute errors of log(acceptance) within 12 and within 5 standard deviations of the
// count, and of the quick verdict's against it.
struct AcceptanceErrors {
  double within_12 = 0;
  double within_5 = 0;
  double quick = 0;
};

inline double Fraction(crypto::Random& random) {
  return (static_cast<double>(random.NextU64() >> 11) + 0.5) * 0x1p-53;
}

// Rates spread evenly in logarithm, half of them over [10, 2^31) and half over [10, 14], where the
// second test's series are worst; normal draws evenly over their whole range.
inline AcceptanceErrors MeasureAcceptance(uint64_t seed, int points) {
  crypto::InsecureSeededEntropy entropy(seed, "acceptance");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  AcceptanceErrors errors;
  for (int i = 0; i < points; ++i) {
    const double rate = 10.0 * std::exp(Fraction(random) * (i % 2 == 0 ? 19.18 : 0.336));
    const double normal = GaussianBound(GaussianSampler::kDefault) * (2.0 * Fraction(random) - 1.0);
    const double k = PoissonCandidate(rate, normal);
    if (k < 0) continue;
    const double computed = PoissonLogAcceptance(rate, k, normal);
    const double error =
        std::abs(static_cast<double>(Real(computed) - ReferenceLogAcceptance(rate, k, normal)));
    const double z = std::abs(k - rate) / std::sqrt(rate);
    if (z <= 12) errors.within_12 = std::max(errors.within_12, error);
    if (z <= 5) errors.within_5 = std::max(errors.within_5, error);
    const float difference = static_cast<float>(k - rate);
    const float sum = 2.0f * static_cast<float>(rate) + difference;
    const float v = difference * (1.0f / sum);
    if (v * v >= kQuickRange) continue;
    const float quick =
        QuickLogAcceptance(difference, sum, static_cast<float>(normal), PoissonRoot(rate));
    errors.quick = std::max(errors.quick, std::abs(static_cast<double>(quick) - computed));
  }
  return errors;
}

}  // namespace tacet::dp::testing

#endif  // TACET_DP_ACCEPTANCE_POINTS_FOR_TEST_H_
