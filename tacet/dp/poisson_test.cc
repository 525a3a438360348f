#include "tacet/dp/poisson.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/poisson_trial.h"
#include "tacet/dp/testing/acceptance_points.h"
#include "tacet/dp/testing/reference.h"

namespace tacet::dp {
namespace {

TEST(PoissonTest, AcceptanceAgreesWithTwoHundredBits) {
  const testing::AcceptanceErrors errors = testing::MeasureAcceptance(1, 1500);
  EXPECT_LT(errors.within_12, 1e-13);
  EXPECT_LT(errors.within_5, 2e-14);
}

TEST(PoissonTest, LogProbabilityAgreesWithTwoHundredBits) {
  for (const double rate : {0.5, 1.0, 7.3, 10.0, 33.25, 1000.5, 4e4, 1e7, 2e9}) {
    for (const double z : {-9.0, -4.0, -1.0, 0.0, 0.3, 2.0, 8.0, 11.5}) {
      const double k = std::max(0.0, std::floor(rate + z * std::sqrt(rate)));
      const double error = static_cast<double>(testing::Real(PoissonLogProbability(k, rate)) -
                                               testing::ReferenceLogProbability(k, rate));
      EXPECT_LT(std::abs(error), 1e-13) << rate << " " << k;
    }
  }
  // The form that the saddle-point replaces, at rate 4e4.
  const double k = 40321;
  const double plain = k * std::log(4e4) - 4e4 - std::lgamma(k + 1);
  EXPECT_GT(std::abs(static_cast<double>(testing::Real(plain) -
                                         testing::ReferenceLogProbability(k, 4e4))),
            1e-12);
}

// PTRS is exact only if its hat lies above the density and its squeeze below the acceptance. Both
// have a margin of 0.3 %, wider than what lies between two points of the grid.
TEST(PoissonTest, HatDominatesAndSqueezeIsBelow) {
  double largest = 0;
  double least_margin = 1;
  const auto check = [&](double rate, double t) {
    const PoissonHat hat = PoissonHat::For(rate);
    for (const double side : {-1.0, 1.0}) {
      const double k = std::floor((2 * hat.a / t + hat.b) * side * (0.5 - t) + rate + 0.43);
      if (k < 0) continue;
      const PoissonAcceptance acceptance = PoissonAcceptance::For(hat, k, t, rate);
      const double probability = std::exp(-acceptance.exponent) / std::sqrt(acceptance.factor);
      largest = std::max(largest, probability);
      if (t >= 0.07) least_margin = std::min(least_margin, probability - SqueezeFor(rate).height);
    }
  };
  for (double rate = kPoissonRejectionRate; rate < kPoissonMaxRate;
       rate *= rate < 2000 ? 1.013 : 1.1) {
    for (int i = 1; i <= 1500; ++i) check(rate, 0.5 * i / 1500.0);
    for (double t = 3e-4; t > 1e-15; t *= 0.8) check(rate, t);
  }
  EXPECT_LT(largest, 0.997);
  EXPECT_GT(largest, 0.99);
  EXPECT_GT(least_margin, 0.003);
}

TEST(PoissonTest, OneKeyOneResult) {
  std::vector<double> rates;
  for (int i = 0; i < 5000; ++i) rates.push_back(0.01 * std::pow(1.005, i));
  std::vector<uint32_t> first(rates.size());
  std::vector<uint32_t> second(rates.size());
  crypto::Random a = crypto::SeededRandom(1, "same");
  crypto::Random b = crypto::SeededRandom(1, "same");
  FillPoisson(rates, a, first);
  FillPoisson(rates, b, second);
  EXPECT_EQ(first, second);
  for (size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] > 1000 && rates[i] < kPoissonMaxRate) {
      EXPECT_LT(std::abs(first[i] - rates[i]), 8 * std::sqrt(rates[i])) << rates[i];
    }
  }
  FillPoisson(rates, a, first);
  EXPECT_NE(first, second);
}

TEST(PoissonTest, DefectiveRatesEndAndStayInRange) {
  const std::vector<double> rates = {0.0,
                                     -1.0,
                                     std::numeric_limits<double>::quiet_NaN(),
                                     -std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity(),
                                     1e300,
                                     kPoissonMaxRate};
  std::vector<uint32_t> counts(rates.size(), 7);
  crypto::Random random = crypto::SeededRandom(1, "defective");
  FillPoisson(rates, random, counts);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(counts[i], 0u) << i;
  for (size_t i = 4; i < 7; ++i) EXPECT_NEAR(counts[i], kPoissonMaxRate, 1e6) << i;
  FillPoisson({}, random, {});
}

}  // namespace
}  // namespace tacet::dp
