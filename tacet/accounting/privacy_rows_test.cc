#include "tacet/accounting/privacy_rows.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using ::testing::HasSubstr;

FederationPrivacySpec Paper() {
  return {.clients = 3596, .cohort = 1000, .rounds = 100, .clip_norm = 1, .noise_stddev = 6};
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
  const auto rows = PrivacyRows(Paper());
  ASSERT_TRUE(rows.ok());
  const PrivacyRow* outsider = Find(*rows, Observer::kExternal, Accountant::kMoments);
  ASSERT_NE(outsider, nullptr);
  EXPECT_NEAR(*outsider->epsilon, 5.3056767961846457, 5e-9);
  EXPECT_EQ(outsider->order, 5);
  EXPECT_EQ(outsider->standing, Standing::kConvention);  // not proved for cohorts of fixed size
  EXPECT_THAT(outsider->note, HasSubstr("not proved"));
  const PrivacyRow* tight = Find(*rows, Observer::kExternal, Accountant::kFixedSizeTight);
  ASSERT_NE(tight, nullptr);
  EXPECT_EQ(Headline(*rows, Observer::kExternal), tight);
  const PrivacyRow* published = Find(*rows, Observer::kPublishedParticipant, Accountant::kMoments);
  ASSERT_NE(published, nullptr);
  EXPECT_NEAR(*published->epsilon, 5.31269466297, 5e-9);
  EXPECT_EQ(published->standing, Standing::kConvention);
  const PrivacyRow* knowing = Find(*rows, Observer::kCohortAware, Accountant::kPld);
  ASSERT_NE(knowing, nullptr);
  EXPECT_NEAR(*knowing->epsilon, 19.13076783636193, 1e-6);
}

TEST(PrivacyRowsTest, ARowHasANumberOrAReason) {
  for (const double noise : {6.0, 0.0}) {
    FederationPrivacySpec spec = Paper();
    spec.noise_stddev = noise;
    spec.colluders = 30;
    const auto rows = PrivacyRows(spec);
    ASSERT_TRUE(rows.ok());
    for (const PrivacyRow& row : *rows) {
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
  const auto rows = PrivacyRows(Paper());
  ASSERT_TRUE(rows.ok());
  const PrivacyRow* knowing = Headline(*rows, Observer::kCohortAware);
  ASSERT_NE(knowing, nullptr);
  EXPECT_EQ(knowing->accountant, Accountant::kPld);
  EXPECT_EQ(knowing->releases, 100);
  EXPECT_EQ(Headline(*rows, Observer::kServerWithKeyHolder), nullptr);
  EXPECT_EQ(Headline(*rows, Observer::kPublishedParticipant), nullptr);
}

// What ledger, budget and headlines count.
TEST(PrivacyRowsTest, TheWorstGuaranteedObserverCounts) {
  const auto rows = PrivacyRows(Paper());
  ASSERT_TRUE(rows.ok());
  const PrivacyRow* worst = WorstHeadline(*rows);
  ASSERT_NE(worst, nullptr);
  EXPECT_EQ(worst->observer, Observer::kCohortAware);
  EXPECT_EQ(worst->releases, 100);
  const auto quickly = WorstRow(Paper());
  ASSERT_TRUE(quickly.ok());
  EXPECT_EQ(quickly->observer, worst->observer);
  EXPECT_EQ(*quickly->epsilon, *worst->epsilon);

  // Dummy uploads hide the cohorts: anyone who learns them nevertheless is shown and does not
  // count.
  FederationPrivacySpec hidden = Paper();
  hidden.sampling = Sampling::kPoisson;
  hidden.dummy_uploads = true;
  const auto hidden_rows = PrivacyRows(hidden);
  ASSERT_TRUE(hidden_rows.ok());
  const PrivacyRow* member = WorstHeadline(*hidden_rows);
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->observer, Observer::kParticipantInCohort);
  EXPECT_NEAR(*member->epsilon, 4.0, 0.01);

  // A participant whose own noise is all there is: no figure, instead of a smaller one.
  FederationPrivacySpec alone = Paper();
  alone.min_participants = 1;
  const auto alone_rows = PrivacyRows(alone);
  ASSERT_TRUE(alone_rows.ok());
  ASSERT_NE(WorstHeadline(*alone_rows), nullptr);
  EXPECT_FALSE(WorstHeadline(*alone_rows)->epsilon.has_value());
  const auto no_figure = WorstRow(alone);
  ASSERT_TRUE(no_figure.ok());
  EXPECT_FALSE(no_figure->epsilon.has_value());
}

TEST(PrivacyRowsTest, TheLargestGuaranteeIsTheOneOfThoseWhoKnowTheCohorts) {
  const auto largest = LargestCarriedEpsilon(Paper());
  ASSERT_TRUE(largest.ok());
  EXPECT_NEAR(*largest, 19.13076783636193, 1e-6);
  FederationPrivacySpec silent = Paper();
  silent.noise_stddev = 0;
  EXPECT_EQ(LargestCarriedEpsilon(silent).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(LargestCarriedEpsilon(silent).status()),
              HasSubstr("no view of this federation has a privacy guarantee"));
}

// With a third of the paper's noise those who know the cohorts are guaranteed an epsilon of 46,
// which no arithmetic carries; the others' guarantees still count.
TEST(PrivacyRowsTest, AnEpsilonThatProtectsNobodyIsSaidAndNotCarried) {
  FederationPrivacySpec loud = Paper();
  loud.noise_stddev = 2;
  loud.rounds = 40;
  const auto rows = PrivacyRows(loud);
  ASSERT_TRUE(rows.ok());
  const auto is_beyond = [](const PrivacyRow* row) {
    return row->note.find("for exact arithmetic only") != std::string::npos;
  };
  const PrivacyRow* knowing = Headline(*rows, Observer::kCohortAware);
  EXPECT_NEAR(*knowing->epsilon, 46.211, 1e-3);
  EXPECT_TRUE(is_beyond(knowing));
  EXPECT_FALSE(is_beyond(Headline(*rows, Observer::kExternal)));
  const auto carried = LargestCarriedEpsilon(loud);
  ASSERT_TRUE(carried.ok());
  EXPECT_LT(*carried, kLargestCarriedEpsilon);
  EXPECT_GT(*carried, *Headline(*rows, Observer::kExternal)->epsilon);
  // With less still, no observer has a guarantee that counts: the least of it must be carried.
  loud.noise_stddev = 0.3;
  const auto least = LargestCarriedEpsilon(loud);
  ASSERT_TRUE(least.ok());
  EXPECT_GT(*least, kLargestCarriedEpsilon);
}

TEST(PrivacyRowsTest, MoreColludersCostMore) {
  for (const Accountant accountant : {Accountant::kMoments, Accountant::kPld}) {
    double last = 0;
    for (const uint64_t colluders : {1u, 30u, 300u}) {
      FederationPrivacySpec spec = Paper();
      spec.colluders = colluders;
      const auto observers = ObserveFederation(spec);
      ASSERT_TRUE(observers.ok());
      for (const ObservedRounds& observer : *observers) {
        if (observer.observer == Observer::kColluders) {
          const auto row = PrivacyRowOf(observer, spec, accountant);
          ASSERT_TRUE(row.ok() && row->has_value());
          ASSERT_TRUE((*row)->epsilon.has_value());
          EXPECT_GT(*(*row)->epsilon, last) << colluders;
          last = *(*row)->epsilon;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tacet::accounting
