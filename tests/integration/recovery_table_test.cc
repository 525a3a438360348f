// Plays every cell of the site's table in docs/deploy.md, section "Recovery": the fault happens to
// the file in a federation of a coordinator, a server and three sites, and what the cell says is
// enough to finish the training with nothing forgotten and nothing said twice.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/running_recovery_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;

class SiteRecoveryTest : public RunningRecoveryTest {
 protected:
  void PlaySite(const PlayedCell& cell);
  void PlayFullDisk(const PlayedCell& cell);
  // Whether north could not write the file while its disk was full.
  bool IsToldByCommand(const PlayedCell& cell);
  bool IsToldByRun(const PlayedCell& cell);
  void Play(const PlayedCell& cell) {
    SCOPED_TRACE(cell.Name());
    for (const bool cuts : {false, true}) {
      if (cuts && cell.fault != FileFault::kDamaged) break;
      cuts_ = cuts;
      PlaySite(cell);
      KillAll();
      environment_.clear();
    }
  }
};

bool SiteRecoveryTest::IsToldByCommand(const PlayedCell& cell) {
  const std::vector<std::string> join = {
      "client",     "join",       "federation/invitations/north-epoch-1.tacet",
      "--home",     "north",      "--coordinator",
      coordinator_, "--key-file", "north.key",
      "--accept"};
  const std::vector<std::string> request = {"client", "request", "--home",     "north",
                                            "--name", "north",   "--key-file", "north.key"};
  bool told = false;
  for (const auto& command : {join, request}) {
    if (command == request) fs::remove_all(path_ / "north");
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.begin(), TACET_PROGRAM);
    const auto variables = BrokenDisk("north", "BROKEN_FULL=" + cell.row->pattern());
    arguments.insert(arguments.begin(), variables.begin(), variables.end());
    std::ofstream(path_ / "full") << "";
    const Outcome outcome = Run("env", arguments);
    fs::remove(path_ / "full");
    if (outcome.exit_code == 0) continue;
    told = true;
    EXPECT_THAT(outcome.err, HasSubstr(kNoRoom));
    const Outcome again = Tacet(command);
    EXPECT_EQ(again.exit_code, 0) << again.err;
  }
  return told;
}

bool SiteRecoveryTest::IsToldByRun(const PlayedCell& cell) {
  environment_["north"] = BrokenDisk("north", "BROKEN_FULL=" + cell.row->pattern());
  std::ofstream(path_ / "full") << "";
  StartThese({"north", "south"});  // so that north has to do its part
  const auto is_told = [this] { return Read("north-stderr").find(kNoRoom) != std::string::npos; };
  EXPECT_TRUE(Comes([&] { return is_told() || HasEnded(running_.at("north")); }));
  fs::remove(path_ / "full");
  StartAll();
  ExpectDone();
  return is_told();
}

void SiteRecoveryTest::PlayFullDisk(const PlayedCell& cell) {
  const bool by_command = IsToldByCommand(cell);
  if (by_command) {
    EXPECT_EQ(cell.outcome(), kSameCommand);
    return;
  }
  // Some files are written when a site begins an epoch.
  bool told = false;
  for (const std::string& name : {CopyWith(*cell.row, "north"), std::string("joined")}) {
    if (told || (name == "joined" && cell.outcome() == kNever)) break;
    KillAll();
    PutBack(name);
    told = IsToldByRun(cell);
  }
  EXPECT_EQ(cell.outcome(), told ? kByItself : kNever);
}

void SiteRecoveryTest::PlaySite(const PlayedCell& cell) {
  std::string name = CopyWith(*cell.row, "north");
  ASSERT_FALSE(name.empty()) << "a site has no such file";
  PutBack(name);
  if (cell.fault == FileFault::kFullDisk) return PlayFullDisk(cell);
  if (cell.fault == FileFault::kWrongOwner) RunAsOther("north");
  bool injected = Inject(cell, name, "north");
  if (!injected && cell.fault == FileFault::kOlder) {  // at the end it has changed if it ever does
    name = "done";
    PutBack(name);
    injected = Inject(cell, name, "north");
  }
  EXPECT_EQ(injected, cell.outcome() != kNever) << "it happens: " << injected;
  if (!injected) return;
  StartServer(server_flags_);
  StartSite("north");
  if (cell.outcome() != kByItself) {
    const std::vector<std::string> files = FilesOf(*cell.row, Kept(name, "north"));
    std::string command = cell.outcome().substr(1, cell.outcome().find(" FILE") - 1);
    if (cell.outcome() == kRestore) command = "";
    if (command.starts_with("chown")) command = "chown ";
    if (command.ends_with("`")) command.pop_back();
    if (command == "rm -r state") command = "rm -r ";
    const auto is_told = [&] {
      const std::string err = Read("north-stderr");
      const bool is_named = std::ranges::any_of(files, [&](const std::string& file) {
        return err.find("north/" + file) != std::string::npos;
      });
      return is_named && err.find(command) != std::string::npos;
    };
    ASSERT_TRUE(Comes([&] { return is_told() || HasEnded(running_.at("north")); }));
    EXPECT_TRUE(is_told()) << Read("north-stderr");
    if (Read("north-stderr").find("trying again") == std::string::npos) {
      ASSERT_TRUE(Comes([&] { return HasEnded(running_.at("north")); }));
      EXPECT_EQ(WaitFor(running_.at("north"), "north-").exit_code, 1);
      running_.erase("north");
    }
    ASSERT_NO_FATAL_FAILURE(Repair(cell, name, "north"));
  }
  StartAll();
  ExpectDone();
}

// A file that no row is about, and a row that no file belongs to, are found.
TEST_F(SiteRecoveryTest, ASitesFilesHaveTheirRowsAndAFewCellsAreTrue) {
  std::set<std::string> files;
  for (const std::string name : {"voting", "shared", "done"})
    files.merge(FilesIn(Kept(name, "north")));
  size_t restored = 0, cells = 0;
  for (const RecoveryRow& row : Tables().at("site")) {
    EXPECT_FALSE(CopyWith(row, "north").empty()) << "a site has no " << row.file;
    restored += static_cast<size_t>(std::ranges::count(row.outcomes, kRestore));
    cells += row.outcomes.size();
    if (!row.is_folder()) std::erase_if(files, [&](const auto& file) { return row.Matches(file); });
  }
  EXPECT_THAT(files, ::testing::IsEmpty()) << "docs/deploy.md has no row for them";
  EXPECT_LE(4 * restored, cells);
  for (const PlayedCell& cell : DrawnCells("site", 3)) Play(cell);
}

class WholeColumnTest : public SiteRecoveryTest, public ::testing::WithParamInterface<FileFault> {
 protected:
  void SetUp() override {
    if (Cells() == 0) GTEST_SKIP() << "the long tests play all cells";
    SiteRecoveryTest::SetUp();
  }
};

TEST_P(WholeColumnTest, IsTrueOfASite) {
  for (const PlayedCell& cell : CellsOf("site", GetParam())) Play(cell);
}

INSTANTIATE_TEST_SUITE_P(Faults, WholeColumnTest,
                         ::testing::Values(FileFault::kLost, FileFault::kDamaged, FileFault::kOlder,
                                           FileFault::kFullDisk, FileFault::kWrongOwner),
                         NameOfFault);

}  // namespace
}  // namespace tacet::app
