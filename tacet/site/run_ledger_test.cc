#include "tacet/site/run_ledger.h"

#include <set>

#include "gtest/gtest.h"

#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/ledger/attempt_cost.h"
#include "tacet/ledger/ledger_in_memory.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/storage/file/disk_for_test.h"

namespace tacet::site {
namespace {

using storage::file::FailingDisk;

class RunLedgerTest : public ::testing::Test {
 protected:
  RunLedgerTest() {
    ledger::LedgerHeader header = ledger::LedgerHeaderOf(manifest().spec());
    header.population = "ward 3";
    ledger_ = *ledger::PrivacyLedger::Create(ledger::LedgerInMemory(header));
  }

  const agreement::Manifest& manifest() const { return members_.manifest().manifest(); }
  void ChargeRound(uint32_t round) {
    const ledger::AttemptCost cost =
        ledger::AttemptCostOf(manifest(), ledger_->header(), ledger::ChargingRule::kOwnSeals);
    const absl::Status charged = ledger_->ChargeForSealing(cost, {.epoch = 0, .round = round});
    ASSERT_TRUE(charged.ok()) << charged;
  }
  absl::StatusOr<std::unique_ptr<RunLedger>> Open(
      storage::file::DiskCalls& disk = storage::file::DiskCalls::System()) {
    return RunLedger::Open(folder_.path() / "ledger", manifest(), {}, "ward 3", disk);
  }
  void ExpectRounds(const RunLedger& run, uint32_t rounds) {
    std::set<uint32_t> seen;
    for (const ledger::LedgerEntry& entry : run.entries()) seen.insert(entry.label.number.round);
    EXPECT_EQ(run.entries().size(), rounds);
    EXPECT_EQ(seen.size(), rounds);
  }

  const base::TemporaryFolder folder_{base::TemporaryFolder::kInMemory};
  protocol::testing::SmallFederation members_;
  std::unique_ptr<ledger::PrivacyLedger> ledger_;
};

// A disk that was full for a while: the run continues, and no attempt is in it twice.
TEST_F(RunLedgerTest, EveryDiskCallMayFail) {
  for (const uint32_t round : {0, 1}) ChargeRound(round);
  for (const int fails : {1, 3}) {
    for (int fail_at = 0;; ++fail_at) {
      SCOPED_TRACE(testing::Message() << fails << " from " << fail_at);
      std::filesystem::remove_all(folder_.path());
      std::filesystem::create_directories(folder_.path());
      FailingDisk disk;
      auto run = Open(disk);
      ASSERT_TRUE(run.ok()) << run.status();
      disk.fail_at = disk.calls + fail_at;
      disk.fails = fails;
      int failures = 0;
      for (absl::Status updated = (*run)->Update(*ledger_); !updated.ok();
           updated = (*run)->Update(*ledger_)) {
        EXPECT_EQ(updated.code(), absl::StatusCode::kUnavailable) << updated;
        ASSERT_LE(++failures, fails);
      }
      ExpectRounds(**run, 2);
      run = absl::UnavailableError("closed");
      const auto again = Open();
      ASSERT_TRUE(again.ok()) << again.status();
      ExpectRounds(**again, 2);
      EXPECT_TRUE((*again)->Update(*ledger_).ok());
      ExpectRounds(**again, 2);
      if (disk.calls <= disk.fail_at) {
        EXPECT_GT(fail_at, 10);
        break;
      }
      EXPECT_GT(failures, 0);
    }
  }
}

TEST_F(RunLedgerTest, RefusesALedgerThatLacksItsAttempts) {
  ChargeRound(0);
  const auto run = Open();
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_TRUE((*run)->Update(*ledger_).ok());
  const auto older = ledger::PrivacyLedger::Create(ledger::LedgerInMemory(ledger_->header()));
  EXPECT_EQ((*run)->Update(**older).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace tacet::site
