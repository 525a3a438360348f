// A whole federation in separate processes, whose clocks jump and whose disks are full for a while.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include "tacet/protocol/member_request.h"
#include "tests/integration/clock_shift_for_test.h"
#include "tests/integration/live_federation_for_test.h"
#include "tests/integration/small_disk_for_test.h"

namespace tacet::app {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr char kNoSpace[] = "No space left on device";

class TroubledFederationTest : public LiveFederationTest {
 protected:
  TroubledFederationTest() : LiveFederationTest(40) { HoldBefore(1); }

  // The figure with this name and these labels; 0 when there is none (yet).
  double Figure(std::string_view name) const {
    const std::string all = HttpGet(admin_port_, "/metrics");
    const size_t at = all.find("\n" + std::string(name) + " ");
    if (at == std::string::npos) return 0;
    double value = 0;
    std::from_chars(all.data() + at + 1 + name.size() + 1, all.data() + all.size(), value);
    return value;
  }
  void AwaitMore(std::string_view name) const {
    const double before = Figure(name);
    Await([&] { return Figure(name) > before; });
  }
  // Two rounds more may end.
  void Continue() { HoldBefore(std::lround(Figure("tacet_published_attempts_total")) + 2); }
  // Until an attempt has begun, and most often just so.
  void AwaitMiddleOfRound() {
    const double before = Figure("tacet_published_attempts_total");
    Continue();
    Await([&] { return Figure("tacet_published_attempts_total") > before; });
    Await([this] { return Figure("tacet_phase{phase=\"collecting\"}") == 1; });
  }
  void ExpectNothingLost() {
    LetGo();
    AwaitAllDone();
    ASSERT_FALSE(HasFailure());
    ExpectNoViolations();
    ExpectOneModelAndNothingSaidTwice();
  }
};

// The wall clock of the server and of one site can be set.
class ClockJumpTest : public TroubledFederationTest {
 protected:
  void SetUp() override {
    for (const std::string who : {"hub", "north"}) {
      environment_[who] = ShiftedClockOf(ClockOf(who));
    }
    TroubledFederationTest::SetUp();
  }
  std::filesystem::path ClockOf(const std::string& who) const { return path_ / (who + ".clock"); }
  void Shift(const std::string& who, int64_t seconds) const { ShiftClock(ClockOf(who), seconds); }
};

TEST_F(ClockJumpTest, RequestsOfAnotherTimeAreRefusedAndNothingIsLost) {
  constexpr auto kFar = static_cast<int64_t>(2 * protocol::kMaxClockDifference);
  // A site notes that the server does not tell it anything, so it begins with asking.
  AwaitMiddleOfRound();
  KillSite("north");
  Shift("north", kFar);
  StartSite("north");
  Continue();
  Await([this] { return Noted("north", "note", "not-admitted"); });
  Shift("north", 0);
  for (const std::string who : {"north", "hub"}) {
    for (const int64_t seconds : {kFar, -kFar}) {
      SCOPED_TRACE(fmt::format("{} by {} s", who, seconds));
      AwaitMiddleOfRound();
      Shift(who, seconds);
      Continue();
      AwaitMore("tacet_requests_total{kind=\"unreadable\",status=\"aborted\"}");
      Shift(who, 0);
      ASSERT_FALSE(HasFailure());
    }
  }
  ExpectNothingLost();
  EXPECT_THAT(Read("server.log"), HasSubstr("the two may differ by 600 s"));
  EXPECT_THAT(Read("north/node-log.jsonl"), HasSubstr("the two may differ by 600 s"));
  EXPECT_THAT(Read("north-stderr"), HasSubstr("the two may differ by 600 s; trying again"));
}

// The server's folder and one site's are small file systems of their own.
class FullDiskTest : public TroubledFederationTest {
 protected:
  void SetUp() override {
    if (!EnterNamespaces(CLONE_NEWNS) || !KeepMountsApart(path_)) {
      GTEST_SKIP() << "this system lets nobody mount anything: " << std::strerror(errno);
    }
    for (const std::string who : {"hub", "north"}) {
      ASSERT_TRUE(MountSmallDisk(path_ / who)) << std::strerror(errno);
    }
    TroubledFederationTest::SetUp();
  }
  void TearDown() override {
    TroubledFederationTest::TearDown();
    for (const std::string who : {"hub", "north"}) ::umount2((path_ / who).c_str(), MNT_DETACH);
    ::umount2(path_.c_str(), MNT_DETACH);
  }

  bool SaysOfItsDisk(const std::string& site, const std::string& file) const {
    return Read(site + "-stderr").find(file + kNoSpace) != std::string::npos;
  }
};

TEST_F(FullDiskTest, IsSaidAndNothingIsLost) {
  AwaitMiddleOfRound();
  {
    const Ballast full(path_ / "hub/ballast");
    Continue();
    AwaitEvent("store-failed");
    EXPECT_THAT(HttpGet(admin_port_, "/readyz"), HasSubstr("\ndisk-full: there is no room"));
    EXPECT_THAT(Event("store-failed")->Dump(),
                AnyOf(HasSubstr(kNoSpace), HasSubstr("database or disk is full")));
    EXPECT_GT(Figure("tacet_store_errors_total"), 0);
  }
  AwaitEvent("store-works-again");

  AwaitMiddleOfRound();
  {
    const Ballast full(path_ / "north/ballast");
    Continue();
    Await([this] { return SaysOfItsDisk("north", ""); });
  }
  // For what it writes in addition to its part in the federation alone.
  const std::filesystem::path metrics = path_ / "north/run/metrics.jsonl";
  Await([&] { return std::filesystem::exists(metrics); });
  ASSERT_EQ(::mount("/dev/full", metrics.c_str(), nullptr, MS_BIND, nullptr), 0)
      << std::strerror(errno);
  Continue();
  Await([this] { return SaysOfItsDisk("north", "metrics.jsonl: "); });
  ASSERT_EQ(::umount2(metrics.c_str(), MNT_DETACH), 0);

  ExpectNothingLost();
  for (const std::string& site : sites_) {
    EXPECT_EQ(std::ranges::count(Read(site + "/run/metrics.jsonl"), '\n'), rounds_) << site;
  }
}

// At any moment: also while a charge, or its copy in the run's folder, is half written.
TEST_F(FullDiskTest, ASiteGoesOnWheneverItWasFull) {
  std::mt19937_64 random(11);
  const auto wait = [&](int from, int to) {
    std::this_thread::sleep_for(std::chrono::milliseconds(from + random() % (to - from)));
  };
  AwaitMiddleOfRound();
  {
    const Ballast full(path_ / "north/ballast");
    Continue();
    Await([this] { return SaysOfItsDisk("north", ""); });
  }
  HoldBefore(rounds_ - 1);
  for (int time = 0; time < 60; ++time) {
    {
      const Ballast full(path_ / "north/ballast");
      wait(1, 40);
    }
    wait(5, 60);
  }
  ExpectNothingLost();
}

}  // namespace
}  // namespace tacet::app
