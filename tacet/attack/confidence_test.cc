#include "tacet/attack/confidence.h"

#include <cmath>

#include "gtest/gtest.h"

namespace tacet::attack {
namespace {

double Binomial(int n, int k, double p) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                  k * std::log(p) + (n - k) * std::log1p(-p));
}

TEST(ExactIntervalTest, EndsAreWhereTheOutcomeBecomesUnlikely) {
  constexpr int kTrials = 40;
  for (const int successes : {1, 7, 20, 39}) {
    const Interval interval = ExactInterval(static_cast<uint64_t>(successes), kTrials, 0.95);
    double at_least = 0;
    for (int k = successes; k <= kTrials; ++k) at_least += Binomial(kTrials, k, interval.low);
    double at_most = 0;
    for (int k = 0; k <= successes; ++k) at_most += Binomial(kTrials, k, interval.high);
    EXPECT_NEAR(at_least, 0.025, 1e-9);
    EXPECT_NEAR(at_most, 0.025, 1e-9);
  }
}

TEST(ExactIntervalTest, NoneAllAndNothing) {
  const Interval none = ExactInterval(0, 100, 0.95);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 0.01), 1e-12);
  const Interval all = ExactInterval(100, 100, 0.95);
  EXPECT_NEAR(all.low, std::pow(0.025, 0.01), 1e-12);
  EXPECT_EQ(all.high, 1);
  const Interval nothing = ExactInterval(0, 0, 0.95);
  EXPECT_EQ(nothing.low, 0);
  EXPECT_EQ(nothing.high, 1);
}

TEST(AreaIntervalTest, CoversTheAreaAndShrinksWithTheNumber) {
  // Hanley and McNeil's own example: area 0.893, 51 abnormal and 58 normal, standard error 0.032.
  const Interval interval = AreaInterval(0.893, 51, 58, 0.95);
  EXPECT_NEAR((interval.high - interval.low) / (2 * 1.96), 0.0325, 1e-4);  // 0.032 as printed
  const Interval larger = AreaInterval(0.893, 5100, 5800, 0.95);
  EXPECT_NEAR((larger.high - larger.low) * 10, interval.high - interval.low, 2e-3);
  EXPECT_EQ(AreaInterval(0.5, 0, 10, 0.95).high, 1);
  EXPECT_EQ(AreaInterval(1, 10, 10, 0.95).high, 1);
}

}  // namespace
}  // namespace tacet::attack
