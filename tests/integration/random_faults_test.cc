// A whole federation in separate processes, in a network namespace of its own. At random moments
// the server or a site is killed, or every connection is cut, or both at once.
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "tacet/storage/postgres/postgres_for_test.h"
#include "tests/integration/live_federation_for_test.h"
#include "tests/integration/lying_proxy_for_test.h"
#include "tests/integration/recorded_rounds_for_test.h"

namespace tacet::app {
namespace {

enum class Store { kSqlite, kPostgresql };

// A proxy between sites and server records all uploads, and lies about none.
class RandomFaultsTest : public LiveFederationTest, public ::testing::WithParamInterface<Store> {
 protected:
  // With more rounds than a fast machine does between the faults.
  RandomFaultsTest() : LiveFederationTest(3 * TACET_FAULTS) {}

  void SetUp() override {
    if (!EnterNamespaces(CLONE_NEWNET)) {
      GTEST_SKIP() << "this system lets nobody make a network namespace: " << std::strerror(errno);
    }
    SetLoopback(true);
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
  void CauseFault() {
    const bool cuts = Draw(0, 1) == 1;
    const bool kills = !cuts || Draw(0, 1) == 1;
    const size_t victim = DrawVictim();
    if (cuts) {
      SetLoopback(false);
      Wait(Draw(10, 700));
    }
    if (kills) Kill(victim);
    if (cuts) {
      Wait(Draw(10, 700));
      SetLoopback(true);
    }
    if (kills) StartAgain(victim);
  }

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
  EXPECT_EQ(Read("north/run/model.f32"),
            seen_.Model(*site, path_ / "north", static_cast<uint32_t>(rounds_)));
  // One charge for each attempt, whatever was killed between charge and upload.
  const double attempts = Number(Api("/api/status"), "attempts");
  EXPECT_GE(attempts, rounds_);
  for (const auto& [name, told] : told_) {
    EXPECT_EQ(Number(told, "charged_attempts"), attempts) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, RandomFaultsTest,
                         ::testing::Values(Store::kSqlite, Store::kPostgresql),
                         [](const auto& store) {
                           return store.param == Store::kSqlite ? "sqlite" : "postgresql";
                         });

}  // namespace
}  // namespace tacet::app
