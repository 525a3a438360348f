#include "lab/baselines/integer_accounting.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/accounting/epsilon_bounds.h"

namespace tacet::app::baselines {
namespace {

// Law of a sum of integer noise on -half .. half.
using Law = std::vector<double>;

Law Convolved(const Law& a, const Law& b) {
  const auto half = static_cast<int>(a.size() / 2);
  Law sum(a.size());
  for (int i = -half; i <= half; ++i) {
    for (int j = std::max(-half, i - half); j <= std::min(half, i + half); ++j) {
      sum[i + half] += a[j + half] * b[i - j + half];
    }
  }
  return sum;
}

Law DiscreteGaussian(double stddev, int half) {
  Law law(2 * half + 1);
  double total = 0;
  for (int k = -half; k <= half; ++k) {
    total += law[k + half] = std::exp(-k * k / (2 * stddev * stddev));
  }
  for (double& p : law) p /= total;
  return law;
}

Law Skellam(double variance, int half) {
  Law up(2 * half + 1), down(2 * half + 1);
  for (int k = 0; k <= half; ++k) {
    up[k + half] = down[half - k] =
        std::exp(k * std::log(variance / 2) - variance / 2 - std::lgamma(k + 1.0));
  }
  return Convolved(up, down);
}

// Renyi divergence of order alpha between a law and itself moved by `shift`.
double Divergence(const Law& law, int shift, double alpha) {
  double sum = 0;
  for (size_t i = shift; i < law.size(); ++i) {
    if (law[i] > 0 && law[i - shift] > 0) {
      sum += std::exp(alpha * std::log(law[i - shift]) + (1 - alpha) * std::log(law[i]));
    }
  }
  return std::log(sum) / (alpha - 1);
}

TEST(IntegerAccountingTest, TheSkellamBoundIsAboveTheTruthAndNearIt) {
  for (const double variance : {4.0, 30.0}) {
    const Law law = Skellam(variance, 120);
    for (const int shift : {1, 2, 3}) {
      const double l = shift;
      for (const double alpha : {2.0, 4.0, 8.0}) {
        const double truth = Divergence(law, shift, alpha);
        const double bound = SkellamRdp(alpha, {.l1 = l, .l2 = l, .max = l}, variance);
        EXPECT_GE(bound, truth * (1 - 1e-9)) << variance << " " << shift << " " << alpha;
        EXPECT_LT(bound, 3 * truth);
      }
    }
  }
}

TEST(IntegerAccountingTest, TheDiscreteGaussianBoundIsAboveTheTruth) {
  for (const double own : {0.6, 1.0}) {
    const Law one = DiscreteGaussian(own, 60);
    Law sum = one;
    uint32_t participants = 1;
    for (; participants < 4; ++participants) sum = Convolved(sum, one);
    for (const int shift : {1, 2}) {
      const double l = shift;
      for (const double alpha : {2.0, 5.0}) {
        EXPECT_GE(DiscreteGaussianRdp(alpha, {.l1 = l, .l2 = l, .max = l}, own, participants, 1),
                  Divergence(sum, shift, alpha) * (1 - 1e-9));
      }
    }
  }
  EXPECT_TRUE(std::isinf(DiscreteGaussianRdp(2, {.l1 = 1, .l2 = 1, .max = 1}, 0.4, 10, 1)));
  // Of large shares it is the Gaussian's.
  EXPECT_NEAR(DiscreteGaussianRdp(2, {.l1 = 9, .l2 = 3, .max = 3}, 10, 100, 1e6),
              GaussianRdp(2, 3, 100 * 100.0), 1e-12);
}

TEST(IntegerAccountingTest, TheBinomialBoundHolds) {
  // One coordinate moved by one, no amplification, one round: the true delta at the bound's
  // epsilon.
  constexpr int kTrials = 4000;
  const double delta = 1e-3;
  const double epsilon = BinomialEpsilon({.l1 = 1, .l2 = 1, .max = 1}, kTrials, 1, 1, 1, delta);
  ASSERT_TRUE(std::isfinite(epsilon));
  EXPECT_GT(epsilon, 0);
  Law law(kTrials + 1);
  for (int k = 0; k <= kTrials; ++k) {
    law[k] = std::exp(std::lgamma(kTrials + 1.0) - std::lgamma(k + 1.0) -
                      std::lgamma(kTrials - k + 1.0) - kTrials * std::log(2.0));
  }
  double excess = law[0];
  for (int k = 1; k <= kTrials; ++k) {
    excess += std::max(0.0, law[k] - std::exp(epsilon) * law[k - 1]);
  }
  EXPECT_LE(excess, delta);
  // The theorem says nothing about few trials.
  EXPECT_TRUE(std::isinf(BinomialEpsilon({.l1 = 1, .l2 = 1, .max = 1}, 100, 1, 1, 1, delta)));
}

TEST(IntegerAccountingTest, TheGaussianBoundIsAboveTheLibrarysAndNearIt) {
  const auto rdp = [](double alpha) { return GaussianRdp(alpha, 2, 36); };
  // All take part: the library's epsilon is exact.
  const auto exact = accounting::BoundEpsilon(
      accounting::Repeated(
          {.sampling = accounting::Sampling::kNone, .noise_stddev = 6, .clip_norm = 1}, 100),
      1e-5);
  ASSERT_TRUE(exact.ok()) << exact.status();
  const double all = EpsilonOfRdp(rdp, 1, 100, 1e-5);
  EXPECT_GE(all, exact->epsilon());
  EXPECT_LT(all, 1.15 * exact->epsilon());
  // With cohorts it lies between the tight bound and the plain one.
  const double amplified = EpsilonOfRdp(rdp, 1000.0 / 3596, 100, 1e-5);
  EXPECT_GT(amplified, 4.311);
  EXPECT_LT(amplified, all);
}

TEST(IntegerAccountingTest, RoundingCostsAtMostBothBounds) {
  EXPECT_DOUBLE_EQ(RoundedNormBound(0, 4), std::sqrt(2.0));
  EXPECT_LT(RoundedNormBound(1000, 1e4), std::sqrt(1000.0 * 1000 + 1e4 / 4 + 1051));
  const Sensitivity fine = ReplaceOne(1000, 50, 1e4);
  EXPECT_EQ(fine.l2, 2000);
  EXPECT_EQ(fine.l1, 2000 * 100);
  EXPECT_EQ(fine.max, 100);
  EXPECT_EQ(ReplaceOne(2, 2, 1e4).l1, 16);
}

TEST(IntegerAccountingTest, AmplificationIsNoneWithoutADivergence) {
  EXPECT_TRUE(std::isinf(
      AmplifiedRdp(3, 0.1, [](double) { return std::numeric_limits<double>::infinity(); })));
  EXPECT_NEAR(AmplifiedRdp(2, 0.5, [](double) { return 0.0; }), 0, 1e-12);
}

}  // namespace
}  // namespace tacet::app::baselines
