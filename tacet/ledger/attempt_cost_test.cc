#include "tacet/ledger/attempt_cost.h"

#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/ledger/memory_ledger_for_test.h"
#include "tacet/ledger/privacy_ledger.h"

namespace tacet::ledger {
namespace {

using accounting::Neighbouring;
using accounting::Sampling;
using accounting::SamplingEvent;
using accounting::Unit;

// Four hospitals, each patient's record protected.
agreement::ManifestSpec Hospitals() {
  agreement::ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = 60;
  spec.sampling.clients = spec.sampling.cohort = 4;
  spec.sampling.record_rate = 0.1;
  spec.sampling.expected_batch = 70;
  spec.rounds = 20;
  spec.privacy.unit = Unit::kRecord;
  spec.privacy.neighbouring = Neighbouring::kZeroOut;
  spec.mechanism.coordinate_bound = 32;
  spec.mechanism.noise_stddev = 4;
  spec.members.resize(4);
  return spec;
}

// Six sites as a whole, four of them in a round.
agreement::ManifestSpec Sites() {
  agreement::ManifestSpec spec;
  spec.model = "logistic";
  spec.dimension = 60;
  spec.sampling.clients = 6;
  spec.sampling.cohort = 4;
  spec.rounds = 20;
  spec.mechanism.coordinate_bound = 0.5;
  spec.mechanism.noise_stddev = 6;
  spec.members.resize(6);
  return spec;
}

double EpsilonOf(const SamplingEvent& event) {
  auto filter = accounting::PrivacyFilter::Create({});
  EXPECT_TRUE(filter->Add(event, 10).ok());
  return filter->Epsilon()->epsilon();
}

TEST(AttemptCostTest, TheAgreementsOwnTerms) {
  ASSERT_OK_AND_ASSIGN(const auto manifest, agreement::Manifest::Create(Hospitals()));
  const agreement::ManifestSpec& agreed = manifest.spec();
  const AttemptCost cost =
      AttemptCostOf(manifest, LedgerHeaderOf(agreed), ChargingRule::kAnnouncedAttempts, 7);
  EXPECT_TRUE(accounting::SameEvent(cost.event, agreement::ChargedEvent(agreed)));
  EXPECT_EQ(cost.federation, manifest.federation());
  EXPECT_EQ(cost.manifest_hash, manifest.hash());
  EXPECT_EQ(cost.rounds, 20u);
  EXPECT_EQ(cost.first_round, 7u);
  EXPECT_FALSE(cost.budget.has_value());
}

// A guarantee for a whole site holds for each of its records; the other way there is none.
TEST(AttemptCostTest, ALedgerOfOtherUnitsSeesTheSameAttempt) {
  ASSERT_OK_AND_ASSIGN(const auto sites, agreement::Manifest::Create(Sites()));
  const SamplingEvent own = AttemptEvent(sites.spec(), ChargingRule::kAnnouncedAttempts);
  const SamplingEvent for_records = AttemptEventFor(sites.spec(), ChargingRule::kAnnouncedAttempts,
                                                    Unit::kRecord, Neighbouring::kReplaceOne);
  EXPECT_EQ(for_records.unit, Unit::kRecord);
  EXPECT_EQ(EpsilonOf(for_records), EpsilonOf(own));

  ASSERT_OK_AND_ASSIGN(const auto hospitals, agreement::Manifest::Create(Hospitals()));
  for (const Unit larger : {Unit::kPerson, Unit::kClient}) {
    const SamplingEvent none = AttemptEventFor(hospitals.spec(), ChargingRule::kAnnouncedAttempts,
                                               larger, Neighbouring::kZeroOut);
    EXPECT_EQ(none.unit, larger);
    EXPECT_TRUE(accounting::GuaranteesNothing(none));
  }
}

// The same mechanism, held against data sets that differ more: it must not look cheaper.
TEST(AttemptCostTest, OtherNeighboursAreJudgedAgain) {
  ASSERT_OK_AND_ASSIGN(const auto hospitals, agreement::Manifest::Create(Hospitals()));
  const auto seen = [&](Neighbouring neighbouring) {
    return AttemptEventFor(hospitals.spec(), ChargingRule::kAnnouncedAttempts, Unit::kRecord,
                           neighbouring);
  };
  const SamplingEvent replaced = seen(Neighbouring::kReplaceOne);
  EXPECT_EQ(replaced.neighbouring, Neighbouring::kReplaceOne);
  EXPECT_GT(EpsilonOf(replaced), 1.5 * EpsilonOf(seen(Neighbouring::kZeroOut)));
}

// The cost of a change of length `distance` under the noise that is charged.
double DistanceCharged(const SamplingEvent& event) {
  EXPECT_EQ(event.sampling_rate, 1);
  return accounting::Sensitivity(event) / event.noise_stddev;
}

// A record that goes away turns its site's contribution into another one, up to 2 S away: charging
// S halved the truth.
TEST(AttemptCostTest, APartOfAUnitThatGoesAwayChangesTheUnitsContribution) {
  agreement::ManifestSpec sites = Sites(), persons = Hospitals();
  sites.privacy.neighbouring = Neighbouring::kZeroOut;
  persons.privacy.unit = Unit::kPerson;
  for (const agreement::ManifestSpec& spec : {sites, persons}) {
    ASSERT_OK_AND_ASSIGN(const auto manifest, agreement::Manifest::Create(spec));
    for (const ChargingRule rule : {ChargingRule::kAnnouncedAttempts, ChargingRule::kOwnSeals}) {
      const SamplingEvent event =
          AttemptEventFor(manifest.spec(), rule, Unit::kRecord, Neighbouring::kZeroOut);
      EXPECT_EQ(event.neighbouring, Neighbouring::kZeroOut);
      EXPECT_GE(DistanceCharged(event), 2 * spec.mechanism.clip_norm / spec.mechanism.noise_stddev);
    }
  }
}

// A query for replace-one neighbours bounds the distance of two rows. A row by itself may be twice
// as long as S, and going away it moves the sum by that.
TEST(AttemptCostTest, ARowOfAQueryForReplacementMayBeTwiceAsLong) {
  agreement::ManifestSpec spec = Hospitals();
  spec.model = agreement::kQueryModel;
  spec.annex.fill(1);
  spec.sampling.record_rate = 1;
  spec.sampling.expected_batch = 0;
  const auto charged = [&](Neighbouring agreed, Neighbouring of_ledger) {
    spec.privacy.neighbouring = agreed;
    return DistanceCharged(
        AttemptEventFor(spec, ChargingRule::kAnnouncedAttempts, Unit::kRecord, of_ledger));
  };
  const double norm = charged(Neighbouring::kZeroOut, Neighbouring::kZeroOut);
  EXPECT_DOUBLE_EQ(charged(Neighbouring::kReplaceOne, Neighbouring::kReplaceOne), 2 * norm);
  EXPECT_DOUBLE_EQ(charged(Neighbouring::kReplaceOne, Neighbouring::kZeroOut), 2 * norm);
  EXPECT_DOUBLE_EQ(charged(Neighbouring::kZeroOut, Neighbouring::kReplaceOne), 2 * norm);
}

// After few attempts another observer is the worst than after all of them: one that took part and
// knows its share of the noise, and not one that knows the cohorts. 0.1 charged as the latter.
TEST(AttemptCostTest, NoObserverLosesMoreThanIsChargedAfterAnyNumberOfAttempts) {
  for (const uint64_t clients : {3, 4, 6}) {
    agreement::ManifestSpec spec = Sites();
    spec.sampling.clients = clients;
    spec.sampling.cohort = clients - 1;
    spec.members.resize(clients);
    ASSERT_OK_AND_ASSIGN(const auto manifest, agreement::Manifest::Create(spec));
    for (const uint64_t attempts : {1, 2, 5, 22}) {
      ASSERT_OK_AND_ASSIGN(const auto guarantees, agreement::GuaranteesOf(manifest, attempts));
      auto filter = accounting::PrivacyFilter::Create({});
      ASSERT_TRUE(
          filter->Add(AttemptEvent(manifest.spec(), ChargingRule::kAnnouncedAttempts), attempts)
              .ok());
      EXPECT_GE(filter->Epsilon()->epsilon(), guarantees.epsilon() * (1 - 1e-9))
          << clients << " clients, " << attempts;
    }
  }
}

// The draw of a cohort amplifies nothing for a site that counts its own seals only. Records are
// drawn by the site's own coins, in the attempts that it seals for.
TEST(AttemptCostTest, OwnSealsAreNotAmplifiedByCohorts) {
  agreement::ManifestSpec poisson = Sites();
  poisson.sampling.method = Sampling::kPoisson;
  poisson.sampling.min_participants = 2;
  for (const agreement::ManifestSpec& spec : {Sites(), poisson}) {
    ASSERT_OK_AND_ASSIGN(const auto sites, agreement::Manifest::Create(spec));
    for (const Unit unit : {Unit::kClient, Unit::kRecord}) {
      const SamplingEvent own =
          AttemptEventFor(sites.spec(), ChargingRule::kOwnSeals, unit, Neighbouring::kReplaceOne);
      EXPECT_EQ(own.sampling, Sampling::kNone);
      EXPECT_EQ(own.sampling_rate, 1);
      EXPECT_TRUE(accounting::CheckEvent(own).ok());
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto hospitals, agreement::Manifest::Create(Hospitals()));
  const SamplingEvent records = AttemptEvent(hospitals.spec(), ChargingRule::kOwnSeals);
  EXPECT_EQ(records.sampling, Sampling::kPoisson);
  EXPECT_EQ(records.sampling_rate, 0.1);
}

// Every kind of attempt can be charged to every kind of ledger, at its cost or as one without a
// guarantee.
TEST(AttemptCostTest, EveryLedgerTakesEveryAttempt) {
  agreement::ManifestSpec dummies = Sites();
  dummies.sampling.method = Sampling::kPoisson;
  dummies.sampling.dummy_uploads = true;
  agreement::ManifestSpec known = Sites();
  known.sampling.method = Sampling::kPoisson;
  known.sampling.min_participants = 2;
  for (const agreement::ManifestSpec& spec : {Hospitals(), Sites(), dummies, known}) {
    ASSERT_OK_AND_ASSIGN(const auto manifest, agreement::Manifest::Create(spec));
    for (const Unit unit : {Unit::kClient, Unit::kPerson, Unit::kRecord}) {
      for (const Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
        for (const ChargingRule rule :
             {ChargingRule::kAnnouncedAttempts, ChargingRule::kOwnSeals}) {
          LedgerHeader header;
          header.population = "ward 3";
          header.unit = unit;
          header.neighbouring = neighbouring;
          header.spending.composition = accounting::Composition::kAnyEvents;
          testing::MemoryLedger memory = testing::NewMemoryLedger(header);
          auto ledger = PrivacyLedger::Create(*testing::OpenMemoryLedger(memory));
          const absl::Status charged =
              (*ledger)->ChargeForSealing(AttemptCostOf(manifest, header, rule), {0, 0, 0});
          EXPECT_TRUE(charged.ok()) << charged;
          EXPECT_TRUE(RecoverLedger(memory.ledger, memory.anchor).ok());
        }
      }
    }
  }
}

TEST(AttemptCostTest, AFederationsBudgetIsItsOwn) {
  agreement::ManifestSpec spec = Hospitals();
  spec.privacy.budget_epsilon = 3;
  ASSERT_OK_AND_ASSIGN(const auto manifest, agreement::Manifest::Create(spec));
  const LedgerHeader own = LedgerHeaderOf(manifest.spec());
  EXPECT_FALSE(AttemptCostOf(manifest, own, ChargingRule::kAnnouncedAttempts).budget.has_value());
  LedgerHeader site = own;
  site.unit = Unit::kClient;
  site.spending = {
      .budget_epsilon = 7, .delta = 1e-6, .composition = accounting::Composition::kAnyEvents};
  const auto budget = AttemptCostOf(manifest, site, ChargingRule::kAnnouncedAttempts).budget;
  ASSERT_TRUE(budget.has_value());
  EXPECT_EQ(budget->terms, own.spending);
  EXPECT_EQ(budget->event.unit, Unit::kRecord);
}

}  // namespace
}  // namespace tacet::ledger
