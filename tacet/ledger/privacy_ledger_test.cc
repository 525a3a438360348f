#include "tacet/ledger/privacy_ledger.h"

#include <chrono>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/ledger/memory_ledger_for_test.h"

namespace tacet::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MemoryLedger;
using testing::NewMemoryLedger;
using testing::OpenMemoryLedger;

LedgerHeader Header(double budget,
                    accounting::Composition composition = accounting::Composition::kOneEvent) {
  LedgerHeader header;
  header.population = "ward 3";
  header.spending = {.budget_epsilon = budget, .delta = 1e-5, .composition = composition};
  return header;
}

AttemptCost Paper(ChargingRule rule = ChargingRule::kAnnouncedAttempts) {
  AttemptCost cost;
  cost.federation[0] = 1;
  cost.manifest_hash[0] = 2;
  cost.event.noise_stddev = 6;
  cost.event.sampling_rate = 1000.0 / 3596;
  cost.rule = rule;
  if (rule == ChargingRule::kOwnSeals) {
    cost.event.sampling = accounting::Sampling::kNone;
    cost.event.sampling_rate = 1;
  }
  cost.rounds = 2000;
  cost.spare_attempts = 2;
  return cost;
}

struct Fixture {
  explicit Fixture(const LedgerHeader& header) : memory(NewMemoryLedger(header)) { Reopen(); }
  void Reopen() {
    ASSERT_OK_AND_ASSIGN(auto opened, OpenMemoryLedger(memory));
    auto made = PrivacyLedger::Create(std::move(opened), [this] { return ++now; });
    ASSERT_TRUE(made.ok()) << made.status();
    ledger = *std::move(made);
  }
  std::vector<secagg::AttemptNumber> Numbers() const {
    std::vector<secagg::AttemptNumber> numbers;
    for (const LedgerEntry& entry : ledger->entries()) {
      numbers.push_back(entry.label.number);
    }
    return numbers;
  }

  uint64_t now = 1'700'000'000;
  MemoryLedger memory;
  std::unique_ptr<PrivacyLedger> ledger;
};

TEST(PrivacyLedgerTest, ChargesOnceAndRemembers) {
  Fixture f(Header(0));
  ASSERT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, 0, 0}).ok());
  ASSERT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, 0, 0}).ok());  // the very same
  EXPECT_EQ(f.ledger->entries().size(), 1u);
  ASSERT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, 0, 1}).ok());
  f.Reopen();
  ASSERT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, 0, 1}).ok());
  EXPECT_THAT(f.Numbers(),
              ElementsAre(secagg::AttemptNumber{0, 0, 0}, secagg::AttemptNumber{0, 0, 1}));
  EXPECT_EQ(f.ledger->ChargesOf(Paper().federation), 2u);
  EXPECT_EQ(f.ledger->ChargesOf(crypto::Digest{}), 0u);
  EXPECT_EQ(f.ledger->entries()[1].time, 1'700'000'002u);
}

TEST(PrivacyLedgerTest, TheSameAttemptAtAnotherCostIsRefused) {
  Fixture f(Header(0, accounting::Composition::kAnyEvents));
  ASSERT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, 0, 0}).ok());
  AttemptCost other = Paper();
  other.event.noise_stddev = 12;
  const absl::Status refused = f.ledger->ChargeForSealing(other, {0, 0, 0});
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(refused),
              HasSubstr("charged before at another cost (fixed-size replace-one, noise 6"));
  EXPECT_EQ(f.ledger->entries().size(), 1u);
}

// A server begins to count attempts again in each epoch. The guarantee covers the agreement's
// attempts of the whole training, so the ledger refuses another one.
TEST(PrivacyLedgerTest, NoTrainingIsChargedForMoreAttemptsThanTheAgreementPermits) {
  for (const ChargingRule rule : {ChargingRule::kAnnouncedAttempts, ChargingRule::kOwnSeals}) {
    Fixture f(Header(0));
    AttemptCost cost = Paper(rule);
    cost.rounds = 2;
    cost.spare_attempts = 1;
    ASSERT_TRUE(f.ledger->ChargeForSealing(cost, {0, 0, 0}).ok());
    ASSERT_TRUE(f.ledger->ChargeForSealing(cost, {0, 0, 1}).ok());
    cost.manifest_hash[0] = 3;
    cost.first_round = 1;
    ASSERT_TRUE(f.ledger->ChargeForSealing(cost, {1, 1, 0}).ok());
    const absl::Status refused = f.ledger->ChargeForSealing(cost, {1, 1, 1});
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(base::Message(refused),
                HasSubstr("3 attempts of this training were charged: the agreement permits 3"));
    EXPECT_EQ(f.ledger->entries().size(), 3u);
    // The same charge again changes nothing, and another training has attempts of its own.
    EXPECT_TRUE(f.ledger->ChargeForSealing(cost, {1, 1, 0}).ok());
    cost.training = 2;
    cost.manifest_hash[0] = 4;
    cost.first_round = 0;
    EXPECT_TRUE(f.ledger->ChargeForSealing(cost, {2, 0, 0}).ok());
  }
}

TEST(PrivacyLedgerTest, MissedAttemptsAreChargedFirst) {
  Fixture f(Header(0));
  ASSERT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, 0, 0}).ok());
  // Round 1 took two attempts, which the server lists; rounds 2 and 3 it does not mention.
  const std::vector<secagg::AttemptNumber> announced = {{0, 1, 1}, {0, 0, 0}, {0, 1, 0}};
  ASSERT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, 4, 1}, announced).ok());
  EXPECT_THAT(f.Numbers(),
              ElementsAre(secagg::AttemptNumber{0, 0, 0}, secagg::AttemptNumber{0, 1, 0},
                          secagg::AttemptNumber{0, 1, 1}, secagg::AttemptNumber{0, 2, 0},
                          secagg::AttemptNumber{0, 3, 0}, secagg::AttemptNumber{0, 4, 0},
                          secagg::AttemptNumber{0, 4, 1}));
  EXPECT_EQ(f.ledger->entries()[3].kind, ChargeKind::kCatchingUp);
  EXPECT_EQ(f.ledger->entries()[6].kind, ChargeKind::kSealing);
  EXPECT_EQ(f.ledger->spending().charges(), 7u);
}

TEST(PrivacyLedgerTest, WhatOthersDoIsChargedAndNeverSealed) {
  Fixture f(Header(1.0));
  const std::vector<secagg::AttemptNumber> announced = {{0, 2, 1}, {0, 0, 0}};
  ASSERT_TRUE(f.ledger->ChargeAnnounced(Paper(), announced).ok());
  ASSERT_TRUE(f.ledger->ChargeAnnounced(Paper(), announced).ok());
  EXPECT_THAT(f.Numbers(),
              ElementsAre(secagg::AttemptNumber{0, 0, 0}, secagg::AttemptNumber{0, 1, 0},
                          secagg::AttemptNumber{0, 2, 0}, secagg::AttemptNumber{0, 2, 1}));
  for (const LedgerEntry& entry : f.ledger->entries()) {
    EXPECT_EQ(entry.kind, ChargeKind::kCatchingUp);
  }
  // No budget was asked, so nothing may be sealed on it, also after a restart.
  f.Reopen();
  const absl::Status refused = f.ledger->ChargeForSealing(Paper(), {0, 2, 1});
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(refused), HasSubstr("the owner cannot seal an update for it"));
  ASSERT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, 3, 0}).ok());
  // Announced attempts count beyond the budget, and stop the next sealing.
  const std::vector<secagg::AttemptNumber> far = {{0, 300, 0}};
  ASSERT_TRUE(f.ledger->ChargeAnnounced(Paper(), far).ok());
  EXPECT_EQ(f.ledger->ChargeForSealing(Paper(), {0, 301, 0}).code(),
            absl::StatusCode::kResourceExhausted);
  const std::vector<secagg::AttemptNumber> impossible = {{0, 2000, 0}};
  EXPECT_EQ(f.ledger->ChargeAnnounced(Paper(), impossible).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PrivacyLedgerTest, OwnSealsAreNotChargedForOthers) {
  Fixture f(Header(0));
  const std::vector<secagg::AttemptNumber> announced = {{0, 0, 0}};
  ASSERT_TRUE(f.ledger->ChargeAnnounced(Paper(ChargingRule::kOwnSeals), announced).ok());
  EXPECT_TRUE(f.ledger->entries().empty());
}

TEST(PrivacyLedgerTest, TheFirstAnnouncementSeenNeedNotBeTheFirst) {
  Fixture f(Header(0));
  AttemptCost cost = Paper();
  ASSERT_TRUE(f.ledger->ChargeForSealing(cost, {0, 2, 0}).ok());
  EXPECT_EQ(f.ledger->entries().size(), 3u);
  // New keys from round 3 on: another manifest, of which rounds 0 to 2 were no part.
  cost.manifest_hash[0] = 3;
  cost.first_round = 3;
  ASSERT_TRUE(f.ledger->ChargeForSealing(cost, {1, 3, 1}).ok());
  EXPECT_EQ(f.ledger->entries().size(), 5u);
  EXPECT_EQ(f.ledger->ChargesOf(cost.federation), 5u);
  // An attempt out of order is charged like any other.
  ASSERT_TRUE(f.ledger->ChargeForSealing(cost, {1, 2, 0}).ok());
  EXPECT_EQ(f.ledger->entries().size(), 6u);
}

TEST(PrivacyLedgerTest, EpochsOnlyGoForwardAndAreNotForked) {
  Fixture f(Header(0));
  AttemptCost cost = Paper();
  cost.manifest_hash = {1};
  ASSERT_TRUE(f.ledger->ChargeForSealing(cost, {1, 0, 0}).ok());
  const auto refusal = [&](const crypto::Digest& manifest, const secagg::AttemptNumber& number) {
    AttemptCost other = cost;
    other.manifest_hash = manifest;
    const std::vector<secagg::AttemptNumber> announced = {number};
    const absl::Status sealing = f.ledger->ChargeForSealing(other, number);
    EXPECT_EQ(sealing.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(f.ledger->ChargeAnnounced(other, announced).code(),
              absl::StatusCode::kFailedPrecondition);
    return std::string(base::Message(sealing));
  };
  EXPECT_THAT(refusal({2}, {0, 1, 0}), HasSubstr("so epoch 0 has ended"));
  EXPECT_THAT(refusal({2}, {1, 1, 0}), HasSubstr("two manifests were signed for this epoch"));
  EXPECT_EQ(f.ledger->entries().size(), 1u);
  // Another federation has epochs of its own.
  AttemptCost other = cost;
  other.federation = {9};
  other.manifest_hash = {9};
  EXPECT_TRUE(f.ledger->ChargeForSealing(other, {0, 0, 0}).ok());
  cost.manifest_hash = {2};
  EXPECT_TRUE(f.ledger->ChargeForSealing(cost, {2, 1, 0}).ok());
  EXPECT_THAT(refusal({1}, {1, 1, 0}), HasSubstr("so epoch 1 has ended"));
}

// A federation's own budget counts each attempt at the price of its epoch.
TEST(PrivacyLedgerTest, AFederationsBudgetKnowsWhatEarlierEpochsCost) {
  const auto charges = [](bool knows) {
    Fixture f(Header(0, accounting::Composition::kAnyEvents));
    AttemptCost cost = Paper();
    cost.manifest_hash = {1};
    cost.event.noise_stddev = 4;
    cost.budget = {.terms = {.budget_epsilon = 3,
                             .delta = 1e-5,
                             .composition = accounting::Composition::kAnyEvents},
                   .event = cost.event};
    for (uint32_t round = 0; round < 5; ++round) {
      EXPECT_TRUE(f.ledger->ChargeForSealing(cost, {0, round, 0}).ok()) << round;
    }
    const accounting::SamplingEvent before = cost.event;
    cost.manifest_hash = {2};
    cost.event.noise_stddev = cost.budget->event.noise_stddev = 6;
    if (knows) cost.earlier_events.push_back({.manifest_hash = {1}, .event = before});
    uint32_t round = 5;
    while (round < 200 && f.ledger->ChargeForSealing(cost, {1, round, 0}).ok()) ++round;
    return round;
  };
  EXPECT_LT(charges(true), charges(false));
}

// One training after the other: what belongs to one begins again with the next, and the data set's
// budget counts all of them.
TEST(PrivacyLedgerTest, TrainingsAreCountedApartAndSpentTogether) {
  Fixture f(Header(0, accounting::Composition::kAnyEvents));
  AttemptCost first = Paper();
  first.manifest_hash = {1};
  first.budget = {.terms = {.budget_epsilon = 1, .delta = 1e-5}, .event = first.event};
  uint32_t fits = 0;
  while (f.ledger->ChargeForSealing(first, {0, fits, 0}).ok()) ++fits;
  ASSERT_GT(fits, 3u);
  const double spent = f.ledger->spending().Epsilon()->epsilon();
  // The next one: other rounds are not missed, its budget is its own, and so is its rule.
  AttemptCost second = Paper(ChargingRule::kOwnSeals);
  second.training = 2;
  second.manifest_hash = {3};
  second.budget = {.terms = {.budget_epsilon = 6, .delta = 1e-5}, .event = second.event};
  ASSERT_TRUE(f.ledger->ChargeForSealing(second, {2, 0, 0}).ok());
  EXPECT_EQ(f.ledger->ChargesOf(second.federation, 2), 1u);
  EXPECT_EQ(f.ledger->ChargesOf(second.federation), fits + 1);
  EXPECT_GT(f.ledger->spending().Epsilon()->epsilon(), spent);
  second.rule = ChargingRule::kAnnouncedAttempts;
  second.event = first.event;
  EXPECT_THAT(base::Message(f.ledger->ChargeForSealing(second, {2, 1, 0})),
              HasSubstr("this training was charged by own-seals"));
  // Continuing with the first one, after a restart too.
  for (int times = 0; times < 2; ++times) {
    EXPECT_THAT(base::Message(f.ledger->ChargeForSealing(first, {0, fits + 1, 0})),
                HasSubstr("so epoch 0 has ended"));
    f.Reopen();
  }
  // A third one by the rule of the first: only its own rounds are caught up with.
  AttemptCost third = Paper();
  third.training = 5;
  third.manifest_hash = {6};
  const size_t before = f.ledger->entries().size();
  ASSERT_TRUE(f.ledger->ChargeForSealing(third, {5, 2, 0}).ok());
  EXPECT_EQ(f.ledger->entries().size(), before + 3);
  // The end of its first epoch is, when its second one begins.
  third.manifest_hash = {7};
  third.first_round = 4;
  const std::vector<secagg::AttemptNumber> announced = {{6, 4, 0}};
  ASSERT_TRUE(f.ledger->ChargeForSealing(third, {6, 4, 0}, announced).ok());
  EXPECT_EQ(f.ledger->ChargesOf(third.federation, 5), 5u);
}

// A coordinator that calls every epoch a training of its own empties that training's budget each
// time, and never the one of the data.
TEST(PrivacyLedgerTest, TheBudgetOfTheDataOutlivesAnyNumberOfTrainings) {
  Fixture f(Header(2, accounting::Composition::kAnyEvents));
  AttemptCost cost = Paper();
  uint32_t charged = 0;
  absl::Status status;
  for (uint32_t epoch = 0; status.ok(); ++epoch) {
    cost.training = epoch;
    cost.manifest_hash = {static_cast<uint8_t>(epoch + 1)};
    cost.budget = {.terms = {.budget_epsilon = 1.5, .delta = 1e-5}, .event = cost.event};
    status = f.ledger->ChargeForSealing(cost, {epoch, 0, 0});
    if (status.ok()) ++charged;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(base::Message(status), HasSubstr("the budget is 2 at delta 1e-05"));
  EXPECT_EQ(f.ledger->entries().size(), charged);
  EXPECT_LE(f.ledger->spending().Epsilon()->epsilon(), 2.0);
}

TEST(PrivacyLedgerTest, TheBudgetRefusesWhateverTheServerAnnounces) {
  Fixture f(Header(1.0));
  uint32_t round = 0;
  absl::Status status;
  while ((status = f.ledger->ChargeForSealing(Paper(), {0, round, 0})).ok()) ++round;
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(base::Message(status),
              HasSubstr("the privacy budget of the population \"ward 3\" refuses round"));
  EXPECT_THAT(base::Message(status), HasSubstr("the budget is 1 at delta 1e-05"));
  EXPECT_EQ(f.ledger->entries().size(), round);
  EXPECT_GT(round, 3u);
  EXPECT_LE(f.ledger->spending().Epsilon()->epsilon(), 1.0);
  // Asking again, or for another attempt, or after a restart, does not help.
  EXPECT_FALSE(f.ledger->ChargeForSealing(Paper(), {0, round, 0}).ok());
  f.Reopen();
  EXPECT_FALSE(f.ledger->ChargeForSealing(Paper(), {0, round, 0}).ok());
  EXPECT_EQ(f.ledger->entries().size(), round);
  // A charged attempt may still be sealed.
  EXPECT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, round - 1, 0}).ok());
}

TEST(PrivacyLedgerTest, WhatWasMissedIsSpentEvenBeyondTheBudget) {
  Fixture f(Header(1.0));
  const absl::Status refused = f.ledger->ChargeForSealing(Paper(), {0, 300, 0});
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(f.ledger->entries().size(), 300u);  // rounds 0 to 299, not the refused one
  EXPECT_GT(f.ledger->spending().Epsilon()->epsilon(), 1.0);
}

TEST(PrivacyLedgerTest, OneBudgetForAllFederations) {
  Fixture f(Header(3.0, accounting::Composition::kAnyEvents));
  AttemptCost second = Paper();
  second.federation[0] = 9;
  second.manifest_hash[0] = 9;
  second.event.noise_stddev = 5;
  uint32_t alone = 0;
  {
    Fixture other(Header(3.0, accounting::Composition::kAnyEvents));
    while (other.ledger->ChargeForSealing(second, {0, alone, 0}).ok()) ++alone;
  }
  for (uint32_t round = 0; round < 15; ++round) {
    ASSERT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, round, 0}).ok());
  }
  uint32_t shared = 0;
  while (f.ledger->ChargeForSealing(second, {0, shared, 0}).ok()) ++shared;
  EXPECT_GT(shared, 0u);
  EXPECT_LT(shared, alone);
  EXPECT_EQ(f.ledger->ChargesOf(second.federation), shared);
}

TEST(PrivacyLedgerTest, OwnSealsAreChargedAloneAndUnamplified) {
  Fixture f(Header(0));
  AttemptCost amplified = Paper();
  amplified.rule = ChargingRule::kOwnSeals;
  EXPECT_EQ(f.ledger->ChargeForSealing(amplified, {0, 5, 0}).code(),
            absl::StatusCode::kFailedPrecondition);
  const AttemptCost own = Paper(ChargingRule::kOwnSeals);
  const std::vector<secagg::AttemptNumber> announced = {{0, 1, 0}, {0, 2, 0}};
  ASSERT_TRUE(f.ledger->ChargeForSealing(own, {0, 5, 0}, announced).ok());
  EXPECT_THAT(f.Numbers(), ElementsAre(secagg::AttemptNumber{0, 5, 0}));
  Fixture announcing(Header(0));
  AttemptCost unamplified = own;
  unamplified.rule = ChargingRule::kAnnouncedAttempts;
  EXPECT_EQ(announcing.ledger->ChargeForSealing(unamplified, {0, 5, 0}).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(announcing.ledger->entries().empty());
}

TEST(PrivacyLedgerTest, AttemptsThatCannotBeAreRefused) {
  Fixture f(Header(0));
  const absl::Status round = f.ledger->ChargeForSealing(Paper(), {0, 2000, 0});
  EXPECT_EQ(round.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(base::Message(round), HasSubstr("2000 rounds and 2 spare attempts"));
  EXPECT_FALSE(f.ledger->ChargeForSealing(Paper(), {0, 0, 3}).ok());
  const std::vector<secagg::AttemptNumber> announced = {{0, 1, 7}};
  EXPECT_FALSE(f.ledger->ChargeForSealing(Paper(), {0, 2, 0}, announced).ok());
  AttemptCost records = Paper();
  records.event.unit = accounting::Unit::kRecord;
  EXPECT_FALSE(f.ledger->ChargeForSealing(records, {0, 0, 0}).ok());
  EXPECT_TRUE(f.ledger->entries().empty());
}

TEST(PrivacyLedgerTest, WithoutNoiseOnlyWithoutABudget) {
  AttemptCost cost = Paper();
  cost.event.noise_stddev = 0;
  Fixture unlimited(Header(0));
  EXPECT_TRUE(unlimited.ledger->ChargeForSealing(cost, {0, 0, 0}).ok());
  Fixture limited(Header(5));
  const absl::Status refused = limited.ledger->ChargeForSealing(cost, {0, 3, 0});
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(base::Message(refused), HasSubstr("epsilon is infinite"));
  EXPECT_TRUE(limited.ledger->entries().empty());  // nothing was caught up on either
}

TEST(PrivacyLedgerTest, AFullDiskChargesNothingAndIsTriedAgain) {
  Fixture f(Header(0));
  ASSERT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, 0, 0}).ok());
  f.memory.full = true;
  for (int time = 0; time < 2; ++time) {
    const absl::Status failed = f.ledger->ChargeForSealing(Paper(), {0, 1, 0});
    EXPECT_EQ(failed.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(base::Message(failed), HasSubstr("the disk is full"));
    EXPECT_EQ(f.ledger->entries().size(), 1u);
  }
  f.memory.full = false;
  EXPECT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, 1, 0}).ok());
  EXPECT_EQ(f.ledger->entries().size(), 2u);
  f.Reopen();
  EXPECT_EQ(f.ledger->entries().size(), 2u);
}

TEST(PrivacyLedgerTest, AfterDamageEverythingIsRefused) {
  Fixture f(Header(0));
  ASSERT_TRUE(f.ledger->ChargeForSealing(Paper(), {0, 0, 0}).ok());
  const base::Bytes anchor = f.memory.anchor;
  f.memory.anchor[0] ^= 1;
  EXPECT_EQ(f.ledger->ChargeForSealing(Paper(), {0, 1, 0}).code(), absl::StatusCode::kDataLoss);
  f.memory.anchor = anchor;
  for (const uint32_t round : {0u, 1u, 2u}) {
    const absl::Status refused = f.ledger->ChargeForSealing(Paper(), {0, round, 0});
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(base::Message(refused), HasSubstr("failed before"));
  }
}

// 2000 charges up to a budget that only the loss distribution allows.
TEST(PrivacyLedgerTest, ChargingIsCheap) {
  AttemptCost cost = Paper();
  cost.event.noise_stddev = 27;
  Fixture f(Header(4.45));
  const auto start = std::chrono::steady_clock::now();
  uint32_t charged = 0;
  while (charged < 2000 && f.ledger->ChargeForSealing(cost, {0, charged, 0}).ok()) ++charged;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  RecordProperty("charges", static_cast<int>(charged));
  RecordProperty("seconds", std::to_string(seconds.count()));
  EXPECT_GT(charged, 1000u);
  EXPECT_LT(seconds.count(), 60);  // about 1 s; quadratic work would take hours
}

}  // namespace
}  // namespace tacet::ledger
