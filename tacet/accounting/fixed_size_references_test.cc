// The references for fixed-size cohorts against closed forms, plain sums and the PLD accountant.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tacet/accounting/log_math.h"
#include "tacet/accounting/planar_reference_for_test.h"
#include "tacet/accounting/pld_accountant.h"
#include "tacet/accounting/privacy_event.h"
#include "tacet/accounting/two_member_adversary_for_test.h"

namespace tacet::accounting {
namespace {

// H_a of phi_c against phi_0.
double GaussianProfile(double c, double a) {
  const double x = std::log(a) / c + c / 2;
  return NormalTail(x - c) - a * NormalTail(x);
}

// H_a of (1 - q) phi_0 + q phi_c against phi_0.
double MixtureProfile(double q, double c, double a) {
  if (a <= 1 - q) return 1 - a;
  const double x = std::log((a - 1 + q) / q) / c + c / 2;
  return (1 - q - a) * NormalTail(x) + q * NormalTail(x - c);
}

// H_a of (1 - q) phi_0 + q phi_c against (1 - q) phi_0 + q phi_-c, a >= 1: the ratio grows with x.
double OppositeProfile(double q, double c, double a) {
  const auto difference = [&](double x) {
    const double up = q * std::exp(c * x - c * c / 2);
    const double down = q * std::exp(-c * x - c * c / 2);
    return 1 - q + up - a * (1 - q + down);
  };
  double low = 0, high = 40;
  for (int turn = 0; turn < 80; ++turn) {
    const double middle = 0.5 * (low + high);
    (difference(middle) < 0 ? low : high) = middle;
  }
  return (1 - q) * (1 - a) * NormalTail(low) + q * NormalTail(low - c) -
         a * q * NormalTail(low + c);
}

// A sum over a line, for collinear triples in which the set is an interval.
double LineSum(double q, double u, double w, double v, double a) {
  const double step = 1e-4;
  const auto density = [](double x) { return std::exp(-x * x / 2); };
  double total = 0;
  for (double x = -12; x < 12; x += step) {
    const double rest = (1 - q) * density(x - w);
    total += std::max(0.0, rest + q * density(x - u) - a * (rest + q * density(x - v)));
  }
  return total * step / std::sqrt(2 * std::numbers::pi);
}

// The same in the plane.
double PlaneSum(double q, const PlaneTriple& triple, double a) {
  const double step = 0.02;
  double total = 0;
  for (double x = -9; x <= 9; x += step) {
    for (double y = -9; y <= 9; y += step) {
      const auto density = [&](PlanePoint m) {
        return std::exp(-0.5 * ((x - m.x) * (x - m.x) + (y - m.y) * (y - m.y)));
      };
      const double rest = (1 - q) * density(triple.w);
      total += std::max(0.0, rest + q * density(triple.u) - a * (rest + q * density(triple.v)));
    }
  }
  return total * step * step / (2 * std::numbers::pi);
}

constexpr double kRates[] = {1e-3, 0.3, 1};
constexpr double kDistances[] = {0.05, 1, 4};
constexpr double kFactors[] = {0.05, 0.6, 0.999, 1, 1.001, 1.3, 4, 50};

TEST(PlanarReferenceTest, CollinearTriplesHaveTheirClosedForms) {
  for (const double q : kRates) {
    for (const double c : kDistances) {
      for (const double a : kFactors) {
        SCOPED_TRACE(testing::Message() << "q " << q << " c " << c << " a " << a);
        // On a slanted line: u at one end, w = v at the other.
        const PlanePoint end = {0.6 * c, -0.8 * c};
        EXPECT_NEAR(PlanarProfile(q, {.u = end, .w = {}, .v = {}}, a), MixtureProfile(q, c, a),
                    1e-10);
        // The exchange, by reflection.
        EXPECT_NEAR(PlanarProfile(q, {.u = {}, .w = {}, .v = end}, a),
                    1 - a + a * MixtureProfile(q, c, 1 / a), 1e-10);
        const double opposite =
            a >= 1 ? OppositeProfile(q, c, a) : 1 - a + a * OppositeProfile(q, c, 1 / a);
        EXPECT_NEAR(PlanarProfile(q, {.u = {c, 0}, .w = {}, .v = {-c, 0}}, a), opposite, 1e-10);
      }
    }
  }
}

TEST(PlanarReferenceTest, WithoutSamplingItIsTheGaussianMechanism) {
  for (const double c : kDistances) {
    for (const double a : kFactors) {
      EXPECT_NEAR(PlanarProfile(1, {.u = {c, 0}, .w = {3, 5}, .v = {}}, a), GaussianProfile(c, a),
                  1e-10);
    }
  }
}

TEST(PlanarReferenceTest, EqualPointsHaveNoLoss) {
  for (const double a : kFactors) {
    const PlaneTriple same{.u = {1, 2}, .w = {0, 1}, .v = {1, 2}};
    EXPECT_NEAR(PlanarProfile(0.4, same, a), std::max(0.0, 1 - a), 1e-10);
  }
}

// u between w and v: the set is an interval of the line.
TEST(PlanarReferenceTest, TheMiddlePointOfALineIsRight) {
  for (const double a : {0.7, 1.0, 1.1, 1.5}) {
    for (const double w : {-0.5, -2.0}) {
      EXPECT_NEAR(PlanarProfile(0.6, {.u = {0, 0}, .w = {w, 0}, .v = {1.5, 0}}, a),
                  LineSum(0.6, 0, w, 1.5, a), 1e-7);
    }
  }
}

TEST(PlanarReferenceTest, RandomTriplesAgreeWithAPlainSum) {
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> at(-1.5, 1.5);
  std::uniform_real_distribution<double> rate(0.05, 1);
  for (int i = 0; i < 10; ++i) {
    const PlaneTriple triple{.u = {at(generator), at(generator)},
                             .w = {at(generator), at(generator)},
                             .v = {at(generator), at(generator)}};
    const double q = rate(generator);
    for (const double a : {0.8, 1.05, 1.7}) {
      EXPECT_NEAR(PlanarProfile(q, triple, a), PlaneSum(q, triple, a), 2e-5);
    }
  }
}

// Between the two ways of cutting the plane in lines, which change at an angle of 168.5 degrees.
TEST(PlanarReferenceTest, ItIsContinuousInTheAngle) {
  for (const double a : {1.0, 1.1, 1.5}) {
    double last = -1;
    for (double angle = 2.9; angle < std::numbers::pi; angle += 2e-3) {
      const double here = PlanarProfile(0.6, TripleAt(1.2, 1.7, 1.2 * 1.7 * std::cos(angle)), a);
      if (last >= 0) {
        EXPECT_NEAR(here, last, 6e-4) << a << " " << angle;
        EXPECT_LE(here, last + 2e-10) << a << " " << angle;  // lemma 1
      }
      last = here;
    }
  }
}

TEST(TwoMemberAdversaryTest, WithoutSamplingItIsTheGaussianMechanism) {
  const AdversarySetting setting{.members = {{{.pair = {.q = 1, .u = 0.4}}}}, .rounds = 9};
  const double exact = GaussianProfile(1.2, std::exp(1.5));
  const double below = AdversaryDelta(setting, 1.5);
  EXPECT_LE(below, exact);
  EXPECT_GE(below, exact * 0.999);
}

// One member is a pair that the accountant knows.
TEST(TwoMemberAdversaryTest, SingleMembersAgreeWithTheAccountant) {
  SamplingEvent event{.neighbouring = Neighbouring::kReplaceOne,
                      .sampling = Sampling::kPoisson,
                      .sampling_rate = 0.2,
                      .noise_stddev = 2};
  const auto poisson = PldEpsilon(Repeated(event, 30), 1e-5);
  const AdversarySetting opposite{.members = {{{.pair = {.q = 0.2, .u = 0.5, .w = 0, .v = -0.5}}}},
                                  .rounds = 30};
  const double below = AdversaryEpsilon(opposite, 1e-5);
  EXPECT_LE(below, poisson->epsilon);
  EXPECT_GE(below, poisson->epsilon_lower - 1e-3);
  EXPECT_NEAR(AdversaryDelta(opposite, below) / 1e-5, 1, 1e-3);

  // The paper's pair is the accountant's lower bound for fixed-size cohorts.
  event.sampling = Sampling::kFixedSize;
  const auto fixed = PldEpsilon(Repeated(event, 30), 1e-5);
  const AdversarySetting paper{.members = {ReplaceOneMembers(0.2, 1).front()}, .rounds = 30};
  EXPECT_NEAR(AdversaryEpsilon(paper, 1e-5), fixed->epsilon_lower, 1e-3);
}

// A round in which the observer learns the rate.
TEST(TwoMemberAdversaryTest, MixturesAddTheirParts) {
  const AdversarySetting mixed{.members = {{{.probability = 0.25, .pair = {.q = 0.5, .u = 2}},
                                            {.probability = 0.75, .pair = {.q = 0.1, .u = 1}}}}};
  const double a = std::exp(0.7);
  const double exact = 0.25 * MixtureProfile(0.5, 2, a) + 0.75 * MixtureProfile(0.1, 1, a);
  const double below = AdversaryDelta(mixed, 0.7);
  EXPECT_LE(below, exact);
  EXPECT_GE(below, exact * 0.998);
}

// q = 1000 / 3596, sigma = 6 S, T = 100, delta = 1e-5: extrapolated to infinite resolution 4.30740,
// 4.30040 and 2.03512.
TEST(TwoMemberAdversaryTest, ThePapersSettingHasItsKnownBounds) {
  const double q = 1000.0 / 3596;
  const auto epsilon = [](const std::vector<AdversaryMember>& members) {
    return AdversaryEpsilon({.members = members, .rounds = 100, .resolution = 80}, 1e-5);
  };
  const std::vector<AdversaryMember> members = ReplaceOneMembers(q, 1.0 / 3);
  const double both = epsilon(members);
  EXPECT_GE(both, 4.30730);
  EXPECT_LE(both, 4.30741);
  const double paper = epsilon({members.front()});
  EXPECT_GE(paper, 4.30030);
  EXPECT_LE(paper, 4.30041);
  const double zero_out = epsilon(ZeroOutMembers(q, 1.0 / 6));
  EXPECT_GE(zero_out, 2.03505);
  EXPECT_LE(zero_out, 2.03513);
}

TEST(TwoMemberAdversaryTest, RandomSettingsStayBetweenTheAccountantsBounds) {
  std::mt19937_64 generator(9);
  const auto log_uniform = [&](double low, double high) {
    return std::exp(
        std::uniform_real_distribution<double>(std::log(low), std::log(high))(generator));
  };
  for (int i = 0; i < 60; ++i) {
    const bool replace = i % 2 == 0;
    const SamplingEvent event{
        .neighbouring = replace ? Neighbouring::kReplaceOne : Neighbouring::kZeroOut,
        .sampling = Sampling::kFixedSize,
        .sampling_rate = log_uniform(0.02, 1),
        .noise_stddev = log_uniform(0.5, 20)};
    const int rounds = static_cast<int>(log_uniform(1, 100));
    const double delta = log_uniform(1e-8, 1e-2);
    SCOPED_TRACE(testing::Message()
                 << (replace ? "replace-one" : "zero-out") << " q " << event.sampling_rate
                 << " sigma " << event.noise_stddev << " T " << rounds << " delta " << delta);
    const auto known = PldEpsilon(Repeated(event, static_cast<uint64_t>(rounds)), delta);
    const double c = (replace ? 2 : 1) / event.noise_stddev;
    const double below =
        AdversaryEpsilon({.members = replace ? ReplaceOneMembers(event.sampling_rate, c)
                                             : ZeroOutMembers(event.sampling_rate, c),
                          .rounds = rounds,
                          .resolution = 20},
                         delta);
    EXPECT_LE(below, known->epsilon);
    EXPECT_GE(below, known->epsilon_lower * 0.99 - 1e-3);
  }
}

// Clients who join by coins, with K' public: far above what Poisson sampling would cost.
TEST(TwoMemberAdversaryTest, PublicCohortSizesHaveTheirKnownBounds) {
  // One round, delta = 0.01: 7.2840 is the closed form, summed over K'
  // (poisson_cohort_attack_test).
  const double one =
      AdversaryEpsilon({.members = PublicSizeMembers(2000, 500, 387, 0.6), .resolution = 20}, 0.01);
  EXPECT_GE(one, 7.26);
  EXPECT_LE(one, 7.2841);
  // 40 rounds with sigma = 4 S; the Poisson pair has 3.754.
  const double many = AdversaryEpsilon(
      {.members = PublicSizeMembers(3596, 1000, 842, 4), .rounds = 40, .resolution = 20}, 1e-5);
  EXPECT_GE(many, 3.95);
  EXPECT_LE(many, 3.957);
}

}  // namespace
}  // namespace tacet::accounting
