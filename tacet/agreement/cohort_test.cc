#include "tacet/agreement/cohort.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "gtest/gtest.h"

namespace tacet::agreement {
namespace {

using accounting::Sampling;

crypto::Random TestRandom(uint64_t seed) {
  crypto::InsecureSeededEntropy entropy(seed, "cohort test");
  return crypto::Random::FromEntropy(entropy);
}

TEST(CohortTest, FixedSizeIsExactDistinctAndSorted) {
  crypto::Random random = TestRandom(1);
  for (const uint32_t cohort : {1u, 7u, 99u, 100u}) {
    const auto chosen = DrawCohort(Sampling::kFixedSize, 100, cohort, random);
    EXPECT_EQ(chosen.size(), cohort);
    EXPECT_TRUE(std::ranges::is_sorted(chosen));
    EXPECT_EQ(std::set<uint64_t>(chosen.begin(), chosen.end()).size(), cohort);
    EXPECT_LT(chosen.back(), 100u);
  }
}

// False alarm 1e-9 (Bonferroni over 50 clients, 6.7 standard deviations); a client drawn 5 % too
// often would be noticed with probability above 0.99.
TEST(CohortTest, EveryClientIsDrawnEquallyOften) {
  for (const Sampling sampling : {Sampling::kFixedSize, Sampling::kPoisson}) {
    crypto::Random random = TestRandom(2);
    constexpr int kDraws = 50000;
    std::vector<int> seen(50);
    for (int draw = 0; draw < kDraws; ++draw) {
      for (const uint64_t client : DrawCohort(sampling, 50, 20, random)) ++seen[client];
    }
    const double expected = kDraws * 0.4;
    for (const int count : seen) EXPECT_NEAR(count, expected, 6.7 * std::sqrt(expected * 0.6));
  }
}

// False alarm below 1e-9 (6.2 standard deviations of each moment); fixed-size cohorts, whose
// variance is 0, and a rate off by 2 % would be noticed with probability above 0.99.
TEST(CohortTest, PoissonCohortsHaveABinomialSize) {
  crypto::Random random = TestRandom(3);
  constexpr int kDraws = 20000;
  double sum = 0, squares = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const double size = static_cast<double>(DrawCohort(Sampling::kPoisson, 200, 50, random).size());
    sum += size;
    squares += (size - 50) * (size - 50);
  }
  const double variance = 200 * 0.25 * 0.75;
  EXPECT_NEAR(sum / kDraws, 50, 6.2 * std::sqrt(variance / kDraws));
  EXPECT_NEAR(squares / kDraws, variance, 6.2 * variance * std::sqrt(2.0 / kDraws));
}

TEST(CohortTest, ExpectedRange) {
  const CohortRange fixed = ExpectedCohortRange(Sampling::kFixedSize, 3596, 1000);
  EXPECT_EQ(fixed.smallest, 1000u);
  EXPECT_EQ(fixed.largest, 1000u);
  // Six standard deviations, 26.9 each, around 1000.
  const CohortRange poisson = ExpectedCohortRange(Sampling::kPoisson, 3596, 1000);
  EXPECT_NEAR(poisson.smallest, 1000 - 6 * 26.9, 8);
  EXPECT_NEAR(poisson.largest, 1000 + 6 * 26.9, 8);
  // A small federation may all but surely only count on one participant; never on none.
  EXPECT_EQ(ExpectedCohortRange(Sampling::kPoisson, 10, 2).smallest, 1u);
  EXPECT_EQ(ExpectedCohortRange(Sampling::kPoisson, 10, 10).smallest, 10u);
}

TEST(ChanceOfEnoughTest, EveryClientIsInEveryRound) {
  EXPECT_EQ(ChanceOfEnough(Sampling::kFixedSize, 5, 5, 4, 4), 1);
  EXPECT_EQ(ChanceOfEnough(Sampling::kFixedSize, 5, 5, 3, 4), 0);
  EXPECT_EQ(ChanceOfEnough(Sampling::kPoisson, 5, 5, 4, 4), 1);
  EXPECT_EQ(ChanceOfEnough(Sampling::kPoisson, 5, 5, 3, 4), 0);
}

TEST(ChanceOfEnoughTest, IsTheShareOfCohortsThatReachIt) {
  // Among the 10 cohorts of 3 out of 5, one is in {0, 1, 2}, six have two of them.
  EXPECT_NEAR(ChanceOfEnough(Sampling::kFixedSize, 5, 3, 3, 3), 0.1, 1e-12);
  EXPECT_NEAR(ChanceOfEnough(Sampling::kFixedSize, 5, 3, 3, 2), 0.7, 1e-12);
  EXPECT_EQ(ChanceOfEnough(Sampling::kFixedSize, 5, 3, 3, 1), 1);
  // Three coins of probability 2 / 5.
  EXPECT_NEAR(ChanceOfEnough(Sampling::kPoisson, 5, 2, 3, 3), 0.064, 1e-12);
  EXPECT_NEAR(ChanceOfEnough(Sampling::kPoisson, 5, 2, 3, 2), 0.352, 1e-12);
}

TEST(ChanceOfEnoughTest, GrowsWithThoseWhoAreHere) {
  for (const Sampling sampling : {Sampling::kFixedSize, Sampling::kPoisson}) {
    double before = -1;
    for (uint64_t here = 0; here <= 3596; here += 58) {
      const double chance = ChanceOfEnough(sampling, 3596, 1000, here, 900);
      EXPECT_GE(chance, before);
      EXPECT_LE(chance, 1);
      before = chance;
    }
    EXPECT_GT(before, 0.999);
  }
}

// Four of twenty: a coin of 1/5, tossed by hand.
TEST(CohortTest, InvitationsFollowTheBinomialLaw) {
  EXPECT_EQ(ChanceOfInvitations(9, 0, 20, 4), 1);
  EXPECT_EQ(ChanceOfInvitations(9, 10, 20, 4), 0);
  EXPECT_NEAR(ChanceOfInvitations(9, 9, 20, 4), std::pow(0.2, 9), 1e-15);
  EXPECT_NEAR(ChanceOfInvitations(3, 2, 20, 4), 3 * 0.04 * 0.8 + 0.008, 1e-12);
  EXPECT_EQ(ChanceOfInvitations(50, 50, 4, 4), 1);
}

}  // namespace
}  // namespace tacet::agreement
