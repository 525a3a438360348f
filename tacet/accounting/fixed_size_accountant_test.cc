#include "tacet/accounting/fixed_size_accountant.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tacet/accounting/adaptive_composition.h"
#include "tacet/accounting/observers.h"
#include "tacet/accounting/paper_for_test.h"
#include "tacet/accounting/pld_accountant.h"

namespace tacet::accounting {
namespace {

SamplingEvent FixedSize(double q, double noise, Neighbouring neighbouring) {
  return {.neighbouring = neighbouring,
          .sampling = Sampling::kFixedSize,
          .sampling_rate = q,
          .noise_stddev = noise};
}

FixedSizeResult Tight(const std::vector<RepeatedEvent>& stream, double delta) {
  const auto result = FixedSizeEpsilon(stream, delta);
  EXPECT_TRUE(result.ok() && result->has_value());
  return result.ok() && result->has_value() ? **result : FixedSizeResult{};
}

TEST(FixedSizeAccountantTest, ThePapersSetting) {
  const FixedSizeResult replace =
      Tight(Repeated(FixedSize(kPaperRate, 6, Neighbouring::kReplaceOne), 100), 1e-5);
  EXPECT_GE(replace.epsilon, 4.3074);  // an adaptive adversary reaches it
  EXPECT_LE(replace.epsilon, 4.312);   // 4.5288 by the envelope
  EXPECT_GE(replace.epsilon_lower, 4.305);
  EXPECT_LE(replace.epsilon_lower, 4.3091);
  const FixedSizeResult zero_out =
      Tight(Repeated(FixedSize(kPaperRate, 6, Neighbouring::kZeroOut), 100), 1e-5);
  EXPECT_GE(zero_out.epsilon, 2.0351);
  EXPECT_LE(zero_out.epsilon, 2.043);  // 2.1890 by the envelope
  EXPECT_GE(zero_out.epsilon_lower, 2.034);
  EXPECT_LE(zero_out.epsilon_lower, 2.0402);
}

TEST(FixedSizeAccountantTest, OtherSettings) {
  const FixedSizeResult few =
      Tight(Repeated(FixedSize(0.1, 1.2, Neighbouring::kReplaceOne), 20), 1e-5);
  EXPECT_LE(few.epsilon, 10.58);  // 10.872 by the envelope
  EXPECT_GE(few.epsilon, 10.549);
  const FixedSizeResult rare =
      Tight(Repeated(FixedSize(0.01, 2, Neighbouring::kReplaceOne), 100), 1e-6);
  EXPECT_LE(rare.epsilon, 0.9616);
  EXPECT_GE(rare.epsilon, 0.9568);
}

// Anyone who has a pair of data sets in mind gains nothing by the adversary's being adaptive: the
// envelope is never smaller, one attained pair never larger.
TEST(FixedSizeAccountantTest, LiesBetweenOnePairAndTheEnvelope) {
  for (const double q : {1e-3, 0.6}) {
    for (const double noise : {0.8, 30.0}) {
      for (const double delta : {1e-3, 1e-10}) {
        for (const Neighbouring neighbouring :
             {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
          const auto stream = Repeated(FixedSize(q, noise, neighbouring), 30);
          const auto tight = FixedSizeEpsilon(stream, delta);
          ASSERT_TRUE(tight.ok());
          if (!tight->has_value()) continue;
          const auto pld = PldEpsilon(stream, delta);
          ASSERT_TRUE(pld.ok());
          EXPECT_GE((*tight)->epsilon, pld->epsilon_lower - 1e-9) << q << " " << noise;
          EXPECT_LE((*tight)->epsilon, pld->epsilon * 1.02 + 2e-3) << q << " " << noise;
          EXPECT_LE((*tight)->epsilon_lower, (*tight)->epsilon + 1e-9) << q << " " << noise;
        }
      }
    }
  }
}

// e^epsilon overflows there; the answer was once 0. The lower bound is PLD's, of one attained pair.
// Blocks of rounds: above what one attained pair reaches, and close to it, where the envelope is 10
// to 20 % too large (2 % in the last case, where noise is large).
TEST(FixedSizeAccountantTest, ManyRoundsAreCloseToTheAttainedPair) {
  struct Case {
    SamplingEvent event;
    uint64_t rounds;
    double most;  // excess over the attained pair
  };
  const Case cases[] = {{FixedSize(kPaperRate, 6, Neighbouring::kReplaceOne), 1931, 1.03},
                        {FixedSize(0.01, 4, Neighbouring::kReplaceOne), 1931, 1.05},
                        {FixedSize(0.1, 4, Neighbouring::kZeroOut), 1931, 1.02},
                        {FixedSize(0.1, 4, Neighbouring::kReplaceOne), 149'327, 1.05},
                        {FixedSize(0.02, 30, Neighbouring::kReplaceOne), 1'000'000, 1.03}};
  for (const Case& c : cases) {
    const FixedSizeResult result = Tight(Repeated(c.event, c.rounds), 1e-5);
    const double envelope = PldEpsilon(Repeated(c.event, c.rounds), 1e-5)->epsilon;
    EXPECT_GT(result.epsilon_lower, 0) << c.rounds;
    EXPECT_GE(result.epsilon, result.epsilon_lower) << c.rounds;
    EXPECT_LE(result.epsilon, c.most * result.epsilon_lower) << c.rounds;
    EXPECT_LT(result.epsilon, envelope) << c.rounds;
  }
}

// Where the recursion reaches, blocks are never below it: they allow the adversary more.
TEST(FixedSizeAccountantTest, ABlockDominatesItsRounds) {
  const auto loss = [](bool first) { return SampledGaussianLoss(0.2, 0.5, first); };
  const LossRange range{.low = -1.5, .high = 1.5};
  const double step = 0.01;
  std::vector<LossLattice> pairs;
  for (const bool first : {true, false}) {
    pairs.push_back(PessimisticLattice(*loss(first), range, step));
  }
  const CompositionWindow whole{.theta = 3, .lowest = -6, .highest = 3};
  for (const double delta : {1e-2, 1e-4, 1e-6}) {
    const auto recursion = AdaptiveEpsilon(pairs, 64, delta, whole, Side::kAbove);
    ASSERT_TRUE(recursion.has_value()) << delta;
    double longer = 0;
    for (const uint64_t rounds : {32, 16, 4}) {
      const auto block = DominatingBlock(pairs, rounds, whole, 1);
      ASSERT_TRUE(block.has_value());
      double p = block->infinite, q = 0;
      for (size_t i = 0; i < block->mass.size(); ++i) {
        p += block->mass[i];
        q += block->mass[i] * std::exp(-block->LossAt(i));
      }
      EXPECT_NEAR(p, 1, 1e-9);
      EXPECT_LE(q, 1 + 1e-9);
      const LossSum sum({{.lattice = *block, .rounds = 64.0 / static_cast<double>(rounds)}});
      const auto blocks =
          sum.Epsilon(sum.FindTilt(std::log(delta)), delta, Side::kAbove, size_t{1} << 16);
      ASSERT_TRUE(blocks.has_value());
      EXPECT_GE(blocks->epsilon, *recursion - 1e-6) << rounds << " at " << delta;
      EXPECT_LE(blocks->epsilon, 1.15 * *recursion) << rounds << " at " << delta;
      EXPECT_GE(blocks->epsilon, longer - 1e-6) << "shorter blocks allow more";
      longer = blocks->epsilon;
    }
  }
}

TEST(FixedSizeAccountantTest, LargeEpsilonsDoNotOverflow) {
  for (const Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
    for (const double delta : {1e-15, 0.3}) {
      const auto stream = Repeated(FixedSize(0.9, 0.3, neighbouring), 200);
      const auto tight = FixedSizeEpsilon(stream, delta);
      ASSERT_TRUE(tight.ok());
      const double lower = PldEpsilon(stream, delta)->epsilon_lower;
      ASSERT_GT(lower, 710);
      if (!tight->has_value()) continue;
      EXPECT_GE((*tight)->epsilon, lower);
      EXPECT_LE((*tight)->epsilon_lower, (*tight)->epsilon);
    }
  }
}

TEST(FixedSizeAccountantTest, SaysNothingWhereItHasNothingToSay) {
  SamplingEvent poisson = FixedSize(0.1, 1, Neighbouring::kReplaceOne);
  poisson.sampling = Sampling::kPoisson;
  const SamplingEvent known{.sampling = Sampling::kNone, .noise_stddev = 6};
  const SamplingEvent everybody = FixedSize(1, 6, Neighbouring::kReplaceOne);
  const SamplingEvent silent = FixedSize(0.1, 0, Neighbouring::kReplaceOne);
  for (const SamplingEvent& event : {poisson, known, everybody, silent}) {
    const auto result = FixedSizeEpsilon(Repeated(event, 10), 1e-5);
    ASSERT_TRUE(result.ok());
    EXPECT_FALSE(result->has_value());
  }
  // Several kinds of rounds, and losses too rare for the lattice of a block.
  std::vector<RepeatedEvent> two = Repeated(FixedSize(0.1, 1, Neighbouring::kReplaceOne), 10);
  two.push_back(Repeated(FixedSize(0.2, 1, Neighbouring::kReplaceOne), 10).front());
  EXPECT_FALSE(FixedSizeEpsilon(two, 1e-5)->has_value());
  EXPECT_FALSE(
      FixedSizeEpsilon(Repeated(FixedSize(1e-4, 1, Neighbouring::kReplaceOne), 1'000'000), 1e-5)
          ->has_value());
  EXPECT_EQ(FixedSizeEpsilon(two, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

// Cohorts drawn by coins, their size public.
std::vector<RepeatedEvent> KnownSize(uint64_t pool, uint64_t cohort, double noise,
                                     uint64_t rounds) {
  const auto observers = ObserveFederation(
      {.sampling = {.clients = pool, .cohort = cohort, .method = Sampling::kPoisson},
       .mechanism = {.noise_stddev = noise},
       .rounds = rounds});
  EXPECT_TRUE(observers.ok());
  return {{.round = observers->front().round, .count = rounds}};
}

// The smallest valid bound.
double Best(const std::vector<RepeatedEvent>& stream, double delta) {
  double best = PldEpsilon(stream, delta)->epsilon;
  const auto tight = FixedSizeEpsilon(stream, delta);
  if (tight->has_value()) best = std::min(best, (*tight)->epsilon);
  return best;
}

// An observer of the same rounds who is not told how many were drawn.
double HiddenSize(uint64_t pool, uint64_t cohort, double noise, uint64_t rounds, double delta) {
  const SamplingEvent event{
      .sampling = Sampling::kPoisson,
      .sampling_rate = static_cast<double>(cohort) / static_cast<double>(pool),
      .noise_stddev = noise};
  return PldEpsilon(Repeated(event, rounds), delta)->epsilon;
}

TEST(KnownSizeTest, PoissonCohortsWhoseSizeIsPublicAreNotPoissonSampling) {
  EXPECT_GE(Best(KnownSize(1'000'000, 10'000, 1, 100), 1e-6), 7.26);
  EXPECT_LT(HiddenSize(1'000'000, 10'000, 1, 100, 1e-6), 1.12);
  const double published = Best(KnownSize(3596, 1000, 4, 40), 1e-5);
  EXPECT_GE(published, 3.933);
  EXPECT_LT(published, 4.30);  // any number of clients may be absent
  EXPECT_NEAR(HiddenSize(3596, 1000, 4, 40, 1e-5), 3.754, 1e-3);
  EXPECT_GE(Best(KnownSize(2000, 500, 0.6, 1), 1e-2), 3.628);
  EXPECT_NEAR(HiddenSize(2000, 500, 0.6, 1, 1e-2), 2.614, 1e-3);
}

// Fixed size is the limit of a binomial number that does not vary.
TEST(KnownSizeTest, PartsAddUpAndNeverReleaseWithTooFew) {
  const SamplingEvent event{.sampling = Sampling::kPoissonKnownSize,
                            .sampling_rate = 0.3,
                            .noise_stddev = 2,
                            .pool = 40,
                            .least = 8};
  double total = 0;
  double mean_rate = 0;
  for (const WeightedEvent& part : FixedSizeParts(event)) {
    total += part.probability;
    mean_rate += part.probability * part.event.sampling_rate;
    EXPECT_EQ(part.event.sampling, Sampling::kFixedSize);
    if (part.event.sampling_rate > 0) {
      const double drawn = part.event.sampling_rate * 40;
      EXPECT_GE(drawn, 8 - 1e-9);
      EXPECT_NEAR(part.event.noise_stddev, 2 * std::sqrt(drawn / 8), 1e-12);
    }
  }
  EXPECT_NEAR(total, 1, 1e-12);
  EXPECT_LT(mean_rate, 0.3);  // attempts with fewer than 8 release nothing
  EXPECT_GT(mean_rate, 0.27);
}

// Long mixtures are taken together on the safe side, and hardly move the answer.
TEST(KnownSizeTest, GroupsBracketTheMixture) {
  const auto stream = KnownSize(400, 100, 3, 20);
  const auto upper = GroupMixture(stream.front().round, GroupedFor::kUpperBound);
  const auto lower = GroupMixture(stream.front().round, GroupedFor::kLowerBound);
  EXPECT_LE(upper.size(), kUngroupedParts);
  const std::vector<WeightedEvent> parts = FixedSizeParts(stream.front().round.front().event);
  ASSERT_GT(parts.size(), kUngroupedParts);
  const double above = PldEpsilon({{.round = upper, .count = 20}}, 1e-5)->epsilon;
  const double below = PldEpsilon({{.round = lower, .count = 20}}, 1e-5)->epsilon;
  EXPECT_GT(above, below);
  EXPECT_LT(above / below, 1.03);
}

// A few colluders among many know hardly more than an external observer: forms that differ by their
// own number only are taken together. Taken one after another they once cost half of epsilon.
TEST(KnownSizeTest, AFewColludersHardlyCost) {
  FederationPrivacySpec spec{
      .sampling = {.clients = 1'000'000, .cohort = 10'000, .method = Sampling::kPoisson},
      .mechanism = {.noise_stddev = 4},
      .privacy = {.colluders = 3},
      .rounds = 100};
  const auto observers = ObserveFederation(spec);
  ASSERT_TRUE(observers.ok());
  const auto epsilon_of = [&](Observer observer) {
    for (const ObservedRounds& v : *observers) {
      if (v.observer == observer) {
        return PldEpsilon({{.round = v.round, .count = v.releases}}, 1e-5)->epsilon;
      }
    }
    return 0.0;
  };
  const double external = epsilon_of(Observer::kExternal);
  EXPECT_GT(external, 0.18);
  EXPECT_LT(external, 0.21);
  EXPECT_LT(epsilon_of(Observer::kColluders), external * 1.01);  // 0.29 once
}

// The certain participation that stands for what a table of numbers leaves out is not taken
// together with a participation that is likely enough to count.
TEST(KnownSizeTest, GroupsStayNarrow) {
  const SamplingEvent event{.sampling = Sampling::kPoissonKnownSize,
                            .sampling_rate = 1e-2,
                            .noise_stddev = 4,
                            .pool = 1'000'000,
                            .least = 9412};
  for (const size_t most : {4, 8, 32}) {
    for (const WeightedEvent& group :
         GroupMixture({{.event = event}}, GroupedFor::kUpperBound, most)) {
      EXPECT_LT(group.event.sampling_rate, group.probability > 1e-20 ? 0.02 : 1.1);
    }
  }
}

}  // namespace
}  // namespace tacet::accounting
