// Clients that are absent: rows against what a number of clients here attains.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/accounting/absent_campaign_for_test.h"
#include "tacet/accounting/absent_clients_for_test.h"
#include "tacet/accounting/observers.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/accounting/round_choices.h"
#include "tacet/base/test_size_for_test.h"

namespace tacet::accounting {
namespace {

using testing::HasSubstr;

struct Plan {
  uint64_t clients, cohort, least;
  double noise;
  uint64_t rounds;
  Sampling method = Sampling::kPoisson;
  double delta = 1e-5;
};

FederationPrivacySpec FederationOf(const Plan& plan) {
  return {.sampling = {.clients = plan.clients,
                       .cohort = plan.cohort,
                       .min_participants = plan.least,
                       .method = plan.method},
          .mechanism = {.noise_stddev = plan.noise},
          .privacy = {.delta = plan.delta},
          .rounds = plan.rounds};
}

AbsentClients Here(const Plan& plan, double here) {
  return {.clients = static_cast<double>(plan.clients),
          .cohort = static_cast<double>(plan.cohort),
          .coins = plan.method == Sampling::kPoisson,
          .least = static_cast<double>(plan.least),
          .share_noise = plan.noise / std::sqrt(static_cast<double>(plan.least)),
          .here = here,
          .rounds = plan.rounds};
}

// The external observer's smallest proved row.
PrivacyRow ExternalRow(const Plan& plan) {
  const FederationPrivacySpec spec = FederationOf(plan);
  const auto observers = ObserveFederation(spec);
  EXPECT_TRUE(observers.ok()) << observers.status();
  const auto rows = RowsOfObserver(observers->front(), spec);
  EXPECT_TRUE(rows.ok()) << rows.status();
  PrivacyRow best;
  for (const PrivacyRow& row : *rows) {
    if (row.standing != Standing::kGuarantee || !row.epsilon) continue;
    if (!best.epsilon || *row.epsilon < *best.epsilon) best = row;
  }
  return best;
}

// With the number of those drawn alone these were 2.255, 3.912 and 3.914: the observer, who sees
// how many were drawn, gained where four tenths, three quarters and nine tenths of the clients were
// here.
TEST(AbsentClientsTest, PoissonRowsCoverEveryNumberOfClientsHere) {
  struct Case {
    Plan plan;
    double here, attained;
  };
  for (const Case& c :
       {Case{{200, 50, 17, 4, 50}, 80, 3.701}, Case{{1000, 200, 128, 3, 50}, 718, 4.665},
        Case{{3596, 1000, 842, 6, 100}, 3224, 4.09}}) {
    const double attained = AbsentEpsilon(Here(c.plan, c.here), 1e-5);
    EXPECT_GE(attained, 0.995 * c.attained);
    const PrivacyRow row = ExternalRow(c.plan);
    ASSERT_TRUE(row.epsilon);
    EXPECT_GE(*row.epsilon, c.attained);
    EXPECT_LE(*row.epsilon, 1.05 * c.attained);
    EXPECT_THAT(row.note, HasSubstr("any number of clients may be absent: with always"));
  }
}

// A cohort of fixed size is drawn from everybody. Rows were 0.295 with everybody here.
TEST(AbsentClientsTest, FixedSizeRowsCoverEveryNumberOfClientsHere) {
  const Plan plan{4000, 320, 2, 4, 1, Sampling::kFixedSize};
  const PrivacyRow row = ExternalRow(plan);
  ASSERT_TRUE(row.epsilon);
  double most = 0;
  for (const double here : {2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 100.0, 4000.0}) {
    const double attained = AbsentEpsilon(Here(plan, here), 1e-5);
    EXPECT_GE(*row.epsilon, attained) << here;
    most = std::max(most, attained);
    if (here == 20) {
      EXPECT_GE(attained, 0.34);
    }
  }
  EXPECT_LE(*row.epsilon, 1.1 * most);
}

// Where K_min are all that are drawn, every absence makes a release less likely: the paper's row
// stays.
TEST(AbsentClientsTest, AFullCohortCostsWhatItDid) {
  const PrivacyRow row = ExternalRow({3596, 1000, 1000, 6, 100, Sampling::kFixedSize});
  ASSERT_TRUE(row.epsilon);
  EXPECT_LE(*row.epsilon, 4.32);
  EXPECT_GE(*row.epsilon, 4.3067);
}

// The noise of K_min shares alone does not bound the loss: it leaves out the rate.
TEST(AbsentClientsTest, TheRateRisesWithTheNoiseOfTheLeastNumber) {
  const Plan plan{1000, 50, 2, 2, 200};
  EXPECT_GE(AbsentEpsilon(Here(plan, 4), 1e-5), 7.2);
  EXPECT_GE(*ExternalRow(plan).epsilon, 7.2);
}

// Failed attempts are counted, and release nothing. Without them, few clients here would be as good
// as a known cohort.
TEST(AbsentClientsTest, AttemptsThatFailCount) {
  const SamplingEvent event{.sampling = Sampling::kPoissonKnownSize,
                            .sampling_rate = 0.25,
                            .noise_stddev = 4,
                            .pool = 200,
                            .least = 17};
  double total = 0, released = 0;
  for (const WeightedEvent& part : WithHere({{.event = event}}, 40)) {
    total += part.probability;
    if (part.event.sampling_rate > 0) released += part.probability;
  }
  EXPECT_NEAR(total, 1, 1e-12);
  EXPECT_NEAR(released, 0.0116, 2e-3);
}

// Each law of the choices is a law, and every number here has one whose rates and noises cover its
// own on average.
TEST(AbsentClientsTest, LawsAreLawsAndCoverTheirNumbers) {
  for (const Sampling method : {Sampling::kPoissonKnownSize, Sampling::kFixedSize}) {
    const SamplingEvent event{
        .sampling = method, .sampling_rate = 0.25, .noise_stddev = 4, .pool = 200, .least = 30};
    for (const double coarseness : {1.0, 4.0}) {
      const RoundChoices choices = ChoicesOf({{.event = event}}, {.coarseness = coarseness});
      for (const RoundChoices::Law& law : choices.laws) {
        double released = 0, mean_rate = 0, mean_precision = 0;
        for (const auto& [form, weight] : law.weights) {
          EXPECT_GE(weight, 0);
          released += weight;
          mean_rate += weight * choices.forms[form].sampling_rate;
          mean_precision += weight / choices.forms[form].noise_stddev;
        }
        EXPECT_LE(released, 1 + 1e-12);
        if (law.here == 0) continue;
        double truly = 0, true_rate = 0, true_precision = 0;
        for (const WeightedEvent& part : WithHere({{.event = event}}, law.here)) {
          if (part.event.sampling_rate == 0) continue;
          truly += part.probability;
          true_rate += part.probability * part.event.sampling_rate;
          true_precision += part.probability / part.event.noise_stddev;
        }
        EXPECT_GE(released, truly - 1e-12) << law.here;
        EXPECT_GE(mean_rate, true_rate - 1e-12) << law.here;
        EXPECT_GE(mean_precision, true_precision - 1e-12) << law.here;
      }
    }
  }
}

TEST(AbsentClientsTest, NoRandomRowIsBelowWhatIsAttained) {
  const int settings = base::TestSize("TACET_RANDOM_SETTINGS", 4);
  const AbsentChecked checked = CheckAbsentClients(settings, 7);
  EXPECT_EQ(checked.settings, settings);
  EXPECT_GE(checked.attained, settings / 2);
  EXPECT_GE(checked.close, settings / 4);
}

}  // namespace
}  // namespace tacet::accounting
