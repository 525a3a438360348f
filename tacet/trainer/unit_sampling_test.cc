#include "tacet/trainer/unit_sampling.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace tacet::trainer {
namespace {

crypto::Random SeededCoins(uint64_t seed) {
  crypto::InsecureSeededEntropy entropy(seed, "coins");
  return crypto::Random::FromEntropy(entropy);
}

// 200 draws of 500 coins. False alarm 1e-9 (six deviations); a rate off by 3 % is seen with
// probability 0.99.
TEST(UnitSamplingTest, EachUnitIsDrawnByItsOwnCoin) {
  const double rate = 0.3;
  crypto::Random coins = SeededCoins(1);
  std::vector<double> times(500, 0.0);
  double all = 0;
  double both = 0;  // units 0 and 1 together
  for (int draw = 0; draw < 200; ++draw) {
    const std::vector<uint32_t> units = DrawUnits(500, rate, coins);
    EXPECT_TRUE(std::ranges::is_sorted(units));
    for (const uint32_t unit : units) times[unit] += 1;
    all += static_cast<double>(units.size());
    both += units.size() > 1 && units[0] == 0 && units[1] == 1 ? 1 : 0;
  }
  const double draws = 500 * 200;
  EXPECT_NEAR(all, draws * rate, 6.2 * std::sqrt(draws * rate * (1 - rate)));
  EXPECT_NEAR(both, 200 * rate * rate, 6.2 * std::sqrt(200 * rate * rate * (1 - rate * rate)));
  for (const double count : times) {
    EXPECT_NEAR(count, 200 * rate, 7.2 * std::sqrt(200 * rate * (1 - rate)));
  }
}

TEST(UnitSamplingTest, RatesAtTheEnds) {
  crypto::Random coins = SeededCoins(2);
  EXPECT_EQ(DrawUnits(7, 1, coins).size(), 7u);
  EXPECT_TRUE(DrawUnits(7, 0, coins).empty());
  EXPECT_TRUE(DrawUnits(0, 1, coins).empty());
  EXPECT_TRUE(DrawUnits(1000, 1e-15, coins).empty());
}

TEST(UnitSamplingTest, TheSeededTwinRepeatsItself) {
  crypto::Random one = SeededCoins(3);
  crypto::Random same = SeededCoins(3);
  crypto::Random other = SeededCoins(4);
  const std::vector<uint32_t> units = DrawUnits(100, 0.5, one);
  EXPECT_EQ(units, DrawUnits(100, 0.5, same));
  EXPECT_NE(units, DrawUnits(100, 0.5, other));
}

}  // namespace
}  // namespace tacet::trainer
