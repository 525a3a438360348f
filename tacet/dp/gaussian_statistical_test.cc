// Each comparison: false alarm below 1e-11 (statistics_for_test.h). Power, with 2^23 draws: a mean
// off by 0.005, a variance off by 0.7 %, a mass beyond 3.654 off by 30 %, a correlation of 0.005
// within a pair, a distribution function off by 0.0025 anywhere, or 4096 equally probable cells
// off by 2.5 % each are noticed with probability above 0.999.
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/statistics_for_test.h"

namespace tacet::dp {
namespace {

using testing::kNormalLimit;

class GaussianStatisticalTest : public ::testing::TestWithParam<GaussianSampler> {
 protected:
  static constexpr size_t kDraws = size_t{1} << 23;
  static constexpr double kCount = static_cast<double>(kDraws);

  std::vector<double> Draw() {
    crypto::InsecureSeededEntropy entropy(1, GaussianSamplerName(GetParam()));
    crypto::Random random = crypto::Random::FromEntropy(entropy);
    std::vector<double> draws(kDraws);
    FillGaussian(GetParam(), random, draws);
    return draws;
  }
};

TEST_P(GaussianStatisticalTest, MomentsAndIndependence) {
  const std::vector<double> draws = Draw();
  double moments[5] = {};
  double pairs = 0;
  double squares = 0;
  double neighbours = 0;
  for (size_t i = 0; i < kDraws; ++i) {
    const double x = draws[i];
    ASSERT_LE(std::abs(x), GaussianBound(GetParam()));
    double power = x;
    for (int order = 1; order <= 4; ++order) {
      moments[order] += power;
      power *= x;
    }
    if (i % 2 == 1) {
      pairs += x * draws[i - 1];
      squares += (x * x - 1) * (draws[i - 1] * draws[i - 1] - 1);
    } else if (i > 0) {
      neighbours += x * draws[i - 1];
    }
  }
  // E x^2 = 1, E x^4 = 3; variances of the powers 1, 2, 15, 96.
  const double root = std::sqrt(kCount);
  EXPECT_LT(std::abs(moments[1] / root), kNormalLimit);
  EXPECT_LT(std::abs((moments[2] - kCount) / root), kNormalLimit * std::sqrt(2.0));
  EXPECT_LT(std::abs(moments[3] / root), kNormalLimit * std::sqrt(15.0));
  EXPECT_LT(std::abs((moments[4] - 3 * kCount) / root), kNormalLimit * std::sqrt(96.0));
  const double half = std::sqrt(kCount / 2);
  EXPECT_LT(std::abs(pairs / half), kNormalLimit);
  EXPECT_LT(std::abs(neighbours / half), kNormalLimit);
  EXPECT_LT(std::abs(squares / half), kNormalLimit * 2);
}

TEST_P(GaussianStatisticalTest, TailsAndSides) {
  const std::vector<double> draws = Draw();
  for (const double threshold : {0.0, 1.0, 2.0, 3.0, 3.654152885361, 4.0}) {
    double above = 0;
    double below = 0;
    for (const double x : draws) {
      above += x > threshold ? 1 : 0;
      below += x < -threshold ? 1 : 0;
    }
    const double p = testing::NormalCdf(-threshold);
    const double limit = kNormalLimit * std::sqrt(kCount * p * (1 - p));
    EXPECT_LT(std::abs(above - kCount * p), limit) << threshold;
    EXPECT_LT(std::abs(below - kCount * p), limit) << threshold;
  }
}

TEST_P(GaussianStatisticalTest, DistributionFunctionAndCells) {
  std::vector<double> draws = Draw();
  constexpr size_t cells = 4096;
  std::vector<double> observed(cells);
  for (const double x : draws) {
    const double at = testing::NormalCdf(x) * cells;
    observed[std::min(cells - 1, static_cast<size_t>(at))] += 1;
  }
  const std::vector<double> expected(cells, kCount / cells);
  const testing::ChiSquare fit = testing::PearsonChiSquare(observed, expected);
  EXPECT_TRUE(fit.passes()) << fit.statistic << " with " << fit.degrees << " degrees";

  draws.resize(kDraws / 4);
  EXPECT_LT(testing::KolmogorovDistance(draws, testing::NormalCdf), testing::KolmogorovLimit());
}

INSTANTIATE_TEST_SUITE_P(Samplers, GaussianStatisticalTest,
                         ::testing::Values(GaussianSampler::kDefault, GaussianSampler::kBoxMuller,
                                           GaussianSampler::kPolar, GaussianSampler::kZiggurat),
                         [](const auto& test) {
                           switch (test.param) {
                             case GaussianSampler::kDefault:
                               return "Default";
                             case GaussianSampler::kBoxMuller:
                               return "BoxMuller";
                             case GaussianSampler::kPolar:
                               return "Polar";
                             case GaussianSampler::kZiggurat:
                               return "Ziggurat";
                           }
                           return "Unknown";
                         });

}  // namespace
}  // namespace tacet::dp
