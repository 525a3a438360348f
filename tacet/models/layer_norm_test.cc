#include "tacet/models/layer_norm.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/crypto/seeded_random.h"

namespace tacet::models {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;

TEST(LayerNormTest, GivesEverySampleMeanZeroAndTheGainAsSpread) {
  const NormShape shape = {.samples = 2, .size = 4, .gain = 0.5f};
  const std::vector<float> x = {1,   3,   1,   3,  //
                                100, 300, 300, 100};
  std::vector<float> y(8), factors(2);
  LayerNorm(shape, x.data(), y.data(), factors.data());
  const auto near = [](float value) { return FloatNear(value, 1e-5f); };
  EXPECT_THAT(y, ElementsAre(near(-0.5f), near(0.5f), near(-0.5f), near(0.5f), near(-0.5f),
                             near(0.5f), near(0.5f), near(-0.5f)));
  EXPECT_THAT(factors, ElementsAre(near(0.5f), near(0.005f)));
}

TEST(LayerNormTest, ConstantValuesBecomeZeroAndKeepTheirGradientFinite) {
  const NormShape shape = {.samples = 2, .size = 3, .gain = 0.6f};
  const std::vector<float> x = {7, 7, 7, 0, 0, 0};
  std::vector<float> y(6, 9), factors(2);
  LayerNorm(shape, x.data(), y.data(), factors.data());
  EXPECT_THAT(y, Each(0.0f));
  const auto largest = static_cast<float>(0.6 / std::sqrt(kNormEpsilon));
  EXPECT_THAT(factors, Each(FloatNear(largest, 1e-4f)));
  std::vector<float> gradients = {1, 2, 3, 0, 0, 3};
  LayerNormBackward(shape, y.data(), factors.data(), gradients.data());
  const auto near = [largest](float value) { return FloatNear(value * largest, 1e-3f); };
  EXPECT_THAT(gradients, ElementsAre(near(-1), near(0), near(1), near(-1), near(-1), near(2)));
}

// For the sum of weights[i] y[i], against differences of the forward pass in double; sizes with and
// without values beyond whole vectors, with a mean far from 0.
TEST(LayerNormTest, GradientMatchesFiniteDifferences) {
  crypto::Random random = crypto::SeededRandom(1, "test norm");
  for (const size_t size : {size_t{1}, size_t{5}, size_t{16}, size_t{128}, size_t{333}}) {
    const NormShape shape = {.samples = 1, .size = size, .gain = 0.6f};
    std::vector<float> x(size), weights(size), y(size), factors(1);
    for (float& value : x) value = static_cast<float>(3 + crypto::Uniform(random));
    for (float& value : weights) value = static_cast<float>(crypto::Uniform(random) - 0.5);
    LayerNorm(shape, x.data(), y.data(), factors.data());
    std::vector<float> gradients = weights;
    LayerNormBackward(shape, y.data(), factors.data(), gradients.data());
    const auto value_at = [&](size_t moved, double step) {
      std::vector<double> values(x.begin(), x.end());
      values[moved] += step;
      const auto count = static_cast<double>(size);
      double mean = 0, variance = kNormEpsilon, sum = 0;
      for (const double value : values) mean += value / count;
      for (const double value : values) variance += (value - mean) * (value - mean) / count;
      for (size_t i = 0; i < size; ++i) {
        sum += static_cast<double>(weights[i]) * 0.6 * (values[i] - mean) / std::sqrt(variance);
      }
      return sum;
    };
    for (size_t i = 0; i < size; i += 1 + size / 7) {
      const double expected = (value_at(i, 1e-5) - value_at(i, -1e-5)) / 2e-5;
      EXPECT_NEAR(static_cast<double>(gradients[i]), expected, 1e-5) << size << ", value " << i;
    }
  }
}

TEST(LayerNormTest, ASampleDependsOnItselfAloneAndMayBeOverwritten) {
  crypto::Random random = crypto::SeededRandom(2, "test norm");
  std::vector<float> x(3 * 77);
  for (float& value : x) value = static_cast<float>(crypto::Uniform(random));
  std::vector<float> together(x.size()), factors(3), alone(77), factor(1);
  LayerNorm({.samples = 3, .size = 77, .gain = 1}, x.data(), together.data(), factors.data());
  LayerNorm({.samples = 1, .size = 77, .gain = 1}, x.data() + 2 * 77, alone.data(), factor.data());
  EXPECT_EQ(std::vector<float>(together.end() - 77, together.end()), alone);
  EXPECT_EQ(factors[2], factor[0]);
  LayerNorm({.samples = 3, .size = 77, .gain = 1}, x.data(), x.data(), factors.data());
  EXPECT_EQ(x, together);
}

}  // namespace
}  // namespace tacet::models
