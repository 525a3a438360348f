#include "tacet/accounting/observers.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/accounting/count_laws.h"
#include "tacet/accounting/paper_for_test.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const ObservedRounds& Find(const std::vector<ObservedRounds>& observers, Observer observer) {
  const auto found = std::find_if(observers.begin(), observers.end(),
                                  [&](const ObservedRounds& v) { return v.observer == observer; });
  EXPECT_NE(found, observers.end()) << ObserverName(observer);
  return *found;
}

TEST(ObserversTest, EachViewKnowsWhatItKnows) {
  FederationPrivacySpec spec = PaperFederation();
  spec.sampling.min_participants = 900;
  const auto observers = ObserveFederation(spec);
  ASSERT_TRUE(observers.ok());
  const SamplingEvent& external = Find(*observers, Observer::kExternal).round[0].event;
  EXPECT_DOUBLE_EQ(external.noise_stddev, 6);
  EXPECT_DOUBLE_EQ(external.sampling_rate, 1000.0 / 3596);
  const SamplingEvent& in = Find(*observers, Observer::kParticipantInCohort).round[0].event;
  EXPECT_DOUBLE_EQ(in.noise_stddev, 6 * std::sqrt(899.0 / 900));
  EXPECT_DOUBLE_EQ(in.sampling_rate, 999.0 / 3595);
  const SamplingEvent& out = Find(*observers, Observer::kParticipantOutOfCohort).round[0].event;
  EXPECT_DOUBLE_EQ(out.noise_stddev, 6);
  EXPECT_DOUBLE_EQ(out.sampling_rate, 1000.0 / 3595);
  const ObservedRounds& knowing = Find(*observers, Observer::kCohortAware);
  EXPECT_EQ(knowing.round[0].event.sampling, Sampling::kNone);
  EXPECT_EQ(knowing.releases, 100);
  const ObservedRounds& key_holder = Find(*observers, Observer::kServerWithKeyHolder);
  EXPECT_EQ(key_holder.standing, Standing::kNone);  // there is no committee
  EXPECT_TRUE(key_holder.round.empty());
  const ObservedRounds& published = Find(*observers, Observer::kPublishedParticipant);
  EXPECT_EQ(published.standing, Standing::kConvention);
  EXPECT_DOUBLE_EQ(published.round[0].event.noise_stddev, 6 * 0.999);
}

TEST(ObserversTest, ACoalitionWithTheServerKnowsTheCohortAndItsOwnNoise) {
  FederationPrivacySpec spec = PaperFederation();
  spec.sampling.min_participants = 900;
  spec.sampling.max_participations = 40;
  spec.committee_seats = 20;
  spec.corrupt_seats = 6;
  spec.privacy.colluders = 3;
  const auto observers = ObserveFederation(spec);
  ASSERT_TRUE(observers.ok());
  const ObservedRounds& coalition = Find(*observers, Observer::kCoalition);
  EXPECT_EQ(coalition.standing, Standing::kGuarantee);
  EXPECT_FALSE(coalition.hypothetical);
  ASSERT_EQ(coalition.round.size(), 1u);
  EXPECT_EQ(coalition.round[0].event.sampling, Sampling::kNone);
  EXPECT_DOUBLE_EQ(coalition.round[0].event.noise_stddev, 6 * std::sqrt(897.0 / 900));
  EXPECT_EQ(coalition.releases, 40u);

  // Dummy uploads hide the others' coins from it too.
  spec.sampling.method = Sampling::kPoisson;
  spec.sampling.dummy_uploads = true;
  const auto hidden = ObserveFederation(spec);
  ASSERT_TRUE(hidden.ok());
  const SamplingEvent& event = Find(*hidden, Observer::kCoalition).round[0].event;
  EXPECT_EQ(event.sampling, Sampling::kPoisson);
  EXPECT_DOUBLE_EQ(event.sampling_rate, 1000.0 / 3596);
  EXPECT_DOUBLE_EQ(event.noise_stddev, 6 * std::sqrt(897.0 / 900));

  FederationPrivacySpec sites = PaperFederation();
  sites.sampling = {.clients = 4, .record_rate = 0.1};
  sites.privacy.unit = Unit::kRecord;
  sites.privacy.colluders = 1;
  sites.committee_seats = 4;
  sites.corrupt_seats = 1;
  const auto hospitals = ObserveFederation(sites);
  ASSERT_TRUE(hospitals.ok()) << hospitals.status();
  const ObservedRounds& hospital = Find(*hospitals, Observer::kCoalition);
  EXPECT_EQ(hospital.standing, Standing::kGuarantee);
  EXPECT_DOUBLE_EQ(hospital.round[0].event.noise_stddev, 6);
  EXPECT_DOUBLE_EQ(hospital.round[0].event.sampling_rate, 0.1);
}

TEST(ObserversTest, ACoalitionBeyondTheCommitteeOrTheCohortHasNoGuarantee) {
  FederationPrivacySpec spec = PaperFederation();
  spec.sampling = {.clients = 7, .cohort = 7};
  spec.committee_seats = 7;
  spec.corrupt_seats = 2;
  const auto coalition_of = [&](uint64_t colluders) {
    spec.privacy.colluders = colluders;
    return Find(*ObserveFederation(spec), Observer::kCoalition);
  };
  for (const uint64_t colluders : {0, 1, 2}) {
    EXPECT_EQ(coalition_of(colluders).standing, Standing::kGuarantee) << colluders;
  }
  EXPECT_EQ(coalition_of(3).standing, Standing::kNone);
  EXPECT_THAT(coalition_of(3).note, HasSubstr("more than the 2 seats"));
  spec.committee_seats = 4;  // three members of a coalition of four are not on the committee
  spec.corrupt_seats = 1;
  EXPECT_EQ(coalition_of(4).standing, Standing::kGuarantee);
  EXPECT_EQ(coalition_of(5).standing, Standing::kNone);
  spec.sampling.min_participants = 5;
  EXPECT_EQ(coalition_of(3).standing, Standing::kGuarantee);
  EXPECT_EQ(coalition_of(4).standing, Standing::kNone);
  EXPECT_THAT(coalition_of(4).note, HasSubstr("a sum needs two of others"));
}

TEST(ObserversTest, TheRateIsOverThePoolThatCouldBeDrawn) {
  FederationPrivacySpec spec = PaperFederation();
  spec.pool = 2517;
  const auto observers = ObserveFederation(spec);
  ASSERT_TRUE(observers.ok());
  EXPECT_DOUBLE_EQ(Find(*observers, Observer::kExternal).round[0].event.sampling_rate,
                   1000.0 / 2517);
  EXPECT_DOUBLE_EQ(Find(*observers, Observer::kParticipantInCohort).round[0].event.sampling_rate,
                   999.0 / 2516);
}

TEST(ObserversTest, ColludersAreDrawnHypergeometrically) {
  FederationPrivacySpec spec = PaperFederation();
  spec.privacy.colluders = 2;
  const auto observers = ObserveFederation(spec);
  ASSERT_TRUE(observers.ok());
  const ObservedRounds& observer = Find(*observers, Observer::kColluders);
  ASSERT_EQ(observer.round.size(), 3);
  const double none = 2596.0 / 3596 * 2595 / 3595;
  const double both = 1000.0 / 3596 * 999 / 3595;
  EXPECT_NEAR(observer.round[0].probability, none, 1e-11);
  EXPECT_NEAR(observer.round[2].probability, both, 1e-11);
  EXPECT_NEAR(observer.round[1].probability, 1 - none - both, 1e-11);
  EXPECT_DOUBLE_EQ(observer.round[2].event.noise_stddev, 6 * std::sqrt(0.998));
  EXPECT_DOUBLE_EQ(observer.round[2].event.sampling_rate, 998.0 / 3594);

  // With independent coins the number is binomial and the rate of the others stays. How many of
  // them were drawn is known.
  spec.sampling.method = Sampling::kPoisson;
  const auto poisson = ObserveFederation(spec);
  ASSERT_TRUE(poisson.ok());
  const double q = 1000.0 / 3596;
  const ObservedRounds& coins = Find(*poisson, Observer::kColluders);
  EXPECT_NEAR(coins.round[2].probability, q * q, 1e-12);
  EXPECT_DOUBLE_EQ(coins.round[2].event.sampling_rate, q);
  EXPECT_EQ(coins.round[2].event.sampling, Sampling::kPoissonKnownSize);
  EXPECT_EQ(coins.round[2].event.pool, 3594);
  EXPECT_EQ(coins.round[2].event.least, Resolved(spec).sampling.min_participants - 2);
}

TEST(ObserversTest, TheLawsAddToOne) {
  for (const uint64_t colluders : {1u, 40u, 700u, 3000u}) {
    for (const std::vector<double>& law : {HypergeometricLaw(3596, colluders, 1000).probability,
                                           BinomialLaw(colluders, 0.3).probability}) {
      EXPECT_NEAR(std::accumulate(law.begin(), law.end(), 0.0), 1, 1e-12);
    }
  }
  // Everybody is drawn: all colluders are in.
  const CountLaw all = HypergeometricLaw(10, 3, 10);
  EXPECT_EQ(all.first, 3);
  EXPECT_EQ(all.probability, std::vector<double>{1});
  const CountLaw sure = BinomialLaw(4, 1);
  EXPECT_EQ(sure.first, 4);
  EXPECT_EQ(sure.probability, std::vector<double>{1});
}

// Logarithms of factorials would lose seven digits there, and tables of every number gigabytes.
TEST(ObserversTest, LawsOfLargePoolsAreAccurateAndShort) {
  const CountLaw coins = BinomialLaw(100'000'000, 0.5);
  EXPECT_LT(coins.probability.size(), 200'000);
  const size_t mode = 50'000'000 - coins.first;
  EXPECT_NEAR(coins.probability[mode] * std::sqrt(std::numbers::pi / 2 * 1e8), 1, 1e-8);
  EXPECT_NEAR(coins.probability[mode + 5000] / coins.probability[mode], std::exp(-0.5), 1e-8);
  const CountLaw drawn = HypergeometricLaw(100'000'000, 49'000'000, 50'000'000);
  EXPECT_LT(drawn.probability.size(), 200'000);
  EXPECT_GT(drawn.above, 0);
  double mean = 0;
  for (size_t i = 0; i < drawn.probability.size(); ++i) {
    mean += drawn.probability[i] * static_cast<double>(drawn.first + i);
  }
  EXPECT_NEAR(mean, 24'500'000, 1e-3);
}

// With more colluders than honest clients are left for, some numbers of them never allow a release.
TEST(ObserversTest, ColludersSeeNoReleaseThatTooFewOthersCouldFill) {
  const auto observers = ObserveFederation({.sampling = {.clients = 10,
                                                         .cohort = 8,
                                                         .min_participants = 8,
                                                         .method = Sampling::kPoisson},
                                            .mechanism = {.noise_stddev = 6},
                                            .privacy = {.colluders = 5},
                                            .rounds = 3});
  ASSERT_TRUE(observers.ok());
  const ObservedRounds& colluders = Find(*observers, Observer::kColluders);
  EXPECT_TRUE(CheckMixture(colluders.round).ok());
  ASSERT_EQ(colluders.round.size(), 6);
  EXPECT_EQ(colluders.round[2].event.sampling_rate, 0);  // 6 others of 5 would be needed
  EXPECT_EQ(colluders.round[3].event.sampling_rate, 0.8);
}

TEST(ObserversTest, ManyColludersAreAFewForms) {
  const auto observers = ObserveFederation(
      {.sampling = {.clients = 1'000'000, .cohort = 10'000, .method = Sampling::kPoisson},
       .mechanism = {.noise_stddev = 6},
       .privacy = {.colluders = 100'000},
       .rounds = 3});
  ASSERT_TRUE(observers.ok());
  const ObservedRounds& colluders = Find(*observers, Observer::kColluders);
  EXPECT_TRUE(CheckMixture(colluders.round).ok());
  EXPECT_LE(colluders.round.size(), 17);
}

TEST(ObserversTest, SmallFederationsHaveNoMeaninglessViews) {
  const auto observers = ObserveFederation({.sampling = {.clients = 4, .cohort = 4},
                                            .mechanism = {.clip_norm = 1, .noise_stddev = 6},
                                            .rounds = 3});
  ASSERT_TRUE(observers.ok());
  for (const ObservedRounds& observer : *observers) {
    EXPECT_NE(observer.observer, Observer::kParticipantOutOfCohort);  // everybody is always in
  }
  const auto alone = ObserveFederation({.sampling = {.clients = 1, .cohort = 1},
                                        .mechanism = {.clip_norm = 1, .noise_stddev = 6},
                                        .rounds = 3});
  ASSERT_TRUE(alone.ok());
  for (const ObservedRounds& observer : *alone) {
    EXPECT_NE(observer.observer, Observer::kParticipantInCohort);
  }
}

TEST(ObserversTest, RefusesWhatIsOutOfRange) {
  const auto refused = [](auto change) {
    FederationPrivacySpec spec = PaperFederation();
    change(spec);
    const absl::Status status = CheckFederation(spec);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return base::Message(status);
  };
  EXPECT_THAT(refused([](auto& s) { s.sampling.clients = 0; }), HasSubstr("clients is 0"));
  EXPECT_THAT(refused([](auto& s) { s.sampling.cohort = 3597; }),
              HasSubstr("the cohort is 3597, expected 1 to 3596"));
  EXPECT_THAT(refused([](auto& s) { s.sampling.cohort = 0; }), HasSubstr("the cohort is 0"));
  EXPECT_THAT(refused([](auto& s) { s.pool = 4000; }), HasSubstr("the pool of 4000"));
  EXPECT_THAT(refused([](auto& s) { s.sampling.min_participants = 1001; }),
              HasSubstr("min_participants is 1001"));
  EXPECT_THAT(refused([](auto& s) { s.rounds = 0; }), HasSubstr("rounds is 0"));
  EXPECT_THAT(refused([](auto& s) { s.privacy.colluders = 3596; }), HasSubstr("colluders is 3596"));
  EXPECT_THAT(refused([](auto& s) { s.sampling.dummy_uploads = true; }),
              HasSubstr("with fixed-size sampling the party that draws it knows it"));
  EXPECT_THAT(refused([](auto& s) { s.privacy.delta = 0; }), HasSubstr("delta is 0"));
  EXPECT_THAT(refused([](auto& s) { s.mechanism.noise_stddev = std::nan(""); }),
              HasSubstr("noise_stddev is nan"));
}

// The server that draws a fixed-size cohort can draw whom it wants; a client's own coin it cannot.
TEST(ObserversTest, AmplificationByTheServersDrawAssumesThatItIsHonest) {
  const auto honest_draw_assumed = [](const FederationPrivacySpec& spec) {
    const auto observers = ObserveFederation(spec);
    EXPECT_TRUE(observers.ok());
    for (const ObservedRounds& observer : *observers) {
      const bool assumed =
          observer.note.find("assumes that cohorts are drawn honestly") != std::string::npos;
      const bool amplified =
          std::any_of(observer.round.begin(), observer.round.end(), [](const WeightedEvent& part) {
            return part.event.sampling == Sampling::kFixedSize && part.event.sampling_rate < 1;
          });
      EXPECT_EQ(assumed, amplified) << ObserverName(observer.observer);
    }
    return std::count_if(observers->begin(), observers->end(), [](const ObservedRounds& observer) {
      return observer.note.find("drawn honestly") != std::string::npos;
    });
  };
  FederationPrivacySpec spec = PaperFederation();
  spec.privacy.colluders = 3;
  EXPECT_EQ(honest_draw_assumed(spec), 5);  // all but those who know the cohorts
  spec.sampling.cohort = spec.sampling.clients;
  EXPECT_EQ(honest_draw_assumed(spec), 0);
  FederationPrivacySpec coins = PaperFederation();
  coins.sampling.method = Sampling::kPoisson;
  const auto observers = ObserveFederation(coins);
  ASSERT_TRUE(observers.ok());
  for (const ObservedRounds& observer : *observers) {
    EXPECT_THAT(observer.note, Not(HasSubstr("honestly"))) << ObserverName(observer.observer);
  }
  EXPECT_EQ(honest_draw_assumed({.sampling = {.clients = 4, .record_rate = 0.1},
                                 .mechanism = {.noise_stddev = 3},
                                 .privacy = {.unit = Unit::kRecord},
                                 .rounds = 200}),
            0);
}

}  // namespace
}  // namespace tacet::accounting
