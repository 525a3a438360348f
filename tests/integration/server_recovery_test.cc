// Plays every cell of the server's table in docs/deploy.md, section "Recovery", as
// recovery_table_test.cc does for a site.
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

class ServerRecoveryTest : public RunningRecoveryTest {
 protected:
  void Play(const PlayedCell& cell) {
    SCOPED_TRACE(cell.Name());
    for (const bool cuts : {false, true}) {
      if (cuts && cell.fault != FileFault::kDamaged) break;
      cuts_ = cuts;
      cell.fault == FileFault::kFullDisk ? PlayFullDisk(cell) : PlayFault(cell);
      KillAll();
      environment_.clear();
    }
  }

  bool IsToldOf(const PlayedCell& cell) const {
    const std::string said = Said();
    const std::string command = cell.outcome() == kRestore
                                    ? "backup"
                                    : cell.outcome().substr(0, cell.outcome().find_first_of("FU"));
    // A blob's name follows from the member, so no message has it.
    const bool of_blobs = cell.row->file.starts_with("blobs/");
    const bool of_mail = cell.row->file.starts_with("mail/");
    const bool is_named = cell.outcome() == kBeginEpoch ||
                          (of_blobs && said.find("hub/blobs") != said.npos) ||
                          (of_mail && said.find("hub/mail") != said.npos) ||
                          std::ranges::any_of(files_, [&](const std::string& file) {
                            return said.find("hub/" + file) != std::string::npos;
                          });
    return is_named && said.find(command) != std::string::npos;
  }
  void PlayFault(const PlayedCell& cell) {
    // Objects of an attempt that is unmasking, and that nobody has any more, are waited for.
    const bool of_blobs = cell.row->file.starts_with("blobs/");
    const std::string name = of_blobs ? "shared" : CopyWith(*cell.row, "hub");
    ASSERT_FALSE(name.empty()) << "a server has no such file";
    PutBack(name);
    files_ = FilesOf(*cell.row, Kept(name, "hub"));
    if (cell.fault == FileFault::kWrongOwner) RunAsOther("hub");
    bool injected = Inject(cell, name, "hub");
    if (cell.row->is_folder() && cell.fault == FileFault::kOlder) {
      CopyOver(Kept("older", "hub") / cell.row->file, path_ / "hub" / cell.row->file);
      injected = true;
    }
    EXPECT_EQ(injected, cell.outcome() != kNever) << "it happens: " << injected;
    if (!injected) return;
    BeginAnyServer();
    for (const std::string& site : sites_) StartSite(site);
    if (cell.outcome() != kByItself) {
      ASSERT_TRUE(Comes([&] { return IsToldOf(cell) || HasEnded(server_); })) << Said();
      EXPECT_TRUE(IsToldOf(cell)) << Said();
      KillAll();
      ASSERT_NO_FATAL_FAILURE(RepairServer(cell, name));
      BeginAnyServer();
      for (const std::string& site : sites_) StartSite(site);
    }
    ExpectDone(cell.outcome() == kBeginEpoch ? "rollback" : "");
    if (!cell.row->file.starts_with("mail/") || !cell.row->file.ends_with(".whole")) return;
    for (const std::string& file : files_) {  // the sites' prekeys, which they have left again
      EXPECT_TRUE(ReadAll(path_ / "hub" / file) == ReadAll(Kept(name, "hub") / file)) << file;
    }
  }
  void RepairServer(const PlayedCell& cell, const std::string& name) {
    if (cell.outcome() != kBeginEpoch) return Repair(cell, name, "hub");
    for (const std::string& site : sites_) Renew(site);
    const Outcome rotated = Rotate();
    ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
    for (const std::string who : {"north", "south", "west", "hub"}) Accept(who, 2);
    // A damaged one does not open.
    for (const std::string& file : FilesIn(path_ / "hub")) {
      if (file.starts_with("server.sqlite")) fs::remove(path_ / "hub" / file);
    }
  }
  void PlayFullDisk(const PlayedCell& cell) {
    // In this copy north has a letter to leave.
    const bool of_mail = cell.row->file == "mail/";
    PutBack(of_mail ? "shared" : CopyWith(*cell.row, "hub"));
    if (of_mail) fs::remove_all(path_ / "hub/mail");
    const std::vector<std::string> join = {
        TACET_PROGRAM, "client", "join",          "federation/invitations/hub-epoch-1.tacet",
        "--home",      "hub",    "--coordinator", coordinator_,
        "--key-file",  "hub.key"};
    const std::vector<std::string> request = {
        TACET_PROGRAM, "client",     "request", "--home",        "fresh",    "--name",
        "hub",         "--key-file", "hub.key", "--server-host", "localhost"};
    bool told = false;
    for (const auto& command : {join, request}) {
      fs::remove_all(path_ / "fresh");
      std::vector<std::string> arguments =
          BrokenDisk(command == join ? "hub" : "fresh", "BROKEN_FULL=" + cell.row->pattern());
      arguments.insert(arguments.end(), command.begin(), command.end());
      std::ofstream(path_ / "full") << "";
      const Outcome outcome = Run("env", arguments);
      fs::remove(path_ / "full");
      if (outcome.exit_code == 0) continue;
      told = true;
      EXPECT_THAT(outcome.err, HasSubstr(kNoRoom));
      const Outcome again = Run("env", command);
      EXPECT_EQ(again.exit_code, 0) << again.err;
    }
    if (told) {
      EXPECT_EQ(cell.outcome(), kSameCommand);
      return;
    }
    environment_["hub"] = BrokenDisk("hub", "BROKEN_FULL=" + cell.row->pattern());
    std::ofstream(path_ / "full") << "";
    BeginAnyServer();
    for (const std::string& site : sites_) StartSite(site);
    const auto is_told = [this] {
      const std::string said = Said();
      return said.find(kNoRoom) != std::string::npos || said.find("disk is full") != said.npos;
    };
    ASSERT_TRUE(Comes([&] {
      return is_told() || std::ranges::all_of(sites_, [this](const std::string& site) {
               return HasEnded(running_.at(site));
             });
    }));
    EXPECT_EQ(cell.outcome(), is_told() ? kByItself : kNever) << Said();
    fs::remove(path_ / "full");
    // One that cannot begin ends, and what supervises it starts it again.
    ASSERT_TRUE(Comes([this] { return HasEnded(server_) || Event("listening").has_value(); }));
    if (HasEnded(server_)) {
      WaitFor(server_, "server-");
      BeginAnyServer();
    }
    ExpectDone();
  }

  void PlayBackups();

  static constexpr std::string_view kBeginEpoch = "`tacet federation rotate`";
  std::vector<std::string> files_;  // to which the fault happens
};

// Coordinator, server and one site keep what the tables say to restore, and lose the rest at once.
void ServerRecoveryTest::PlayBackups() {
  PutBack("shared");
  HoldBefore(3);
  StartAll();
  AwaitRounds(sites_, 3);
  KillAll();
  Keep("three rounds");
  LetGo();
  for (const auto& [party, home] : std::vector<std::pair<std::string, std::string>>{
           {"coordinator", "federation"}, {"server", "hub"}, {"site", "north"}}) {
    fs::remove_all(path_ / home);
    fs::create_directory(path_ / home);
    Own(path_ / home, ::geteuid());
    for (const RecoveryRow& row : Tables().at(party)) {
      if (!row.IsBackedUp()) continue;
      for (const std::string& file : FilesOf(row, Kept("three rounds", home))) {
        if (fs::exists(path_ / home / file)) continue;
        fs::create_directories((path_ / home / file).parent_path());
        fs::copy_file(Kept("three rounds", home) / file, path_ / home / file);
      }
    }
  }
  fs::create_directory(path_ / "federation/invitations");
  fs::copy_file(path_ / "south/invitation", path_ / "federation/invitations/south-epoch-1.tacet");
  Request("north");
  Request("hub", {"--server-host", "localhost", "--server-host", "127.0.0.1"});
  for (const std::string who : {"north", "hub"}) {
    const Outcome enrolled = Tacet({"federation", "enrol", who, "--request",
                                    who + "/" + who + ".request", "--key-file", "c.key"});
    ASSERT_EQ(enrolled.exit_code, 0) << enrolled.err;
  }
  for (const std::string site : {"south", "west"}) Renew(site);
  const Outcome rotated = Rotate();
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  for (const std::string who : {"north", "south", "west", "hub"}) Accept(who, 2);
  StartAll();
  ExpectDone();
}

TEST_F(ServerRecoveryTest, ItsFilesHaveTheirRowsAndAFewCellsAreTrue) {
  std::set<std::string> files;
  for (const std::string name : {"voting", "shared", "done"})
    files.merge(FilesIn(Kept(name, "hub")));
  for (const RecoveryRow& row : Tables().at("server")) {
    EXPECT_FALSE(CopyWith(row, "hub").empty()) << "a server has no " << row.file;
    if (!row.is_folder()) std::erase_if(files, [&](const auto& file) { return row.Matches(file); });
  }
  // Objects that were arriving when the power failed: the server deletes them when it begins.
  std::erase_if(files, [](const std::string& file) { return file.ends_with(".part"); });
  EXPECT_THAT(files, ::testing::IsEmpty()) << "docs/deploy.md has no row for them";
  for (const PlayedCell& cell : DrawnCells("server", 1)) Play(cell);
  for (const PlayedCell& cell : CellsOf("server", FileFault::kDamaged)) {
    if (cell.row->file == "mail/*.whole") Play(cell);
  }
  PlayBackups();
}

class WholeServerColumnTest : public ServerRecoveryTest,
                              public ::testing::WithParamInterface<FileFault> {
 protected:
  void SetUp() override {
    if (Cells() == 0) GTEST_SKIP() << "the long tests play all cells";
    ServerRecoveryTest::SetUp();
  }
};

TEST_P(WholeServerColumnTest, IsTrue) {
  for (const PlayedCell& cell : CellsOf("server", GetParam())) Play(cell);
}

INSTANTIATE_TEST_SUITE_P(Faults, WholeServerColumnTest,
                         ::testing::Values(FileFault::kLost, FileFault::kDamaged, FileFault::kOlder,
                                           FileFault::kFullDisk, FileFault::kWrongOwner),
                         NameOfFault);

}  // namespace
}  // namespace tacet::app
