#include "tacet/dp/gaussian.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/gaussian_forms.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {
namespace {

constexpr GaussianSampler kAll[] = {GaussianSampler::kDefault, GaussianSampler::kBoxMuller,
                                    GaussianSampler::kPolar, GaussianSampler::kZiggurat};

TEST(GaussianTest, NamesGoThereAndBack) {
  for (const GaussianSampler sampler : kAll) {
    ASSERT_OK_AND_ASSIGN(const auto parsed, ParseGaussianSampler(GaussianSamplerName(sampler)));
    EXPECT_EQ(parsed, sampler);
  }
  const auto unknown = ParseGaussianSampler("normal");
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(base::Message(unknown.status()),
              ::testing::HasSubstr("\"normal\"; expected default"));
  EXPECT_EQ(GaussianSamplerName(static_cast<GaussianSampler>(77)), "unknown");
}

// The bounds follow from the smallest uniforms; the samplers' own maps, given those, reach them.
TEST(GaussianTest, BoxMullerReachesItsBoundAtTheSmallestUniform) {
  const double bound = GaussianBound(GaussianSampler::kBoxMuller);
  EXPECT_NEAR(bound, 9.4192801801, 1e-9);
  EXPECT_NEAR(bound, 9.42, 0.005);
  for (uint64_t quadrant = 0; quadrant < 4; ++quadrant) {
    const GaussianPair pair = BoxMuller(FixedPointUnit(0), quadrant << 62);
    const double largest = std::max(std::abs(pair.first), std::abs(pair.second));
    EXPECT_LE(largest, bound);
    EXPECT_GT(largest, bound * (1 - 1e-12));
  }
}

TEST(GaussianTest, DefaultReachesItsBoundAtTheSmallestUniform) {
  const double bound = GaussianBound(GaussianSampler::kDefault);
  EXPECT_NEAR(bound, 13.32, 0.005);
  const GaussianPair pair = BoxMuller(WideUnit(0, 0), uint64_t{3} << 62);
  EXPECT_LE(std::abs(pair.second), bound);
  EXPECT_GT(std::abs(pair.second), bound * (1 - 1e-12));
}

TEST(GaussianTest, PolarStaysBelowTheBoundOfItsSmallestRadius) {
  const double bound = GaussianBound(GaussianSampler::kPolar);
  EXPECT_NEAR(bound, 13.27, 0.005);
  EXPECT_EQ(PolarCoordinate(0), 0x1p-64);
  EXPECT_EQ(PolarCoordinate(~uint64_t{0}), -0x1p-64);
  GaussianPair pair;
  ASSERT_TRUE(Polar(PolarCoordinate(0), PolarCoordinate(0), pair));
  // The bound is on the length of the pair; it is reached there, shared by two equal coordinates.
  EXPECT_LE(std::hypot(pair.first, pair.second), bound);
  EXPECT_GT(std::hypot(pair.first, pair.second), bound * (1 - 1e-12));
  double largest = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    for (uint64_t j = 0; j < 100; ++j) {
      ASSERT_TRUE(Polar(PolarCoordinate(i), PolarCoordinate(j), pair));
      largest = std::max({largest, pair.first, pair.second});
    }
  }
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 12.9);
  EXPECT_FALSE(Polar(PolarCoordinate(uint64_t{1} << 63), PolarCoordinate(0), pair));
  EXPECT_FALSE(Polar(0.8, 0.7, pair));
}

TEST(GaussianTest, ZigguratReachesItsBoundInTheTail) {
  const double bound = GaussianBound(GaussianSampler::kZiggurat);
  EXPECT_NEAR(bound, 15.794153850715, 1e-9);
  EXPECT_NEAR(bound, 15.8, 0.01);
  double value = 0;
  const double tail = ZigguratTable::Get().tail;
  ASSERT_TRUE(ZigguratTail(tail, FixedPointUnit(0), WideUnit(0, 0), value));
  EXPECT_LE(value, bound);
  EXPECT_GT(value, bound * (1 - 1e-12));
  // With a 64-bit fixed-point second uniform that value could not be accepted.
  EXPECT_FALSE(ZigguratTail(tail, FixedPointUnit(0), FixedPointUnit(0), value));
}

TEST(GaussianTest, ZigguratTableCoversTheDensityWithEqualAreas) {
  const ZigguratTable& table = ZigguratTable::Get();
  constexpr size_t n = ZigguratTable::kRegions;
  // The published abscissa for 255 rectangles.
  EXPECT_NEAR(table.tail, 3.6541528853610088, 1e-14);
  EXPECT_EQ(table.x[1], table.tail);
  EXPECT_EQ(table.x[n], 0.0);
  EXPECT_EQ(table.y[n], 1.0);
  const double area = table.x[0] * table.y[1];
  EXPECT_NEAR(area,
              table.tail * std::exp(-table.tail * table.tail / 2) +
                  std::sqrt(std::numbers::pi / 2) * std::erfc(table.tail / std::numbers::sqrt2),
              1e-17);
  for (size_t i = 1; i < n; ++i) {
    EXPECT_NEAR(table.x[i] * (table.y[i + 1] - table.y[i]) / area, 1.0, 1e-12) << i;
    EXPECT_NEAR(table.y[i] / std::exp(-table.x[i] * table.x[i] / 2), 1.0, 1e-14) << i;
    EXPECT_GT(table.x[i], table.x[i + 1]);
  }
}

TEST(GaussianTest, ZigguratTailIsTheNormalTail) {
  // P(accepted and x > c) / P(accepted) over the two uniforms is the normal tail beyond r + c:
  // integrate the acceptance exp(-x^2/2) over the exponential proposal on a fine grid.
  const double tail = ZigguratTable::Get().tail;
  const int steps = 200000;
  double beyond = 0;
  double all = 0;
  for (int i = 0; i < steps; ++i) {
    double value = 0;
    const double unit = (i + 0.5) / steps;
    ZigguratTail(tail, unit, 1.0, value);
    const double x = value - tail;
    const double accepted = std::exp(-x * x / 2);
    // The smallest second uniform accepted agrees with that probability.
    EXPECT_EQ(ZigguratTail(tail, unit, accepted * (1 - 1e-12), value), true);
    EXPECT_EQ(ZigguratTail(tail, unit, std::min(1.0, accepted * (1 + 1e-6)), value), accepted == 1);
    all += accepted;
    if (x > 0.25) beyond += accepted;
  }
  EXPECT_NEAR(
      beyond / all,
      std::erfc((tail + 0.25) / std::numbers::sqrt2) / std::erfc(tail / std::numbers::sqrt2), 2e-5);
}

TEST(GaussianTest, OneKeyOneResultWhateverTheLength) {
  for (const GaussianSampler sampler : kAll) {
    for (const size_t size :
         {size_t{0}, size_t{1}, size_t{2}, size_t{1023}, size_t{1025}, size_t{4999}}) {
      std::vector<double> first(size + 1, -99.0);
      std::vector<double> second(size + 1, -99.0);
      crypto::Random a = crypto::SeededRandom(1, "gaussian");
      crypto::Random b = crypto::SeededRandom(1, "gaussian");
      FillGaussian(sampler, a, std::span(first).first(size));
      FillGaussian(sampler, b, std::span(second).first(size));
      EXPECT_EQ(first, second);
      EXPECT_EQ(first[size], -99.0);
      for (size_t i = 0; i < size; ++i) {
        EXPECT_LE(std::abs(first[i]), GaussianBound(sampler));
      }
      // The generator continues: the next fill is another one.
      FillGaussian(sampler, a, std::span(first).first(size));
      if (size > 1) {
        EXPECT_NE(first, second);
      }
    }
  }
}

}  // namespace
}  // namespace tacet::dp
