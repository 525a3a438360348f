#include "tacet/storage/file/ledger_folder.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tacet/base/status.h"
#include "tacet/base/temporary_folder_for_test.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/storage/file/ledger_file.h"
#include "tacet/storage/file/ledger_for_test.h"

namespace tacet::storage::file {
namespace {

namespace fs = std::filesystem;
using ledger::PrivacyLedger;
using ::testing::HasSubstr;

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
constexpr uint64_t kNow = 1'700'000'000;

SiteData Ward(uint8_t content, std::string name = "ward.csv") {
  return {.name = std::move(name), .digest = {content}};
}

class LedgerFolderTest : public ::testing::Test {
 protected:
  using Opened = absl::StatusOr<std::unique_ptr<PrivacyLedger>>;

  // As a site's home does that takes part in a federation with these data.
  Opened Open(const std::string& home, const SiteData& data, const LedgerTerms& terms = {}) {
    fs::create_directories(root_ / home);
    TACET_ASSIGN_OR_RETURN(const LedgerFolder folder, LedgerFolder::Open(folder_));
    TACET_ASSIGN_OR_RETURN(
        ledger::OpenedLedger opened,
        folder.OpenOrCreate(data, terms, {root_ / home / "ledger.anchor"}, kNow));
    return PrivacyLedger::Create(std::move(opened));
  }
  // Rounds `from` to `to` of a federation of its own for each home.
  void Charge(const std::string& home, const SiteData& data, uint32_t from, uint32_t to) {
    const Opened ledger = Open(home, data);
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    ledger::AttemptCost cost = Cost();
    cost.federation[0] = cost.manifest_hash[0] = static_cast<uint8_t>(home.front());
    for (uint32_t round = from; round < to; ++round) {
      const absl::Status charged = (*ledger)->ChargeForSealing(cost, {0, round, 0});
      ASSERT_TRUE(charged.ok()) << charged;
    }
  }
  size_t ChargesOn(const SiteData& data) {
    const Opened ledger = Open("reader", data);
    EXPECT_TRUE(ledger.ok()) << ledger.status();
    return ledger.ok() ? (*ledger)->entries().size() : 0;
  }
  fs::path TheLedger() const {
    const auto ledgers = LedgerFolder::LedgersIn(folder_);
    EXPECT_EQ(ledgers->size(), 1u);
    return ledgers->front();
  }
  // Ledger and anchor, for a copy that is put back together.
  void Copy(const fs::path& from, const fs::path& to) {
    for (const std::string ending : {"", ".anchor"}) {
      fs::copy_file(from.string() + ending, to.string() + ending,
                    fs::copy_options::overwrite_existing);
    }
  }

  const base::TemporaryFolder temporary_{base::TemporaryFolder::kInMemory};
  const fs::path root_ = temporary_.path();
  const fs::path folder_ = root_ / "share" / "tacet" / "ledger";
};

// Two homes that join two federations over one data set: their charges add up.
TEST_F(LedgerFolderTest, OneLedgerForOneDataSetWhicheverHomeSpendsIt) {
  Charge("north", Ward(1), 0, 3);
  Charge("other", Ward(1, "moved.csv"), 0, 2);
  EXPECT_EQ(ChargesOn(Ward(1)), 5u);
  Charge("third", Ward(2, "other.csv"), 0, 1);
  EXPECT_EQ(LedgerFolder::LedgersIn(folder_)->size(), 2u);
  struct stat info {};
  ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

// Their names and headers do not give the data away: others, who know all records but one, have
// another key.
TEST_F(LedgerFolderTest, NamesAreKeyed) {
  Charge("north", Ward(1), 0, 1);
  const fs::path name = TheLedger().filename();
  EXPECT_EQ(name.string().size(), 32 + std::string(".ledger").size());
  fs::remove_all(root_ / "share");
  fs::remove_all(root_ / "north");
  Charge("north", Ward(1), 0, 1);
  EXPECT_NE(TheLedger().filename(), name);
}

// On the old code the run's ledger refused for ever, and so would any other decision without a
// person: the changed data may be the same patients.
TEST_F(LedgerFolderTest, ChangedDataAreRefusedUntilTheLedgerIsBoundToThem) {
  Charge("north", Ward(1), 0, 3);
  for (const std::string home : {"north", "new-home"}) {
    const Opened changed = Open(home, Ward(2));
    EXPECT_EQ(changed.status().code(), kRefused) << home;
    EXPECT_THAT(base::Message(changed.status()), HasSubstr("tacet ledger rebind"));
  }
  const auto folder = LedgerFolder::OpenExisting(folder_);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->Rebind(TheLedger(), Ward(1).digest, "none").code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(folder->Rebind(TheLedger(), Ward(2).digest, "").code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(folder->Rebind(TheLedger(), Ward(2).digest, "patient 4711 was erased").ok());
  Charge("north", Ward(2), 3, 4);
  EXPECT_EQ(ChargesOn(Ward(2)), 4u);
  EXPECT_EQ(ChargesOn(Ward(1)), 4u);  // the data before are the same people
  const auto found = LedgerFile::Read(TheLedger());
  ASSERT_EQ(found->bindings.size(), 1u);
  EXPECT_EQ(found->bindings[0].reason, "patient 4711 was erased");
}

// Another name says that they are other data; a home that has charged knows better.
TEST_F(LedgerFolderTest, AHomeDoesNotChangeItsDataSetUnderAnotherName) {
  Charge("north", Ward(1), 0, 3);
  const Opened renamed = Open("north", Ward(2, "ward-2.csv"));
  EXPECT_EQ(renamed.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(renamed.status()), HasSubstr("counts 3 charges"));
  EXPECT_THAT(base::Message(renamed.status()), HasSubstr("tacet ledger rebind"));
  EXPECT_TRUE(Open("fresh", Ward(2, "ward-2.csv")).ok());
}

TEST_F(LedgerFolderTest, TwoLedgersOfOneDataSetAreNotMade) {
  Charge("north", Ward(1), 0, 1);
  Charge("west", Ward(2, "west.csv"), 0, 1);
  const auto folder = LedgerFolder::OpenExisting(folder_);
  const std::vector<fs::path> ledgers = LedgerFolder::LedgersIn(folder_).value();
  for (const fs::path& path : ledgers) {
    for (const uint8_t content : {uint8_t{1}, uint8_t{2}}) {
      EXPECT_EQ(folder->Rebind(path, Ward(content).digest, "x").code(),
                absl::StatusCode::kAlreadyExists);
    }
  }
}

// On the old code the ledger was silently begun again, with the whole budget.
TEST_F(LedgerFolderTest, ADeletedLedgerIsNotBegunAgain) {
  Charge("north", Ward(1), 0, 3);
  const fs::path path = TheLedger();
  fs::remove(path);
  for (const std::string home : {"north", "new-home"}) {
    EXPECT_THAT(base::Message(Open(home, Ward(1)).status()), HasSubstr("counts 3 charges"));
  }
  fs::remove(AnchorPath(path));
  EXPECT_THAT(base::Message(Open("north", Ward(1)).status()), HasSubstr("counts 3 charges"));
  fs::remove_all(folder_);  // with its key
  const Opened begun = Open("north", Ward(1));
  EXPECT_EQ(begun.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(begun.status()), HasSubstr("do not begin a new one"));
}

// On the old code an old copy of ledger and anchor was accepted.
TEST_F(LedgerFolderTest, AnOldCopyIsRefused) {
  Charge("north", Ward(1), 0, 2);
  Copy(TheLedger(), root_ / "backup");
  Charge("north", Ward(1), 2, 3);
  Copy(root_ / "backup", TheLedger());
  const Opened old = Open("north", Ward(1));
  EXPECT_EQ(old.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(old.status()), HasSubstr("it knows 3 records, the ledger has 2"));
}

// Each home goes on with a copy of its own. Neither is taken back where an anchor knows the other.
TEST_F(LedgerFolderTest, CopiedFoldersDoNotBothCount) {
  const fs::path share = root_ / "share", copy = root_ / "copy";
  Charge("north", Ward(1), 0, 2);
  Charge("other", Ward(1), 0, 1);
  fs::copy(share, copy, fs::copy_options::recursive);
  Charge("north", Ward(1), 2, 3);
  fs::rename(share, root_ / "norths");
  fs::rename(copy, share);
  Charge("other", Ward(1), 1, 2);
  EXPECT_THAT(base::Message(Open("north", Ward(1)).status()),
              HasSubstr("it knows another record 4 than the ledger has"));
  fs::rename(share, copy);
  fs::rename(root_ / "norths", share);
  EXPECT_THAT(base::Message(Open("other", Ward(1)).status()),
              HasSubstr("it knows another record 4 than the ledger has"));
}

TEST_F(LedgerFolderTest, KnowsTheLatestPolicyOfAllItsData) {
  const auto latest = [&] { return LedgerFolder::OpenExisting(folder_)->LatestPolicy().value(); };
  Charge("north", Ward(1), 0, 1);
  EXPECT_EQ(latest(), 0u);
  ASSERT_TRUE((*Open("north", Ward(1)))->AdoptPolicy({1}, 3).ok());
  ASSERT_TRUE((*Open("north", Ward(1)))->AdoptPolicy({2}, 5).ok());
  ASSERT_TRUE((*Open("west", Ward(2, "west.csv")))->AdoptPolicy({1}, 4).ok());
  EXPECT_EQ(latest(), 5u);
}

TEST_F(LedgerFolderTest, AKeyIsNotMadeBesideLedgers) {
  Charge("north", Ward(1), 0, 1);
  fs::remove(folder_ / "data.key");
  EXPECT_EQ(LedgerFolder::Open(folder_).status().code(), kRefused);
  EXPECT_EQ(LedgerFolder::OpenExisting(folder_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LedgerFolderTest, WhatIsAskedForMustBeTheLedgers) {
  const LedgerTerms terms{.unit = accounting::Unit::kRecord,
                          .delta = 1e-6,
                          .budget_epsilon = 3,
                          .composition = accounting::Composition::kOneEvent};
  ASSERT_TRUE(Open("north", Ward(1), terms).ok());
  const auto made = LedgerFile::Read(TheLedger());
  EXPECT_EQ(made->header.unit, accounting::Unit::kRecord);
  EXPECT_EQ(made->header.spending.budget_epsilon, 3);
  EXPECT_EQ(made->header.created, kNow);
  EXPECT_TRUE(Open("north", Ward(1)).ok());  // nothing is asked for
  EXPECT_TRUE(Open("north", Ward(1), terms).ok());
  EXPECT_THAT(base::Message(Open("north", Ward(1), {.budget_epsilon = 4}).status()),
              HasSubstr("was made with the budget 3 and is asked for with 4"));
  EXPECT_THAT(
      base::Message(
          Open("north", Ward(1), {.composition = accounting::Composition::kAnyEvents}).status()),
      HasSubstr("was made for one-event"));
  ASSERT_TRUE(Open("west", Ward(2, "west.csv")).ok());
  const auto any =
      Open("west", Ward(2, "west.csv"), {.composition = accounting::Composition::kAnyEvents});
  EXPECT_TRUE(any.ok()) << any.status();
}

// A damaged ledger of the folder may be the one of these data.
TEST_F(LedgerFolderTest, ADamagedLedgerStopsAll) {
  Charge("north", Ward(1), 0, 1);
  const fs::path path = TheLedger();
  { std::fstream(path, std::ios::in | std::ios::out).seekp(600).put('x'); }
  EXPECT_EQ(Open("west", Ward(2, "west.csv")).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(LedgerFolderTest, HomesThatStartAtOnceMakeOneKeyAndOneLedger) {
  std::vector<pid_t> children;
  for (int number = 0; number < 8; ++number) {
    const pid_t child = fork();
    if (child == 0) {
      Charge(std::string(1, static_cast<char>('a' + number)), Ward(1), 0, 5);
      _exit(HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(ChargesOn(Ward(1)), 40u);
  EXPECT_EQ(LedgerFolder::LedgersIn(folder_)->size(), 1u);
}

}  // namespace
}  // namespace tacet::storage::file
