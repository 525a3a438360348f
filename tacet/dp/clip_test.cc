#include "tacet/dp/clip.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"

namespace tacet::dp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Norm(std::span<const float> values) {
  long double sum = 0;
  for (const float value : values) sum += static_cast<long double>(value) * value;
  return static_cast<double>(std::sqrt(sum));
}

std::vector<float> RandomUpdate(size_t size, double magnitude) {
  crypto::InsecureSeededEntropy entropy(1, "clip");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<float> update(size);
  for (float& value : update) {
    value = static_cast<float>(magnitude *
                               (static_cast<double>(random.NextU64() >> 11) * 0x1p-52 - 1.0));
  }
  return update;
}

TEST(ClipTest, LeavesAShortUpdateAsItIs) {
  const std::vector<float> update = {0.3f, -0.4f, 0.0f};
  std::vector<float> clipped(3);
  const ClipReport report = ClipAndClamp(update, 1.0, 1.0, clipped);
  EXPECT_EQ(clipped, update);
  EXPECT_NEAR(report.norm, 0.5, 1e-7);
  EXPECT_TRUE(report.finite);
  EXPECT_FALSE(report.clipped);
}

TEST(ClipTest, ShortensALongUpdateAndNeverPassesTheNorm) {
  for (const double norm : {0.4, 1.0, 3.7, 1e-6}) {
    for (const size_t size : {1, 2, 3, 5, 1000, 4097}) {
      std::vector<float> update = RandomUpdate(size, 25.0);
      const double before = Norm(update);
      std::vector<float> clipped(size);
      const ClipReport report = ClipAndClamp(update, norm, norm, clipped);
      EXPECT_TRUE(report.clipped);
      EXPECT_NEAR(report.norm / before, 1.0, 1e-13);
      EXPECT_LE(Norm(clipped), norm) << size;
      EXPECT_GT(Norm(clipped), norm * (1 - 2e-6)) << size;
      EXPECT_LE(std::abs(clipped[0] / update[0] - norm * (1 - 0x1p-20) / before), 1e-7 * norm);
    }
  }
}

TEST(ClipTest, HoldsTheNormAtTheVeryBound) {
  // Updates whose norm is S to within a rounding, the case that the factor 1 - 2^-20 is for.
  for (size_t size = 1; size <= 300; ++size) {
    std::vector<float> update(size, static_cast<float>(1.0 / std::sqrt(static_cast<double>(size))));
    std::vector<float> clipped(size);
    ClipAndClamp(update, 1.0, 1.0, clipped);
    EXPECT_LE(Norm(clipped), 1.0) << size;
  }
}

TEST(ClipTest, SumsTheNormOfAWholeModelInDouble) {
  const std::vector<float> update = RandomUpdate(486654, 0.01);
  std::vector<float> clipped(update.size());
  const ClipReport report = ClipAndClamp(update, 0.4, 0.1, clipped);
  EXPECT_NEAR(report.norm / Norm(update), 1.0, 1e-12);
  EXPECT_LE(Norm(clipped), 0.4);
  // A running float sum is off by far more than any tolerance here.
  float running = 0;
  for (const float value : update) running += value * value;
  EXPECT_GT(std::abs(std::sqrt(static_cast<double>(running)) / report.norm - 1.0), 1e-6);
}

TEST(ClipTest, ClampsEveryCoordinateBelowTheBound) {
  // The float nearest to 0.1 is above 0.1.
  const std::vector<float> update = {0.5f, -0.5f, 0.1f, 0.05f, -0.1f};
  std::vector<float> clipped(update.size());
  const ClipReport report = ClipAndClamp(update, 10.0, 0.1, clipped);
  EXPECT_FALSE(report.clipped);
  for (const float value : clipped) EXPECT_LE(std::abs(static_cast<double>(value)), 0.1);
  EXPECT_EQ(clipped[0], std::nextafter(0.1f, 0.0f));
  EXPECT_EQ(clipped[1], -std::nextafter(0.1f, 0.0f));
  EXPECT_EQ(clipped[3], 0.05f);
}

TEST(ClipTest, ClipsTheNormBeforeItClamps) {
  const std::vector<float> update = {3.0f, 4.0f};
  std::vector<float> clipped(2);
  ClipAndClamp(update, 1.0, 0.7, clipped);
  EXPECT_NEAR(clipped[0], 0.6, 1e-5);
  EXPECT_NEAR(clipped[1], 0.7, 1e-6);
}

TEST(ClipTest, WithoutNormOnlyClamps) {
  const std::vector<float> update = {300.0f, -0.25f};
  std::vector<float> clipped(2);
  const ClipReport report = ClipAndClamp(update, kInfinity, 2.0, clipped);
  EXPECT_FALSE(report.clipped);
  EXPECT_EQ(clipped[0], 2.0f);
  EXPECT_EQ(clipped[1], -0.25f);
}

TEST(ClipTest, ANonFiniteUpdateBecomesZeros) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const size_t where : {size_t{0}, size_t{3}, size_t{6}}) {
      for (const double norm : {1.0, kInfinity}) {
        std::vector<float> update(7, 0.5f);
        update[where] = bad;
        std::vector<float> clipped(7, 9.0f);
        const ClipReport report = ClipAndClamp(update, norm, 1.0, clipped);
        EXPECT_FALSE(report.finite);
        EXPECT_FALSE(report.clipped);
        EXPECT_EQ(report.norm, 0.0);
        EXPECT_EQ(clipped, std::vector<float>(7, 0.0f));
      }
    }
  }
}

TEST(ClipTest, HandlesTheEndsOfTheFloatRange) {
  const float largest = std::numeric_limits<float>::max();
  std::vector<float> clipped(2);
  const std::vector<float> huge = {largest, -largest};
  const ClipReport report = ClipAndClamp(huge, 1.0, 1.0, clipped);
  EXPECT_TRUE(report.finite);
  EXPECT_NEAR(report.norm, largest * std::sqrt(2.0), 1e25);
  EXPECT_LE(Norm(clipped), 1.0);
  const std::vector<float> tiny = {std::numeric_limits<float>::denorm_min(), 0.0f};
  EXPECT_FALSE(ClipAndClamp(tiny, 1.0, 1.0, clipped).clipped);
  EXPECT_EQ(clipped, tiny);
  EXPECT_EQ(ClipAndClamp({}, 1.0, 1.0, {}).norm, 0.0);
}

TEST(ClipTest, MayWorkInPlace) {
  std::vector<float> update = {3.0f, 4.0f};
  ClipAndClamp(update, 1.0, 1.0, update);
  EXPECT_NEAR(update[0], 0.6, 1e-5);
  EXPECT_NEAR(update[1], 0.8, 1e-5);
}

TEST(ClipTest, FloatBelowIsTheLargestFloatNotAbove) {
  EXPECT_EQ(FloatBelow(1.0), 1.0f);
  EXPECT_EQ(FloatBelow(0.1), std::nextafter(0.1f, 0.0f));
  EXPECT_EQ(FloatBelow(1e300), std::numeric_limits<float>::max());
  EXPECT_EQ(FloatBelow(kInfinity), std::numeric_limits<float>::max());
  EXPECT_EQ(FloatBelow(1e-60), 0.0f);
}

}  // namespace
}  // namespace tacet::dp
