#include "tacet/dp/sum_bound.h"

#include <cmath>
#include <numbers>

#include "gtest/gtest.h"

#include "tacet/dp/statistics_for_test.h"

namespace tacet::dp {
namespace {

// One participant without noise at u = b: D + m ~ Poisson(b/s + m), whose tail is known exactly.
TEST(SumBoundTest, BoundsTheExactPoissonTailClosely) {
  const struct {
    double bound, offset, scale;
  } cases[] = {{1, 2, 0.1}, {0.1, 0.3, 1e-3}, {1, 1.5, 0.5}, {0.5, 4, 0.01}};
  for (const auto& c : cases) {
    const SumBoundSpec spec{.cohort = 1,
                            .coordinate_bound = c.bound,
                            .sum_stddev = 0,
                            .offset = c.offset,
                            .scale = c.scale};
    const double rate = (c.bound + c.offset) / c.scale;
    const double spread = std::sqrt(rate);
    for (const double z : {2.0, 4.0, 8.0, 12.0}) {
      const double first = std::ceil(rate + z * spread);
      double exact = 0;
      for (double k = first; k < first + 40 * spread + 60; ++k) {
        exact += std::exp(testing::PoissonLogPmf(static_cast<uint64_t>(k), rate));
      }
      const double distance = c.scale * first - c.offset;
      const double bound = LogSumTail(spec, distance);
      EXPECT_GE(bound, std::log(exact));
      // Chernoff's bound loses about log(z sqrt(2 pi)) and here the factor 2 of the other tail.
      EXPECT_LE(bound, std::log(exact) + 5.5) << z << " " << rate;
    }
  }
}

TEST(SumBoundTest, BoundsTheNormalTailWhenTheScaleIsFine) {
  const SumBoundSpec spec{
      .cohort = 10, .coordinate_bound = 0.5, .sum_stddev = 3, .offset = 4, .scale = 1e-7};
  for (const double z : {3.0, 6.0, 10.0}) {
    const double exact = std::log(std::erfc(z / std::numbers::sqrt2));
    const double bound = LogSumTail(spec, 5 + 3 * z);
    EXPECT_GE(bound, exact);
    EXPECT_NEAR(bound, std::numbers::ln2 - z * z / 2, 1e-3 * z * z);
  }
}

TEST(SumBoundTest, QuantileAndTailAreInverse) {
  for (const double scale : {1e-6, 1e-4, 1e-2, 1.0, 50.0}) {
    const SumBoundSpec spec{
        .cohort = 1000, .coordinate_bound = 0.1, .sum_stddev = 6, .offset = 2.6, .scale = scale};
    for (const double level : {-1.0, -20.0, -45.4, -200.0}) {
      const double distance = SumTailQuantile(spec, level);
      EXPECT_LE(LogSumTail(spec, distance), level);
      EXPECT_GT(LogSumTail(spec, distance * (1 - 1e-4)), level);
    }
  }
}

TEST(SumBoundTest, GrowsWithEveryParticipant) {
  double last = 0;
  for (const double cohort : {1.0, 2.0, 10.0, 999.0, 1000.0}) {
    const SumBoundSpec spec{.cohort = cohort,
                            .coordinate_bound = 0.1,
                            .sum_stddev = 0.19 * std::sqrt(cohort),
                            .offset = 2.6,
                            .scale = 1e-4};
    const double distance = SumTailQuantile(spec, -45);
    EXPECT_GT(distance, last);
    last = distance;
  }
}

// Bits of centred decoding at the published setting, |mu| = 1 + z 6/sqrt(1000), probability 1e-9 a
// value: the reference's normal quantiles against this rigorous bound, which may not be smaller and
// at these settings needs the same number of bits.
TEST(SumBoundTest, NeedsTheBitsOfTheReference) {
  const struct {
    double z, scale, max_abs_sum;
    int bits;
    double n_min;
  } rows[] = {
      {15.81, 1e-4, 0, 20, 737190.6636496559},    {15.81, 1e-4, 20, 21, 1123779.641676687},
      {15.81, 1e-4, 100, 22, 2723859.1654498056}, {15.81, 1e-4, 1000, 25, 20724753.128954418},
      {15.81, 1e-3, 0, 17, 77278.59574850323},    {15.81, 1e-3, 20, 17, 115919.24861848773},
      {15.81, 1e-3, 100, 19, 275995.0160792214},  {15.81, 1e-3, 1000, 21, 2076842.2400846314},
      {9.42, 1e-4, 0, 20, 735961.9224606715},     {9.42, 1e-4, 100, 22, 2722653.117968466},
      {9.42, 1e-4, 1000, 25, 20723548.579354968}, {9.42, 1e-2, 100, 15, 29687.29633699247},
  };
  for (const auto& row : rows) {
    const SumBoundSpec spec{.cohort = 1000,
                            .coordinate_bound = row.max_abs_sum / 1000,
                            .sum_stddev = 6,
                            .offset = 1 + row.z * 6 / std::sqrt(1000.0),
                            .scale = row.scale};
    const double bound = SumTailQuantile(spec, std::log(1e-9)) / row.scale;
    EXPECT_GE(bound, row.n_min / 2);
    EXPECT_LE(bound, row.n_min / 2 * 1.12);
    EXPECT_EQ(1 + static_cast<int>(std::ceil(std::log2(bound + 1))), row.bits)
        << row.z << " " << row.scale << " " << row.max_abs_sum;
  }
}

}  // namespace
}  // namespace tacet::dp
