#include "tacet/dp/sum_limits.h"

#include <cmath>
#include <limits>
#include <vector>

#include "boost/math/distributions/non_central_chi_squared.hpp"
#include "boost/math/distributions/poisson.hpp"
#include "gtest/gtest.h"

#include "tacet/dp/mechanism_plan_for_test.h"
#include "tacet/dp/statistics_for_test.h"
#include "tacet/dp/sum_bound.h"

namespace tacet::dp {
namespace {

constexpr double kRefused = 0x1p-42;  // of one limit, in all attempts

// The paper's mechanism for `cohort` clients, 100 rounds with 10 spare attempts.
MechanismSpec Paper(uint32_t cohort, uint64_t dimension = 486654) {
  return {.dimension = dimension,
          .params = {.clip_norm = 1, .coordinate_bound = 0.1, .noise_stddev = 6, .scale = 1e-4},
          .cohort = cohort,
          .min_participants = cohort,
          .attempts = 110,
          .without_guarantee = true};
}

TEST(SumLimitsTest, CountContributions) {
  MechanismSpec spec = Paper(100);
  EXPECT_EQ(SumLimitsOf(PlanOf(spec), 80).updates_norm, 80);
  spec.most_contributions = 50;  // dummy uploads
  EXPECT_EQ(SumLimitsOf(PlanOf(spec), 80).updates_norm, 50);
  EXPECT_EQ(SumLimitsOf(PlanOf(spec), 30).updates_norm, 30);
  spec.sums_of_clipped = true;
  EXPECT_EQ(SumLimitsOf(PlanOf(spec), 30).updates_norm, 50);
  // No coordinate of the updates is larger than all of them, whatever b is.
  const double coordinate = SumLimitsOf(PlanOf(spec), 30).coordinate;
  spec.params.coordinate_bound = 3;
  const double stddev = PlanOf(spec).sum_stddev(30, 50);
  EXPECT_NEAR(SumLimitsOf(PlanOf(spec), 30).coordinate, 50 + 9.78 * stddev, 0.05 * stddev);
  EXPECT_LT(coordinate, SumLimitsOf(PlanOf(spec), 30).coordinate);

  const double infinity = std::numeric_limits<double>::infinity();
  const double root = std::sqrt(486654.0);
  for (const bool clipped : {true, false}) {
    spec.most_contributions = clipped ? infinity : 50;
    spec.params.without_clipping = !clipped;
    const SumLimits limits = SumLimitsOf(PlanOf(spec), 30);
    EXPECT_EQ(limits.updates_norm, infinity);
    EXPECT_EQ(limits.norm, root * limits.coordinate);
  }
  spec.most_contributions = 0;
  EXPECT_FALSE(MechanismPlan::Create(spec).ok());
}

// An honest |x|^2 is noncentral chi-square up to the quantisation: its tail beyond the limit, at
// updates of the largest norm. Before, the limit lacked the term 2 L v, and 1 of 2,200 honest sums
// of one value was refused.
TEST(SumLimitsTest, HonestNormsAreAccepted) {
  for (const uint64_t d : {1, 2, 3, 5, 22, 100, 4000, 486654}) {
    for (const uint32_t cohort : {2, 5, 50, 1000}) {
      for (const double noise : {0.05, 6.0, 600.0}) {
        for (const uint32_t attempts : {1, 1000}) {
          MechanismSpec spec = Paper(cohort, d);
          spec.params.noise_stddev = noise;
          spec.params.coordinate_bound = 1;
          spec.params.scale = 1e-5 * noise;
          spec.attempts = attempts;
          const MechanismPlan plan = PlanOf(spec);
          const SumLimits limits = SumLimitsOf(plan, cohort);
          const double variance = std::pow(plan.sum_stddev(cohort, cohort), 2);
          const boost::math::non_central_chi_squared law(static_cast<double>(d),
                                                         std::pow(cohort, 2) / variance);
          const double refused = cdf(complement(law, std::pow(limits.norm, 2) / variance));
          EXPECT_LE(refused * attempts, kRefused)
              << d << " " << cohort << " " << noise << " " << attempts;
        }
      }
    }
  }
}

// A coarse quantisation has a heavier tail. Without noise the law of a sum's squares is discrete,
// and its tail follows from convolutions.
TEST(SumLimitsTest, HonestPoissonCountsAreAccepted) {
  for (const double bound : {0.01, 1.0, 10.0}) {
    for (const uint64_t d : {1, 3, 12}) {
      MechanismSpec spec{.dimension = d,
                         .params = {.clip_norm = 10 * bound,
                                    .coordinate_bound = bound,
                                    .scale = 1,
                                    .without_noise = true},
                         .cohort = 3,
                         .min_participants = 3,
                         .attempts = 1};
      const MechanismPlan plan = PlanOf(spec);
      const SumLimits limits = SumLimitsOf(plan, 3);
      const auto centre = static_cast<double>(3 * plan.offset());
      const double rate = centre + 3 * bound;
      // One coordinate's square within its limit; beyond, the other limit refuses.
      const auto largest = static_cast<size_t>(std::pow(limits.norm, 2));
      std::vector<double> square(largest + 1);
      double beyond = 0;
      for (double count = 0; count < rate + 40 * std::sqrt(rate) + 100; ++count) {
        const double probability =
            std::exp(testing::PoissonLogPmf(static_cast<uint64_t>(count), rate));
        const double x = std::abs(count - centre);
        if (x > limits.coordinate) {
          beyond += probability;
        } else if (x <= limits.norm) {
          square[static_cast<size_t>(x * x)] += probability;
        }
      }
      EXPECT_LE(beyond * static_cast<double>(d), kRefused) << bound << " " << d;
      // Tails of 1e-13 are lost in sums of 1: what is refused is added on its own.
      std::vector<double> sum = {1};
      double refused = 0;
      for (uint64_t i = 0; i < d; ++i) {
        std::vector<double> next(largest + 1);
        for (size_t a = 0; a < sum.size(); ++a) {
          if (sum[a] == 0) continue;
          for (size_t x = 0; x * x <= largest; ++x) {
            const double both = sum[a] * square[x * x];
            (a + x * x <= largest ? next[a + x * x] : refused) += both;
          }
        }
        sum = std::move(next);
      }
      EXPECT_LE(refused, kRefused) << bound << " " << d;
    }
  }
}

// Chernoff's bound on a sum of independent coins is at most that on a Poisson variable of its mean.
// A slack of 10 sqrt(B) alone would refuse honest sums of small means.
TEST(SumLimitsTest, MoreUnitsAreNeverDrawn) {
  for (double expected = 1e-4; expected < 1e8; expected *= 1.3) {
    const double most = std::floor(MostDrawn(expected));
    const boost::math::poisson_distribution<> law(expected);
    EXPECT_LE(cdf(complement(law, most)), std::exp(-45)) << expected;
  }
  const boost::math::poisson_distribution<> law(4 * 0.01);
  EXPECT_GE(cdf(complement(law, std::floor(4 * (0.01 + 10 * std::sqrt(0.01))))), 0x1p-40);
}

// At the paper's setting. The second limit of docs/security/committee.md, "Bound on one member's
// influence", is for the noise of all; a liar's is missing.
TEST(SumLimitsTest, ReachAtThePapersSetting) {
  const struct {
    uint32_t cohort;
    double reach;
  } rows[] = {{5, 1951}, {10, 1433}, {50, 809}, {1000, 1160}};
  for (const auto& row : rows) {
    EXPECT_NEAR(ReachOfOne(PlanOf(Paper(row.cohort)), row.cohort), row.reach, 2);
  }
  EXPECT_NEAR(SumLimitsOf(PlanOf(Paper(1000)), 1000).coordinate, 159, 0.5);
}

// Units record and person: the same page.
TEST(SumLimitsTest, ReachOfASite) {
  MechanismSpec five = Paper(5);
  five.sums_of_clipped = true;
  five.most_contributions = MostDrawn(320);
  EXPECT_NEAR(SumLimitsOf(PlanOf(five), 5).updates_norm, 529, 0.5);
  EXPECT_NEAR(ReachOfOne(PlanOf(five), 5), 2021, 2);
  MechanismSpec hospitals = Paper(4, 14);
  hospitals.sums_of_clipped = true;
  hospitals.params.coordinate_bound = 64;
  hospitals.params.scale = 1e-2;
  hospitals.most_contributions = MostDrawn(184);
  EXPECT_NEAR(SumLimitsOf(PlanOf(hospitals), 4).updates_norm, 350, 0.5);
  EXPECT_NEAR(ReachOfOne(PlanOf(hospitals), 4), 406, 2);
}

}  // namespace
}  // namespace tacet::dp
