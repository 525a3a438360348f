// Ledgers of processes that die, at each system call and at random moments.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include <unistd.h>

#include "tacet/base/child_for_test.h"
#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/storage/file/disk_for_test.h"
#include "tacet/storage/file/ledger_file.h"
#include "tacet/storage/file/ledger_for_test.h"

namespace tacet::storage::file {
namespace {

using ledger::LedgerHeader;
using ledger::PrivacyLedger;

class LedgerCrashTest : public ::testing::Test {
 protected:
  // Opens the ledger and charges rounds from the first that is not charged; writes the number of
  // each charge to `acknowledge` once it has returned. Only ends by an error, by being killed, or
  // after `most` charges.
  int Charge(int acknowledge, uint32_t most, DiskCalls& disk) {
    LedgerHeader header;
    header.population = "ward 3";
    auto opened = LedgerFile::OpenOrCreate(path_, header, disk);
    if (!opened.ok()) return 1;
    auto ledger = PrivacyLedger::Create(*std::move(opened));
    if (!ledger.ok()) return 2;
    const auto begin = static_cast<uint32_t>((*ledger)->entries().size());
    for (uint32_t round = begin; round < begin + most; ++round) {
      if (!(*ledger)->ChargeForSealing(Cost(), {0, round, 0}).ok()) return 3;
      if (::write(acknowledge, &round, sizeof round) != sizeof round) return 4;
    }
    return 0;
  }

  // Runs a child; `kill_after` < 0: waits for its end. Returns its exit code, -1 when killed, and
  // adds what it acknowledged.
  int Run(uint32_t most, DiskCalls& disk, std::chrono::microseconds kill_after) {
    base::Child child([&](int acknowledge) { return Charge(acknowledge, most, disk); });
    if (kill_after.count() >= 0) {
      std::this_thread::sleep_for(kill_after);
      child.Kill();
    }
    while (const auto round = child.Read<uint32_t>()) acknowledged_.insert(*round);
    return child.ExitCode();
  }

  // Everything acknowledged is in the ledger, and at most one charge more a death.
  void CheckNothingForgotten(size_t deaths) {
    const auto found = LedgerFile::Read(path_);
    if (found.status().code() == absl::StatusCode::kNotFound) {
      ASSERT_TRUE(acknowledged_.empty());
      return;
    }
    ASSERT_TRUE(found.ok()) << found.status();
    std::set<uint32_t> charged;
    for (const auto& entry : found->entries) charged.insert(entry.label.number.round);
    for (const uint32_t round : acknowledged_) ASSERT_TRUE(charged.contains(round)) << round;
    ASSERT_LE(charged.size(), acknowledged_.size() + deaths);
  }

  // In memory where there is such a folder: what a dying process leaves is the same there.
  const base::TemporaryFolder temporary_{base::TemporaryFolder::kInMemory};
  const std::filesystem::path folder_ = temporary_.path();
  const std::filesystem::path path_ = folder_ / "ledger";
  std::set<uint32_t> acknowledged_;
};

TEST_F(LedgerCrashTest, DyingAtEveryCallForgetsNothing) {
  int deaths = 0;
  for (const auto when :
       {DeadlyDisk::When::kBefore, DeadlyDisk::When::kHalfway, DeadlyDisk::When::kAfter}) {
    for (int die_at = 0;; ++die_at) {
      std::filesystem::remove_all(folder_);
      std::filesystem::create_directories(folder_);
      acknowledged_.clear();
      DeadlyDisk disk(die_at, when);
      const int first = Run(2, disk, std::chrono::microseconds(-1));
      ASSERT_TRUE(first == DeadlyDisk::kDied || first == 0) << first;
      CheckNothingForgotten(1);
      // The next process also dies at each of the calls with which it recovers, then one continues.
      for (int again = 0; first != 0 && again < 6; ++again) {
        DeadlyDisk second_disk(again, when);
        const int second = Run(0, second_disk, std::chrono::microseconds(-1));
        ASSERT_TRUE(second == DeadlyDisk::kDied || second == 0) << second;
        CheckNothingForgotten(1);
        if (second == 0) break;
      }
      ASSERT_EQ(Run(2, DiskCalls::System(), std::chrono::microseconds(-1)), 0);
      CheckNothingForgotten(1);
      if (first == 0) break;
      ++deaths;
    }
  }
  EXPECT_GT(deaths, 50);
}

TEST_F(LedgerCrashTest, KilledAtRandomMomentsForgetsNothing) {
  std::mt19937 generator(1);
  std::uniform_int_distribution<int> microseconds(500, 12000);
  size_t killed = 0;
  // On a busy machine most die before their first charge: then it takes more of them.
  while (killed < 120 || acknowledged_.size() <= 30) {
    const int code =
        Run(1'000'000, DiskCalls::System(), std::chrono::microseconds(microseconds(generator)));
    ASSERT_EQ(code, -1);
    ++killed;
    CheckNothingForgotten(killed);
  }
}

// The bytes that a crash of the machine may leave of the last append, one by one.
TEST_F(LedgerCrashTest, EveryLengthOfTheLastAppend) {
  ASSERT_EQ(Run(2, DiskCalls::System(), std::chrono::microseconds(-1)), 0);
  const auto read = [](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto write = [](const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  };
  const std::string old_anchor = read(AnchorPath(path_));
  const std::string old_ledger = read(path_);
  ASSERT_EQ(Run(1, DiskCalls::System(), std::chrono::microseconds(-1)), 0);
  const std::string ledger = read(path_);
  for (size_t length = 0; length <= ledger.size(); ++length) {
    write(path_, ledger.substr(0, length));
    write(AnchorPath(path_), old_anchor);
    const auto opened = LedgerFile::Open(path_);
    if (length < old_ledger.size()) {
      ASSERT_EQ(opened.status().code(), absl::StatusCode::kDataLoss) << length;
      ASSERT_EQ(read(path_), ledger.substr(0, length));  // left unchanged
    } else {
      ASSERT_TRUE(opened.ok()) << opened.status();
      ASSERT_EQ(opened->found.entries.size(), length == ledger.size() ? 3u : 2u);
      ASSERT_EQ(read(path_), length == ledger.size() ? ledger : old_ledger);
    }
  }
}

}  // namespace
}  // namespace tacet::storage::file
