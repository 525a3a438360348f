// The mechanism under discrete Laplace noise, and attacks on what observers see of it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/discrete_laplace.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/dp/mechanism_plan_for_test.h"
#include "tacet/dp/sum_limits.h"

namespace tacet::dp {
namespace {

using ::testing::HasSubstr;

// A histogram of five cells at four sites, of whom one looks: epsilon 1 where a row is replaced.
MechanismSpec Histogram() {
  return {.dimension = 5,
          .params = {.noise_law = NoiseLaw::kDiscreteLaplace,
                     .clip_norm = 1,
                     .coordinate_bound = 10'000,
                     .noise_stddev = DiscreteLaplaceStddev(0.5),
                     .scale = 1},
          .cohort = 4,
          .min_participants = 4,
          .noise_shares = 3,
          .sums_of_clipped = true,
          .attempts = 2,
          .delta = 1e-5,
          .max_epsilon = 1};
}

// Probabilities of the integers first, first + 1, ...
struct IntegerLaw {
  int64_t first = 0;
  std::vector<long double> probability = {};

  long double At(int64_t k) const {
    const int64_t i = k - first;
    return i < 0 || i >= std::ssize(probability) ? 0 : probability[static_cast<size_t>(i)];
  }
};

IntegerLaw Sum(const IntegerLaw& a, const IntegerLaw& b) {
  IntegerLaw sum{.first = a.first + b.first};
  sum.probability.resize(a.probability.size() + b.probability.size() - 1);
  for (size_t i = 0; i < a.probability.size(); ++i) {
    for (size_t j = 0; j < b.probability.size(); ++j) {
      sum.probability[i + j] += a.probability[i] * b.probability[j];
    }
  }
  return sum;
}

// Law of X - X' where both have this law on 0, 1, ...
IntegerLaw Difference(const std::vector<long double>& law) {
  IntegerLaw up{.first = 0, .probability = law};
  IntegerLaw down{.first = -(std::ssize(law) - 1), .probability = law};
  std::ranges::reverse(down.probability);
  return Sum(up, down);
}

// The law of the sum of `count` shares as their table has it, without any randomness.
IntegerLaw DrawnLaw(const DiscreteLaplaceShares& shares, int count) {
  std::vector<long double> one;
  unsigned __int128 before = 0;
  for (const unsigned __int128 at : shares.cumulative()) {
    one.push_back(std::ldexp(static_cast<long double>(at - before), -128));
    before = at;
  }
  const IntegerLaw share = Difference(one);
  IntegerLaw sum = share;
  for (int i = 1; i < count; ++i) sum = Sum(sum, share);
  return sum;
}

// The largest |log P(k) / P(k - distance)|, over what is likelier than 2^-90.
double LargestRatio(const IntegerLaw& law, int distance = 1) {
  double largest = 0;
  for (int64_t k = law.first + distance; law.At(k) > 0; ++k) {
    const long double from = law.At(k - distance);
    if (std::min(law.At(k), from) < 0x1p-90L) continue;
    largest = std::max(largest, std::abs(static_cast<double>(std::log(law.At(k) / from))));
  }
  return largest;
}

// delta at epsilon of a sum that one unit moves by `distance` steps: the larger of both directions.
double DeltaOf(const IntegerLaw& law, int distance, double epsilon) {
  double largest = 0;
  for (const int step : {distance, -distance}) {
    long double total = 0;
    const int64_t last = law.first + std::ssize(law.probability) + distance;
    for (int64_t k = law.first - distance; k <= last; ++k) {
      const long double excess =
          law.At(k) - std::exp(static_cast<long double>(epsilon)) * law.At(k - step);
      total += std::max(excess, 0.0L);
    }
    largest = std::max(largest, static_cast<double>(total));
  }
  return largest;
}

// The drawn noise against its law: sums of all shares are discrete Laplace up to the
// rounding and the truncation that the plan charges.
TEST(LaplaceMechanismTest, TheDrawnLawIsTheIdealOne) {
  for (const double rate : {0.2, 0.5, 1.0, 3.0}) {
    for (const int count : {1, 3, 4}) {
      const auto shares = *DiscreteLaplaceShares::Create(rate, static_cast<uint32_t>(count));
      const IntegerLaw law = DrawnLaw(shares, count);
      long double distance = 0;
      for (int64_t k = law.first; law.At(k) > 0; ++k) {
        const long double ideal = std::tanh(rate / 2.0L) * std::exp(-rate * std::abs(1.0L * k));
        ASSERT_LE(std::abs(law.At(k) - ideal), ideal * (2 * count * shares.rounding() + 1e-16L) +
                                                   2 * count * shares.truncation())
            << rate << " " << count << " " << k;
        distance += std::abs(law.At(k) - ideal) / 2;
      }
      EXPECT_LE(distance, 2 * count * (shares.truncation() + shares.rounding()) + 1e-16L);
    }
  }
}

// Four sites, K_min 4. The server reads the sum; another site takes its own share from it; a
// coalition of c sites takes c.
TEST(LaplaceMechanismTest, AnObserverWhoKnowsItsSharesLearnsEpsilon) {
  for (const int colluders : {1, 2}) {
    const int planned = 4 - colluders;
    const auto shares = *DiscreteLaplaceShares::Create(1, static_cast<uint32_t>(planned));
    const double rounding = 8 * shares.rounding();
    EXPECT_NEAR(LargestRatio(DrawnLaw(shares, planned)), 1, 1e-9);
    EXPECT_LE(LargestRatio(DrawnLaw(shares, planned + 1)), 1 + 1e-9);
    for (const int distance : {1, 2, 5}) {
      for (const int known : {0, 1, colluders}) {
        EXPECT_LE(DeltaOf(DrawnLaw(shares, 4 - known), distance, distance + distance * rounding),
                  0x1p-80)
            << colluders << " " << known << " " << distance;
      }
      EXPECT_GT(DeltaOf(DrawnLaw(shares, planned), distance, 0.98 * distance), 1e-4);
    }
  }
}

// The attack that the shape prevents: where shares of all K_min add to the law, as they would with
// colluders 0, the site that takes its own away is left with a ratio of e^1.27 at epsilon 1.
TEST(LaplaceMechanismTest, SharesOfAllSitesWouldLeaveAnotherSiteMore) {
  const auto naive = *DiscreteLaplaceShares::Create(1, 4);
  EXPECT_LE(LargestRatio(DrawnLaw(naive, 4)), 1 + 1e-9);
  EXPECT_NEAR(LargestRatio(DrawnLaw(naive, 3)), 1.27, 0.01);
  EXPECT_GT(DeltaOf(DrawnLaw(naive, 3), 1, 1), 0.05);
  // Two that collude, where one was planned for.
  const auto planned_for_one = *DiscreteLaplaceShares::Create(1, 3);
  EXPECT_GT(LargestRatio(DrawnLaw(planned_for_one, 2)), 1.3);
}

// A count with its rows left out: one row moves the count by four steps and the other value by one.
// Both together cost epsilon 1, against every set of shares that an observer knows.
TEST(LaplaceMechanismTest, ACountAndItsRowsLeftOutCostEpsilonTogether) {
  const auto loss = [](const IntegerLaw& law) { return LargestRatio(law, 4) + LargestRatio(law); };
  for (const int colluders : {1, 2}) {
    const int planned = 4 - colluders;
    const auto shares = *DiscreteLaplaceShares::Create(0.2, static_cast<uint32_t>(planned));
    for (int known = 0; known <= colluders; ++known) {
      EXPECT_LE(loss(DrawnLaw(shares, 4 - known)), 1 + 1e-9) << colluders << " " << known;
    }
    EXPECT_NEAR(loss(DrawnLaw(shares, planned)), 1, 1e-9);
  }
  const auto naive = *DiscreteLaplaceShares::Create(0.2, 4);
  EXPECT_NEAR(loss(DrawnLaw(naive, 3)), 1.61, 0.01);
}

TEST(LaplaceMechanismTest, NoCountIsBelowZeroOrTooLarge) {
  for (const double scale : {1.0, 0.25, 1.0 / 64}) {
    for (const double stddev : {0.01, 1.4, 30.0}) {
      for (const double bound : {1.0, 1000.0, 262'143.0}) {
        MechanismSpec spec = Histogram();
        spec.params.scale = scale;
        spec.params.noise_stddev = stddev;
        spec.params.coordinate_bound = bound;
        const MechanismPlan plan = PlanOf(spec);
        ASSERT_NE(plan.laplace(), nullptr);
        const auto offset = static_cast<int64_t>(plan.offset());
        const auto reach =
            static_cast<int64_t>(plan.laplace()->bound()) + std::llround(bound / scale);
        EXPECT_GE(offset - reach, 1);
        EXPECT_LT(offset + reach, int64_t{1} << 32);
        EXPECT_EQ(plan.noise_bound(), scale * plan.laplace()->bound());
        EXPECT_EQ(plan.quantisation_variance(4), 0);
        EXPECT_DOUBLE_EQ(plan.sum_stddev(4, 100), stddev * std::sqrt(4.0 / 3));
      }
    }
  }
}

// Y = u/s + m + X, X the share drawn from the same generator; the Poisson generator is not used.
TEST(LaplaceMechanismTest, CountsAreTheUpdateAndAShare) {
  MechanismSpec spec = Histogram();
  spec.params.scale = 0.25;
  const MechanismPlan plan = PlanOf(spec);
  std::vector<float> sums(3000);
  for (size_t i = 0; i < sums.size(); ++i) sums[i] = 0.25f * static_cast<float>(i * 13 % 40'000);
  std::vector<int32_t> shares(sums.size());
  crypto::Random alone = crypto::SeededRandom(1, "noise");
  constexpr size_t kBlock = NoiseAndQuantization::kBlock;
  for (size_t begin = 0; begin < sums.size(); begin += kBlock) {
    plan.laplace()->Fill(alone,
                         std::span(shares).subspan(begin, std::min(kBlock, sums.size() - begin)));
  }
  std::vector<uint32_t> counts(sums.size());
  crypto::Random noise = crypto::SeededRandom(1, "noise");
  crypto::Random poisson = crypto::SeededRandom(1, "poisson");
  const Mechanism mechanism(plan);
  mechanism.NoiseAndQuantize(sums, noise, poisson, counts);
  std::vector<double> noised(sums.size());
  crypto::Random again = crypto::SeededRandom(1, "noise");
  mechanism.Noise(std::span<const float>(sums).first(kBlock), again,
                  std::span(noised).first(kBlock));
  for (size_t i = 0; i < sums.size(); ++i) {
    const auto steps = static_cast<int64_t>(i * 13 % 40'000);
    ASSERT_EQ(counts[i], static_cast<int64_t>(plan.offset()) + steps + shares[i]) << i;
    if (i < kBlock) {
      ASSERT_EQ(noised[i], 0.25 * static_cast<double>(steps + shares[i]));
    }
  }
  EXPECT_NE(std::ranges::count(shares, 0), std::ssize(shares));
}

TEST(LaplaceMechanismTest, WithoutNoiseASumIsExact) {
  MechanismSpec spec = Histogram();
  spec.params.without_noise = true;
  const MechanismPlan plan = PlanOf(spec);
  EXPECT_EQ(plan.laplace(), nullptr);
  EXPECT_EQ(plan.noise_bound(), 0);
  EXPECT_EQ(plan.sum_stddev(4), 0);
  EXPECT_EQ(plan.TermsAt(1, 1e-5).delta, 0);
  const Mechanism mechanism(plan);
  std::vector<uint64_t> sums(3);
  std::vector<uint32_t> counts(3);
  for (const float more : {0.0f, 9000.0f, -9999.0f}) {
    const std::vector<float> update = {more, 1 + more / 2, 10'000};
    crypto::Random noise = crypto::SeededRandom(1, "noise");
    crypto::Random poisson = crypto::SeededRandom(1, "poisson");
    mechanism.NoiseAndQuantize(update, noise, poisson, counts);
    for (size_t i = 0; i < 3; ++i) sums[i] += counts[i];
  }
  std::vector<double> mean(3);
  mechanism.DecodeMean(sums, 3, mean);
  EXPECT_EQ(3 * mean[0], -999.0);
  EXPECT_NEAR(3 * mean[1], 3 - 500, 1);  // halves are rounded
  EXPECT_EQ(mean[2], 10'000.0);
}

// The law of |X| beyond x, X the sum of `participants` shares of which `shares` add to the law.
double TailBeyond(double rate, int participants, int shares, double x) {
  const long double r = static_cast<long double>(participants) / shares;
  const long double p = std::exp(-static_cast<long double>(rate));
  std::vector<long double> law = {std::pow(1 - p, r)};
  while (law.back() > 1e-40L ||
         static_cast<double>(law.size()) * rate < 3 * static_cast<double>(r)) {
    const auto k = static_cast<long double>(law.size());
    law.push_back(law.back() * p * (k - 1 + r) / k);
  }
  const IntegerLaw sum = Difference(law);
  long double beyond = 0;
  for (int64_t k = sum.first; k <= -sum.first; ++k) {
    if (static_cast<double>(std::abs(k)) > x) beyond += sum.At(k);
  }
  return static_cast<double>(beyond);
}

TEST(LaplaceMechanismTest, HonestSumsAreAcceptedAndLiesAreNot) {
  for (const uint32_t cohort : {4u, 12u}) {
    for (const double rate : {0.1, 1.0, 4.0}) {
      MechanismSpec spec = Histogram();
      spec.cohort = cohort;
      spec.params.noise_stddev = DiscreteLaplaceStddev(rate);
      spec.params.coordinate_bound = 100;
      const MechanismPlan plan = PlanOf(spec);
      for (uint32_t uploads = 4; uploads <= cohort; uploads += 4) {
        const SumLimits limits = SumLimitsOf(plan, uploads);
        const double noise = limits.coordinate - 100 * uploads;
        EXPECT_LE(TailBeyond(rate, static_cast<int>(uploads), 3, noise) * 5 * 2, 0x1p-42);
        // A quarter less would refuse honest sums more often: the limit is near.
        EXPECT_GT(TailBeyond(rate, static_cast<int>(uploads), 3, 0.75 * noise) * 5 * 2, 0x1p-42);
        EXPECT_DOUBLE_EQ(limits.norm, std::sqrt(5.0) * limits.coordinate);
      }
      const double most = static_cast<double>(plan.sum_bound()) - 100 * cohort;
      EXPECT_LE(TailBeyond(rate, static_cast<int>(cohort), 3, most) * 5 * 2, 0x1p-40);
      EXPECT_LT(plan.wrong_value_probability(), 0x1p-40);
    }
  }
}

// The cost of finite arithmetic: far below what a Gaussian release is allowed.
TEST(LaplaceMechanismTest, TermsAreNegligible) {
  const MechanismPlan plan = PlanOf(Histogram());
  EXPECT_TRUE(plan.makes_guarantee());
  EXPECT_EQ(plan.draws(), 5 * 2 * 4);
  EXPECT_LT(plan.truncation_term(), 0x1p-80);
  EXPECT_GT(plan.truncation_term(), 0);
  EXPECT_EQ(plan.coarse_tail_term(), 0);
  const ImplementationTerms terms = plan.TermsAt(1, 1e-5);
  EXPECT_LT(terms.epsilon, 1e-12);
  EXPECT_LT(terms.delta, 1e-15);
  EXPECT_GE(terms.delta, plan.truncation_term());
}

TEST(LaplaceMechanismTest, RefusesWithOneReasonEach) {
  MechanismSpec spec = Histogram();
  spec.sums_of_clipped = false;
  EXPECT_THAT(base::Message(MechanismPlan::Create(spec).status()),
              HasSubstr("a participant is one contribution, which is clipped in L2"));
  spec = Histogram();
  spec.params.scale = 1e-6;
  spec.params.coordinate_bound = 1;
  EXPECT_THAT(base::Message(MechanismPlan::Create(spec).status()),
              HasSubstr("is too large for scale 1e-06: discrete Laplace noise has a deviation of "
                        "at most 64282.4 steps"));
  spec = Histogram();
  spec.params.coordinate_bound = 0x1p31;
  EXPECT_THAT(base::Message(MechanismPlan::Create(spec).status()),
              HasSubstr("coordinate_bound 2147483648 is too large for scale 1"));
  spec = Histogram();
  spec.params.noise_law = static_cast<NoiseLaw>(7);
  EXPECT_THAT(base::Message(MechanismPlan::Create(spec).status()),
              HasSubstr("noise_law has the unknown value 7"));
  EXPECT_EQ(NoiseLawName(NoiseLaw::kDiscreteLaplace), "discrete-laplace");
  EXPECT_EQ(NoiseLawName(NoiseLaw::kGaussian), "gaussian");
  EXPECT_EQ(*ParseNoiseLaw("discrete-laplace"), NoiseLaw::kDiscreteLaplace);
  EXPECT_THAT(base::Message(ParseNoiseLaw("laplace").status()),
              HasSubstr("unknown noise law \"laplace\": expected gaussian or discrete-laplace"));
}

}  // namespace
}  // namespace tacet::dp
