#include "tacet/agreement/roster_differences.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tacet::agreement {
namespace {

using ::testing::HasSubstr;

ManifestSpec Members(uint64_t clients, uint64_t min_participants) {
  ManifestSpec spec;
  spec.sampling = {.clients = clients, .cohort = clients, .min_participants = min_participants};
  spec.mechanism.noise_stddev = 3;
  return spec;
}

// Variance, over sigma^2, of the best unbiased estimate of the first honest member's update from
// sums of `rosters` (sets of honest members, as bits), each with fresh noise of sigma^2 / `shares`
// a member; infinite where the sums do not determine it.
double BestVariance(const std::vector<uint32_t>& rosters, int honest, double shares) {
  std::vector<std::vector<double>> a(honest, std::vector<double>(honest + 1, 0));
  for (const uint32_t roster : rosters) {
    const double weight = shares / __builtin_popcount(roster);
    for (int i = 0; i < honest; ++i) {
      for (int j = 0; j < honest; ++j) {
        if ((roster >> i & 1) != 0 && (roster >> j & 1) != 0) a[i][j] += weight;
      }
    }
  }
  a[0][honest] = 1;  // solves information * x = e_1; the variance is x_1
  for (int column = honest - 1; column >= 0; --column) {
    int pivot = column;
    for (int row = column; row >= 0; --row) {
      if (std::fabs(a[row][column]) > std::fabs(a[pivot][column])) pivot = row;
    }
    if (std::fabs(a[pivot][column]) < 1e-9) return INFINITY;
    std::swap(a[pivot], a[column]);
    for (int row = 0; row < honest; ++row) {
      if (row == column) continue;
      const double factor = a[row][column] / a[column][column];
      for (int j = 0; j <= honest; ++j) a[row][j] -= factor * a[column][j];
    }
  }
  return a[0][honest] / a[0][0];
}

// The design of a server that leaves each of four others out once: 0.764 sigma. Leaving them out in
// the best proportion attains the bound.
TEST(RosterDifferencesTest, FiveSitesWithOneAbsence) {
  const double bound = *RosterDifferenceNoise(Members(5, 4));
  EXPECT_NEAR(bound, (std::sqrt(3) + 2 / std::sqrt(3)) / 2, 1e-12);
  const double each_once = std::sqrt(BestVariance({0b0111, 0b1011, 0b1101, 0b1110}, 4, 4));
  EXPECT_NEAR(each_once, 0.764, 5e-4);
  EXPECT_GE(each_once, bound / std::sqrt(4));
  // Three rosters with the victim, the one without it twice.
  const std::vector<uint32_t> best = {0b0111, 0b1011, 0b1101, 0b1110, 0b1110};
  EXPECT_NEAR(std::sqrt(BestVariance(best, 4, 4)), bound / std::sqrt(5), 1e-9);
}

// 2,000 random designs at several sizes: none is better than the bound.
TEST(RosterDifferencesTest, NoRostersLeaveLessNoise) {
  std::mt19937 generator(1);
  int determined = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    const int honest = 2 + static_cast<int>(generator() % 6);
    const int k = 1 + static_cast<int>(generator() % (honest - 1));
    const int count = 2 + static_cast<int>(generator() % 20);
    std::vector<uint32_t> rosters;
    while (static_cast<int>(rosters.size()) < count) {
      const auto roster = static_cast<uint32_t>(generator() % (1u << honest));
      if (__builtin_popcount(roster) >= k) rosters.push_back(roster);
    }
    const double deviation = std::sqrt(BestVariance(rosters, honest, static_cast<double>(k + 1)));
    if (!std::isfinite(deviation)) continue;
    ++determined;
    const double bound = *RosterDifferenceNoise(Members(honest + 1, k + 1)) / std::sqrt(count);
    EXPECT_GE(deviation, bound * (1 - 1e-9)) << honest << " " << k << " " << count;
  }
  EXPECT_GT(determined, 1000);
}

TEST(RosterDifferencesTest, NothingIsSubtractedWhereEverySumHasAllUploads) {
  EXPECT_FALSE(RosterDifferenceNoise(Members(5, 5)).has_value());
  EXPECT_EQ(RosterDifferenceText(Members(5, 5)), "");
  ManifestSpec hidden = Members(100, 99);
  hidden.sampling.cohort = 20;
  EXPECT_FALSE(RosterDifferenceNoise(hidden).value_or(0) > 0);  // fixed size: 99 of 20
  hidden.sampling.method = accounting::Sampling::kPoisson;
  hidden.sampling.dummy_uploads = true;
  EXPECT_NEAR(*RosterDifferenceNoise(hidden), 1.98, 0.01);
  EXPECT_THAT(RosterDifferenceText(hidden), HasSubstr("Sums of 99 of 100 uploads"));
  hidden.without_encryption = true;
  EXPECT_FALSE(RosterDifferenceNoise(hidden).has_value());
}

}  // namespace
}  // namespace tacet::agreement
