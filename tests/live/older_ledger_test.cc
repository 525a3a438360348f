// A site whose ledger was put back from an old copy, with every anchor that knows better.

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tests/live/live_members_for_test.h"

namespace tacet::live::testing {
namespace {

using ::testing::HasSubstr;

uint64_t ChargesOf(LiveFederation& live, uint64_t site) {
  return live.site(site).ledger->ChargesOf(live.members.manifest().manifest().federation());
}

// Without the check the kept update is sent although the ledger does not charge it, and with
// own-seals nothing ever charges it again.
TEST(OlderLedgerTest, AKeptUpdateIsNotSentWithoutItsCharge) {
  LiveFederation live;
  LiveFederation::Site& site = live.site(0);
  const ledger::testing::MemoryLedger before = site.memory_ledger;
  live.RunUntil([&] { return site.state.LoadMemory().ok() && site.updates.asked > 0; });
  ASSERT_EQ(ChargesOf(live, 0), 1u);
  ASSERT_TRUE(live.TryToRestart(site).ok());
  const ledger::testing::MemoryLedger after = std::exchange(site.memory_ledger, before);
  const absl::Status refused = live.TryToRestart(site);
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(refused),
              HasSubstr("has sealed an update for round 0 attempt 0 of epoch 0, and the ledger"));
  site.memory_ledger = after;
  EXPECT_TRUE(live.TryToRestart(site).ok());
}

// A refused attempt is in no sum. The zeros that hide it are sent again.
TEST(OlderLedgerTest, ARefusedAttemptIsKnown) {
  agreement::ManifestSpec spec = protocol::testing::SmallAgreement();
  spec.sampling.method = accounting::Sampling::kPoisson;
  spec.sampling.dummy_uploads = true;
  spec.sampling.cohort = 5;  // every coin falls on yes
  LiveFederation live(spec);
  ledger::LedgerHeader header;
  header.population = "ward 3";
  header.spending.budget_epsilon = 1e-3;
  LiveFederation::Site& site = live.site(0);
  site.memory_ledger = ledger::testing::NewMemoryLedger(header);
  live.Restart(site);
  live.RunUntil([&] { return !site.ledger->refusals().empty(); });
  EXPECT_TRUE(site.ledger->entries().empty());
  EXPECT_TRUE(live.TryToRestart(site).ok());
}

// State, anchors and ledger are all old: the server's announcements know what was spent.
TEST(OlderLedgerTest, WhatTheServerAnnouncedIsChargedAgain) {
  LiveFederation live;
  LiveFederation::Site& site = live.site(0);
  const ledger::testing::MemoryLedger before = site.memory_ledger;
  live.RunUntil([&] { return site.session->next_round() == 2; });
  site.memory_ledger = before;
  site.state = FailingMemberState();
  live.Restart(site);
  EXPECT_EQ(ChargesOf(live, 0), 0u);
  live.Run();
  EXPECT_EQ(ChargesOf(live, 0), ChargesOf(live, 1));
  EXPECT_GT(ChargesOf(live, 0), 2u);
}

}  // namespace
}  // namespace tacet::live::testing
