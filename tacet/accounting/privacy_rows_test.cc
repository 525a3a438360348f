#include "tacet/accounting/privacy_rows.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using ::testing::HasSubstr;

FederationPrivacySpec Paper() {
  return {.sampling = {.clients = 3596, .cohort = 1000, .min_participants = 1000},
          .mechanism = {.clip_norm = 1, .noise_stddev = 6},
          .rounds = 100};
}

const PrivacyRow* Find(const std::vector<PrivacyRow>& rows, Observer observer,
                       Accountant accountant) {
  for (const PrivacyRow& row : rows) {
    if (row.observer == observer && row.accountant == accountant) {
      return &row;
    }
  }
  return nullptr;
}

TEST(PrivacyRowsTest, ThePapersFiguresStandUnderTheirNames) {
  const auto guarantees = GuaranteesOf(Paper());
  ASSERT_TRUE(guarantees.ok());
  const std::vector<PrivacyRow>& rows = guarantees->rows;
  const PrivacyRow* external = Find(rows, Observer::kExternal, Accountant::kMoments);
  ASSERT_NE(external, nullptr);
  EXPECT_NEAR(*external->epsilon, 5.3056767961846457, 5e-9);
  EXPECT_EQ(external->order, 5);
  EXPECT_EQ(external->standing, Standing::kConvention);  // not proved for cohorts of fixed size
  EXPECT_THAT(external->note, HasSubstr("not proved"));
  const PrivacyRow* tight = Find(rows, Observer::kExternal, Accountant::kFixedSizeTight);
  ASSERT_NE(tight, nullptr);
  EXPECT_EQ(guarantees->HeadlineOf(Observer::kExternal), tight);
  const PrivacyRow* published = Find(rows, Observer::kPublishedParticipant, Accountant::kMoments);
  ASSERT_NE(published, nullptr);
  EXPECT_NEAR(*published->epsilon, 5.31269466297, 5e-9);
  EXPECT_EQ(published->standing, Standing::kConvention);
  const PrivacyRow* knowing = Find(rows, Observer::kCohortAware, Accountant::kPld);
  ASSERT_NE(knowing, nullptr);
  EXPECT_NEAR(*knowing->epsilon, 19.13076783636193, 1e-6);
}

TEST(PrivacyRowsTest, ARowHasANumberOrAReason) {
  for (const double noise : {6.0, 0.0}) {
    FederationPrivacySpec spec = Paper();
    spec.mechanism.noise_stddev = noise;
    spec.privacy.colluders = 30;
    const auto guarantees = GuaranteesOf(spec);
    ASSERT_TRUE(guarantees.ok());
    for (const PrivacyRow& row : guarantees->rows) {
      EXPECT_EQ(row.epsilon.has_value(), row.standing != Standing::kNone);
      EXPECT_FALSE(row.note.empty());
      if (row.epsilon) {
        EXPECT_TRUE(std::isfinite(*row.epsilon));
        EXPECT_GT(noise, 0);
      }
    }
  }
}

TEST(PrivacyRowsTest, TheHeadlineIsTheSmallestValidBoundForTheMostReleases) {
  const auto rows = GuaranteesOf(Paper());
  ASSERT_TRUE(rows.ok());
  const PrivacyRow* knowing = rows->HeadlineOf(Observer::kCohortAware);
  ASSERT_NE(knowing, nullptr);
  EXPECT_EQ(knowing->accountant, Accountant::kPld);
  EXPECT_EQ(knowing->releases, 100);
  EXPECT_EQ(rows->HeadlineOf(Observer::kServerWithKeyHolder), nullptr);
  EXPECT_EQ(rows->HeadlineOf(Observer::kPublishedParticipant), nullptr);
}

// Ledger, budget and headlines count this row.
TEST(PrivacyRowsTest, TheWorstGuaranteedObserverCounts) {
  const auto rows = GuaranteesOf(Paper());
  ASSERT_TRUE(rows.ok());
  const PrivacyRow* worst = rows->headline();
  ASSERT_NE(worst, nullptr);
  EXPECT_EQ(worst->observer, Observer::kCohortAware);
  EXPECT_EQ(worst->releases, 100);
  EXPECT_EQ(rows->worst_observed.observer, worst->observer);
  const auto quickly = GuaranteesOf(Paper(), Extent::kHeadline);
  ASSERT_TRUE(quickly.ok());
  EXPECT_EQ(quickly->headline()->observer, worst->observer);
  EXPECT_EQ(quickly->worst_observed.observer, worst->observer);
  EXPECT_EQ(quickly->epsilon(), rows->epsilon());
  EXPECT_LT(quickly->rows.size(), rows->rows.size());

  // Dummy uploads hide the cohorts: anyone who learns them nevertheless is shown and does not
  // count.
  FederationPrivacySpec hidden = Paper();
  hidden.sampling.method = Sampling::kPoisson;
  hidden.sampling.dummy_uploads = true;
  const auto hidden_rows = GuaranteesOf(hidden);
  ASSERT_TRUE(hidden_rows.ok());
  const PrivacyRow* member = hidden_rows->headline();
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->observer, Observer::kParticipantInCohort);
  EXPECT_NEAR(*member->epsilon, 4.0, 0.01);

  // A participant whose own noise is all there is: no figure, instead of a smaller one.
  FederationPrivacySpec alone = Paper();
  alone.sampling.min_participants = 1;
  for (const Extent extent : {Extent::kAllRows, Extent::kHeadline}) {
    const auto no_figure = GuaranteesOf(alone, extent);
    ASSERT_TRUE(no_figure.ok());
    ASSERT_NE(no_figure->headline(), nullptr);
    EXPECT_FALSE(no_figure->headline()->epsilon.has_value());
    EXPECT_TRUE(std::isinf(no_figure->epsilon()));
  }
}

// Ledger and summary take the quick headline, tables take it from all rows.
TEST(PrivacyRowsTest, TheHeadlineIsTheSameWithAndWithoutAllRows) {
  FederationPrivacySpec poisson = Paper();
  poisson.sampling.method = Sampling::kPoisson;
  poisson.privacy.colluders = 3;
  FederationPrivacySpec hidden = poisson;
  hidden.sampling.dummy_uploads = true;
  FederationPrivacySpec limited = Paper();
  limited.sampling.max_participations = 20;
  limited.privacy.neighbouring = Neighbouring::kZeroOut;
  FederationPrivacySpec everybody = Paper();
  everybody.sampling.cohort = everybody.sampling.clients;
  const FederationPrivacySpec records{.sampling = {.clients = 4, .record_rate = 0.2},
                                      .mechanism = {.noise_stddev = 5},
                                      .privacy = {.unit = Unit::kRecord, .colluders = 1},
                                      .rounds = 100};
  for (const FederationPrivacySpec& spec :
       {Paper(), poisson, hidden, limited, everybody, records}) {
    const auto all = GuaranteesOf(spec);
    const auto quick = GuaranteesOf(spec, Extent::kHeadline);
    ASSERT_TRUE(all.ok() && quick.ok());
    EXPECT_EQ(quick->epsilon(), all->epsilon());
    EXPECT_EQ(quick->headline()->accountant, all->headline()->accountant);
    EXPECT_EQ(quick->headline()->observer, all->headline()->observer);
    EXPECT_EQ(quick->worst_observed.releases, all->worst_observed.releases);
    EXPECT_LE(quick->rows.size(), all->rows.size());
  }
}

TEST(PrivacyRowsTest, ImplementationTermsAreThePlansOwn) {
  const dp::MechanismSpec mechanism{
      .dimension = 1000,
      .params = {.noise_stddev = 6, .sampler = dp::GaussianSampler::kZiggurat},
      .cohort = 1000,
      .min_participants = 1000,
      .attempts = 100,
      .without_guarantee = true};
  const auto plan = dp::MechanismPlan::Create(mechanism);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto with = GuaranteesOf(Paper(), Extent::kAllRows, &*plan);
  ASSERT_TRUE(with.ok());
  for (const PrivacyRow& row : with->rows) {
    EXPECT_EQ(row.implementation.has_value(), row.standing == Standing::kGuarantee) << row.note;
    if (!row.implementation) continue;
    const dp::ImplementationTerms terms = plan->TermsAt(*row.epsilon, row.delta);
    EXPECT_EQ(row.implementation->epsilon, terms.epsilon);
    EXPECT_EQ(row.implementation->delta, terms.delta);
  }
  const auto without = GuaranteesOf(Paper());
  ASSERT_TRUE(without.ok());
  for (const PrivacyRow& row : without->rows) EXPECT_FALSE(row.implementation);
}

TEST(PrivacyRowsTest, TheLargestGuaranteeIsTheOneOfThoseWhoKnowTheCohorts) {
  const auto largest = LargestCarriedEpsilon(Paper());
  ASSERT_TRUE(largest.ok());
  EXPECT_NEAR(*largest, 19.13076783636193, 1e-6);
  FederationPrivacySpec silent = Paper();
  silent.mechanism.noise_stddev = 0;
  EXPECT_EQ(LargestCarriedEpsilon(silent).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(LargestCarriedEpsilon(silent).status()),
              HasSubstr("no observer of this federation has a privacy guarantee"));
}

// With a third of the paper's noise those who know the cohorts are guaranteed an epsilon of 46,
// which no arithmetic carries; the others' guarantees still count.
TEST(PrivacyRowsTest, AnEpsilonThatProtectsNobodyIsSaidAndNotCarried) {
  FederationPrivacySpec loud = Paper();
  loud.mechanism.noise_stddev = 2;
  loud.rounds = 40;
  const auto rows = GuaranteesOf(loud);
  ASSERT_TRUE(rows.ok());
  const auto is_beyond = [](const PrivacyRow* row) {
    return row->note.find("for exact arithmetic only") != std::string::npos;
  };
  const PrivacyRow* knowing = rows->HeadlineOf(Observer::kCohortAware);
  EXPECT_NEAR(*knowing->epsilon, 46.211, 1e-3);
  EXPECT_TRUE(is_beyond(knowing));
  EXPECT_FALSE(is_beyond(rows->HeadlineOf(Observer::kExternal)));
  const auto carried = LargestCarriedEpsilon(loud);
  ASSERT_TRUE(carried.ok());
  EXPECT_LT(*carried, kLargestCarriedEpsilon);
  EXPECT_GT(*carried, *rows->HeadlineOf(Observer::kExternal)->epsilon);
  // With less still, no observer has a guarantee that counts: the least of it must be carried.
  loud.mechanism.noise_stddev = 0.3;
  const auto least = LargestCarriedEpsilon(loud);
  ASSERT_TRUE(least.ok());
  EXPECT_GT(*least, kLargestCarriedEpsilon);
}

TEST(PrivacyRowsTest, MoreColludersCostMore) {
  for (const Accountant accountant : {Accountant::kMoments, Accountant::kPld}) {
    double last = 0;
    for (const uint64_t colluders : {1u, 30u, 300u}) {
      FederationPrivacySpec spec = Paper();
      spec.privacy.colluders = colluders;
      const auto observers = ObserveFederation(spec);
      ASSERT_TRUE(observers.ok());
      for (const ObservedRounds& observer : *observers) {
        if (observer.observer == Observer::kColluders) {
          const auto rows = RowsOfObserver(observer, spec, {&accountant, 1});
          ASSERT_TRUE(rows.ok() && rows->size() == 1);
          ASSERT_TRUE(rows->front().epsilon.has_value());
          EXPECT_GT(*rows->front().epsilon, last) << colluders;
          last = *rows->front().epsilon;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tacet::accounting
