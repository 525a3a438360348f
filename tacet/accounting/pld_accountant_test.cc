#include "tacet/accounting/pld_accountant.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "fmt/format.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/accounting/fixed_size_accountant.h"
#include "tacet/accounting/gaussian_mechanism.h"
#include "tacet/accounting/log_math.h"
#include "tacet/accounting/moments_accountant.h"
#include "tacet/accounting/paper_for_test.h"
#include "tacet/accounting/rdp_accountant.h"
#include "tacet/accounting/reference_values_for_test.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using ::testing::HasSubstr;

SamplingEvent Event(Sampling sampling, Neighbouring neighbouring, double q, double sigma) {
  return {.neighbouring = neighbouring,
          .sampling = sampling,
          .sampling_rate = q,
          .noise_stddev = sigma,
          .clip_norm = 1};
}

PldResult Pld(const SamplingEvent& event, uint64_t rounds, double delta) {
  const auto result = PldEpsilon(Repeated(event, rounds), delta);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or(PldResult{});
}

// "Inside the reference" means inside its bracket, widened by 1e-4 max(1, epsilon).
void ExpectInside(double value, double lower, double upper, const std::string& where) {
  const double widening = 1e-4 * std::max(1.0, upper);
  EXPECT_GE(value, lower - widening) << where;
  EXPECT_LE(value, upper + widening) << where;
}

const std::string kTight = "/tight_at_paper_setting/";

TEST(PldAccountantTest, ReproducesThePaperSetting) {
  const auto check = [](Sampling sampling, Neighbouring neighbouring, const std::string& name) {
    const PldResult result = Pld(Event(sampling, neighbouring, kPaperRate, 6), 100, 1e-5);
    const double reference = Reference(kTight + name);
    ExpectInside(result.epsilon, reference, reference, name);
    EXPECT_TRUE(result.tight) << name;
    return result;
  };
  const PldResult fixed =
      check(Sampling::kFixedSize, Neighbouring::kReplaceOne,
            "fixed-size WOR, replace-one: rigorous PLD upper bound (symmetrised hockey-stick "
            "envelope)");
  const double lower = Reference(
      kTight + "fixed-size WOR, replace-one: lower bound (attained by a non-adaptive pair)");
  ExpectInside(fixed.epsilon_lower, lower, lower, "lower bound");
  EXPECT_LE(fixed.epsilon_lower, lower);
  check(Sampling::kFixedSize, Neighbouring::kZeroOut, "fixed-size WOR, zero-out: PLD upper bound");
  const PldResult zero_out =
      check(Sampling::kPoisson, Neighbouring::kZeroOut, "Poisson, add~1remove or zero-out (nm 6)");
  EXPECT_LE(zero_out.epsilon_lower, Reference(kTight + "Poisson, add~1remove or zero-out (nm 6)"));
  check(Sampling::kPoisson, Neighbouring::kReplaceOne,
        "Poisson, replace-one, means +S vs -S (exact)");
}

TEST(PldAccountantTest, ReproducesTheRecordUnit) {
  const double sigma = Reference("/record_unit/sigma");
  const double q = Reference("/record_unit/q_r");
  const double delta = Reference("/record_unit/delta");
  const auto rounds = static_cast<uint64_t>(Reference("/record_unit/T"));
  const auto check = [&](Neighbouring neighbouring, double noise, const std::string& name) {
    const double value =
        Pld(Event(Sampling::kPoisson, neighbouring, q, noise), rounds, delta).epsilon;
    EXPECT_NEAR(value, Reference("/record_unit/" + name), 3e-4) << name;
  };
  check(Neighbouring::kZeroOut, sigma, "zero-out");
  check(Neighbouring::kReplaceOne, sigma, "replace-one");
  check(Neighbouring::kZeroOut, sigma * std::sqrt(0.75),
        "zero-out, seen by one of four sites (noise sqrt(3~14) sigma)");
  check(Neighbouring::kZeroOut, sigma * std::sqrt(0.25),
        "zero-out, three of four sites colluding (noise sqrt(1~14) sigma)");
}

TEST(PldAccountantTest, ReproducesTheTightGrid) {
  for (size_t i = 0; i < ReferenceSize("/tight_grid"); ++i) {
    const std::string at = fmt::format("/tight_grid/{}/", i);
    const double q = Reference(at + "q");
    const double sigma = Reference(at + "sigma");
    const double delta = Reference(at + "delta");
    const auto rounds = static_cast<uint64_t>(Reference(at + "T"));
    const PldResult poisson =
        Pld(Event(Sampling::kPoisson, Neighbouring::kZeroOut, q, sigma), rounds, delta);
    ExpectInside(poisson.epsilon, Reference(at + "poisson_add_remove/pld_lower_dp_accounting"),
                 Reference(at + "poisson_add_remove/pld_upper_dp_accounting"), at);
    EXPECT_LE(poisson.epsilon_lower, poisson.epsilon);
    const PldResult replaced =
        Pld(Event(Sampling::kPoisson, Neighbouring::kReplaceOne, q, sigma), rounds, delta);
    const double replace_one = Reference(at + "poisson_replace_one_pld");
    ExpectInside(replaced.epsilon, replace_one, replace_one, at + " replace-one");
    const PldResult fixed =
        Pld(Event(Sampling::kFixedSize, Neighbouring::kReplaceOne, q, sigma), rounds, delta);
    const double envelope = Reference(at + "fixed_size_replace_one_pld_upper");
    // The reference envelope is an upper bound too, on a coarser lattice: it may be a little above.
    ExpectInside(fixed.epsilon, envelope - 1e-4, envelope, at + " envelope");
    ExpectInside(fixed.epsilon_lower, Reference(at + "paper_pair_shift_2S/pld_lower_dp_accounting"),
                 Reference(at + "paper_pair_shift_2S/pld_upper_dp_accounting"), at + " lower");
  }
}

TEST(PldAccountantTest, ClosedFormWithoutSampling) {
  const PldResult result = Pld(Event(Sampling::kNone, Neighbouring::kReplaceOne, 1, 6), 100, 1e-5);
  EXPECT_NEAR(result.epsilon, 19.13076783636193, 1e-6);
  // Everybody in the cohort is not sampling, whatever it is called.
  for (const Sampling sampling : {Sampling::kFixedSize, Sampling::kPoisson}) {
    EXPECT_DOUBLE_EQ(Pld(Event(sampling, Neighbouring::kReplaceOne, 1, 6), 100, 1e-5).epsilon,
                     result.epsilon);
  }
}

// The lattice against the closed form: sampling at a rate that leaves nothing to sampling.
TEST(PldAccountantTest, MeetsTheClosedFormAsTheRateGoesToOne) {
  for (const uint64_t rounds : {2u, 100u, 1000u}) {
    for (const double delta : {1e-3, 1e-15}) {
      const double exact = GaussianEpsilon(std::sqrt(static_cast<double>(rounds)) / 10, delta);
      const PldResult result =
          Pld(Event(Sampling::kPoisson, Neighbouring::kZeroOut, 1 - 1e-12, 10), rounds, delta);
      EXPECT_NEAR(result.epsilon, exact, 1e-3 * std::max(1.0, exact)) << rounds << " " << delta;
      EXPECT_GE(result.epsilon, exact * (1 - 1e-9)) << rounds << " " << delta;
      EXPECT_LE(result.epsilon_lower, exact * (1 + 1e-9)) << rounds << " " << delta;
    }
  }
}

// delta = 2.4e-12 is partly lost in single rounds, which have losses far beyond the sum's
// deviation. Guards both lattices' far cells and the tilt. The exact value is by 113-bit contour
// integration, confirmed by plain sums of lattice masses (pld_random_test.cc).
TEST(PldAccountantTest, HoldsTheTruthWhereSingleRoundsMatter) {
  const PldResult result = Pld(Event(Sampling::kPoisson, Neighbouring::kReplaceOne,
                                     0.0007523361710717953, 1.0567066615540026),
                               3131, 2.422799617193519e-12);
  const double exact = 0.6008769513;
  EXPECT_LE(result.epsilon_lower, exact);
  EXPECT_GE(result.epsilon, exact);
  EXPECT_NEAR(result.epsilon_lower, exact, 8e-5);
  EXPECT_NEAR(result.epsilon, exact, 8e-5);
}

TEST(PldAccountantTest, GrowsWithEveryArgumentThatItShould) {
  for (const Neighbouring neighbouring : {Neighbouring::kZeroOut, Neighbouring::kReplaceOne}) {
    for (const Sampling sampling : {Sampling::kPoisson, Sampling::kFixedSize}) {
      const auto at = [&](double q, double sigma, uint64_t rounds, double delta) {
        return Pld(Event(sampling, neighbouring, q, sigma), rounds, delta).epsilon;
      };
      const double here = at(0.1, 4, 50, 1e-6);
      EXPECT_GT(at(0.12, 4, 50, 1e-6), here);
      EXPECT_LT(at(0.1, 4.4, 50, 1e-6), here);
      EXPECT_GT(at(0.1, 4, 60, 1e-6), here);
      EXPECT_LT(at(0.1, 4, 50, 3e-6), here);
    }
  }
}

TEST(PldAccountantTest, SinglePairsAreBelowRenyiBelowMoments) {
  for (const Neighbouring neighbouring : {Neighbouring::kZeroOut, Neighbouring::kReplaceOne}) {
    for (const double q : {0.01, 0.2}) {
      for (const double sigma : {1.5, 8.0}) {
        for (const uint64_t rounds : {1u, 30u, 1000u}) {
          const SamplingEvent event = Event(Sampling::kPoisson, neighbouring, q, sigma);
          const auto stream = Repeated(event, rounds);
          const double pld = Pld(event, rounds, 1e-5).epsilon;
          const double rdp = RdpEpsilon(stream, 1e-5)->epsilon;
          const double moments = MomentsEpsilon(Repeated(event, rounds), 1e-5)->epsilon;
          EXPECT_LE(pld, rdp * (1 + 1e-4)) << q << " " << sigma << " " << rounds;
          EXPECT_LE(rdp, moments * (1 + 1e-9)) << q << " " << sigma << " " << rounds;
        }
      }
    }
  }
}

TEST(PldAccountantTest, StreamsOfDifferentRoundsCompose) {
  const SamplingEvent quiet = Event(Sampling::kPoisson, Neighbouring::kZeroOut, 0.1, 6);
  const SamplingEvent loud = Event(Sampling::kPoisson, Neighbouring::kZeroOut, 0.2, 4);
  const auto of = [](std::vector<RepeatedEvent> stream) {
    return PldEpsilon(stream, 1e-5)->epsilon;
  };
  const double split =
      of({{.round = {{.event = quiet}}, .count = 30}, {.round = {{.event = quiet}}, .count = 70}});
  EXPECT_NEAR(split, Pld(quiet, 100, 1e-5).epsilon, 3e-4);
  const double both =
      of({{.round = {{.event = quiet}}, .count = 50}, {.round = {{.event = loud}}, .count = 50}});
  EXPECT_GT(both, Pld(loud, 50, 1e-5).epsilon);
  EXPECT_LT(both, Pld(loud, 100, 1e-5).epsilon);
  // A mixture of equal parts is the part.
  const double mixed =
      of({{.round = {{.probability = 0.3, .event = loud}, {.probability = 0.7, .event = loud}},
           .count = 50}});
  EXPECT_NEAR(mixed, Pld(loud, 50, 1e-5).epsilon, 3e-4);
}

TEST(PldAccountantTest, ManyColludersAreGroupedOnTheSafeSide) {
  std::vector<WeightedEvent> parts;
  for (int j = 0; j < 80; ++j) {
    SamplingEvent event = Event(Sampling::kPoisson, Neighbouring::kZeroOut, 0.1, 6 - 0.01 * j);
    parts.push_back({.probability = 1.0 / 80, .event = event});
  }
  const auto grouped = PldEpsilon({{.round = parts, .count = 100}}, 1e-5);
  ASSERT_TRUE(grouped.ok());
  const auto renyi = RdpEpsilon({{.round = parts, .count = 100}}, 1e-5);
  EXPECT_LT(grouped->epsilon, renyi->epsilon);
  // Few enough parts not to be grouped: all of them at their own noise.
  std::vector<WeightedEvent> few;
  for (int j = 0; j < 16; ++j) {
    SamplingEvent event = parts[5 * j + 2].event;
    few.push_back({.probability = 1.0 / 16, .event = event});
  }
  const auto middle = PldEpsilon({{.round = few, .count = 100}}, 1e-5);
  EXPECT_GT(grouped->epsilon, middle->epsilon);
  EXPECT_LT(grouped->epsilon_lower, middle->epsilon_lower);
  EXPECT_GT(
      grouped->epsilon,
      Pld(Event(Sampling::kPoisson, Neighbouring::kZeroOut, 0.1, 5.6), 100, 1e-5).epsilon_lower);
  EXPECT_LT(grouped->epsilon,
            Pld(Event(Sampling::kPoisson, Neighbouring::kZeroOut, 0.1, 5.21), 100, 1e-5).epsilon);
}

TEST(PldAccountantTest, ZeroOnlyWhenProven) {
  EXPECT_EQ(PldEpsilon({}, 1e-5)->epsilon, 0);
  EXPECT_EQ(Pld(Event(Sampling::kPoisson, Neighbouring::kZeroOut, 0, 6), 100, 1e-5).epsilon, 0);
  EXPECT_EQ(Pld(Event(Sampling::kPoisson, Neighbouring::kZeroOut, 1e-5, 100), 1000, 1e-3).epsilon,
            0);
  EXPECT_GT(Pld(Event(Sampling::kPoisson, Neighbouring::kZeroOut, 1e-5, 100), 1000, 1e-15).epsilon,
            0);
  // One round: delta(0) = q (2 Phi(c/2) - 1) = 0.1 erf(0.5 / sqrt 8).
  const double at_zero = 0.1 * std::erf(0.5 / std::sqrt(8.0));
  const SamplingEvent event = Event(Sampling::kPoisson, Neighbouring::kZeroOut, 0.1, 2);
  EXPECT_EQ(Pld(event, 1, at_zero * 1.0001).epsilon, 0);
  EXPECT_GT(Pld(event, 1, at_zero * 0.9999).epsilon, 0);
}

TEST(PldAccountantTest, WithoutNoiseNothingIsGuaranteed) {
  const PldResult result =
      Pld(Event(Sampling::kFixedSize, Neighbouring::kReplaceOne, 0.1, 0), 10, 1e-5);
  EXPECT_EQ(result.epsilon, kInfinity);
  // ... but a round that loses everything with a probability below delta does no harm.
  const SamplingEvent loud = Event(Sampling::kPoisson, Neighbouring::kZeroOut, 0.1, 0);
  const SamplingEvent quiet = Event(Sampling::kPoisson, Neighbouring::kZeroOut, 0.1, 6);
  const auto rare = PldEpsilon(
      {{.round = {{.probability = 1e-9, .event = loud}, {.probability = 1 - 1e-9, .event = quiet}},
        .count = 100}},
      1e-5);
  ASSERT_TRUE(rare.ok());
  EXPECT_NEAR(rare->epsilon, Pld(quiet, 100, 1e-5).epsilon, 1e-2);
  const auto often = PldEpsilon(
      {{.round = {{.probability = 1e-3, .event = loud}, {.probability = 1 - 1e-3, .event = quiet}},
        .count = 100}},
      1e-5);
  EXPECT_EQ(often->epsilon, kInfinity);
}

// Corners of the range that is guaranteed: a number, ordered, no NaN.
TEST(PldAccountantTest, CornersAreFiniteAndOrdered) {
  for (const double sigma : {0.3, 100.0}) {
    for (const double q : {1e-3, 0.9}) {
      for (const uint64_t rounds : {1u, 200u}) {
        for (const double delta : {1e-3, 1e-15}) {
          for (const Sampling sampling : {Sampling::kPoisson, Sampling::kFixedSize}) {
            for (const Neighbouring n : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
              const PldResult result = Pld(Event(sampling, n, q, sigma), rounds, delta);
              EXPECT_TRUE(std::isfinite(result.epsilon));
              EXPECT_GE(result.epsilon, 0);
              EXPECT_LE(result.epsilon_lower, result.epsilon);
              EXPECT_EQ(result.tight, result.note.empty());
            }
          }
        }
      }
    }
  }
}

// With d = S / sigma, the event x > d/2 has P-mass q/2 or more and Q-mass e^(-d^2/8) or less, so
// epsilon is at least log(q/2 - delta) + d^2/8. Masses under- and overflow from d = 38 on, and what
// was no number counted as nothing: epsilon 0.
TEST(PldAccountantTest, SoLittleNoiseIsNeverCheap) {
  for (const double d : {11.0, 25.0, 38.5, 60.0, 1000.0}) {
    for (const double q : {0.01, 0.999}) {
      for (const Sampling sampling : {Sampling::kPoisson, Sampling::kFixedSize}) {
        for (const Neighbouring n : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
          const SamplingEvent event = Event(sampling, n, q, 1 / d);
          const double least = std::log(q / 2 - 1e-5) + d * d / 8;
          for (const uint64_t rounds : {1u, 5u}) {
            const PldResult result = Pld(event, rounds, 1e-5);
            EXPECT_GE(result.epsilon, least) << d << " " << q << " " << rounds;
            EXPECT_LE(result.epsilon_lower, result.epsilon);
            const auto tight = FixedSizeEpsilon(Repeated(event, rounds), 1e-5);
            ASSERT_TRUE(tight.ok());
            if (tight->has_value()) {
              EXPECT_GE((*tight)->epsilon, least) << d << " " << q << " " << rounds;
            }
          }
        }
      }
    }
  }
  // Draws that are rarer than delta still cost nothing.
  const SamplingEvent rare = Event(Sampling::kPoisson, Neighbouring::kZeroOut, 1e-9, 1e-3);
  EXPECT_LT(Pld(rare, 100, 1e-5).epsilon, 1e-9);
}

TEST(PldAccountantTest, RefusesWhatIsOutOfRange) {
  EXPECT_THAT(base::Message(PldEpsilon({}, 0).status()), HasSubstr("delta is 0"));
  EXPECT_THAT(
      base::Message(
          PldEpsilon(Repeated(Event(Sampling::kPoisson, Neighbouring::kZeroOut, 2, 6), 1), 1e-5)
              .status()),
      HasSubstr("sampling_rate is 2"));
}

// The budget is 0.1 s; the limit leaves room for a busy machine and for sanitizers.
TEST(PldAccountantTest, IsFastAtThePaperSetting) {
  const auto start = std::chrono::steady_clock::now();
  Pld(Event(Sampling::kFixedSize, Neighbouring::kReplaceOne, kPaperRate, 6), 100, 1e-5);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  RecordProperty("microseconds", static_cast<int>(seconds.count() * 1e6));
  EXPECT_LT(seconds.count(), 3);
}

}  // namespace
}  // namespace tacet::accounting
