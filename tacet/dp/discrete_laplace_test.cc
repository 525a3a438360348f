#include "tacet/dp/discrete_laplace.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/dp/statistics_for_test.h"

namespace tacet::dp {
namespace {

crypto::Random Seeded(uint64_t seed) {
  crypto::InsecureSeededEntropy entropy(seed, "discrete-laplace");
  return crypto::Random::FromEntropy(entropy);
}

double Law(double rate, double k) { return std::tanh(rate / 2) * std::exp(-rate * std::abs(k)); }

TEST(DiscreteLaplaceTest, RateAndDeviationAreInverse) {
  for (const double rate : {1e-4, 0.01, 0.5, 1.0, 3.0, 20.0}) {
    double variance = 0;
    for (int k = 1; k * rate < 60; ++k) variance += 2 * Law(rate, k) * k * k;
    EXPECT_NEAR(DiscreteLaplaceStddev(rate) / std::sqrt(variance), 1, 1e-9) << rate;
    EXPECT_NEAR(DiscreteLaplaceRate(DiscreteLaplaceStddev(rate)) / rate, 1, 1e-12);
  }
}

TEST(DiscreteLaplaceTest, RangesAreNamed) {
  EXPECT_THAT(base::Message(DiscreteLaplaceShares::Create(1e-6, 3).status()),
              ::testing::HasSubstr("the rate of discrete Laplace noise must lie in [2.2e-05, 50]"));
  EXPECT_FALSE(DiscreteLaplaceShares::Create(std::nan(""), 3).ok());
  EXPECT_FALSE(DiscreteLaplaceShares::Create(51, 3).ok());
  EXPECT_THAT(base::Message(DiscreteLaplaceShares::Create(1, 0).status()),
              ::testing::HasSubstr("at least 1, got 0"));
}

// Sums of all shares against the law that they are to have, and single shares against theirs.
TEST(DiscreteLaplaceTest, SharesAddToTheLaw) {
  constexpr int kSums = 100'000, kCells = 400;
  uint64_t seed = 1;
  for (const double rate : {0.03, 0.5, 2.0}) {
    for (const uint32_t shares : {1u, 3u, 20u}) {
      const auto source = *DiscreteLaplaceShares::Create(rate, shares);
      crypto::Random random = Seeded(seed++);
      std::vector<double> observed(2 * kCells + 1), expected(2 * kCells + 1);
      std::vector<int32_t> drawn(size_t{shares} * kSums);
      source.Fill(random, drawn);
      for (size_t i = 0; i < drawn.size(); i += shares) {
        int32_t sum = 0;
        for (size_t j = 0; j < shares; ++j) sum += drawn[i + j];
        observed[std::clamp(sum, -kCells, kCells) + kCells] += 1;
      }
      const double beyond = kSums * std::exp(-rate * kCells) / (1 + std::exp(-rate));
      for (int k = -kCells; k <= kCells; ++k) expected[k + kCells] = kSums * Law(rate, k);
      expected.front() = expected.back() = beyond;
      EXPECT_TRUE(testing::PearsonChiSquare(observed, expected).passes()) << rate << " " << shares;
    }
  }
}

// At four sites, of whom one looks: a share is 0 with the probability that the pages state.
TEST(DiscreteLaplaceTest, AShareIsOftenZero) {
  const double p = std::exp(-1.0), r = 1.0 / 3;
  double both = 0, term = std::pow(1 - p, r);
  for (int k = 0; k < 200; ++k) {
    both += term * term;
    term *= p * (k + r) / (k + 1);
  }
  const auto source = *DiscreteLaplaceShares::Create(1, 3);
  crypto::Random random = Seeded(77);
  std::vector<int32_t> drawn(200'000);
  source.Fill(random, drawn);
  const auto zeros = static_cast<double>(std::ranges::count(drawn, 0));
  const double n = static_cast<double>(drawn.size());
  EXPECT_LE(std::abs(zeros - n * both), testing::kNormalLimit * std::sqrt(n * both * (1 - both)));
  EXPECT_GT(both, 0.7);
}

TEST(DiscreteLaplaceTest, NoShareIsBeyondTheBound) {
  for (const double rate : {DiscreteLaplaceShares::kLeastRate, 1e-3, 0.1, 1.0, 50.0}) {
    for (const uint32_t shares : {1u, 4u, 1000u}) {
      if (rate < 1e-4 && shares != 4) continue;  // a large table
      const auto source = *DiscreteLaplaceShares::Create(rate, shares);
      EXPECT_LE(source.bound(), 120 * std::log(2) / rate + 1);
      EXPECT_LT(source.bound(), 1u << 22);
      EXPECT_LT(source.truncation(), 0x1p-100);
      EXPECT_LT(source.rounding(), 3e-12);
      crypto::Random random = Seeded(5);
      std::vector<int32_t> drawn(1000);
      source.Fill(random, drawn);
      for (const int32_t share : drawn) ASSERT_LE(std::abs(share), source.bound());
    }
  }
}

}  // namespace
}  // namespace tacet::dp
