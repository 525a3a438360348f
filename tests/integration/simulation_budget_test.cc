// Charges of a simulation, and its end by budgets and ledgers.
#include <atomic>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/simulation/simulation.h"
#include "tests/integration/lying_channel_for_test.h"

namespace tacet::simulation {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST_F(SimulationTest, TheAttemptBudgetIsNeverPassed) {
  // One of every two attempts: six members upload.
  std::atomic<int> uploads = 0;
  LyingChannel channel([&uploads](MessageKind kind, uint64_t, base::Bytes&) {
    const bool lost = kind == MessageKind::kUpload && uploads++ / 6 % 2 == 0;
    return lost ? absl::UnavailableError("lost") : absl::OkStatus();
  });
  SimulationSpec spec = SmallSpec();
  spec.manifest.spare_attempts = 1;
  spec.manifest.rounds = 2;
  const auto store = NewStore("run");
  const auto result = Run(spec, *store, recorder_, channel, *learner_);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(base::Message(result.status()),
              HasSubstr("all 3 attempts that the agreement allows"));
  EXPECT_EQ(store->Attempts()->size(), 3u);
}

// Every attempt of the first round fails: the budget keeps these two of the three permitted ones.
TEST_F(SimulationTest, ASharedBudgetKeepsWhatAFailedRunMade) {
  LyingChannel channel([](MessageKind kind, uint64_t, base::Bytes&) {
    return kind == MessageKind::kUpload ? absl::UnavailableError("lost") : absl::OkStatus();
  });
  const auto budget = *ledger::SharedBudget::Create({.epsilon = 100});
  SimulationSpec spec = SmallSpec();
  spec.insecure_seed.reset();
  spec.manifest.spare_attempts = 1;
  spec.manifest.rounds = 2;
  spec.budget = {.budget = budget, .name = "run"};
  const auto store = NewStore("run");
  EXPECT_EQ(Run(spec, *store, recorder_, channel, *learner_).status().code(),
            absl::StatusCode::kFailedPrecondition);
  auto runs = *budget->Runs();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].attempts, 2u);
  EXPECT_TRUE(runs[0].ended);
  // Another run in the same place has attempts that this charge does not count.
  EXPECT_THAT(base::Message(Run(spec, *store, recorder_, channel, *learner_).status()),
              HasSubstr("its 2 attempts are not in the session"));
  runs = *budget->Runs();
  EXPECT_EQ(runs[1].attempts, 0u);
  // A seed protects nobody.
  spec.insecure_seed = 1;
  EXPECT_THAT(base::Message(Run(spec, *store, recorder_, channel, *learner_).status()),
              HasSubstr("insecure-seed"));
  EXPECT_EQ(budget->Runs()->size(), 2u);
}

// Counts the updates that were sealed.
LyingChannel CountingChannel(std::atomic<int>& uploads) {
  return LyingChannel([&uploads](MessageKind kind, uint64_t, base::Bytes&) {
    if (kind == MessageKind::kUpload) ++uploads;
    return absl::OkStatus();
  });
}

TEST_F(SimulationTest, TheServersPlanEndsTheRunBeforeTheBudgetIsPassed) {
  SimulationSpec spec = SmallSpec();
  spec.manifest.rounds = 40;
  spec.manifest.privacy.budget_epsilon = 10;
  spec.evaluate_every = 7;
  std::atomic<int> uploads = 0;
  LyingChannel channel = CountingChannel(uploads);
  const auto store = NewStore("run");
  const auto result = Run(spec, *store, recorder_, channel, *learner_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->stopped, HasSubstr("the budget ends the run after 7 of 40 rounds"));
  EXPECT_EQ(result->rounds, 7u);
  EXPECT_EQ(uploads, 7 * 6);
  EXPECT_LE(result->ledger.epsilon(), 10);
  EXPECT_GT(result->ledger.epsilon(), 9.5);
  EXPECT_EQ(result->ledger_charges, 7u);
  EXPECT_THAT(recorder_.notes, Contains(HasSubstr("holds for 7 attempts")));
  const trainer::Evaluation last = *learner_->Evaluate(result->model, 1);
  EXPECT_EQ(result->evaluation.accuracy, last.accuracy);
  // Continuing changes nothing.
  const auto again = Run(spec, *store, recorder_, channel, *learner_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->rounds, 7u);
  EXPECT_EQ(again->model, result->model);
  EXPECT_EQ(uploads, 7 * 6);
}

// The members have spent of this data elsewhere, which the server does not know: it announces a
// round that its own plan allows, and nothing is sealed.
TEST_F(SimulationTest, MembersRefuseWhatTheServerAnnouncesBeyondTheirBudget) {
  SimulationSpec spec = SmallSpec();
  spec.manifest.privacy.budget_epsilon = 10;
  agreement::ManifestSpec agreed = spec.manifest;
  agreed.sampling.clients = learner_->clients();
  std::atomic<int> uploads = 0;
  LyingChannel channel = CountingChannel(uploads);
  const auto store = NewStore("run");
  {
    ledger::LedgerHeader header;
    header.population = spec.data.name;
    crypto::SystemEntropy entropy;
    ASSERT_TRUE(store->DigestKey(entropy).ok());
    header.spending = {.budget_epsilon = 10, .delta = 1e-5};
    auto ledger = ledger::PrivacyLedger::Create(*store->OpenLedger(header));
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    ledger::AttemptCost elsewhere;
    elsewhere.federation[0] = 1;
    elsewhere.event = agreement::ChargedEvent(agreed);
    elsewhere.rounds = 100;
    elsewhere.spare_attempts = 0;
    for (uint32_t round = 0; round < 6; ++round) {
      ASSERT_TRUE((*ledger)->ChargeForSealing(elsewhere, {0, round, 0}).ok());
    }
  }
  const auto result = Run(spec, *store, recorder_, channel, *learner_);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      base::Message(result.status()),
      HasSubstr("the privacy budget of the population \"simulation\" refuses round 1 attempt 0"));
  EXPECT_EQ(uploads, 6);  // round 0 was the seventh charge, the last that fits
  EXPECT_EQ(recorder_.rounds.size(), 1u);
  EXPECT_EQ(recorder_.rounds[0].charged_epsilon,
            accounting::GuaranteesOf(agreement::PrivacyOf(agreed, 1))->epsilon());  // of it alone
  EXPECT_EQ(store->Attempts()->size(), 1u);
}

TEST_F(SimulationTest, ALostLedgerIsFilledAgainFromTheAttempts) {
  SimulationSpec spec = SmallSpec();
  spec.insecure_seed.reset();
  const auto store = KilledIn(1, spec, "run");
  std::filesystem::remove(path_ / "run" / "ledger");
  std::filesystem::remove(path_ / "run" / "ledger.anchor");
  const auto rest = Run(spec, *store, recorder_, channel_, *learner_);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->charged_attempts, 4u);
  EXPECT_EQ(rest->ledger_charges, 4u);
}

// Killed after the ledger was charged and before the attempt was noted.
TEST_F(SimulationTest, AnAttemptThatOnlyTheLedgerKnowsCounts) {
  SimulationSpec spec = SmallSpec();
  spec.insecure_seed.reset();
  const auto store = KilledIn(0, spec, "run");
  ASSERT_TRUE(store->WriteFile("attempts", {}).ok());
  const auto rest = Run(spec, *store, recorder_, channel_, *learner_);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->charged_attempts, 4u);
  EXPECT_EQ((*store->Attempts())[0].epoch, 1u);
}

TEST_F(SimulationTest, ADamagedLedgerStopsTheRun) {
  const auto store = NewStore("run");
  ASSERT_TRUE(Run(SmallSpec(), *store, recorder_, channel_, *learner_).ok());
  base::Bytes ledger = *store->ReadFile("ledger");
  ledger[ledger.size() - 5] ^= 1;
  ASSERT_TRUE(store->WriteFile("ledger", ledger).ok());
  const auto again = Run(SmallSpec(), *store, recorder_, channel_, *learner_);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(again.status()), HasSubstr("record 3 at byte"));
}

TEST_F(SimulationTest, BudgetsThatCannotHoldAreRefusedAtTheStart) {
  SimulationSpec spec = SmallSpec();
  spec.manifest.privacy.budget_epsilon = 0.5;
  EXPECT_THAT(Refusal(spec), HasSubstr("budget_epsilon does not reach for a single attempt"));
  spec.manifest.privacy.budget_epsilon = -1;
  EXPECT_THAT(Refusal(spec), HasSubstr("budget is epsilon -1"));
  spec.manifest.privacy.budget_epsilon = 5;
  spec.manifest.mechanism.without_noise = true;
  EXPECT_THAT(Refusal(spec), HasSubstr("without noise or without clipping epsilon is infinite"));
}

}  // namespace
}  // namespace tacet::simulation
