#include "tacet/accounting/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/accounting/paper_for_test.h"
#include "tacet/accounting/reference_values_for_test.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using ::testing::HasSubstr;

constexpr double kPaperEpsilon = 5.3056767961846457;

TEST(CalibrationTest, FindsThePapersNoiseAgain) {
  const auto noise = CalibrateNoise(PaperFederation(),
                                    {.epsilon = kPaperEpsilon, .accountant = Accountant::kMoments});
  ASSERT_TRUE(noise.ok());
  EXPECT_NEAR(*noise / 6, 1, 1e-6);
  EXPECT_GE(*noise, 6 * (1 - 1e-9));
  // At a noise that halving does not meet by chance.
  FederationPrivacySpec odd = PaperFederation();
  odd.mechanism.noise_stddev = 7.31415926;
  CalibrationTarget target{.epsilon = 1, .accountant = Accountant::kMoments};
  target.epsilon = *EpsilonOf(odd, target) * (1 + 1e-10);
  EXPECT_NEAR(*CalibrateNoise(odd, target) / odd.mechanism.noise_stddev, 1, 1e-6);
}

TEST(CalibrationTest, ReproducesTheReferenceNoises) {
  const std::string at = "/tight_at_paper_setting/noise at which epsilon = 5.3056768: ";
  const auto fixed =
      CalibrateNoise(PaperFederation(), {.epsilon = kPaperEpsilon, .accountant = Accountant::kPld});
  ASSERT_TRUE(fixed.ok());
  EXPECT_NEAR(*fixed, Reference(at + "fixed-size envelope"), 1e-3);
  // Poisson pairs are for cohorts whose size stays hidden: everybody uploads.
  FederationPrivacySpec poisson = PaperFederation();
  poisson.sampling.method = Sampling::kPoisson;
  poisson.sampling.dummy_uploads = true;
  const auto coins =
      CalibrateNoise(poisson, {.epsilon = kPaperEpsilon, .observer = Observer::kExternal});
  ASSERT_TRUE(coins.ok());
  EXPECT_NEAR(*coins, Reference(at + "Poisson replace-one"), 1e-3);
}

// Without an observer the target holds for everybody: here for those who know the cohorts.
TEST(CalibrationTest, TheTargetIsTheWorstObserversCost) {
  const auto noise = CalibrateNoise(PaperFederation(), {.epsilon = kPaperEpsilon});
  ASSERT_TRUE(noise.ok());
  FederationPrivacySpec spec = PaperFederation();
  spec.mechanism.noise_stddev = *noise;
  const auto guarantees = GuaranteesOf(spec);
  ASSERT_TRUE(guarantees.ok());
  const PrivacyRow* worst = guarantees->headline();
  ASSERT_NE(worst, nullptr);
  EXPECT_EQ(worst->observer, Observer::kCohortAware);
  EXPECT_NEAR(*worst->epsilon, kPaperEpsilon, 1e-5);
  for (const PrivacyRow& row : guarantees->rows) {
    const PrivacyRow* headline = guarantees->HeadlineOf(row.observer);
    if (headline != nullptr) {
      EXPECT_LE(*headline->epsilon, kPaperEpsilon);
    }
  }
}

// The tight accountant saves noise at the same epsilon: 5.09 clip norms instead of 5.312.
TEST(CalibrationTest, TheTightAccountantTakesPart) {
  const auto noise = CalibrateNoise(PaperFederation(),
                                    {.epsilon = kPaperEpsilon, .observer = Observer::kExternal});
  ASSERT_TRUE(noise.ok());
  EXPECT_GT(*noise, 5.05);
  EXPECT_LT(*noise, 5.10);
}

TEST(CalibrationTest, RoundsAreTheMostThatFit) {
  for (const Accountant accountant : {Accountant::kMoments, Accountant::kRdp, Accountant::kPld}) {
    const CalibrationTarget target{.epsilon = 5.3, .accountant = accountant};
    const auto rounds = CalibrateRounds(PaperFederation(), target);
    ASSERT_TRUE(rounds.ok());
    FederationPrivacySpec spec = PaperFederation();
    spec.rounds = *rounds;
    EXPECT_LE(*EpsilonOf(spec, target), 5.3);
    spec.rounds = *rounds + 1;
    EXPECT_GT(*EpsilonOf(spec, target), 5.3);
  }
}

TEST(CalibrationTest, CohortsGrowOrShrinkTowardsTheTarget) {
  const CalibrationTarget target{.epsilon = 5, .accountant = Accountant::kMoments};
  const auto largest = CalibrateCohort(PaperFederation(), target, HeldFixed::kNoise);
  ASSERT_TRUE(largest.ok());
  EXPECT_LE(*EpsilonOf(WithCohort(PaperFederation(), *largest, HeldFixed::kNoise), target), 5);
  EXPECT_GT(*EpsilonOf(WithCohort(PaperFederation(), *largest + 1, HeldFixed::kNoise), target), 5);

  const HeldFixed average = HeldFixed::kNoiseOfTheAverage;
  const auto smallest = CalibrateCohort(PaperFederation(), target, average);
  ASSERT_TRUE(smallest.ok());
  EXPECT_GT(*smallest, 1000);  // the paper's remark: more participants, less epsilon
  EXPECT_LE(*EpsilonOf(WithCohort(PaperFederation(), *smallest, average), target), 5);
  EXPECT_GT(*EpsilonOf(WithCohort(PaperFederation(), *smallest - 1, average), target), 5);
}

TEST(CalibrationTest, WithCohortKeepsWhatIsFixed) {
  FederationPrivacySpec spec = PaperFederation();
  spec.sampling.min_participants = 900;
  const FederationPrivacySpec half = WithCohort(spec, 500, HeldFixed::kNoiseOfTheAverage);
  EXPECT_EQ(half.sampling.min_participants, 450);
  EXPECT_DOUBLE_EQ(half.mechanism.noise_stddev, 3);
  EXPECT_DOUBLE_EQ(WithCohort(spec, 500, HeldFixed::kNoise).mechanism.noise_stddev, 6);
}

TEST(CalibrationTest, SaysWhatCannotBeHad) {
  EXPECT_THAT(base::Message(CalibrateNoise(PaperFederation(), {.epsilon = 0}).status()),
              HasSubstr("the target epsilon is 0"));
  FederationPrivacySpec loud = PaperFederation();
  loud.mechanism.noise_stddev = 0.01;
  const CalibrationTarget target{.epsilon = 1, .accountant = Accountant::kMoments};
  EXPECT_THAT(base::Message(CalibrateRounds(loud, target).status()),
              HasSubstr("one round already costs more"));
  EXPECT_THAT(base::Message(CalibrateCohort(loud, target, HeldFixed::kNoise).status()),
              HasSubstr("even a cohort of one"));
  EXPECT_THAT(base::Message(CalibrateCohort(loud, target, HeldFixed::kNoiseOfTheAverage).status()),
              HasSubstr("even a cohort of all 3596"));
  EXPECT_THAT(
      base::Message(
          EpsilonOf(PaperFederation(), {.epsilon = 1, .observer = Observer::kColluders}).status()),
      HasSubstr("no observer \"colluders\""));
}

}  // namespace
}  // namespace tacet::accounting
