// A whole federation in separate processes, with a network and small disks of its own. At random
// moments the server or a site is killed, loses what it did not synchronise, gets an old backup in
// its place, is stopped for a while, gets another clock or a full disk, or every connection is cut.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "tacet/base/test_size_for_test.h"
#include "tests/integration/clock_shift_for_test.h"
#include "tests/integration/kept_database_for_test.h"
#include "tests/integration/live_federation_for_test.h"
#include "tests/integration/lying_proxy_for_test.h"
#include "tests/integration/recorded_rounds_for_test.h"
#include "tests/integration/small_disk_for_test.h"
#include "tests/integration/synced_copy_for_test.h"

namespace tacet::app {
namespace {

namespace fs = std::filesystem;

int Faults() { return base::TestSize("TACET_FAULTS", 10); }

enum class Fault {
  kKill,
  kCut,
  kKillWhileCut,
  kStop,
  kClock,
  kFullDisk,
  kLostWrites,
  kOldBackup,
  kDatabaseCrash
};
constexpr std::array<const char*, 9> kFaultNames = {
    "kills",      "cuts",        "kills while cut", "stops",           "clocks",
    "full disks", "lost writes", "old backups",     "database crashes"};

// A proxy between sites and server records all uploads, and lies about none.
class RandomFaultsTest : public LiveFederationTest, public ::testing::WithParamInterface<Store> {
 protected:
  // The last round waits for the last fault.
  RandomFaultsTest() : LiveFederationTest(3 * Faults()) { HoldBefore(rounds_ - 1); }

  void SetUp() override {
    if (!EnterNamespaces(CLONE_NEWNET | CLONE_NEWNS) || !KeepMountsApart(path_)) {
      GTEST_SKIP() << "this system lets nobody make namespaces: " << std::strerror(errno);
    }
    SetLoopback(true);
    for (const std::string& who : everybody_) {
      environment_[who] = ShiftedClockOf(ClockOf(who));
      // Its ledger lies with the rest of what it may lose.
      for (std::string& variable : SyncedCopyOf(path_ / who, CopyOf(who))) {
        environment_[who].push_back(std::move(variable));
      }
      environment_[who][0] += ":" TACET_SYNCED_COPY;
      // On another machine.
      site_flags_[who] = {"--ledger-anchor", (path_ / (who + ".anchor")).string()};
      ASSERT_TRUE(MountSmallDisk(path_ / who)) << std::strerror(errno);
    }
    SetUpFolders();
    server_flags_.insert(server_flags_.end(), {"--behind-balancer", ""});
    if (GetParam() == Store::kPostgresql) {
      database_.emplace();
      server_flags_.insert(server_flags_.end(), {"--state", database_->url()});
    }
    BeginServer();
    auto hub = OpenSite(path_ / "hub", path_ / "hub.key");
    ASSERT_TRUE(hub.ok()) << hub.status();
    auto proxy = LyingProxy::Start(*std::move(hub), reached_at_);
    ASSERT_TRUE(proxy.ok()) << proxy.status();
    proxy_ = *std::move(proxy);
    reached_at_ = proxy_->Address();
    proxy_->Watch([this](const auto& request, const auto& answer) { seen_.Keep(request, answer); });
    for (const std::string& site : sites_) StartSite(site);
  }
  void TearDown() override {
    LiveFederationTest::TearDown();
    proxy_.reset();
    for (const std::string& who : everybody_) ::umount2((path_ / who).c_str(), MNT_DETACH);
    ::umount2(path_.c_str(), MNT_DETACH);
  }

  // Connections wait, and new ones are refused, as long as the loopback device is down.
  static void SetLoopback(bool up) {
    const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = static_cast<short>(up ? IFF_UP | IFF_RUNNING : 0);
    EXPECT_EQ(::ioctl(socket, SIOCSIFFLAGS, &request), 0) << std::strerror(errno);
    ::close(socket);
  }

  int Draw(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }
  static void Wait(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }

  // In random order, each as often as the others.
  Fault DrawFault() {
    if (coming_.empty()) {
      for (size_t i = 0; i < kFaultNames.size(); ++i) coming_.push_back(static_cast<Fault>(i));
      std::ranges::shuffle(coming_, random_);
    }
    const Fault fault = coming_.back();
    coming_.pop_back();
    return fault;
  }
  // The server as often as all sites together.
  size_t DrawVictim() {
    const size_t sites = sites_.size();
    return std::min(static_cast<size_t>(Draw(0, 2 * static_cast<int>(sites) - 1)), sites);
  }
  fs::path ClockOf(const std::string& who) const { return path_ / (who + ".clock"); }
  fs::path CopyOf(const std::string& who) const { return path_ / (who + ".synced"); }
  pid_t ProcessOf(size_t victim) const {
    return victim < sites_.size() ? running_.at(sites_[victim]) : server_;
  }

  void CauseFault() {
    const Fault fault = DrawFault();
    const size_t victim = DrawVictim();
    ++caused_[static_cast<size_t>(fault)];
    switch (fault) {
      case Fault::kKill:
        Kill(victim);
        if (Draw(0, 1) == 1) BackUp(everybody_[victim], ".backup");
        return StartAgain(victim);
      case Fault::kCut:
      case Fault::kKillWhileCut: {
        SetLoopback(false);
        Wait(Draw(10, 700));
        const bool kills = fault == Fault::kKillWhileCut;
        if (kills) Kill(victim);
        Wait(Draw(10, 700));
        SetLoopback(true);
        if (kills) StartAgain(victim);
        return;
      }
      case Fault::kStop:
        ::kill(ProcessOf(victim), SIGSTOP);
        Wait(Draw(10, 2000));
        ::kill(ProcessOf(victim), SIGCONT);
        return;
      case Fault::kClock: {  // hours to three weeks, to either side
        const int64_t hours = Draw(1, 500) * (Draw(0, 1) == 1 ? 1 : -1);
        ShiftClock(ClockOf(everybody_[victim]), hours * 3600);
        Wait(Draw(10, 1000));
        ShiftClock(ClockOf(everybody_[victim]), 0);
        return;
      }
      case Fault::kFullDisk: {
        const Ballast full(path_ / everybody_[victim] / "ballast");
        Wait(Draw(10, 1000));
        return;
      }
      case Fault::kLostWrites:
        Kill(victim);
        LoseUnsynced(path_ / everybody_[victim], CopyOf(everybody_[victim]));
        return StartAgain(victim);
      case Fault::kOldBackup:
        Kill(victim);
        if (!fs::exists(Named(everybody_[victim], ".backup"))) {
          BackUp(everybody_[victim], ".backup");
          StartAgain(victim);
          Wait(Draw(300, 2000));
          Kill(victim);
        }
        BackUp(everybody_[victim], ".newest");
        victim < sites_.size() ? RunFromBackup(sites_[victim]) : RunServerFromBackup();
        return StartAgain(victim);
      case Fault::kDatabaseCrash: {
        // SQLite is a part of the server.
        const bool server_too = !database_.has_value() || Draw(0, 1) == 1;
        if (database_.has_value()) database_->Crash();
        Wait(Draw(10, 1000));
        if (server_too) Kill(sites_.size());
        if (database_.has_value()) database_->Recover();
        if (server_too) StartAgain(sites_.size());
        return;
      }
    }
  }

  // Backups of folders, whose processes must not run. The server's has its database with it.
  fs::path Named(const std::string& who, const char* backup) const {
    return path_ / (who + backup);
  }
  void BackUp(const std::string& who, const char* backup) {
    fs::remove_all(Named(who, backup));
    fs::copy(path_ / who, Named(who, backup), fs::copy_options::recursive);
    anchors_[Named(who, backup)] = Anchor(who);
    if (who == "hub" && database_.has_value()) database_->Keep(backup);
  }
  void PutBack(const std::string& who, const char* backup) {
    Empty(path_ / who);
    fs::copy(Named(who, backup), path_ / who, fs::copy_options::recursive);
    if (who == "hub" && database_.has_value()) database_->PutBack(backup);
  }
  // For a site's ledger, in another place; no backup has it.
  std::string Anchor(const std::string& who) const {
    const fs::path path = path_ / (who + ".anchor");
    return fs::exists(path) ? ReadAll(path) : "";
  }
  static void Empty(const fs::path& folder) {
    for (const auto& entry : fs::directory_iterator(folder)) fs::remove_all(entry.path());
  }

  // Members refuse a server that is older than what they know. Its operator notices, and puts back
  // the state that was there, unless rounds continued from the backup.
  void RunServerFromBackup() {
    PutBack("hub", ".backup");
    server_was_older_ = true;
    StartServer(server_flags_);
    Wait(Draw(10, 2000));
    Kill(sites_.size());
    if (!Event("attempt-published").has_value()) PutBack("hub", ".newest");
  }

  // With everything in it, or as docs/deploy.md has it: without state/ and exchange keys, which
  // stay as they are. A site whose ledger is older than its anchor ends by itself, before it
  // charges or seals. A charge that a kill separated from its anchor has sealed nothing, so the
  // backup without that charge is as good as the newest.
  void RunFromBackup(const std::string& site) {
    const bool is_older = LedgersIn(Named(site, ".backup")) != LedgersIn(Named(site, ".newest")) &&
                          anchors_[Named(site, ".backup")] != anchors_[Named(site, ".newest")];
    PutBack(site, ".backup");
    if (!is_older || Draw(0, 1) == 1) {
      for (const char* kept : {"state", "exchange.key"}) {
        fs::remove_all(path_ / site / kept);
        fs::copy(Named(site, ".newest") / kept, path_ / site / kept, fs::copy_options::recursive);
      }
    }
    if (!is_older) return;
    StartSite(site);
    const Outcome refused = WaitFor(running_.at(site), site + "-");
    running_.erase(site);
    EXPECT_EQ(refused.exit_code, 1) << refused.out;
    EXPECT_THAT(refused.err, ::testing::HasSubstr("older")) << site;
    PutBack(site, ".newest");
  }
  static std::map<fs::path, std::string> LedgersIn(const fs::path& folder) {
    std::map<fs::path, std::string> ledgers;
    if (!fs::exists(folder / "data")) return ledgers;
    for (const auto& entry : fs::recursive_directory_iterator(folder / "data")) {
      if (entry.path().extension() == ".ledger") ledgers[entry.path().filename()] = ReadAll(entry);
    }
    return ledgers;
  }
  // For the faults so far.
  std::string Counts() const {
    std::string text;
    for (size_t i = 0; i < caused_.size(); ++i) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", caused_[i], kFaultNames[i]);
    }
    return text;
  }

  const std::vector<std::string> everybody_ = {"north", "south", "west", "hub"};
  std::vector<Fault> coming_;
  std::array<int, kFaultNames.size()> caused_{};
  std::optional<KeptDatabase> database_;
  std::map<fs::path, std::string> anchors_;  // by backup
  bool server_was_older_ = false;
  std::unique_ptr<LyingProxy> proxy_;
  RecordedRounds seen_;  // changes while something passes
  std::mt19937 random_{static_cast<uint32_t>(Faults())};
};

TEST_P(RandomFaultsTest, LoseNothingAndRepeatNothing) {
  for (int i = 0; i < Faults() && !HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("fault {}", i));
    Wait(Draw(50, 800));
    CauseFault();
  }
  LetGo();
  AwaitAllDone();
  ASSERT_FALSE(HasFailure());
  proxy_->Watch(nullptr);
  for (const auto& [site, told] : told_) {
    // A server that was older for a while, perhaps more than once, and nothing else.
    for (const base::JsonValue& alarm : told.Find("violations")->items()) {
      EXPECT_TRUE(server_was_older_ && *alarm.AsString() == "rollback") << site << alarm.Dump();
    }
  }
  ExpectOneModelAndNothingSaidTwice();
  seen_.ExpectNothingSealedTwice();

  // Exactly the sums of the uploads that were acknowledged.
  const auto site = OpenSite(path_ / "north", path_ / "north.key");
  ASSERT_TRUE(site.ok()) << site.status();
  const auto& aggregation = site->joined.manifest.manifest().terms().aggregation();
  seen_.ExpectNothingPublishedTwice(aggregation.committee().corrupt + 1);
  EXPECT_EQ(Read("north/run/model.f32"),
            seen_.Model(*site, path_ / "north", static_cast<uint32_t>(rounds_)));
  // One charge for each attempt, whatever was killed between charge and upload.
  const double attempts = Number(Api("/api/status"), "attempts");
  EXPECT_GE(attempts, rounds_);
  for (const auto& [name, told] : told_) {
    EXPECT_EQ(Number(told, "charged_attempts"), attempts) << name;
  }
  fmt::print("{}; {} rounds in {} attempts\n", Counts(), rounds_, attempts);
}

INSTANTIATE_TEST_SUITE_P(Stores, RandomFaultsTest,
                         ::testing::Values(Store::kSqlite, Store::kPostgresql),
                         [](const auto& store) {
                           return store.param == Store::kSqlite ? "sqlite" : "postgresql";
                         });

}  // namespace
}  // namespace tacet::app
