#include "tacet/accounting/terms_changes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/accounting/privacy_filter.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

using ::testing::HasSubstr;

FederationPrivacySpec Sites(uint64_t clients, uint64_t attempts) {
  return {.sampling = {.clients = clients, .cohort = clients},
          .mechanism = {.clip_norm = 1, .noise_stddev = 6},
          .privacy = {.colluders = 1},
          .committee_seats = clients,
          .corrupt_seats = 1,
          .rounds = attempts};
}

std::vector<ObservedRounds> Observe(const std::vector<FederationPrivacySpec>& terms) {
  auto observed = ObserveTraining(terms);
  EXPECT_TRUE(observed.ok()) << observed.status();
  return observed.ok() ? *std::move(observed) : std::vector<ObservedRounds>();
}

const ObservedRounds& Of(const std::vector<ObservedRounds>& all, Observer observer) {
  const auto found = std::ranges::find(all, observer, &ObservedRounds::observer);
  EXPECT_NE(found, all.end()) << ObserverName(observer);
  return *found;
}

Guarantees GuaranteesFor(const std::vector<FederationPrivacySpec>& terms,
                         Extent extent = Extent::kAllRows) {
  auto guarantees = GuaranteesOfTraining(terms, extent, {});
  EXPECT_TRUE(guarantees.ok()) << guarantees.status();
  return *std::move(guarantees);
}

// Unit client, records, cohorts drawn by the server and by coins, a limit of participations.
std::vector<std::vector<FederationPrivacySpec>> ChangedFederations() {
  std::vector<std::vector<FederationPrivacySpec>> all = {{Sites(5, 3), Sites(4, 2), Sites(6, 4)}};
  std::vector<FederationPrivacySpec> quieter = {Sites(5, 30), Sites(5, 2)};
  quieter[1].mechanism.noise_stddev = 3;
  all.push_back(quieter);
  std::vector<FederationPrivacySpec> records = {Sites(5, 20), Sites(4, 30)};
  for (FederationPrivacySpec& spec : records) {
    spec.privacy.unit = Unit::kRecord;
    spec.privacy.neighbouring = Neighbouring::kZeroOut;
    spec.sampling.record_rate = 0.1;
  }
  records[1].mechanism.noise_stddev = 4;
  all.push_back(records);
  for (const Sampling method : {Sampling::kFixedSize, Sampling::kPoisson}) {
    std::vector<FederationPrivacySpec> drawn = {Sites(30, 20), Sites(28, 30)};
    for (FederationPrivacySpec& spec : drawn) {
      spec.sampling.method = method;
      spec.sampling.cohort = 10;
      spec.sampling.min_participants = 4;
    }
    all.push_back(drawn);
  }
  return all;
}

// The attempts as they were, had all their terms been fixed before the first: no bound that also
// covers changes made in view of the releases is below that.
TEST(TermsChangesTest, NoRowIsBelowWhatTheAttemptsCost) {
  for (const std::vector<FederationPrivacySpec>& terms : ChangedFederations()) {
    std::vector<std::vector<ObservedRounds>> under;
    for (const FederationPrivacySpec& one : terms) under.push_back(*ObserveFederation(one));
    const Guarantees guarantees = GuaranteesFor(terms);
    ASSERT_NE(guarantees.headline(), nullptr);
    double worst = 0;
    for (const ObservedRounds& observed : under.front()) {
      if (observed.standing != Standing::kGuarantee || observed.hypothetical) continue;
      std::vector<RepeatedEvent> stream;
      for (const auto& all : under) {
        const ObservedRounds& part = Of(all, observed.observer);
        stream.push_back({.round = part.round, .count = part.releases});
      }
      constexpr Accountant kTwoSided[] = {Accountant::kPld};
      const auto truth = BoundEpsilon(stream, terms[0].privacy.delta, kTwoSided);
      ASSERT_TRUE(truth.ok()) << truth.status();
      const double least = *truth->rows.front().epsilon_lower;
      worst = std::max(worst, least);
      for (const PrivacyRow& row : guarantees.rows) {
        if (row.observer != observed.observer || row.standing != Standing::kGuarantee) continue;
        EXPECT_GE(*row.epsilon, least * (1 - 1e-9))
            << ObserverName(row.observer) << " " << row.note;
        EXPECT_EQ(row.releases, Of(Observe(terms), row.observer).releases);
      }
    }
    EXPECT_GE(guarantees.epsilon(), worst * (1 - 1e-9));
    EXPECT_EQ(GuaranteesFor(terms, Extent::kHeadline).epsilon(), guarantees.epsilon());
  }
}

TEST(TermsChangesTest, AnObserverThatTheChangeDoesNotTouchIsAsBefore) {
  const std::vector<ObservedRounds> all = Observe({Sites(5, 3), Sites(4, 2)});
  const ObservedRounds& external = Of(all, Observer::kExternal);
  EXPECT_FALSE(external.terms_changed);
  EXPECT_EQ(external.releases, 5u);
  EXPECT_EQ(external.round, Of(*ObserveFederation(Sites(5, 5)), Observer::kExternal).round);
  const ObservedRounds& inside = Of(all, Observer::kParticipantInCohort);
  EXPECT_TRUE(inside.terms_changed);
  EXPECT_DOUBLE_EQ(inside.round[0].event.noise_stddev, 6 * std::sqrt(2.0 / 3));
  ASSERT_EQ(inside.by_terms.size(), 2u);
  EXPECT_DOUBLE_EQ(inside.by_terms[0].event.noise_stddev, 6 * std::sqrt(3.0 / 4));
  EXPECT_EQ(inside.by_terms[0].count, 3u);
}

// Both kinds of bounds are there, the smaller one leads, and one of them is the ledger's.
TEST(TermsChangesTest, TheFilterIsThatOfALedger) {
  const std::vector<FederationPrivacySpec> terms = ChangedFederations()[1];
  const Guarantees guarantees = GuaranteesFor(terms);
  auto ledger = PrivacyFilter::Create({.composition = Composition::kAnyEvents});
  ASSERT_TRUE(ledger.ok());
  const std::vector<ObservedRounds> all = Observe(terms);
  for (const auto& [event, count] : Of(all, Observer::kParticipantInCohort).by_terms) {
    ASSERT_TRUE(ledger->Add(event, count).ok());
  }
  bool found = false;
  for (const PrivacyRow& row : guarantees.rows) {
    if (row.observer != Observer::kParticipantInCohort) continue;
    EXPECT_EQ(row.releases, 32u);
    if (row.accountant == Accountant::kGaussianFilter) {
      found = true;
      EXPECT_EQ(*row.epsilon, ledger->Epsilon()->epsilon());
      EXPECT_THAT(row.note, HasSubstr("each attempt counts under its own"));
      // Two of 32 attempts had half the noise.
      EXPECT_EQ(guarantees.HeadlineOf(row.observer), &row);
    } else {
      EXPECT_THAT(row.note, HasSubstr("all attempts count under the worst of them"));
    }
  }
  EXPECT_TRUE(found);
}

TEST(TermsChangesTest, WhereEverybodyIsDrawnNobodyIsOutside) {
  std::vector<FederationPrivacySpec> terms = {Sites(5, 3), Sites(4, 2)};
  for (FederationPrivacySpec& spec : terms) spec.sampling.cohort = 4;
  const std::vector<ObservedRounds> all = Observe(terms);
  const ObservedRounds& outside = Of(all, Observer::kParticipantOutOfCohort);
  const SamplingEvent& worst = outside.round[0].event;
  EXPECT_EQ(worst.sampling_rate, 1);
  EXPECT_DOUBLE_EQ(worst.noise_stddev, 6 * std::sqrt(2.0 / 3));
  EXPECT_EQ(outside.releases, 5u);
}

// Known sizes of cohorts from different pools are not compared: nothing is sampled then.
TEST(TermsChangesTest, UnlikeDrawsAreNotAmplifiedTogether) {
  const std::vector<FederationPrivacySpec> terms = ChangedFederations()[4];
  const std::vector<ObservedRounds> all = Observe(terms);
  const ObservedRounds& external = Of(all, Observer::kExternal);
  EXPECT_EQ(external.round[0].event.sampling, Sampling::kNone);
  EXPECT_EQ(external.by_terms[0].event.sampling, Sampling::kPoissonKnownSize);
}

// For a cohort of known size a smaller one can be the costlier: at a higher rate there is more
// noise.
TEST(TermsChangesTest, KnownSizesOfOnePoolAreNotAmplifiedTogether) {
  std::vector<FederationPrivacySpec> terms = {Sites(1000, 9), Sites(1000, 1)};
  for (FederationPrivacySpec& spec : terms) {
    spec.sampling.method = Sampling::kPoisson;
    spec.sampling.cohort = 20;
    spec.sampling.min_participants = 10;
    spec.mechanism.noise_stddev = 1;
  }
  terms[1].sampling.cohort = 500;
  const std::vector<ObservedRounds> all = Observe(terms);
  const ObservedRounds& external = Of(all, Observer::kExternal);
  EXPECT_EQ(external.round[0].event.sampling, Sampling::kNone);
  const auto few = BoundEpsilon(Repeated(external.by_terms[0].event, 9), 1e-5);
  const auto together = BoundEpsilon({{.round = external.round, .count = 10}}, 1e-5);
  ASSERT_TRUE(few.ok() && together.ok());
  EXPECT_GE(together->epsilon(), few->epsilon());
}

TEST(TermsChangesTest, ParticipationsAreLimitedOverAllTerms) {
  std::vector<FederationPrivacySpec> terms = {Sites(6, 3), Sites(5, 4)};
  for (FederationPrivacySpec& spec : terms) {
    spec.sampling.cohort = 4;
    spec.sampling.max_participations = 4;
  }
  terms[0].mechanism.noise_stddev = 3;
  const std::vector<ObservedRounds> all = Observe(terms);
  const ObservedRounds& knowing = Of(all, Observer::kCohortAware);
  EXPECT_EQ(knowing.releases, 4u);
  EXPECT_EQ(knowing.round[0].event.noise_stddev, 3);
  EXPECT_TRUE(knowing.by_terms.empty());
  terms[0].sampling.max_participations = 6;
  EXPECT_EQ(Of(Observe(terms), Observer::kCohortAware).releases, 6u);
}

TEST(TermsChangesTest, NoGuaranteeUnderSomeTermsIsNone) {
  std::vector<FederationPrivacySpec> terms = {Sites(7, 3), Sites(7, 3)};
  for (FederationPrivacySpec& spec : terms) spec.privacy.colluders = 3;
  terms[0].corrupt_seats = 3;
  const std::vector<ObservedRounds> all = Observe(terms);
  EXPECT_EQ(Of(all, Observer::kCoalition).standing, Standing::kNone);
  EXPECT_THAT(Of(all, Observer::kCoalition).note, HasSubstr("more than the 1 seats"));
}

TEST(TermsChangesTest, OneGuaranteeIsAboutOneUnitAndTheSameObservers) {
  const FederationPrivacySpec before = Sites(5, 3);
  const auto refusal = [&](auto change) {
    FederationPrivacySpec now = Sites(4, 2);
    EXPECT_TRUE(CheckSameGuarantee(before, now).ok());
    change(now);
    const auto observed = ObserveTraining(std::vector{before, now});
    EXPECT_FALSE(observed.ok());
    return base::Message(observed.status());
  };
  EXPECT_THAT(refusal([](auto& now) { now.privacy.unit = Unit::kRecord; }),
              HasSubstr("privacy.unit is record, and it was client before: no guarantee covers"));
  EXPECT_THAT(refusal([](auto& now) { now.privacy.neighbouring = Neighbouring::kZeroOut; }),
              HasSubstr("privacy.neighbouring is zero-out"));
  EXPECT_THAT(refusal([](auto& now) { now.privacy.delta = 1e-6; }), HasSubstr("privacy.delta"));
  EXPECT_THAT(refusal([](auto& now) { now.privacy.colluders = 0; }),
              HasSubstr("privacy.colluders is 0, and it was 1"));
  EXPECT_THAT(refusal([](auto& now) { now.privacy.budget_epsilon = 3; }),
              HasSubstr("privacy.budget_epsilon is 3"));
  EXPECT_THAT(refusal([](auto& now) { now.sampling.dummy_uploads = true; }),
              HasSubstr("federation.dummy_uploads is true"));
  EXPECT_THAT(refusal([](auto& now) { now.committee_seats = 0; }),
              HasSubstr("committee seats is 0"));
  EXPECT_THAT(refusal([](auto& now) { now.mechanism.without_noise = true; }),
              HasSubstr("noise with clipping is false"));
}

}  // namespace
}  // namespace tacet::accounting
