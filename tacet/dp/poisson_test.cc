#include "tacet/dp/poisson.h"

#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/acceptance_points_for_test.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/kernels.h"
#include "tacet/dp/poisson_trial.h"
#include "tacet/dp/reference_for_test.h"

namespace tacet::dp {
namespace {

TEST(PoissonTest, AcceptanceAgreesWithTwoHundredBits) {
  const testing::AcceptanceErrors errors = testing::MeasureAcceptance(1, 3000);
  EXPECT_LT(errors.within_12, 1e-13);
  EXPECT_LT(errors.within_5, 1e-14);
  // The second test calls a verdict certain at twice this distance.
  EXPECT_LT(errors.quick, 0x1p-14);
}

TEST(PoissonTest, QuickExponentialIsRightToSixMillionths) {
  for (double x = -60; x < 0; x += 0.00371) {
    const float single = static_cast<float>(x);
    EXPECT_NEAR(QuickExp(single) / std::exp(static_cast<double>(single)), 1, 6e-6) << x;
  }
  EXPECT_LT(QuickExp(-1e30f), 1e-26f);
  EXPECT_GT(QuickExp(-1e30f), 0);
}

TEST(PoissonTest, ScaledLogarithmAgreesWithTwoHundredBits) {
  for (const double rate : {0.5, 1.0, 7.3, 10.0, 33.25, 1000.5, 4e4, 1e7, 2e9}) {
    for (const double z : {-9.0, -4.0, -1.0, 0.0, 0.3, 2.0, 8.0, 11.5}) {
      const double k = std::max(0.0, std::floor(rate + z * std::sqrt(rate)));
      const double error = static_cast<double>(testing::Real(PoissonLogScaled(k, rate)) -
                                               testing::ReferenceLogScaled(k, rate));
      EXPECT_LT(std::abs(error), 1e-13) << rate << " " << k;
    }
  }
  // The form that the saddle-point replaces, at rate 4e4.
  const double k = 40321;
  const double plain =
      k * std::log(4e4) - 4e4 - std::lgamma(k + 1) + 0.5 * std::log(2 * std::numbers::pi * 4e4);
  EXPECT_GT(
      std::abs(static_cast<double>(testing::Real(plain) - testing::ReferenceLogScaled(k, 4e4))),
      1e-12);
}

// Calls check(k, T) for candidates k and the normal draws at both edges of their cells, where p has
// its extremes, over the whole range of the normal sampler; and at T = 0, another extreme.
template <typename Check>
void ForEachEdge(double rate, const Check& check) {
  const double z = GaussianBound(GaussianSampler::kDefault);
  const double width = static_cast<double>(PoissonRoot(rate)) + kPoissonWidening;
  const double step = std::max(1.0, std::floor(width / 200));
  check(std::floor(rate + 0.5), 0.0);
  for (double k = std::max(0.0, std::floor(rate - z * width)); k < rate + z * width; k += step) {
    for (const double edge : {k, k + 1}) {
      const double normal = (edge - rate - 0.5) / width;
      if (std::abs(normal) <= z) check(k, normal);
    }
  }
}

std::vector<double> GridOfRates() {
  std::vector<double> rates;
  for (double rate = kPoissonRejectionRate; rate < kPoissonMaxRate;
       rate *= rate < 2000 ? 1.0037 : 1.1) {
    rates.push_back(rate);
  }
  return rates;
}

// The draws are exact only if the hat lies above the law, up to the bound of the normal sampler,
// and the first test takes nothing that might be rejected. The margins, in units of 1/sqrt(rate),
// are wider than what lies between two points of the grid.
TEST(PoissonTest, HatDominatesAndFirstTestTakesNoMoreThanTheLaw) {
  double largest = -1;
  double least_slack = 1;
  for (const double rate : GridOfRates()) {
    const double root = std::sqrt(rate);
    ForEachEdge(rate, [&](double k, double normal) {
      const double log_p = PoissonLogAcceptance(rate, k, normal);
      largest = std::max(largest, log_p * root);
      const double t = std::abs(normal);
      const float* b = kPoissonShortfall;
      const double shortfall = b[0] + t * (b[1] + t * (b[2] + t * static_cast<double>(b[3])));
      if (shortfall >= root) return;  // the test takes nothing
      least_slack = std::min(least_slack, shortfall + std::expm1(log_p) * root);
    });
  }
  EXPECT_LT(largest, -0.005);
  EXPECT_GT(largest, -0.02);
  EXPECT_GT(least_slack, 0.02);
  EXPECT_LT(least_slack, 0.2);
}

// A hat of width sqrt(rate) alone, as for an unbounded normal draw, falls below the right tail.
TEST(PoissonTest, HatWithoutWideningWouldNotDominate) {
  const double rate = 26277;
  const double normal = 5;
  const double k = std::floor(rate + 0.5 + std::sqrt(rate) * normal);
  EXPECT_GT(PoissonLogAcceptance(rate, k, normal), 0.05);
}

// A count beyond the hat is rarer than one beyond the noise: the plan charges it as often.
TEST(PoissonTest, CountsBeyondTheHatAreAsRareAsNoiseBeyondItsBound) {
  const double z = GaussianBound(GaussianSampler::kDefault);
  for (const double rate : GridOfRates()) {
    const double width = static_cast<double>(PoissonRoot(rate)) + kPoissonWidening;
    // Beyond k the law falls faster than a geometric one of ratio rate/k, below it of k/rate.
    const auto probability = [&](double k) {
      return std::exp(PoissonLogScaled(k, rate)) / std::sqrt(2 * std::numbers::pi * rate);
    };
    const double high = std::floor(rate + 0.5 + z * width) + 1;
    const double low = std::floor(rate + 0.5 - z * width) - 1;
    double beyond = probability(high) / (1 - rate / (high + 1));
    if (low >= 0) beyond += probability(low) / (1 - low / rate);
    EXPECT_LT(beyond, std::erfc(z / std::sqrt(2.0))) << rate;
  }
}

// The least n below `end` for which `holds` is false; it is true for all smaller ones.
template <typename Holds>
uint32_t FirstFailure(uint32_t end, const Holds& holds) {
  uint32_t begin = 0;
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (holds(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

// Rates and normal draws over their ranges, many at low rates and far out.
struct Trial {
  double rate, normal, k, p;
};
std::vector<Trial> SomeTrials(int count) {
  crypto::Random random = crypto::SeededRandom(1, "trials");
  const auto unit = [&] { return static_cast<double>(random.NextU64() >> 11) * 0x1p-53; };
  std::vector<Trial> trials;
  for (int i = 0; i < count; ++i) {
    const double rate = 10 * std::exp(unit() * (i % 3 == 0 ? 19.17 : i % 3 == 1 ? 4 : 0.2));
    const double reach = i % 4 == 0 ? 13.32 : 3;
    const double normal = reach * (2 * unit() - 1);
    const double k = PoissonCandidate(rate, normal);
    if (k < 0) continue;
    trials.push_back({rate, normal, k, std::exp(PoissonLogAcceptance(rate, k, normal))});
  }
  return trials;
}

// Both tests look at 24 bits of the uniform value: the last top they take lies below p with all
// that can follow it, the first one they reject above, and the second test keeps a quarter of its
// slack.
TEST(PoissonTest, QuickTestsNeverContradictTheExactOne) {
  constexpr uint32_t kTops = uint32_t{1} << 24;
  for (const Trial& trial : SomeTrials(60000)) {
    const double rate = trial.rate;
    const double normal = trial.normal;
    const double p = trial.p;
    const uint32_t sure = FirstFailure(
        kTops, [&](uint32_t top) { return IsSurelyTaken(rate, normal, top << 8 | 0xff); });
    ASSERT_LE(sure * 0x1p-24, p) << rate << " " << normal;
    const auto verdict = [&](uint32_t top) {
      return QuickVerdict(rate, trial.k, normal, top << 8);
    };
    const double taken = 0x1p-24 * FirstFailure(kTops, [&](uint32_t top) {
                           return verdict(top) == PoissonVerdict::kTaken;
                         });
    const double rejected = 0x1p-24 * FirstFailure(kTops, [&](uint32_t top) {
                              return verdict(top) != PoissonVerdict::kRejected;
                            });
    const auto slack = [](double u) {
      return u * static_cast<double>(kQuickRelative) + static_cast<double>(kQuickAbsolute);
    };
    if (taken > 0) {
      ASSERT_LE(taken + slack(taken) / 4, p) << rate << " " << normal;
    }
    if (rejected < 1) {
      ASSERT_GE(rejected - slack(rejected) / 4, p) << rate << " " << normal;
    }
  }
}

// The exact test compares all of its 96 bits: below p it takes, above it rejects, and in the one
// cell of 2^-32 that holds p the next word decides.
TEST(PoissonTest, ExactTestFollowsEveryBitOfItsUniformValue) {
  int taken = 0;
  int rejected = 0;
  uint64_t seed = 0;
  for (const Trial& trial : SomeTrials(20000)) {
    const double rate = trial.rate;
    const double normal = trial.normal;
    const double p = trial.p;
    if (p < 1e-8) continue;
    const auto decide = [&](uint32_t chance) {
      crypto::Random random = crypto::SeededRandom(seed, "exact");
      return DecidePoisson(rate, normal, chance, random);
    };
    const uint32_t cell = static_cast<uint32_t>(p * 0x1p32);
    EXPECT_TRUE(decide(cell - 1)) << rate << " " << normal;
    EXPECT_FALSE(decide(cell + 1)) << rate << " " << normal;
    crypto::Random twin = crypto::SeededRandom(seed, "exact");
    const double u = (cell + FixedPointUnit(twin.NextU64())) * 0x1p-32;
    if (std::abs(u / p - 1) > 1e-12) {
      EXPECT_EQ(decide(cell), u < p) << rate << " " << normal;
    }
    (u < p ? taken : rejected) += 1;
    ++seed;
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(rejected, 1000);
}

TEST(PoissonTest, ExactTestKnowsTheLowerEndOfTheCounts) {
  crypto::Random random = crypto::SeededRandom(1, "lower end");
  const double rate = 10;
  const double width = static_cast<double>(PoissonRoot(rate)) + kPoissonWidening;
  const double of_zero = (0.5 - rate - 0.5) / width;
  ASSERT_EQ(PoissonCandidate(rate, of_zero), 0);
  EXPECT_TRUE(DecidePoisson(rate, of_zero, 0, random));
  const double of_minus_one = (-0.5 - rate - 0.5) / width;
  ASSERT_EQ(PoissonCandidate(rate, of_minus_one), -1);
  EXPECT_FALSE(DecidePoisson(rate, of_minus_one, 0, random));
}

// Kernels that note every trial by its rate, which tests keep apart.
struct NotedTrial {
  double normal = 0;
  uint32_t chance = 0;
  bool open = false;
  bool rejected = false;
};
std::map<double, std::vector<NotedTrial>>& NotedTrials() {
  static std::map<double, std::vector<NotedTrial>> trials;
  return trials;
}
bool IsSet(const uint8_t* bits, size_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

Kernels NotingKernels() {
  Kernels kernels = ScalarKernels();
  kernels.poisson_first = [](const PoissonTrials& trials, uint32_t* counts, uint8_t* open) {
    const bool small = ScalarKernels().poisson_first(trials, counts, open);
    for (size_t i = 0; i < trials.size; ++i) {
      NotedTrials()[trials.rates[i]].push_back(
          {trials.normals[i], trials.chances[i], IsSet(open, i), false});
    }
    return small;
  };
  kernels.poisson_second = [](const PoissonTrials& trials, crypto::Random& random,
                              uint8_t* rejected) {
    ScalarKernels().poisson_second(trials, random, rejected);
    for (size_t i = 0; i < trials.size; ++i) {
      std::vector<NotedTrial>& noted = NotedTrials()[trials.rates[i]];
      ASSERT_FALSE(noted.empty());
      EXPECT_TRUE(noted.back().open);
      EXPECT_EQ(noted.back().normal, trials.normals[i]);
      EXPECT_EQ(noted.back().chance, trials.chances[i]);
      noted.back().open = false;
      noted.back().rejected = IsSet(rejected, i);
    }
  };
  return kernels;
}

// The law needs more than right tests: no trial may serve two values, and a count must be the
// candidate of a trial that was not rejected.
TEST(PoissonTest, EveryValueHasItsOwnTrialsAndTheCandidateOfTheLast) {
  const Kernels kernels = NotingKernels();
  crypto::Random random = crypto::SeededRandom(1, "noted");
  crypto::Random pick = crypto::SeededRandom(2, "noted");
  PoissonSampler sampler(random, kernels);
  NotedTrials().clear();
  std::vector<double> rates;
  std::vector<uint32_t> counts;
  for (const size_t size : {1, 3, 16, 700, 1023, 1024, 1025, 2047, 2048, 2049, 5000, 2, 9001}) {
    std::vector<double> some(size);
    for (double& rate : some) {
      const double unit = static_cast<double>(pick.NextU64() >> 11) * 0x1p-53;
      rate = 10 * std::exp(unit * (size % 2 == 0 ? 10 : 2));
    }
    std::vector<uint32_t> drawn(size);
    sampler.Fill(some, drawn);
    rates.insert(rates.end(), some.begin(), some.end());
    counts.insert(counts.end(), drawn.begin(), drawn.end());
  }
  std::set<double> normals;
  size_t trials = 0;
  for (size_t i = 0; i < rates.size(); ++i) {
    const std::vector<NotedTrial>& noted = NotedTrials()[rates[i]];
    ASSERT_FALSE(noted.empty());
    for (size_t j = 0; j < noted.size(); ++j) {
      EXPECT_FALSE(noted[j].open);
      EXPECT_EQ(noted[j].rejected, j + 1 < noted.size());
      EXPECT_TRUE(normals.insert(noted[j].normal).second);
    }
    EXPECT_EQ(counts[i], PoissonCandidate(rates[i], noted.back().normal));
    trials += noted.size();
  }
  EXPECT_GT(trials, rates.size() + 1000);
}

TEST(PoissonTest, OneKeyOneResult) {
  std::vector<double> rates;
  for (int i = 0; i < 5000; ++i) rates.push_back(0.01 * std::pow(1.005, i));
  std::vector<uint32_t> first(rates.size());
  std::vector<uint32_t> second(rates.size());
  crypto::Random a = crypto::SeededRandom(1, "same");
  crypto::Random b = crypto::SeededRandom(1, "same");
  FillPoisson(rates, a, first);
  FillPoisson(rates, b, second);
  EXPECT_EQ(first, second);
  for (size_t i = 0; i < rates.size(); ++i) {
    if (rates[i] > 1000 && rates[i] < kPoissonMaxRate) {
      EXPECT_LT(std::abs(first[i] - rates[i]), 8 * std::sqrt(rates[i])) << rates[i];
    }
  }
  FillPoisson(rates, a, first);
  EXPECT_NE(first, second);
}

TEST(PoissonTest, DefectiveRatesEndAndStayInRange) {
  const std::vector<double> rates = {0.0,
                                     -1.0,
                                     std::numeric_limits<double>::quiet_NaN(),
                                     -std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity(),
                                     1e300,
                                     kPoissonMaxRate};
  std::vector<uint32_t> counts(rates.size(), 7);
  crypto::Random random = crypto::SeededRandom(1, "defective");
  FillPoisson(rates, random, counts);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(counts[i], 0u) << i;
  for (size_t i = 4; i < 7; ++i) EXPECT_NEAR(counts[i], kPoissonMaxRate, 1e6) << i;
  FillPoisson({}, random, {});
}

}  // namespace
}  // namespace tacet::dp
