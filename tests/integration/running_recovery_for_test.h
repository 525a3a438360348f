// A federation of a coordinator, a server and three sites in its second epoch, to whose files
// faults happen.
#ifndef TACET_TESTS_INTEGRATION_RUNNING_RECOVERY_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_RUNNING_RECOVERY_FOR_TEST_H_

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/broken_disk_for_test.h"
#include "tests/integration/live_federation_for_test.h"
#include "tests/integration/recovery_table_for_test.h"

namespace tacet::app {

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
    fs::remove_all(path_ / "runtime");  // no machine knows what was said since
    for (const std::string& who : everybody_) {
      CopyOver(Kept(name, who), path_ / who);
      OwnAll(path_ / who, ::geteuid());
      const fs::path key = path_ / (who + ".key");  // RunAsOther
      if (fs::exists(key)) Own(key, ::geteuid());
    }
  }

  // It may end, or not be ready.
  void BeginAnyServer() {
    std::ofstream(path_ / "server.log") << "";
    if (!environment_["hub"].empty()) Own(path_ / "server.log", kOtherUser);
    server_ = StartAs("hub", Arguments(server_flags_), "server-");
  }
  // The messages for an operator: the last words, the log, and why it is not ready.
  std::string Said() const {
    std::string said = Read("server-stderr") + Read("server.log");
    if (const auto event = Event("admin-listening"); event.has_value()) {
      const std::string address = *event->Find("address")->AsString();
      const auto port = static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
      said += HttpGet(port, "/readyz");
    }
    return said;
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
  // All are done, with one model, and nobody forgot a charge or said anything twice. No other
  // protocol violation than `expected` was found.
  void ExpectDone(const std::string& expected = "") {
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
    for (const auto& [site, told] : told_) {
      for (const base::JsonValue& violation : told.Find("violations")->items()) {
        EXPECT_EQ(*violation.AsString(), expected) << Read(site + "-stderr");
      }
    }
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
    PinPolicy({.ledger = path_ / "north/ledger"});
    BeginServer();
    ASSERT_TRUE(RunUntil("make state/0-1-*.upload.new"));
    Keep("older");
    for (const std::string& site : sites_) Renew(site);
    const Outcome rotated = Rotate();
    ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
    for (const std::string who : {"north", "south", "west", "hub"}) Accept(who, 1);
    Keep("joined");
    ASSERT_TRUE(RunUntil("make state/*.share.new"));
    Keep("voting");
    ASSERT_TRUE(RunUntil("delete state/*.closed"));
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

  bool cuts_ = false;
};

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_RUNNING_RECOVERY_FOR_TEST_H_
