// A whole federation in separate processes, whose clocks jump and whose disks are full for a while.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

#include "tacet/protocol/member_request.h"
#include "tests/integration/live_federation_for_test.h"

namespace tacet::app {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr char kNoSpace[] = "No space left on device";

class TroubledFederationTest : public LiveFederationTest {
 protected:
  TroubledFederationTest() : LiveFederationTest(40) {}

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
  // Until an attempt has just begun.
  void AwaitMiddleOfRound() const {
    AwaitMore("tacet_published_attempts_total");
    Await([this] { return Figure("tacet_phase{phase=\"collecting\"}") == 1; });
  }
  void ExpectNothingLost() {
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
      const std::string file = path_ / (who + ".clock");
      std::ofstream(file) << std::string(sizeof(int64_t), '\0');
      environment_[who] = {"LD_PRELOAD=" TACET_SHIFTED_CLOCK, "SHIFTED_CLOCK=" + file};
    }
    TroubledFederationTest::SetUp();
  }
  void Shift(const std::string& who, int64_t seconds) const {
    std::fstream file(path_ / (who + ".clock"), std::ios::binary | std::ios::in | std::ios::out);
    file.write(reinterpret_cast<const char*>(&seconds), sizeof(seconds));
  }
};

TEST_F(ClockJumpTest, RequestsOfAnotherTimeAreRefusedAndNothingIsLost) {
  constexpr auto kFar = static_cast<int64_t>(2 * protocol::kMaxClockDifference);
  for (const std::string who : {"north", "hub"}) {
    for (const int64_t seconds : {kFar, -kFar}) {
      SCOPED_TRACE(fmt::format("{} by {} s", who, seconds));
      AwaitMiddleOfRound();
      Shift(who, seconds);
      AwaitMore("tacet_requests_total{kind=\"unreadable\",status=\"failed_precondition\"}");
      Shift(who, 0);
      ASSERT_FALSE(HasFailure());
    }
  }
  ExpectNothingLost();
  EXPECT_THAT(Read("server.log"), HasSubstr("the two may differ by 600 s"));
  EXPECT_TRUE(Noted("north", "note", "not-admitted"));
  EXPECT_THAT(Read("north/node-log.jsonl"), HasSubstr("the two may differ by 600 s"));
  EXPECT_THAT(Read("north-stderr"), HasSubstr("the two may differ by 600 s; trying again"));
}

// The server's folder and one site's are small file systems of their own.
class FullDiskTest : public TroubledFederationTest {
 protected:
  void SetUp() override {
    if (!EnterNamespaces(CLONE_NEWNS) || !KeepMountsApart()) {
      GTEST_SKIP() << "this system lets nobody mount anything: " << std::strerror(errno);
    }
    for (const std::string who : {"hub", "north"}) {
      std::filesystem::create_directory(path_ / who);
      ASSERT_EQ(::mount("tmpfs", (path_ / who).c_str(), "tmpfs", 0, "size=8m,mode=0700"), 0)
          << std::strerror(errno);
    }
    TroubledFederationTest::SetUp();
  }
  void TearDown() override {
    TroubledFederationTest::TearDown();
    for (const std::string who : {"hub", "north"}) ::umount2((path_ / who).c_str(), MNT_DETACH);
    ::umount2(path_.c_str(), MNT_DETACH);
  }

  // So that nobody else sees what is mounted here. In a changed root "/" is not a mount that could
  // be kept apart: then the test's folder becomes one.
  bool KeepMountsApart() const {
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) return true;
    return ::mount(path_.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
           ::mount("none", path_.c_str(), nullptr, MS_PRIVATE, nullptr) == 0;
  }

  bool SaysOfItsDisk(const std::string& site, const std::string& file) const {
    return Read(site + "-stderr").find(file + kNoSpace) != std::string::npos;
  }

  // Leaves no room in a folder as long as it exists: also what is given free there is taken.
  class Ballast {
   public:
    explicit Ballast(std::filesystem::path file)
        : file_(std::move(file)), filling_([this](const std::stop_token& token) { Fill(token); }) {}
    ~Ballast() {
      filling_ = {};  // joined
      std::filesystem::remove(file_);
    }

   private:
    void Fill(const std::stop_token& token) const {
      std::ofstream file(file_, std::ios::binary);
      const std::string block(512, 'x');
      while (!token.stop_requested()) {
        if (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) continue;
        file.clear();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }

    const std::filesystem::path file_;
    std::jthread filling_;
  };
};

TEST_F(FullDiskTest, IsSaidAndNothingIsLost) {
  AwaitMiddleOfRound();
  {
    const Ballast full(path_ / "hub/ballast");
    AwaitEvent("store-failed");
    EXPECT_THAT(HttpGet(admin_port_, "/readyz"), HasSubstr("its store does not work"));
    EXPECT_THAT(Event("store-failed")->Dump(),
                AnyOf(HasSubstr(kNoSpace), HasSubstr("database or disk is full")));
    EXPECT_GT(Figure("tacet_store_errors_total"), 0);
  }
  AwaitEvent("store-works-again");

  AwaitMiddleOfRound();
  {
    const Ballast full(path_ / "north/ballast");
    Await([this] { return SaysOfItsDisk("north", ""); });
  }
  // For what it writes beside its part in the federation alone.
  const std::filesystem::path metrics = path_ / "north/run/metrics.jsonl";
  Await([&] { return std::filesystem::exists(metrics); });
  ASSERT_EQ(::mount("/dev/full", metrics.c_str(), nullptr, MS_BIND, nullptr), 0)
      << std::strerror(errno);
  Await([this] { return SaysOfItsDisk("north", "metrics.jsonl: "); });
  ASSERT_EQ(::umount2(metrics.c_str(), MNT_DETACH), 0);

  ExpectNothingLost();
  for (const std::string& site : sites_) {
    EXPECT_EQ(std::ranges::count(Read(site + "/run/metrics.jsonl"), '\n'), rounds_) << site;
  }
}

}  // namespace
}  // namespace tacet::app
