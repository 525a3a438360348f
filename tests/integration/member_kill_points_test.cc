// `tacet client run` that is killed before steps at its disk, in the middle of a round: the same
// command continues, whether or not the machine lost what was not synchronised.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "fmt/core.h"
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tacet/base/test_size_for_test.h"
#include "tests/integration/running_recovery_for_test.h"
#include "tests/integration/synced_copy_for_test.h"

namespace tacet::app {
namespace {

// None: the long test plays them.
int Kills() { return base::TestSize("TACET_RUN_KILLS", 0); }

class MemberKillPointsTest : public RunningRecoveryTest {
 protected:
  void SetUp() override {
    if (Kills() == 0) GTEST_SKIP() << "the long tests kill it";
    RunningRecoveryTest::SetUp();
  }
  // North, without west, from its vote to its end, or to its death before a step.
  Outcome RunNorth(int64_t kill_at) {
    PutBack("voting");
    fs::remove_all(path_ / "north.synced");
    const uint64_t none = 0;
    std::ofstream(path_ / "steps", std::ios::binary)
        .write(reinterpret_cast<const char*>(&none), sizeof(none));
    std::vector<std::string>& variables = environment_["north"];
    variables =
        BrokenDiskOf(path_ / "north", SyncedCopyOf(path_ / "north", path_ / "north.synced"));
    variables[0] += ":" TACET_SYNCED_COPY;
    variables.push_back("BROKEN_STEPS=" + (path_ / "steps").string());
    if (kill_at >= 0) variables.push_back("BROKEN_KILL=" + std::to_string(kill_at));
    StartThese({"north", "south"});
    const Outcome ended = WaitFor(running_.at("north"), "north-");
    running_.erase("north");
    environment_.clear();
    return ended;
  }
  int64_t Steps() const {
    const std::string bytes = Read("steps");
    uint64_t steps = 0;
    std::memcpy(&steps, bytes.data(), std::min(bytes.size(), sizeof(steps)));
    return static_cast<int64_t>(steps);
  }
};

TEST_F(MemberKillPointsTest, TheSameCommandContinues) {
  const Outcome whole = RunNorth(-1);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const int64_t steps = Steps();
  KillAll();
  std::mt19937 random(13);
  for (int kill = 0; kill < Kills(); ++kill) {
    const auto step = std::uniform_int_distribution<int64_t>(0, steps - 1)(random);
    const bool loses = random() % 2 == 0;
    SCOPED_TRACE(fmt::format("killed before step {} of {}{}", step, steps,
                             loses ? ", without what was not synchronised" : ""));
    // It may have fewer steps than the first time, and end.
    const Outcome ended = RunNorth(step);
    ASSERT_TRUE(ended.exit_code == -1 || ended.exit_code == 0) << ended.err;
    if (loses) LoseUnsynced(path_ / "north", path_ / "north.synced");
    StartAll();
    ExpectDone();
    KillAll();
    if (HasFailure()) return;
  }
  fmt::print("{} kills among {} steps\n", Kills(), steps);
}

}  // namespace
}  // namespace tacet::app
