#include "lab/reproduce/resampled_difference.h"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/seeded_random.h"

namespace tacet::app::reproduce {
namespace {

// By hand: the mean is 0.03; squares of the deviations are 4, 0, 1 and 9 in 1e-4, so s^2 = 14e-4/3.
// A fifth held out: n_2/n_1 = 1/4, (1/4 + 1/4) s^2 = 7e-4/3. t_(3, 0.975) = 3.182446.
TEST(ResampledDifferenceTest, IsWhatAHandComputes) {
  const std::vector<double> differences = {0.01, 0.03, 0.02, 0.06};
  const ResampledDifference result = ResampledDifferenceOf(differences, 0.25);
  EXPECT_EQ(result.splits, 4u);
  EXPECT_EQ(result.above, 4u);
  EXPECT_NEAR(result.mean, 0.03, 1e-12);
  EXPECT_NEAR(result.deviation, std::sqrt(14e-4 / 3), 1e-12);
  EXPECT_NEAR(result.standard_error, std::sqrt(7e-4 / 3), 1e-12);
  EXPECT_NEAR(result.low, 0.03 - 3.182446 * 0.01527525, 1e-7);
  EXPECT_NEAR(result.high, 0.03 + 3.182446 * 0.01527525, 1e-7);
  // Independent samples: the usual standard error of a mean.
  EXPECT_NEAR(ResampledDifferenceOf(differences, 0).standard_error, std::sqrt(14e-4 / 12), 1e-12);
}

TEST(ResampledDifferenceTest, FewSplits) {
  EXPECT_EQ(ResampledDifferenceOf({}, 0.25).splits, 0u);
  const std::vector<double> one = {-0.5};
  const ResampledDifference result = ResampledDifferenceOf(one, 0.25);
  EXPECT_EQ(result.mean, -0.5);
  EXPECT_EQ(result.above, 0u);
  EXPECT_EQ(result.standard_error, 0);
  EXPECT_EQ(result.low, result.high);
}

// Differences that are means of 12 of 60 values around 0, of variance v. By theory the mean over 20
// splits has variance v/12 (0.8/20 + 0.2), the square of the plain standard error is 0.8 v/240 on
// average, a sixth of it, and the corrected one is right. 4,000 data sets: the mean square is
// within 2.3 % of its expectation, so 15 % are 6.2 deviations, a false alarm of 6e-10.
TEST(ResampledDifferenceTest, SplitsOfTheSameDataAreNoIndependentSamples) {
  constexpr int kSets = 4000;
  constexpr size_t kValues = 60;
  constexpr size_t kHeldOut = 12;
  constexpr int kSplits = 20;
  crypto::Random random = crypto::SeededRandom(1, "splits");
  double plain = 0;
  double corrected = 0;
  double square = 0;
  for (int set = 0; set < kSets; ++set) {
    std::vector<double> values(kValues);
    for (double& value : values) value = crypto::Uniform(random) - 0.5;
    std::vector<double> differences;
    for (int split = 0; split < kSplits; ++split) {
      for (size_t i = 0; i < kHeldOut; ++i) {
        std::swap(values[i], values[i + random.Below(static_cast<uint32_t>(kValues - i))]);
      }
      differences.push_back(std::accumulate(values.begin(), values.begin() + kHeldOut, 0.0) /
                            static_cast<double>(kHeldOut));
    }
    const ResampledDifference result = ResampledDifferenceOf(differences, 0.25);
    plain += result.deviation * result.deviation / kSplits / kSets;
    corrected += result.standard_error * result.standard_error / kSets;
    square += result.mean * result.mean / kSets;
  }
  EXPECT_NEAR(square / corrected, 1, 0.15);
  EXPECT_GT(square / plain, 5);
}

}  // namespace
}  // namespace tacet::app::reproduce
