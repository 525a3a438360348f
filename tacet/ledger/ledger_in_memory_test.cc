#include "tacet/ledger/ledger_in_memory.h"

#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"
#include "tacet/ledger/privacy_ledger.h"

namespace tacet::ledger {
namespace {

AttemptCost Cost() {
  AttemptCost cost;
  cost.event.noise_stddev = 6;
  cost.event.sampling_rate = 0.25;
  cost.rounds = 100;
  cost.spare_attempts = 0;
  return cost;
}

// Nothing is stored, but every charge counts as long as the ledger lives.
TEST(LedgerInMemoryTest, CountsChargesAndRefusesThoseBeyondTheBudget) {
  LedgerHeader header;
  header.population = "synthetic";
  header.spending.budget_epsilon = 1;
  ASSERT_OK_AND_ASSIGN(auto ledger, PrivacyLedger::Create(LedgerInMemory(header)));
  absl::Status charged;
  uint32_t round = 0;
  while (charged.ok() && round < 100) {
    charged = ledger->ChargeForSealing(Cost(), {.epoch = 0, .round = round++, .attempt = 0});
  }
  EXPECT_EQ(charged.code(), absl::StatusCode::kResourceExhausted) << charged;
  EXPECT_GT(round, 1u);
  EXPECT_EQ(ledger->entries().size(), round - 1);
  EXPECT_LE(ledger->spending().Epsilon()->epsilon(), 1);
}

// The header is checked as one that was read from a file.
TEST(LedgerInMemoryTest, AHeaderOutOfRangeIsRefused) {
  LedgerHeader header;  // without a name of the data
  EXPECT_EQ(PrivacyLedger::Create(LedgerInMemory(header)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tacet::ledger
