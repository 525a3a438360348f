#include "tacet/storage/file/ledger_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <unistd.h>

#include "tacet/base/child_for_test.h"
#include "tacet/base/status_for_test.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/storage/file/disk_for_test.h"
#include "tacet/storage/file/ledger_for_test.h"

namespace tacet::storage::file {
namespace {

using ledger::AttemptCost;
using ledger::LedgerHeader;
using ledger::PrivacyLedger;
using ::testing::HasSubstr;

LedgerHeader Header() {
  LedgerHeader header;
  header.population = "ward 3";
  header.created = 1'700'000'000;
  return header;
}

class LedgerFileTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<PrivacyLedger>> Open(DiskCalls& disk = DiskCalls::System()) {
    TACET_ASSIGN_OR_RETURN(auto opened, LedgerFile::OpenOrCreate(path_, Header(), disk));
    return PrivacyLedger::Create(std::move(opened));
  }
  void ChargeRounds(uint32_t from, uint32_t to) {
    ASSERT_OK_AND_ASSIGN(auto ledger, Open());
    for (uint32_t round = from; round < to; ++round) {
      ASSERT_TRUE(ledger->ChargeForSealing(Cost(), {0, round, 0}).ok());
    }
  }
  static std::string ReadAll(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void WriteAll(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  std::filesystem::path Anchor() const { return AnchorPath(path_); }
  std::string OpenError() {
    const auto ledger = Open();
    EXPECT_FALSE(ledger.ok());
    return base::Message(ledger.status());
  }

  // In memory where there is such a folder: what a dying process leaves is the same there.
  const base::TemporaryFolder temporary_{base::TemporaryFolder::kInMemory};
  const std::filesystem::path folder_ = temporary_.path();
  const std::filesystem::path path_ = folder_ / "ledger";
};

TEST_F(LedgerFileTest, KeepsChargesAcrossProcesses) {
  EXPECT_EQ(LedgerFile::Open(path_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(LedgerFile::Read(path_).status().code(), absl::StatusCode::kNotFound);
  ChargeRounds(0, 3);
  ChargeRounds(2, 5);
  ASSERT_OK_AND_ASSIGN(const auto found, LedgerFile::Read(path_));
  EXPECT_EQ(found.header, Header());
  ASSERT_EQ(found.entries.size(), 5u);
  EXPECT_EQ(found.entries[4].label.number.round, 4u);
  EXPECT_EQ(found.anchored, 5u);
}

TEST_F(LedgerFileTest, SeveralProcessesChargeOneLedger) {
  auto first = Open(), second = Open();
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE((*first)->ChargeForSealing(Cost(), {0, 0, 0}).ok());
  EXPECT_EQ(base::ExitCodeInChild([&] {
              auto third = Open();
              return third.ok() && (*third)->ChargeForSealing(Cost(), {0, 1, 0}).ok() ? 0 : 1;
            }),
            0);
  ASSERT_TRUE((*second)->ChargeForSealing(Cost(), {0, 2, 0}).ok());
  EXPECT_EQ((*second)->entries().size(), 3u);
  EXPECT_EQ(LedgerFile::Read(path_)->entries.size(), 3u);
}

// A process that was stopped in the middle of its turn.
TEST_F(LedgerFileTest, OneThatKeepsItsTurnIsNotWaitedForForEver) {
  LedgerPlace place(path_);
  place.max_wait_seconds = 0.02;
  ASSERT_OK_AND_ASSIGN(auto opened, LedgerFile::OpenOrCreate(place, Header()));
  auto holder = LedgerFile::Open(path_);
  ASSERT_TRUE(holder->store->BeginTurn().ok());
  EXPECT_EQ(LedgerFile::Open(place).status().code(), absl::StatusCode::kUnavailable);
  auto ledger = PrivacyLedger::Create(std::move(opened));
  const absl::Status waiting = (*ledger)->ChargeForSealing(Cost(), {0, 0, 0});
  EXPECT_EQ(waiting.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(base::Message(waiting), HasSubstr("in use by another process"));
  EXPECT_TRUE(LedgerFile::Read(path_).ok());  // reading is always possible
  holder->store->EndTurn();
  EXPECT_TRUE((*ledger)->ChargeForSealing(Cost(), {0, 0, 0}).ok());
}

// Processes that all try to make and charge the same ledger: each that got in leaves its charge.
TEST_F(LedgerFileTest, ManyProcessesStartAtOnce) {
  std::vector<base::Child> children;
  for (uint32_t number = 0; number < 8; ++number) {
    children.emplace_back([&](int) {
      auto ledger = Open();
      if (!ledger.ok()) return 2;
      AttemptCost cost = Cost();
      cost.manifest_hash[0] = cost.federation[0] = static_cast<uint8_t>(number);
      return (*ledger)->ChargeForSealing(cost, {0, 0, 0}).ok() ? 0 : 1;
    });
  }
  for (base::Child& child : children) EXPECT_EQ(child.ExitCode(), 0);
  EXPECT_EQ(LedgerFile::Read(path_)->entries.size(), 8u);
}

TEST_F(LedgerFileTest, RolledBackOrRemovedFilesAreNoticed) {
  ChargeRounds(0, 2);
  const std::string ledger = ReadAll(path_), anchor = ReadAll(Anchor());
  ChargeRounds(2, 5);
  const std::string later = ReadAll(path_), later_anchor = ReadAll(Anchor());

  WriteAll(path_, ledger);
  EXPECT_THAT(OpenError(), HasSubstr("after 2 whole records, its anchor knows 5"));
  WriteAll(path_, later);
  WriteAll(Anchor(), anchor);
  EXPECT_THAT(OpenError(), HasSubstr("the anchor is too old"));
  std::filesystem::remove(Anchor());
  EXPECT_THAT(OpenError(), HasSubstr("has no anchor"));
  EXPECT_THAT(base::Message(LedgerFile::Read(path_).status()), HasSubstr("has no anchor"));
  WriteAll(Anchor(), later_anchor);
  std::filesystem::remove(path_);
  EXPECT_THAT(OpenError(), HasSubstr("its anchor"));
  EXPECT_THAT(OpenError(), HasSubstr("counts 5 charges"));
  EXPECT_THAT(base::Message(LedgerFile::Read(path_).status()), HasSubstr("counts 5 charges"));
  WriteAll(Anchor(), "rubbish");
  EXPECT_THAT(OpenError(), HasSubstr("is damaged"));
}

TEST_F(LedgerFileTest, OtherTermsAreRefused) {
  ChargeRounds(0, 1);
  const auto refusal = [&](const LedgerHeader& header) {
    const auto opened = LedgerFile::OpenOrCreate(path_, header);
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
    return base::Message(opened.status());
  };
  LedgerHeader header = Header();
  header.spending.budget_epsilon = 9;
  EXPECT_THAT(refusal(header), HasSubstr("budget 9"));
  header = Header();
  header.spending.composition = accounting::Composition::kAnyEvents;
  EXPECT_THAT(refusal(header), HasSubstr("any-events"));
  header = Header();
  header.created = 5;
  header.population = "the same, moved";
  header.identity[0] = 1;
  EXPECT_TRUE(LedgerFile::OpenOrCreate(path_, header).ok());
}

TEST_F(LedgerFileTest, ATornTailIsCutOffAndReported) {
  ChargeRounds(0, 2);
  const std::string whole = ReadAll(path_);
  WriteAll(path_, whole + std::string(77, 'x'));
  EXPECT_EQ(LedgerFile::Read(path_)->torn_bytes, 77u);
  {
    ASSERT_OK_AND_ASSIGN(const auto opened, LedgerFile::Open(path_));
    EXPECT_EQ(opened.found.torn_bytes, 77u);
    EXPECT_EQ(ReadAll(path_), whole);
  }
  ChargeRounds(2, 3);
  EXPECT_EQ(LedgerFile::Read(path_)->entries.size(), 3u);
}

TEST_F(LedgerFileTest, WhatSomebodyElseDoesToTheOpenFileIsNoticed) {
  ChargeRounds(0, 2);
  const std::string whole = ReadAll(path_), anchor = ReadAll(Anchor());
  const auto refusal = [&](const std::string& now) {
    WriteAll(path_, whole);
    WriteAll(Anchor(), anchor);
    const auto ledger = base::ValueOf(Open());
    WriteAll(path_, now);
    const absl::Status refused = ledger->ChargeForSealing(Cost(), {0, 2, 0});
    EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss);
    EXPECT_FALSE(ledger->ChargeForSealing(Cost(), {0, 2, 0}).ok());
    EXPECT_EQ(ReadAll(path_), now);
    return base::Message(refused);
  };
  EXPECT_THAT(refusal(whole.substr(0, whole.size() - ledger::kLedgerRecordBytes)),
              HasSubstr("by somebody else"));
  EXPECT_THAT(refusal(whole + std::string(ledger::kLedgerRecordBytes, 'x')),
              HasSubstr("record 3 at byte 1024 of the ledger does not continue the chain"));
}

// Another process died in the middle of its append.
TEST_F(LedgerFileTest, WhatAnotherProcessLeftUnfinishedIsRepaired) {
  ChargeRounds(0, 1);
  const std::string anchor = ReadAll(Anchor());
  const auto ledger = Open();
  std::ofstream(path_, std::ios::app) << std::string(77, 'x');
  ASSERT_TRUE((*ledger)->ChargeForSealing(Cost(), {0, 1, 0}).ok());
  EXPECT_EQ(LedgerFile::Read(path_)->entries.size(), 2u);
  const std::string later = ReadAll(Anchor());
  ChargeRounds(2, 3);
  WriteAll(Anchor(), later);  // it died before the anchor was renewed: the record counts
  ASSERT_TRUE((*ledger)->ChargeForSealing(Cost(), {0, 3, 0}).ok());
  EXPECT_EQ(LedgerFile::Read(path_)->entries.size(), 4u);
  EXPECT_EQ(LedgerFile::Read(path_)->anchored, 4u);
}

// An anchor on a share that is absent for a while. Nobody else reads it.
TEST_F(LedgerFileTest, AnAnchorsFolderThatIsAwayIsWaitedFor) {
  const std::filesystem::path share = folder_ / "share", away = folder_ / "away";
  const LedgerPlace place(path_, {share / "ledger.anchor"});
  std::filesystem::create_directories(share);
  auto ledger = PrivacyLedger::Create(LedgerFile::OpenOrCreate(place, Header()).value());
  ASSERT_TRUE((*ledger)->ChargeForSealing(Cost(), {0, 0, 0}).ok());
  std::filesystem::rename(share, away);
  for (int again = 0; again < 2; ++again) {
    const absl::Status missing = (*ledger)->ChargeForSealing(Cost(), {0, 1, 0});
    EXPECT_EQ(missing.code(), absl::StatusCode::kUnavailable) << missing;
  }
  std::filesystem::rename(away, share);
  ASSERT_TRUE((*ledger)->ChargeForSealing(Cost(), {0, 1, 0}).ok());
  EXPECT_EQ(LedgerFile::Read(path_)->entries.size(), 2u);
  EXPECT_EQ(ReadAll(place.more_anchors[0]), ReadAll(Anchor()));
  EXPECT_EQ(std::filesystem::status(place.more_anchors[0]).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

// A ledger and its anchor that are put back together from one old copy are whole. An anchor that
// was not copied with them knows better.
TEST_F(LedgerFileTest, AnAnchorElsewhereRefusesAnOldCopyAndANewLedger) {
  const LedgerPlace place(path_, {folder_ / "home" / "ledger.anchor"});
  std::filesystem::create_directories(folder_ / "home");
  const auto charge = [&](uint32_t from, uint32_t to) {
    auto ledger = PrivacyLedger::Create(LedgerFile::OpenOrCreate(place, Header()).value());
    for (uint32_t round = from; round < to; ++round) {
      ASSERT_TRUE((*ledger)->ChargeForSealing(Cost(), {0, round, 0}).ok());
    }
  };
  charge(0, 2);
  const std::string ledger = ReadAll(path_), anchor = ReadAll(Anchor());
  charge(2, 3);
  EXPECT_EQ(ReadAll(place.more_anchors[0]), ReadAll(Anchor()));

  WriteAll(path_, ledger);
  WriteAll(Anchor(), anchor);
  ASSERT_TRUE(LedgerFile::Open(path_).ok());  // nothing next to it knows of the third charge
  const absl::Status old = LedgerFile::Open(place).status();
  EXPECT_EQ(old.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(old), HasSubstr("it knows 3 records, the ledger has 2"));

  std::filesystem::remove(path_);
  std::filesystem::remove(Anchor());
  const absl::Status missing = LedgerFile::OpenOrCreate(place, Header()).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(missing), HasSubstr("counts 3 charges"));
  EXPECT_FALSE(std::filesystem::exists(path_));

  // Begun again without its anchors, it is another ledger.
  LedgerHeader later = Header();
  later.created += 1;
  ASSERT_TRUE(LedgerFile::OpenOrCreate(path_, later).ok());
  EXPECT_THAT(base::Message(LedgerFile::Open(place).status()),
              HasSubstr("3 records of another ledger"));
}

TEST_F(LedgerFileTest, ARemovedFileTakesNoCharge) {
  const auto ledger = Open();
  std::filesystem::remove(path_);
  EXPECT_THAT(base::Message((*ledger)->ChargeForSealing(Cost(), {0, 0, 0})),
              HasSubstr("removed or replaced"));
}

// Every call of making a ledger and charging it fails, alone and with those after it. What was
// acknowledged is there; the same object continues when the disk does, and so does another one.
TEST_F(LedgerFileTest, EveryDiskCallMayFail) {
  for (const int fails : {1, 2, 7}) {
    for (int fail_at = 0;; ++fail_at) {
      SCOPED_TRACE(testing::Message() << fails << " from " << fail_at);
      std::filesystem::remove_all(folder_);
      std::filesystem::create_directories(folder_);
      FailingDisk disk;
      disk.fail_at = fail_at;
      disk.fails = fails;
      auto ledger = Open(disk);
      for (int again = 0; !ledger.ok() && again < fails; ++again) {
        EXPECT_EQ(ledger.status().code(), absl::StatusCode::kUnavailable) << ledger.status();
        ledger = Open(disk);
      }
      ASSERT_TRUE(ledger.ok()) << ledger.status();
      int failures = 0;
      for (uint32_t round = 0; round < 3;) {
        const absl::Status charged = (*ledger)->ChargeForSealing(Cost(), {0, round, 0});
        if (charged.ok()) {
          ++round;
        } else {
          ASSERT_LE(++failures, fails);
          EXPECT_EQ(charged.code(), absl::StatusCode::kUnavailable) << charged;
          EXPECT_GE(LedgerFile::Read(path_)->entries.size(), round);
        }
      }
      EXPECT_EQ((*ledger)->entries().size(), 3u);
      EXPECT_EQ(LedgerFile::Read(path_)->entries.size(), 3u);
      ASSERT_OK_AND_ASSIGN(auto other, Open());
      ASSERT_TRUE(other->ChargeForSealing(Cost(), {0, 3, 0}).ok());
      EXPECT_EQ(other->entries().size(), 4u);
      if (disk.calls <= fail_at) {
        EXPECT_GT(fail_at, 30);
        break;
      }
    }
  }
}

// Two processes: what the other one charged is known after a turn that failed.
TEST_F(LedgerFileTest, AFailedTurnForgetsNoChargeOfOthers) {
  const LedgerPlace place(path_, {folder_ / "elsewhere.anchor"});
  for (int fail_at = 0;; ++fail_at) {
    SCOPED_TRACE(fail_at);
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    FailingDisk disk;
    ASSERT_OK_AND_ASSIGN(auto opened, LedgerFile::OpenOrCreate(place, Header(), disk));
    const auto ledger = *PrivacyLedger::Create(std::move(opened));
    ChargeRounds(0, 1);  // by the other one
    disk.fail_at = disk.calls + fail_at;
    const absl::Status first = ledger->ChargeForSealing(Cost(), {0, 1, 0});
    EXPECT_EQ(first.ok(), disk.calls <= disk.fail_at);
    if (first.ok()) {
      EXPECT_GT(fail_at, 10);
      break;
    }
    EXPECT_EQ(first.code(), absl::StatusCode::kUnavailable) << first;
    ASSERT_TRUE(ledger->ChargeForSealing(Cost(), {0, 1, 0}).ok());
    EXPECT_EQ(ledger->entries().size(), 2u);
    EXPECT_EQ(LedgerFile::Read(path_)->entries.size(), 2u);  // round 0 was not charged once more
  }
}

TEST_F(LedgerFileTest, RepairThatFailsRepairsNothingWrongly) {
  ChargeRounds(0, 1);
  const std::string anchor = ReadAll(Anchor());
  ChargeRounds(1, 2);
  WriteAll(Anchor(), anchor);  // as after a crash before the anchor was renewed
  for (int fail_at = 0;; ++fail_at) {
    FailingDisk disk;
    disk.fail_at = fail_at;
    const bool opened = Open(disk).ok();
    EXPECT_EQ(opened, disk.calls <= fail_at);
    EXPECT_EQ(LedgerFile::Read(path_)->entries.size(), 2u);
    if (opened) break;
  }
  EXPECT_EQ(LedgerFile::Read(path_)->anchored, 2u);
}

TEST_F(LedgerFileTest, CanBeReadWhileItIsCharged) {
  base::Child child([&](int) {
    auto ledger = Open();
    for (uint32_t round = 0; round < 2000; ++round) {
      if (!(*ledger)->ChargeForSealing(Cost(), {0, round, 0}).ok()) return 1;
    }
    return 0;
  });
  size_t seen = 0;
  int reads = 0;
  while (seen < 2000) {
    const auto found = LedgerFile::Read(path_);
    if (found.status().code() == absl::StatusCode::kNotFound) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;  // not made yet
    }
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_GE(found->entries.size(), seen);
    seen = found->entries.size();
    ++reads;
  }
  EXPECT_GT(reads, 3);
  EXPECT_EQ(child.ExitCode(), 0);
}

}  // namespace
}  // namespace tacet::storage::file
