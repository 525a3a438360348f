// Two federations over one data set, each in a process of its own that is killed again and again.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "gtest/gtest.h"
#include <unistd.h>

#include "tacet/base/child_for_test.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/storage/file/disk_for_test.h"
#include "tacet/storage/file/ledger_file.h"
#include "tacet/storage/file/ledger_folder.h"
#include "tacet/storage/file/ledger_for_test.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;
using ledger::PrivacyLedger;
using ledger::YearlyBudget;

constexpr int kStopped = 10;  // exit code: the year's budget is spent
constexpr uint64_t kTimeOfCrash = 1'800'000'000;

class SharedLedgerCrashTest : public ::testing::Test {
 protected:
  static ledger::AttemptCost CostOf(uint8_t federation) {
    ledger::AttemptCost cost = Cost();
    cost.federation[0] = cost.manifest_hash[0] = federation;
    cost.event.noise_stddev = federation == 0 ? 24 : 32;  // not even the events are the same
    return cost;
  }

  // A member of one federation, with a table of its own: charges attempt after attempt and
  // acknowledges what it may seal.
  int Spend(uint8_t federation, int acknowledge) const {
    const fs::path home = root_ / std::to_string(federation);
    fs::create_directories(home);
    const auto folder = LedgerFolder::Open(root_ / "ledgers");
    if (!folder.ok()) return 1;
    auto opened =
        folder->OpenOrCreate(ledger::kMainPopulation, {}, {home / "anchor"}, kTimeOfCrash);
    if (!opened.ok()) return 2;
    auto ledger = PrivacyLedger::Create(
        *std::move(opened), [] { return kTimeOfCrash; },
        YearlyBudget{.epsilon = 1.5, .delta = 1e-5, .source = "policy.toml"});
    if (!ledger.ok()) return 3;
    const ledger::AttemptCost cost = CostOf(federation);
    for (auto round = static_cast<uint32_t>((*ledger)->ChargesOf(cost.federation));; ++round) {
      const absl::Status charged = (*ledger)->ChargeForSealing(cost, {0, round, 0});
      if (charged.code() == absl::StatusCode::kResourceExhausted) return kStopped;
      if (!charged.ok()) return 4;
      if (::write(acknowledge, &round, sizeof round) != sizeof round) return 5;
    }
  }

  base::Child Start(uint8_t federation) const {
    return base::Child([&](int acknowledge) { return Spend(federation, acknowledge); });
  }
  // The exit code, -1 when it was killed; adds what it acknowledged.
  int End(uint8_t federation, base::Child& process) {
    while (const auto round = process.Read<uint32_t>()) {
      EXPECT_TRUE(sealed_[federation].insert(*round).second) << "sealed twice";
    }
    return process.ExitCode();
  }

  ledger::RecoveredLedger TheLedger() const {
    const auto paths = LedgerFolder::LedgersIn(root_ / "ledgers");
    EXPECT_EQ(paths->size(), 1u);
    return base::ValueOf(LedgerFile::Read(paths->front()));
  }

  const base::TemporaryFolder temporary_{base::TemporaryFolder::kInMemory};
  const fs::path root_ = temporary_.path();
  std::map<uint8_t, std::set<uint32_t>> sealed_;
};

// Also between a charge and any of its anchors.
TEST_F(SharedLedgerCrashTest, TwoFederationsStopTogetherWhateverIsKilled) {
  std::mt19937 generator(1);
  std::uniform_int_distribution<int> microseconds(1'000, 15'000);
  size_t kills = 0;
  // One could spend the budget before the other begins.
  for (const uint8_t federation : {uint8_t{0}, uint8_t{1}}) {
    base::Child first = Start(federation);
    const auto round = first.Read<uint32_t>();
    ASSERT_TRUE(round.has_value());
    first.Kill();
    sealed_[federation].insert(*round);
    kills += End(federation, first) == -1 ? 1 : 0;
  }
  for (int turn = 0; turn < 60; ++turn) {
    base::Child processes[] = {Start(0), Start(1)};
    const auto victim = static_cast<uint8_t>(turn % 2);
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds(generator)));
    for (const uint8_t federation : {victim, static_cast<uint8_t>(1 - victim)}) {
      processes[federation].Kill();
      const int code = End(federation, processes[federation]);
      ASSERT_TRUE(code == -1 || code == kStopped) << code;
      kills += code == -1 ? 1 : 0;
    }
  }
  EXPECT_GT(kills, 20u);
  base::Child processes[] = {Start(0), Start(1)};
  for (const uint8_t federation : {uint8_t{0}, uint8_t{1}}) {
    EXPECT_EQ(End(federation, processes[federation]), kStopped);
  }

  // Every acknowledged charge is there, and at most one more for each kill.
  const ledger::RecoveredLedger found = TheLedger();
  std::map<uint8_t, std::set<uint32_t>> charged;
  auto spent = accounting::PrivacyFilter::Create(
      {.budget_epsilon = 1.5, .composition = accounting::Composition::kAnyEvents});
  for (const ledger::LedgerEntry& entry : found.entries) {
    EXPECT_EQ(entry.kind, ledger::ChargeKind::kSealing);
    EXPECT_TRUE(charged[entry.federation[0]].insert(entry.label.number.round).second);
    ASSERT_TRUE(spent->Add(entry.event, entry.count).ok());
  }
  size_t acknowledged = 0;
  for (const auto& [federation, rounds] : sealed_) {
    for (const uint32_t round : rounds) EXPECT_TRUE(charged[federation].contains(round));
    acknowledged += rounds.size();
  }
  EXPECT_LE(found.entries.size(), acknowledged + kills);
  // Together they spent the budget, and no more.
  EXPECT_LE(spent->Epsilon()->epsilon(), 1.5);
  for (const uint8_t federation : {uint8_t{0}, uint8_t{1}}) {
    EXPECT_GT(charged[federation].size(), 0u);
    EXPECT_EQ(spent->ChargesThatFit(CostOf(federation).event, 1).value(), 0u);
  }
  EXPECT_EQ(found.refusals.size(), 2u);
}

}  // namespace
}  // namespace tacet::storage::file
