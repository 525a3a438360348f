// Federations whose noise is discrete Laplace: what each observer is charged, and what is refused.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/accounting/calibration.h"
#include "tacet/accounting/federation_privacy.h"
#include "tacet/accounting/log_math.h"
#include "tacet/accounting/observers.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/accounting/pure_releases.h"
#include "tacet/accounting/terms_changes.h"
#include "tacet/base/status.h"
#include "tacet/dp/discrete_laplace.h"

namespace tacet::accounting {
namespace {

using ::testing::HasSubstr;

// A histogram at four sites, each record in one cell: epsilon 1 where a record is replaced.
FederationPrivacySpec LaplaceFederation() {
  return {
      .sampling = {.clients = 4, .min_participants = 4, .record_rate = 1, .expected_batch = 1e4},
      .mechanism = {.noise_law = dp::NoiseLaw::kDiscreteLaplace,
                    .clip_norm = 1,
                    .noise_stddev = dp::DiscreteLaplaceStddev(0.5),
                    .scale = 1},
      .privacy = {.unit = Unit::kRecord},
      .committee_seats = 4,
      .corrupt_seats = 1,
      .rounds = 1};
}

std::vector<ObservedRounds> ViewsOf(const FederationPrivacySpec& spec) {
  auto views = ObserveFederation(spec);
  EXPECT_TRUE(views.ok()) << views.status();
  return *views;
}

TEST(LaplaceFederationTest, EveryPlannedObserverHasTheSamePureEpsilon) {
  for (const uint64_t colluders : {0, 1, 2}) {
    FederationPrivacySpec spec = LaplaceFederation();
    spec.privacy.colluders = colluders;
    spec.corrupt_seats = 2;
    EXPECT_EQ(NoiseShares(spec), 4 - std::max<uint64_t>(1, colluders));
    bool coalition = false, site = false;
    for (const ObservedRounds& view : ViewsOf(spec)) {
      ASSERT_EQ(view.standing, Standing::kGuarantee) << view.note;
      ASSERT_EQ(view.round.size(), 1);
      EXPECT_NEAR(view.round[0].event.pure_epsilon, 1, 1e-12);
      EXPECT_GE(view.round[0].event.pure_epsilon, 1);
      EXPECT_THAT(view.note, HasSubstr("one release is (1, 0)-private by itself"));
      // Nobody knows so many shares that fewer than those of the law are left.
      EXPECT_GE(view.round[0].event.noise_stddev, spec.mechanism.noise_stddev * (1 - 1e-12));
      coalition |= view.observer == Observer::kCoalition;
      site |= view.observer == Observer::kParticipantInCohort;
    }
    EXPECT_TRUE(coalition && site);
  }
}

TEST(LaplaceFederationTest, TheUnitsReachIsInEpsilon) {
  FederationPrivacySpec spec = LaplaceFederation();
  spec.privacy.neighbouring = Neighbouring::kZeroOut;
  EXPECT_NEAR(PureEpsilonOf(spec), 0.5, 1e-12);
  spec.sampling.appearances = 3;
  EXPECT_NEAR(PureEpsilonOf(spec), 1.5, 1e-12);
  spec.mechanism.scale = 0.5;
  spec.mechanism.noise_stddev = 0.5 * dp::DiscreteLaplaceStddev(0.5);
  EXPECT_NEAR(PureEpsilonOf(spec), 3, 1e-12);
  EXPECT_NEAR(ViewsOf(spec)[0].round[0].event.pure_epsilon, 3, 1e-12);
  spec.mechanism.noise_law = dp::NoiseLaw::kGaussian;
  EXPECT_EQ(PureEpsilonOf(spec), 0);
  EXPECT_EQ(NoiseShares(spec), 4);
  spec.mechanism.noise_law = dp::NoiseLaw::kDiscreteLaplace;
  spec.mechanism.noise_stddev = 0;
  EXPECT_EQ(PureEpsilonOf(spec), 0);
  EXPECT_EQ(GuaranteesOf(spec, Extent::kHeadline)->epsilon(), kInfinity);
}

TEST(LaplaceFederationTest, RefusesSampledUnitsClientsAndNoShare) {
  FederationPrivacySpec spec = LaplaceFederation();
  spec.sampling.record_rate = 0.99;
  EXPECT_THAT(base::Message(CheckFederation(spec)), HasSubstr("with record_rate 0.99"));
  spec = LaplaceFederation();
  spec.privacy.unit = Unit::kClient;
  spec.sampling.cohort = 4;
  EXPECT_THAT(base::Message(CheckFederation(spec)), HasSubstr("with unit client"));
  spec = LaplaceFederation();
  spec.sampling.min_participants = 1;
  EXPECT_THAT(base::Message(CheckFederation(spec)), HasSubstr("at least 2 participants"));
  EXPECT_FALSE(MechanismOf(spec, 5, 4).ok());
  spec.sampling.min_participants = 3;
  spec.privacy.colluders = 3;
  EXPECT_THAT(base::Message(CheckFederation(spec)),
              HasSubstr("min_participants 3 and colluders 3"));
  spec.privacy.colluders = 2;
  EXPECT_TRUE(CheckFederation(spec).ok());
  EXPECT_EQ(MechanismOf(spec, 5, 4)->noise_shares, 1);
  spec.mechanism.scale = 0;
  EXPECT_THAT(base::Message(CheckFederation(spec)), HasSubstr("scale is 0"));
  // A small step makes the rate, and with it epsilon, no smaller: it is refused as too large.
  spec = LaplaceFederation();
  spec.mechanism.noise_stddev = 1e-320;
  EXPECT_FALSE(GuaranteesOf(spec, Extent::kHeadline).ok());
}

// One release: sigma of the closed form, less what delta allows of randomized response, which is
// delta (1 + e^-epsilon).
TEST(LaplaceFederationTest, CalibrationFindsTheClosedForm) {
  for (const double target : {0.2, 1.0, 4.0}) {
    FederationPrivacySpec spec = LaplaceFederation();
    spec.mechanism.noise_stddev = 0;
    spec.mechanism.noise_stddev = *CalibrateNoise(spec, {.epsilon = target});
    EXPECT_LE(GuaranteesOf(spec, Extent::kHeadline)->epsilon(), target);
    const double pure = PureEpsilonOf(spec);
    EXPECT_GE(pure, target);
    EXPECT_LE(pure, (target + 1e-5 * (1 + std::exp(-target))) * (1 + 1e-9));
    EXPECT_NEAR(spec.mechanism.noise_stddev / dp::DiscreteLaplaceStddev(target / 2), 1, 1e-4);
    // Two releases at the same noise cost less than twice as much, and more than once.
    spec.rounds = 2;
    const double twice = GuaranteesOf(spec, Extent::kHeadline)->epsilon();
    EXPECT_LE(twice, 2 * pure);
    EXPECT_GT(twice, 1.9 * pure);
  }
}

TEST(LaplaceFederationTest, RowsSayWhichNoise) {
  const FederationPrivacySpec spec = LaplaceFederation();
  const Guarantees all = *GuaranteesOf(spec, Extent::kAllRows);
  for (const PrivacyRow& row : all.rows) {
    EXPECT_EQ(row.noise_law, dp::NoiseLaw::kDiscreteLaplace);
    ASSERT_TRUE(row.epsilon.has_value());
    EXPECT_LE(row.epsilon_lower.value_or(0), *row.epsilon);
    EXPECT_THAT(row.note, HasSubstr("discrete Laplace noise"));
  }
  EXPECT_LE(all.epsilon(), 1);
  EXPECT_GT(all.epsilon(), 1 - 2e-5);
  EXPECT_DOUBLE_EQ(GuaranteesOf(spec, Extent::kHeadline)->epsilon(), all.epsilon());
  EXPECT_NEAR(*LargestCarriedEpsilon(spec), all.epsilon(), 1e-9);
}

SamplingEvent Plain(Sampling sampling, double rate, double noise) {
  return {.unit = Unit::kRecord,
          .sampling = sampling,
          .sampling_rate = rate,
          .noise_stddev = noise,
          .clip_norm = 1};
}

// The attack on accounting: a pure event's noise is a word about it. Whatever it says, no proved
// bound of a stream with the event may be below the event alone.
TEST(LaplaceFederationTest, NoAccountantReadsTheNoiseOfAPureEvent) {
  SamplingEvent pure = Plain(Sampling::kFixedSize, 1, 1e9);
  pure.pure_epsilon = 2;
  const double alone = EpsilonWithPure(0, {{{2, 1}}}, 1e-5);
  for (const auto& other : {Plain(Sampling::kNone, 1, 50), Plain(Sampling::kPoisson, 0.01, 5),
                            Plain(Sampling::kFixedSize, 0.01, 5)}) {
    const auto bounds = BoundEpsilon({{{{1, pure}}, 1}, {{{1, other}}, 3}}, 1e-5);
    ASSERT_TRUE(bounds.ok()) << bounds.status();
    for (const EpsilonBound& row : bounds->rows) {
      EXPECT_GE(row.epsilon, alone) << AccountantName(row.accountant);
    }
    // In a mixture it would be a part without a loss of its own.
    EXPECT_FALSE(BoundEpsilon({{{{0.5, pure}, {0.5, other}}, 1}}, 1e-5).ok());
    const CountedEvent events[] = {{pure, 1}, {other, 1}};
    const SamplingEvent worst = WorstEvent(events);
    EXPECT_EQ(worst.pure_epsilon, 0);
    EXPECT_GE(BoundEpsilon(Repeated(worst, 1), 1e-5)->epsilon(), alone);
  }
  SamplingEvent more = pure;
  more.pure_epsilon = 3;
  const CountedEvent events[] = {{pure, 1}, {more, 1}};
  EXPECT_EQ(WorstEvent(events), more);
}

// A count from a hostile ledger costs no time.
TEST(LaplaceFederationTest, VeryManyReleasesAreBoundedAtOnce) {
  SamplingEvent pure = Plain(Sampling::kNone, 1, 1);
  pure.pure_epsilon = 0.01;
  double before = 0;
  for (const uint64_t count : {uint64_t{10'000}, uint64_t{10'001}, uint64_t{1} << 62}) {
    const auto bounds = BoundEpsilon(Repeated(pure, count), 1e-5);
    ASSERT_TRUE(bounds.ok());
    EXPECT_GT(bounds->epsilon(), before);
    before = bounds->epsilon();
  }
  // The Gaussian in the place of a small one has 1.25 times its deviation; moments are nearer.
  EXPECT_NEAR(BoundEpsilon(Repeated(pure, 10'001), 1e-5)->epsilon() /
                  BoundEpsilon(Repeated(pure, 10'000), 1e-5)->epsilon(),
              1, 0.1);
}

TEST(LaplaceFederationTest, AChangeOfTheNoiseCountsBoth) {
  FederationPrivacySpec gaussian = LaplaceFederation();
  gaussian.mechanism.noise_law = dp::NoiseLaw::kGaussian;
  gaussian.mechanism.noise_stddev = 8;
  const FederationPrivacySpec laplace = LaplaceFederation();
  const FederationPrivacySpec both[] = {gaussian, laplace};
  const double epsilon = GuaranteesOfTraining(both, Extent::kHeadline, {})->epsilon();
  EXPECT_GT(epsilon, GuaranteesOf(gaussian, Extent::kHeadline)->epsilon());
  EXPECT_GT(epsilon, GuaranteesOf(laplace, Extent::kHeadline)->epsilon());
  EXPECT_TRUE(std::isfinite(epsilon));
}

TEST(LaplaceFederationTest, AFilterNamesThePureEpsilon) {
  auto filter = *PrivacyFilter::Create(
      {.budget_epsilon = 2, .delta = 1e-5, .composition = Composition::kOneEvent});
  const SamplingEvent event = ViewsOf(LaplaceFederation())[0].round[0].event;
  ASSERT_TRUE(filter.Add(event).ok());
  SamplingEvent other = event;
  other.pure_epsilon = 0.1;
  EXPECT_THAT(base::Message(filter.Add(other)), HasSubstr("pure epsilon 0.1"));
  EXPECT_TRUE(filter.CheckRoomFor(event).ok());
  EXPECT_FALSE(filter.CheckRoomFor(event, 2).ok());
}

}  // namespace
}  // namespace tacet::accounting
