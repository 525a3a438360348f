// 200-bit references for the arithmetic of the samplers. Tests only.
#ifndef TACET_DP_REFERENCE_FOR_TEST_H_
#define TACET_DP_REFERENCE_FOR_TEST_H_

#include <boost/math/special_functions/bernoulli.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>

#include "tacet/dp/poisson.h"
#include "tacet/dp/poisson_trial.h"

namespace tacet::dp::testing {

using Real = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<200, boost::multiprecision::digit_base_2>,
    boost::multiprecision::et_off>;

// log k! by Stirling's series at k + 1 >= 64, by the recurrence from there down.
inline Real LogFactorial(double k) {
  Real n = Real(k) + 1;
  Real product = 1;
  while (n < 64) {
    product *= n;
    n += 1;
  }
  // log Gamma(n) = (n - 1/2) log n - n + log(2 pi)/2 + sum B_2j / (2j (2j - 1) n^(2j - 1)).
  Real series = 0;
  Real power = 1 / n;
  const Real inverse_square = power * power;
  for (int j = 1; j <= 32; ++j) {
    series += boost::math::bernoulli_b2n<Real>(j) / (2 * j * (2 * j - 1)) * power;
    power *= inverse_square;
  }
  const Real two_pi = 2 * boost::math::constants::pi<Real>();
  return (n - Real(0.5)) * log(n) - n + log(two_pi) / 2 + series - log(product);
}

inline Real ReferenceLogScaled(double k, double rate) {
  const Real two_pi = 2 * boost::math::constants::pi<Real>();
  return Real(k) * log(Real(rate)) - Real(rate) - LogFactorial(k) + log(two_pi * Real(rate)) / 2;
}

// log p of poisson_trial.h for a normal draw as a double.
inline Real ReferenceLogAcceptance(double rate, double k, double normal) {
  return ReferenceLogScaled(k, rate) + Real(normal) * Real(normal) / 2 -
         Real(kPoissonExcess) / Real(PoissonRoot(rate));
}

}  // namespace tacet::dp::testing

#endif  // TACET_DP_REFERENCE_FOR_TEST_H_
