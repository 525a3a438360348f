// Plays every cell of the tables in docs/deploy.md, section "Recovery": the fault happens to the
// file in a federation of a coordinator, a server and three sites, and what the cell says is enough
// to finish the training with nothing forgotten and nothing said twice.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tacet/base/test_size_for_test.h"
#include "tests/integration/broken_disk_for_test.h"
#include "tests/integration/live_federation_for_test.h"
#include "tests/integration/recovery_table_for_test.h"

namespace tacet::app {
namespace {

namespace fs = std::filesystem;

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr char kNoRoom[] = "No space left on device";
constexpr uid_t kOtherUser = 65534;

// Cells that are played of each fault; none: a few of all faults.
int Cells() { return base::TestSize("TACET_CELLS", 0); }

const RecoveryTables& Tables() {
  static const RecoveryTables tables = ReadRecoveryTables(TACET_SOURCE_DIR "/docs/deploy.md");
  return tables;
}

// Files below a folder, by their path in it.
std::set<std::string> FilesIn(const fs::path& folder) {
  std::set<std::string> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.insert(entry.path().lexically_relative(folder).string());
  }
  return files;
}

std::vector<std::string> FilesOf(const RecoveryRow& row, const fs::path& folder) {
  std::vector<std::string> files;
  for (const std::string& file : FilesIn(folder)) {
    if (row.Matches(file)) files.push_back(file);
  }
  return files;
}

void CopyOver(const fs::path& from, const fs::path& to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
}

// A byte in the middle is another one, or the second half is missing.
void Damage(const fs::path& file, bool cut) {
  std::string bytes = ReadAll(file);
  if (bytes.empty()) {
    bytes = "?";
  } else if (cut) {
    bytes.resize(bytes.size() / 2);
  } else {
    bytes[bytes.size() / 2] ^= 0x55;
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

// What root's `cp` would leave. Where this test is not root, a file that nobody may read is as
// good.
void Disown(const fs::path& file) {
  if (::geteuid() == 0) {
    EXPECT_EQ(::chown(file.c_str(), 0, 0), 0) << std::strerror(errno);
  }
  EXPECT_EQ(::chmod(file.c_str(), ::geteuid() == 0 ? 0600 : 0), 0) << std::strerror(errno);
}

void Own(const fs::path& file, uid_t user) {
  const bool is_folder = fs::is_directory(file);
  EXPECT_EQ(::chmod(file.c_str(), is_folder ? 0700 : 0600), 0) << std::strerror(errno);
  if (::geteuid() == 0) {
    EXPECT_EQ(::chown(file.c_str(), user, user), 0) << std::strerror(errno);
  }
}

void OwnAll(const fs::path& folder, uid_t user) {
  Own(folder, user);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) Own(entry.path(), user);
}

struct PlayedCell {
  const RecoveryRow* row = nullptr;
  FileFault fault = FileFault::kLost;
  const std::string& outcome() const { return row->outcomes[static_cast<size_t>(fault)]; }
  std::string Name() const {
    return fmt::format("{}, {}: {}", row->file, kFileFaultNames[static_cast<size_t>(fault)],
                       outcome());
  }
};

std::vector<PlayedCell> CellsOf(const std::string& party, FileFault fault) {
  std::vector<PlayedCell> cells;
  for (const RecoveryRow& row : Tables().at(party)) cells.push_back({&row, fault});
  return cells;
}

// A few cells of all faults.
std::vector<PlayedCell> DrawnCells(const std::string& party, size_t count) {
  std::vector<PlayedCell> cells;
  for (size_t fault = 0; fault < kFileFaultNames.size(); ++fault) {
    for (const PlayedCell& cell : CellsOf(party, static_cast<FileFault>(fault))) {
      if (cell.outcome() != kNever) cells.push_back(cell);
    }
  }
  std::mt19937 random(2026);
  std::ranges::shuffle(cells, random);
  cells.resize(std::min(cells.size(), count));
  return cells;
}

class RecoveryTest : public LiveFederationTest {
 protected:
  RecoveryTest() : LiveFederationTest(4) {
    server_flags_.insert(server_flags_.end(), {"--collecting-seconds", "1"});
  }

  std::vector<std::string> BrokenDisk(const std::string& who, const std::string& variable) const {
    return BrokenDiskOf(path_ / who, {variable, "BROKEN_SWITCH=" + (path_ / "full").string()});
  }

  // Copies of all folders.
  fs::path Kept(const std::string& name, const std::string& who) const {
    return path_ / "kept" / name / who;
  }
  void Keep(const std::string& name) {
    for (const std::string& who : everybody_) {
      fs::create_directories(path_ / "kept" / name);
      CopyOver(path_ / who, Kept(name, who));
    }
  }
  void PutBack(const std::string& name) {
    for (const std::string& who : everybody_) {
      CopyOver(Kept(name, who), path_ / who);
      OwnAll(path_ / who, ::geteuid());
    }
  }

  static bool HasEnded(pid_t process) {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
  }
  // Waits as long as a person would; false when it does not come.
  static bool Comes(const std::function<bool()>& condition) {
    for (int i = 0; i < 6000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  void KillAll() {
    for (const auto& [site, process] : running_) {
      ::kill(process, SIGKILL);
      WaitFor(process, site + "-");
    }
    running_.clear();
    if (server_ <= 0) return;
    ::kill(server_, SIGKILL);
    WaitFor(std::exchange(server_, 0), "server-");
  }
  // All are done, with one model, and nobody forgot a charge or said anything twice.
  void ExpectDone() {
    for (const std::string& site : sites_) {
      ASSERT_TRUE(Comes([&] { return HasEnded(running_.at(site)); }))
          << site << " goes on: " << Read(site + "-stderr");
      const Outcome ended = WaitFor(running_.at(site), site + "-");
      running_.erase(site);
      ASSERT_EQ(ended.exit_code, 0) << site << ": " << ended.err;
      auto json = base::JsonValue::Parse(ended.out);
      ASSERT_TRUE(json.ok()) << ended.out;
      EXPECT_EQ(Number(*json, "rounds"), rounds_);
      told_.insert_or_assign(site, *std::move(json));
    }
    // A site that was killed when the first epoch ended need not have heard of its last attempt.
    ExpectOneModelAndNothingSaidTwice(false);
    ExpectNoViolations();
  }
  void StartThese(const std::vector<std::string>& sites) {
    if (server_ <= 0) StartServer(server_flags_);
    for (const std::string& site : sites) {
      if (!running_.contains(site)) StartSite(site);
    }
  }
  void StartAll() { StartThese(sites_); }

  std::vector<std::string> everybody_ = {"north", "south", "west", "hub", "federation"};
};

// North has a policy. The training is in its second epoch, and north is a seat that has voted. West
// is absent until then. The others are the two seats that a quorum needs, so no round ends without
// north, however fast it is.
class RunningRecoveryTest : public RecoveryTest {
 protected:
  void SetUp() override {
    SetUpFolders();
    PinPolicy();
    BeginServer();
    ASSERT_TRUE(RunUntil("make state/0-1-*.upload.new"));
    Keep("older");
    for (const std::string& site : sites_) Renew(site);
    const Outcome rotated = Rotate();
    ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
    for (const std::string who : {"north", "south", "west", "hub"}) Accept(who, 1);
    ASSERT_TRUE(RunUntil("make state/*.share.new"));
    Keep("voting");
    ASSERT_TRUE(RunUntil("delete state/*.share"));
    const Outcome renewed =
        Tacet({"client", "renew", "--home", "north", "--key-file", "north.key"});
    ASSERT_EQ(renewed.exit_code, 0) << renewed.err;
    Keep("shared");
    environment_.clear();
    StartAll();
    ExpectDone();
    KillAll();
    Keep("done");
  }
  void TearDown() override {
    KillAll();
    RecoveryTest::TearDown();
  }

  void PinPolicy() {
    const Outcome made =
        Tacet({"client", "policy", "key", "officer.key", "--key-file", "officer.unlock"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const size_t begins = made.out.find_first_not_of(' ', made.out.find(' '));
    WriteConfig(fmt::format(R"(
[policy]
sites = ["north"]
serial = 1
[privacy]
epsilon_per_year = 1e6
delta = 1e-5
units = ["client"]
[federation]
min_participants = 2
committee_seats = 3
committee_corrupt = 0
[data]
records = 5
columns = ["*"]
[training]
kinds = ["training"]
[ledger]
folder = "{}"
)",
                            (path_ / "north/ledger").string()),
                "north/policy.toml");
    const std::string fingerprint = made.out.substr(begins, made.out.find('\n') - begins);
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"client", "policy", "sign", "north/policy.toml", "--officer", "officer.key",
              "--key-file", "officer.unlock"},
             {"client", "policy", "pin", fingerprint, "--home", "north", "--key-file",
              "north.key"}}) {
      const Outcome done = Tacet(arguments);
      ASSERT_EQ(done.exit_code, 0) << done.err;
    }
  }
  // Without west, until north is about to do this. Then the power fails everywhere. False when
  // north ends before.
  bool RunUntil(const std::string& step) {
    environment_["north"] = BrokenDisk("north", "BROKEN_STOP=" + step);
    StartThese({"north", "south"});
    int status = 0;
    const bool stopped = AwaitStop(running_.at("north"), status);
    if (!stopped) running_.erase("north");
    KillAll();
    return stopped;
  }
  // The first copy that has the file.
  std::string CopyWith(const RecoveryRow& row, const std::string& who) const {
    for (const std::string name : {"voting", "shared", "done"}) {
      if (!FilesOf(row, Kept(name, who)).empty()) return name;
    }
    return "";
  }

  // False when the fault cannot happen.
  bool Inject(const PlayedCell& cell, const std::string& name, const std::string& who) const {
    bool injected = false;
    for (const std::string& file : FilesOf(*cell.row, Kept(name, who))) {
      const fs::path path = path_ / who / file, older = Kept("older", who) / file;
      switch (cell.fault) {
        case FileFault::kLost:
          injected |= fs::remove(path);
          break;
        case FileFault::kDamaged:
          if (cell.row->is_folder()) break;  // its files are
          Damage(path, cuts_);
          injected = true;
          break;
        case FileFault::kOlder:
          if (!fs::exists(older) || ReadAll(older) == ReadAll(path)) break;
          fs::copy_file(older, path, fs::copy_options::overwrite_existing);
          injected = true;
          break;
        case FileFault::kFullDisk:
          break;
        case FileFault::kWrongOwner:
          Disown(path);
          injected = true;
          break;
      }
    }
    const bool is_whole = cell.row->is_folder() && cell.fault == FileFault::kLost;
    if (is_whole) fs::remove_all(path_ / who / cell.row->file);
    return injected;
  }
  // The party's processes are not root's.
  void RunAsOther(const std::string& who) {
    if (::geteuid() != 0) return;
    ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
    OwnAll(path_ / who, kOtherUser);
    Own(path_ / (who + ".key"), kOtherUser);
    environment_[who] = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env"};
  }
  void Repair(const PlayedCell& cell, const std::string& name, const std::string& who) {
    const std::string& command = cell.outcome();
    if (command == kRestore) {
      for (const std::string& file : FilesOf(*cell.row, Kept(name, who))) {
        fs::create_directories((path_ / who / file).parent_path());
        fs::copy_file(Kept(name, who) / file, path_ / who / file,
                      fs::copy_options::overwrite_existing);
        Own(path_ / who / file, ::geteuid());
        Own((path_ / who / file).parent_path(), ::geteuid());
      }
    } else if (command == "`chown USER FILE`") {
      for (const std::string& file : FilesOf(*cell.row, path_ / who)) {
        Own(path_ / who / file, kOtherUser);
      }
    } else if (command == "`rm -r state`") {
      fs::remove_all(path_ / who / "state");
    } else if (command == "`tacet client join FILE`") {
      Accept(who, 1);
    } else if (command == "`tacet client renew`") {
      Renew(who);
      const Outcome rotated = Rotate({"--keep-exchange-keys"});
      ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
      KillAll();
      for (const std::string joins : {"north", "south", "west", "hub"}) Accept(joins, 2);
    } else {
      FAIL() << "docs/deploy.md has a cell that nobody can play: " << command;
    }
  }

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

  bool cuts_ = false;
};

bool RunningRecoveryTest::IsToldByCommand(const PlayedCell& cell) {
  const std::vector<std::string> join = {
      "client",     "join",       "federation/invitations/north-epoch-1.tacet",
      "--home",     "north",      "--coordinator",
      coordinator_, "--key-file", "north.key"};
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

bool RunningRecoveryTest::IsToldByRun(const PlayedCell& cell) {
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

void RunningRecoveryTest::PlayFullDisk(const PlayedCell& cell) {
  const bool by_command = IsToldByCommand(cell);
  PutBack(CopyWith(*cell.row, "north"));
  if (by_command) {
    EXPECT_EQ(cell.outcome(), kSameCommand);
  } else {
    EXPECT_EQ(cell.outcome(), IsToldByRun(cell) ? kByItself : kNever);
  }
}

void RunningRecoveryTest::PlaySite(const PlayedCell& cell) {
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
TEST_F(RunningRecoveryTest, ASitesFilesHaveTheirRowsAndAFewCellsAreTrue) {
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

class WholeColumnTest : public RunningRecoveryTest,
                        public ::testing::WithParamInterface<FileFault> {
 protected:
  void SetUp() override {
    if (Cells() == 0) GTEST_SKIP() << "the long tests play all cells";
    RunningRecoveryTest::SetUp();
  }
};

TEST_P(WholeColumnTest, IsTrueOfASite) {
  for (const PlayedCell& cell : CellsOf("site", GetParam())) Play(cell);
}

INSTANTIATE_TEST_SUITE_P(Faults, WholeColumnTest,
                         ::testing::Values(FileFault::kLost, FileFault::kDamaged, FileFault::kOlder,
                                           FileFault::kFullDisk, FileFault::kWrongOwner),
                         [](const auto& fault) {
                           std::string name(kFileFaultNames[static_cast<size_t>(fault.param)]);
                           std::erase(name, ' ');
                           return name;
                         });

}  // namespace
}  // namespace tacet::app
