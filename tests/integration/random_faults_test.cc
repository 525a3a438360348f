// A whole federation in separate processes, with a network and small disks of its own. At random
// moments the server or a site is killed, loses what it did not synchronise, is stopped for a
// while, gets another clock or a full disk, or every connection is cut.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
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

#include "tacet/storage/postgres/postgres_for_test.h"
#include "tests/integration/clock_shift_for_test.h"
#include "tests/integration/live_federation_for_test.h"
#include "tests/integration/lying_proxy_for_test.h"
#include "tests/integration/recorded_rounds_for_test.h"
#include "tests/integration/small_disk_for_test.h"
#include "tests/integration/synced_copy_for_test.h"

namespace tacet::app {
namespace {

enum class Store { kSqlite, kPostgresql };

enum class Fault { kKill, kCut, kKillWhileCut, kStop, kClock, kFullDisk, kLostWrites };
constexpr std::array<const char*, 7> kFaultNames = {
    "kills", "cuts", "kills while cut", "stops", "clocks", "full disks", "lost writes"};

// A proxy between sites and server records all uploads, and lies about none.
class RandomFaultsTest : public LiveFederationTest, public ::testing::WithParamInterface<Store> {
 protected:
  // With more rounds than a fast machine does between the faults.
  RandomFaultsTest() : LiveFederationTest(3 * TACET_FAULTS) {}

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
      environment_[who].push_back("XDG_DATA_HOME=" + (path_ / who / "data").string());
      ASSERT_TRUE(MountSmallDisk(path_ / who)) << std::strerror(errno);
    }
    SetUpFolders();
    server_flags_.insert(server_flags_.end(), {"--behind-balancer", ""});
    if (GetParam() == Store::kPostgresql) {
      server_flags_.insert(server_flags_.end(),
                           {"--state", storage::postgres::PostgresForTest::Get().NewDatabase()});
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

  // The server as often as all sites together.
  size_t DrawVictim() {
    const size_t sites = sites_.size();
    return std::min(static_cast<size_t>(Draw(0, 2 * static_cast<int>(sites) - 1)), sites);
  }
  std::filesystem::path ClockOf(const std::string& who) const { return path_ / (who + ".clock"); }
  std::filesystem::path CopyOf(const std::string& who) const { return path_ / (who + ".synced"); }
  pid_t ProcessOf(size_t victim) const {
    return victim < sites_.size() ? running_.at(sites_[victim]) : server_;
  }

  void CauseFault() {
    const auto fault = static_cast<Fault>(Draw(0, kFaultNames.size() - 1));
    const size_t victim = DrawVictim();
    ++caused_[static_cast<size_t>(fault)];
    switch (fault) {
      case Fault::kKill:
        Kill(victim);
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
    }
  }
  // Of the faults so far.
  std::string Counts() const {
    std::string text;
    for (size_t i = 0; i < caused_.size(); ++i) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", caused_[i], kFaultNames[i]);
    }
    return text;
  }

  const std::vector<std::string> everybody_ = {"north", "south", "west", "hub"};
  std::array<int, kFaultNames.size()> caused_{};
  std::unique_ptr<LyingProxy> proxy_;
  RecordedRounds seen_;  // changes while something passes
  std::mt19937 random_{TACET_FAULTS};
};

TEST_P(RandomFaultsTest, LoseNothingAndRepeatNothing) {
  for (int i = 0; i < TACET_FAULTS && !HasFailure(); ++i) {
    SCOPED_TRACE(fmt::format("fault {}", i));
    Wait(Draw(50, 800));
    CauseFault();
  }
  AwaitAllDone();
  ASSERT_FALSE(HasFailure());
  proxy_->Watch(nullptr);
  ExpectNoViolations();
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
