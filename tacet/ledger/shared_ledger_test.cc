// One ledger for several federations over the same data, open in several processes.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/ledger/memory_ledger_for_test.h"
#include "tacet/ledger/privacy_ledger.h"

namespace tacet::ledger {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MemoryLedger;
using testing::NewMemoryLedger;
using testing::OpenMemoryLedger;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;

LedgerHeader SharedHeader(double budget = 0) {
  LedgerHeader header;
  header.population = "ward 3";
  header.spending = {
      .budget_epsilon = budget, .delta = 1e-5, .composition = accounting::Composition::kAnyEvents};
  return header;
}

// An attempt of the federation with this number, which has its own noise.
AttemptCost CostOf(uint8_t federation, double noise) {
  AttemptCost cost;
  cost.federation[0] = federation;
  cost.manifest_hash[0] = federation;
  cost.event.noise_stddev = noise;
  cost.event.sampling_rate = 0.25;
  cost.rounds = 100'000;
  cost.spare_attempts = 2;
  return cost;
}

// A process: its own view of the ledger that all share.
struct Site {
  Site(MemoryLedger& memory, uint64_t& now, std::optional<YearlyBudget> year = std::nullopt) {
    auto opened = base::ValueOf(OpenMemoryLedger(memory));
    auto made = PrivacyLedger::Create(
        std::move(opened), [&now] { return now; }, std::move(year));
    EXPECT_TRUE(made.ok()) << made.status();
    ledger = *std::move(made);
  }
  absl::Status Seal(const AttemptCost& cost, uint32_t round) {
    return ledger->ChargeForSealing(cost, {0, round, 0});
  }
  // Rounds charged until the ledger refuses.
  uint32_t SealAll(const AttemptCost& cost, uint32_t from = 0) {
    uint32_t round = from;
    while (Seal(cost, round).ok()) ++round;
    return round - from;
  }
  std::unique_ptr<PrivacyLedger> ledger;
};

class SharedLedgerTest : public ::testing::Test {
 protected:
  YearlyBudget Year(double epsilon) const {
    return {.epsilon = epsilon, .delta = 1e-5, .source = "policy.toml: privacy.epsilon_per_year"};
  }
  double Spent() { return Site(memory_, now_).ledger->spending().Epsilon()->epsilon(); }

  uint64_t now_ = 1'800'000'000;
  MemoryLedger memory_ = NewMemoryLedger(SharedHeader());
};

// Each federation alone reaches the whole budget. Ledgers that do not know of each other let the
// data spend it twice.
TEST_F(SharedLedgerTest, TwoFederationsAtOnceStopTogether) {
  memory_ = NewMemoryLedger(SharedHeader(2));
  MemoryLedger alone = memory_;
  const uint32_t most = Site(alone, now_).SealAll(CostOf(1, 6));
  ASSERT_GT(most, 10u);

  Site first(memory_, now_), second(memory_, now_);
  const AttemptCost costs[] = {CostOf(1, 6), CostOf(2, 9)};
  uint32_t sealed[] = {0, 0};
  for (uint32_t round = 0; round < 2 * most; ++round) {
    sealed[0] += first.Seal(costs[0], round).ok() ? 1 : 0;
    sealed[1] += second.Seal(costs[1], round).ok() ? 1 : 0;
  }
  EXPECT_GT(sealed[0], 0u);
  EXPECT_LT(sealed[0], most);
  EXPECT_GT(sealed[1], 0u);
  EXPECT_EQ(first.Seal(costs[0], 2 * most).code(), kExhausted);
  EXPECT_EQ(second.Seal(costs[1], 2 * most).code(), kExhausted);
  EXPECT_LE(Spent(), 2);
  EXPECT_GT(Spent(), 1.8);
}

TEST_F(SharedLedgerTest, EachSeesTheOthersCharges) {
  Site first(memory_, now_), second(memory_, now_);
  ASSERT_TRUE(first.Seal(CostOf(1, 6), 0).ok());
  ASSERT_TRUE(second.Seal(CostOf(2, 9), 0).ok());
  ASSERT_TRUE(first.Seal(CostOf(1, 6), 1).ok());
  EXPECT_EQ(first.ledger->entries().size(), 3u);
  EXPECT_EQ(first.ledger->ChargesOf(CostOf(2, 9).federation), 1u);
  // The same federation in two processes charges an attempt once.
  Site third(memory_, now_);
  ASSERT_TRUE(third.Seal(CostOf(1, 6), 1).ok());
  EXPECT_EQ(third.ledger->entries().size(), 3u);
  // Events of several kinds have one valid bound.
  const auto bounds = third.ledger->spending().Epsilon();
  EXPECT_EQ(bounds->headline()->accountant, accounting::Accountant::kFixedOrderRdp);
}

TEST_F(SharedLedgerTest, ALedgerThatOthersHoldIsTriedAgain) {
  Site site(memory_, now_);
  memory_.held = true;
  EXPECT_EQ(site.Seal(CostOf(1, 6), 0).code(), absl::StatusCode::kUnavailable);
  memory_.held = false;
  EXPECT_TRUE(site.Seal(CostOf(1, 6), 0).ok());
}

// An older copy that is put back under a process that knows more.
TEST_F(SharedLedgerTest, AnOldCopyUnderARunningProcessIsRefused) {
  Site site(memory_, now_);
  ASSERT_TRUE(site.Seal(CostOf(1, 6), 0).ok());
  const MemoryLedger old = memory_;
  ASSERT_TRUE(site.Seal(CostOf(1, 6), 1).ok());
  Site other(memory_, now_);
  memory_.anchor = old.anchor;
  EXPECT_THAT(base::Message(other.Seal(CostOf(2, 6), 0)), HasSubstr("the anchor knows 1 records"));
  EXPECT_EQ(other.Seal(CostOf(2, 6), 0).code(), kRefused);
}

// Nothing was sealed for a refused attempt and nothing will be: it must not be charged when the
// next one is announced, or the data's budget of the next year is spent by refusals.
TEST_F(SharedLedgerTest, ARefusedAttemptIsNeverCharged) {
  memory_ = NewMemoryLedger(SharedHeader(1));
  const AttemptCost cost = CostOf(1, 6);
  const uint32_t fits = Site(memory_, now_).SealAll(cost);
  Site site(memory_, now_);
  ASSERT_EQ(site.ledger->refusals().size(), 1u);
  for (uint32_t round = fits; round < fits + 5; ++round) {
    const absl::Status refused = site.Seal(cost, round);
    EXPECT_EQ(refused.code(), kExhausted);
    EXPECT_THAT(base::Message(refused),
                HasSubstr(round == fits ? "was refused before"
                                        : "the privacy budget of the population \"ward 3\""));
  }
  EXPECT_EQ(site.ledger->entries().size(), fits);
  EXPECT_EQ(site.ledger->refusals().size(), 5u);
  const std::vector<secagg::AttemptNumber> announced = {{0, fits + 4, 0}};
  ASSERT_TRUE(site.ledger->ChargeAnnounced(cost, announced).ok());
  EXPECT_EQ(site.ledger->entries().size(), fits);
  // An announced attempt in between was never refused: it is charged.
  ASSERT_TRUE(
      site.ledger->ChargeAnnounced(cost, std::vector<secagg::AttemptNumber>{{0, fits + 6, 0}})
          .ok());
  EXPECT_EQ(site.ledger->entries().size(), fits + 2);
}

TEST_F(SharedLedgerTest, AYearSpendsItsBudgetAndTheNextOneAgain) {
  const AttemptCost cost = CostOf(1, 6);
  MemoryLedger lifetime = NewMemoryLedger(SharedHeader(1));
  const uint32_t fits = Site(lifetime, now_).SealAll(cost);
  Site site(memory_, now_, Year(1));
  EXPECT_EQ(site.SealAll(cost), fits);
  const absl::Status refused = site.Seal(cost, fits + 1);
  EXPECT_EQ(refused.code(), kExhausted);
  EXPECT_THAT(base::Message(refused), AllOf(HasSubstr("policy.toml: privacy.epsilon_per_year"),
                                            HasSubstr("the budget is 1")));
  now_ += kSecondsAYear - 1;
  EXPECT_EQ(site.SealAll(cost, fits + 2), 0u);
  now_ += 1;
  EXPECT_EQ(site.SealAll(cost, fits + 3), fits);
  // Also for a process that begins now.
  Site later(memory_, now_, Year(1));
  EXPECT_EQ(later.SealAll(cost, 10 * fits), 0u);
}

// Half of the budget in each half of a year: at no time do twelve months hold more than all of it.
TEST_F(SharedLedgerTest, AYearIsAnyTwelveMonths) {
  const AttemptCost cost = CostOf(1, 6);
  uint32_t round = 0;
  std::vector<std::pair<uint64_t, uint32_t>> sealed;
  for (int month = 0; month < 30; ++month, now_ += kSecondsAYear / 12) {
    Site site(memory_, now_, Year(1));
    const uint32_t fits = month % 5 == 0 ? site.SealAll(cost, round) : 0;
    round += fits + 1;
    sealed.emplace_back(now_, fits);
  }
  MemoryLedger lifetime = NewMemoryLedger(SharedHeader(1));
  const uint32_t most = Site(lifetime, now_).SealAll(cost);
  for (const auto& [begin, count] : sealed) {
    uint32_t in_year = 0;
    for (const auto& [time, other] : sealed) {
      if (time >= begin && time < begin + kSecondsAYear) in_year += other;
    }
    EXPECT_LE(in_year, most);
  }
}

// A clock that is set forward and back again makes no charge older.
TEST_F(SharedLedgerTest, TimeNeverRunsBackInALedger) {
  Site site(memory_, now_);
  ASSERT_TRUE(site.Seal(CostOf(1, 6), 0).ok());
  now_ -= 1000;
  ASSERT_TRUE(site.Seal(CostOf(1, 6), 1).ok());
  EXPECT_EQ(site.ledger->entries()[1].time, now_ + 1000);
  EXPECT_TRUE(RecoverLedger(memory_.ledger, memory_.anchor).ok());
}

TEST_F(SharedLedgerTest, AFederationHasABudgetOfItsOwn) {
  AttemptCost cost = CostOf(1, 6);
  cost.budget = {.terms = {.budget_epsilon = 1, .delta = 1e-5}, .event = cost.event};
  Site site(memory_, now_);
  const uint32_t fits = site.SealAll(cost);
  EXPECT_GT(fits, 3u);
  EXPECT_THAT(base::Message(site.Seal(cost, fits + 1)),
              HasSubstr("the training's own budget (privacy.budget_epsilon of its agreement)"));
  // One over the same data continues.
  EXPECT_TRUE(site.Seal(CostOf(2, 6), 0).ok());
  // One event has more room than a ledger of any events.
  MemoryLedger any = NewMemoryLedger(SharedHeader(1));
  EXPECT_GE(fits, Site(any, now_).SealAll(CostOf(1, 6)));
}

TEST_F(SharedLedgerTest, AFederationKeepsItsRule) {
  Site site(memory_, now_);
  ASSERT_TRUE(site.Seal(CostOf(1, 6), 0).ok());
  AttemptCost own = CostOf(1, 6);
  own.rule = ChargingRule::kOwnSeals;
  own.event.sampling = accounting::Sampling::kNone;
  own.event.sampling_rate = 1;
  const absl::Status mixed = site.Seal(own, 1);
  EXPECT_EQ(mixed.code(), kRefused);
  EXPECT_THAT(base::Message(mixed), HasSubstr("was charged by announced-attempts"));
  own.federation[0] = own.manifest_hash[0] = 2;
  EXPECT_TRUE(site.Seal(own, 1).ok());
  EXPECT_EQ(
      site.ledger->ChargeAnnounced(CostOf(2, 6), std::vector<secagg::AttemptNumber>{{0, 3, 0}})
          .code(),
      kRefused);
}

// A site that was restored from an old copy, or away, joins the next epoch: the rounds at the end
// of the last one are not in the new epoch's announcements.
TEST_F(SharedLedgerTest, TheEndOfAnEarlierEpochIsChargedToo) {
  Site site(memory_, now_);
  ASSERT_TRUE(site.Seal(CostOf(1, 6), 3).ok());
  ASSERT_EQ(site.ledger->entries().size(), 4u);
  AttemptCost next = CostOf(1, 6);
  next.manifest_hash[0] = 7;
  next.first_round = 8;
  const std::vector<secagg::AttemptNumber> announced = {{1, 8, 0}, {1, 9, 0}};
  ASSERT_TRUE(site.ledger->ChargeForSealing(next, {1, 9, 0}, announced).ok());
  EXPECT_EQ(site.ledger->entries().size(), 10u);  // rounds 0 to 9
}

// Two members of one federation that charge one ledger would both seal on one charge: the label of
// the second is known. Both processes opened the ledger before either charged.
TEST_F(SharedLedgerTest, OneLedgerStandsForOneMember) {
  Site first(memory_, now_), second(memory_, now_);
  AttemptCost cost = CostOf(1, 6);
  cost.member = 0;
  ASSERT_TRUE(first.Seal(cost, 0).ok());
  cost.member = 1;
  for (const uint32_t round : {0, 1}) {
    const absl::Status refused = second.Seal(cost, round);
    EXPECT_EQ(refused.code(), kRefused);
    EXPECT_THAT(base::Message(refused), HasSubstr("is charged for member 0 of this federation"));
  }
  EXPECT_EQ(second.ledger->CheckMember(cost).code(), kRefused);
  EXPECT_EQ(RecoverLedger(memory_.ledger, memory_.anchor)->entries.size(), 1u);
  // Numbers belong to an epoch's manifest.
  cost.manifest_hash[0] = 7;
  cost.first_round = 1;
  EXPECT_TRUE(second.ledger->CheckMember(cost).ok());
  EXPECT_TRUE(second.ledger->ChargeForSealing(cost, {1, 1, 0}).ok());
}

TEST_F(SharedLedgerTest, AnEarlierPolicyIsRefused) {
  Site site(memory_, now_);
  ASSERT_TRUE(site.ledger->AdoptPolicy({1}, 4).ok());
  ASSERT_TRUE(site.ledger->AdoptPolicy({1}, 4).ok());
  EXPECT_EQ(RecoverLedger(memory_.ledger, memory_.anchor)->policies.size(), 1u);
  EXPECT_EQ(site.ledger->AdoptPolicy({2}, 4).code(), kRefused);
  const absl::Status earlier = Site(memory_, now_).ledger->AdoptPolicy({2}, 3);
  EXPECT_EQ(earlier.code(), kRefused);
  EXPECT_THAT(base::Message(earlier), HasSubstr("was charged under number 4"));
  ASSERT_TRUE(site.ledger->AdoptPolicy({2}, 5).ok());
  EXPECT_EQ(Site(memory_, now_).ledger->policy()->serial, 5u);
}

// The other process cannot have written what this one knows.
TEST_F(SharedLedgerTest, TheSameAttemptInOthersRecordsIsDamage) {
  Site site(memory_, now_);
  ASSERT_TRUE(site.Seal(CostOf(1, 6), 0).ok());
  RecoveredLedger found = *RecoverLedger(memory_.ledger, memory_.anchor);
  const base::Bytes again = WriteLedgerRecord(found.entries[0], found.end.head);
  memory_.ledger.insert(memory_.ledger.end(), again.begin(), again.end());
  memory_.anchor = WriteLedgerAnchor({.population = found.end.population,
                                      .genesis = found.end.genesis,
                                      .count = 2,
                                      .head = RecordHash(again)});
  EXPECT_EQ(site.Seal(CostOf(1, 6), 1).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(site.Seal(CostOf(1, 6), 1).code(), kRefused);
}

}  // namespace
}  // namespace tacet::ledger
