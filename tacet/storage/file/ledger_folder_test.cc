#include "tacet/storage/file/ledger_folder.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <sys/stat.h>
#include <unistd.h>

#include "tacet/base/child_for_test.h"
#include "tacet/base/damaged_file_for_test.h"
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

constexpr std::string_view kMain = ledger::kMainPopulation;

class LedgerFolderTest : public ::testing::Test {
 protected:
  using Opened = absl::StatusOr<std::unique_ptr<PrivacyLedger>>;

  // As a site's home does that takes part in a federation, whatever its data are.
  Opened Open(const std::string& home, std::string_view population = kMain,
              const LedgerTerms& terms = {}) {
    fs::create_directories(root_ / home);
    TACET_ASSIGN_OR_RETURN(const LedgerFolder folder, LedgerFolder::Open(folder_));
    TACET_ASSIGN_OR_RETURN(
        ledger::OpenedLedger opened,
        folder.OpenOrCreate(population, terms, {root_ / home / "ledger.anchor"}, kNow));
    return PrivacyLedger::Create(std::move(opened));
  }
  // Rounds `from` to `to` of a federation of its own for each home.
  void Charge(const std::string& home, uint32_t from, uint32_t to,
              std::string_view population = kMain) {
    const Opened ledger = Open(home, population);
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    ledger::AttemptCost cost = Cost();
    cost.federation[0] = cost.manifest_hash[0] = static_cast<uint8_t>(home.front());
    for (uint32_t round = from; round < to; ++round) {
      const absl::Status charged = (*ledger)->ChargeForSealing(cost, {0, round, 0});
      ASSERT_TRUE(charged.ok()) << charged;
    }
  }
  size_t ChargesOn(std::string_view population) {
    const Opened ledger = Open("reader-of-" + std::string(population), population);
    EXPECT_TRUE(ledger.ok()) << ledger.status();
    return ledger.ok() ? (*ledger)->entries().size() : 0;
  }
  fs::path LedgerOf(std::string_view population) const {
    return folder_ / (std::string(population) + ".ledger");
  }
  fs::path TheLedger() const {
    const auto ledgers = LedgerFolder::LedgersIn(folder_);
    EXPECT_EQ(ledgers->size(), 1u);
    EXPECT_EQ(ledgers->front(), LedgerOf(kMain));
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

// Two homes that join two federations: their charges add up. On the old code, other rows under
// another name were a new ledger with the whole budget. Here, no table has a say.
TEST_F(LedgerFolderTest, OneLedgerWhicheverHomeSpendsIt) {
  Charge("north", 0, 3);
  Charge("other", 0, 2);
  EXPECT_EQ(ChargesOn(kMain), 5u);
  EXPECT_EQ(LedgerFolder::LedgersIn(folder_)->size(), 1u);
  struct stat info {};
  ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(LedgerFolderTest, AnotherPopulationHasALedgerAndAnAnchorOfItsOwn) {
  Charge("north", 0, 3);
  Charge("staff-home", 0, 1, "staff");
  EXPECT_EQ(ChargesOn(kMain), 3u);
  EXPECT_EQ(ChargesOn("staff"), 1u);
  EXPECT_TRUE(fs::exists(AnchorPath(LedgerOf("staff"))));
  // Alike but for population and identity, which makes each anchor one of one ledger.
  EXPECT_NE(LedgerFile::Read(LedgerOf(kMain))->header.identity,
            LedgerFile::Read(LedgerOf("staff"))->header.identity);
}

// A home with the anchor of another population, also of one that was never charged, which would
// hide a deleted ledger.
TEST_F(LedgerFolderTest, AnAnchorOfAnotherPopulationIsRefused) {
  Charge("north", 0, 3);
  ASSERT_TRUE(Open("staff-home", "staff").ok());
  const auto put = [&](const std::string& from, const std::string& to) {
    fs::copy_file(root_ / from / "ledger.anchor", root_ / to / "ledger.anchor",
                  fs::copy_options::overwrite_existing);
  };
  for (const bool deleted : {false, true}) {
    if (deleted) fs::remove_all(folder_);
    put("staff-home", "north");
    const Opened opened = Open("north");
    EXPECT_EQ(opened.status().code(), kRefused);
    EXPECT_THAT(base::Message(opened.status()),
                HasSubstr("is an anchor of the population \"staff\", not of \"main\""));
  }
}

// A home cannot begin again as another population: what it has charged stays with it.
TEST_F(LedgerFolderTest, AHomeChargesOnePopulation) {
  Charge("north", 0, 3);
  const Opened opened = Open("north", "staff");
  EXPECT_EQ(opened.status().code(), kRefused);
  EXPECT_THAT(base::Message(opened.status()), HasSubstr("A home charges one population"));
  EXPECT_FALSE(fs::exists(LedgerOf("staff")));
}

// The ledger of one population in another's place, with its anchor.
TEST_F(LedgerFolderTest, ALedgerUnderAnothersNameIsRefused) {
  Charge("north", 0, 3);
  Charge("staff-home", 0, 1, "staff");
  Copy(LedgerOf("staff"), LedgerOf(kMain));
  for (const std::string home : {"north", "fresh"}) {
    const Opened opened = Open(home);
    EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(base::Message(opened.status()),
                HasSubstr("is the ledger of the population \"staff\""));
  }
}

// A folder from before populations keeps what it knows.
TEST_F(LedgerFolderTest, ALedgerOfAnEarlierVersionStopsAll) {
  Charge("north", 0, 1);
  fs::create_directories(folder_);
  const std::string old = (folder_ / std::string(32, 'a')).string() + ".ledger";
  for (const std::string ending : {"", ".anchor"}) {
    fs::copy_file(LedgerOf(kMain).string() + ending, old + ending);
    std::fstream(old + ending, std::ios::in | std::ios::out).seekp(4).put(1);
  }
  const Opened opened = Open("fresh");
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(opened.status()), HasSubstr("field `version` is 1"));
}

// On the old code the ledger was silently begun again, with the whole budget.
TEST_F(LedgerFolderTest, ADeletedLedgerIsNotBegunAgain) {
  Charge("north", 0, 3);
  const fs::path path = TheLedger();
  fs::remove(path);
  for (const std::string home : {"north", "new-home"}) {
    EXPECT_THAT(base::Message(Open(home).status()), HasSubstr("counts 3 charges"));
  }
  fs::remove(AnchorPath(path));
  EXPECT_THAT(base::Message(Open("north").status()), HasSubstr("counts 3 charges"));
  fs::remove_all(folder_);
  const Opened begun = Open("north");
  EXPECT_EQ(begun.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(begun.status()), HasSubstr("do not begin a new one"));
}

// On the old code an old copy of ledger and anchor was accepted.
TEST_F(LedgerFolderTest, AnOldCopyIsRefused) {
  Charge("north", 0, 2);
  Copy(TheLedger(), root_ / "backup");
  Charge("north", 2, 3);
  Copy(root_ / "backup", TheLedger());
  const Opened old = Open("north");
  EXPECT_EQ(old.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(old.status()), HasSubstr("it knows 3 records, the ledger has 2"));
}

// Each home continues with its own copy. Neither is taken back where an anchor knows the other.
TEST_F(LedgerFolderTest, CopiedFoldersDoNotBothCount) {
  const fs::path share = root_ / "share", copy = root_ / "copy";
  Charge("north", 0, 2);
  Charge("other", 0, 1);
  fs::copy(share, copy, fs::copy_options::recursive);
  Charge("north", 2, 3);
  fs::rename(share, root_ / "norths");
  fs::rename(copy, share);
  Charge("other", 1, 2);
  EXPECT_THAT(base::Message(Open("north").status()),
              HasSubstr("it knows another record 4 than the ledger has"));
  fs::rename(share, copy);
  fs::rename(root_ / "norths", share);
  EXPECT_THAT(base::Message(Open("other").status()),
              HasSubstr("it knows another record 4 than the ledger has"));
}

TEST_F(LedgerFolderTest, KnowsTheLatestPolicyOfAllItsPopulations) {
  const auto latest = [&] { return LedgerFolder::Open(folder_)->LatestPolicy().value(); };
  Charge("north", 0, 1);
  EXPECT_EQ(latest(), 0u);
  ASSERT_TRUE((*Open("north"))->AdoptPolicy({1}, 3).ok());
  ASSERT_TRUE((*Open("north"))->AdoptPolicy({2}, 5).ok());
  ASSERT_TRUE((*Open("west", "west"))->AdoptPolicy({1}, 4).ok());
  EXPECT_EQ(latest(), 5u);
}

TEST_F(LedgerFolderTest, WhatIsAskedForMustBeTheLedgers) {
  const LedgerTerms terms{.unit = accounting::Unit::kRecord,
                          .delta = 1e-6,
                          .budget_epsilon = 3,
                          .composition = accounting::Composition::kOneEvent};
  ASSERT_TRUE(Open("north", kMain, terms).ok());
  const auto made = LedgerFile::Read(TheLedger());
  EXPECT_EQ(made->header.unit, accounting::Unit::kRecord);
  EXPECT_EQ(made->header.spending.budget_epsilon, 3);
  EXPECT_EQ(made->header.created, kNow);
  EXPECT_TRUE(Open("north").ok());  // nothing is asked for
  EXPECT_TRUE(Open("north", kMain, terms).ok());
  EXPECT_THAT(base::Message(Open("north", kMain, {.budget_epsilon = 4}).status()),
              HasSubstr("was made with the budget 3 and is asked for with 4"));
  EXPECT_THAT(
      base::Message(
          Open("north", kMain, {.composition = accounting::Composition::kAnyEvents}).status()),
      HasSubstr("was made for one-event"));
  ASSERT_TRUE(Open("west", "west").ok());
  const auto any = Open("west", "west", {.composition = accounting::Composition::kAnyEvents});
  EXPECT_TRUE(any.ok()) << any.status();
}

TEST_F(LedgerFolderTest, ADamagedLedgerStopsAll) {
  Charge("north", 0, 1);
  const fs::path path = TheLedger();
  base::FlipBit(path, 600);
  EXPECT_EQ(Open("west", "west").status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(LedgerFolderTest, HomesThatStartAtOnceMakeOneLedger) {
  std::vector<base::Child> children;
  for (int number = 0; number < 8; ++number) {
    children.emplace_back([&](int) {
      Charge(std::string(1, static_cast<char>('a' + number)), 0, 5);
      return HasFailure() ? 1 : 0;
    });
  }
  for (base::Child& child : children) EXPECT_EQ(child.ExitCode(), 0);
  EXPECT_EQ(ChargesOn(kMain), 40u);
  EXPECT_EQ(LedgerFolder::LedgersIn(folder_)->size(), 1u);
}

// Processes that begin with one new home at the same time, half of them for another population,
// before anything is charged: the home charges one population, whichever is first.
TEST_F(LedgerFolderTest, AHomeThatStartsTwiceAtOnceChargesOnePopulation) {
  for (int again = 0; again < 5; ++again) {
    fs::remove_all(root_);
    int gate[2];
    ASSERT_EQ(::pipe(gate), 0);
    std::vector<base::Child> children;
    for (int number = 0; number < 6; ++number) {
      children.emplace_back([&](int) {
        ::close(gate[1]);
        char end;
        (void)!::read(gate[0], &end, 1);  // until the gate is closed
        const Opened ledger = Open("north", number % 2 == 0 ? kMain : "staff");
        const bool as_said = ledger.ok() || ledger.status().code() == kRefused;
        return !as_said ? 2 : ledger.ok() ? number % 2 : 3;
      });
    }
    ::close(gate[0]);
    ::close(gate[1]);
    std::map<int, int> ended;
    for (base::Child& child : children) ++ended[child.ExitCode()];
    EXPECT_EQ(ended[2], 0);
    EXPECT_EQ(ended[3], 3) << "refused";
    EXPECT_TRUE((ended[0] == 3) != (ended[1] == 3));
    EXPECT_EQ(LedgerFolder::LedgersIn(folder_)->size(), 1u);
    EXPECT_TRUE(fs::exists(LedgerOf(ended[0] == 3 ? kMain : "staff")));
  }
}

}  // namespace
}  // namespace tacet::storage::file
