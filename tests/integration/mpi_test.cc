// `mpirun tacet simulate`: several processes that share a run.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/json.h"
#include "tests/integration/broken_disk_for_test.h"
#include "tests/integration/program_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The process that plays `rank` of the run that was started in `folder`; -1: none.
pid_t ProcessOf(int rank, const std::filesystem::path& folder) {
  const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank) + '\0';
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (std::filesystem::read_symlink(entry.path() / "cwd", error) != folder) continue;
    if (ReadAll(entry.path() / "environ").find(wanted) == std::string::npos) continue;
    return static_cast<pid_t>(std::stol(name));
  }
  return -1;
}

class MpiTest : public ProgramTest {
 protected:
  MpiTest() {
    // For containers: no reading of another process's memory, no pinning to processors.
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 1);
    setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  }

  // With these variables and their values.
  pid_t StartMpirun(int ranks, std::vector<std::string> arguments,
                    std::vector<std::string> variables = {}) {
    arguments.insert(arguments.begin(), {"mpirun", "-n", std::to_string(ranks), TACET_PROGRAM});
    arguments.insert(arguments.begin(), variables.begin(), variables.end());
    return Start("env", std::move(arguments));
  }
  Outcome Mpirun(int ranks, std::vector<std::string> arguments) {
    return WaitFor(StartMpirun(ranks, std::move(arguments)));
  }

  size_t LinesOf(const std::string& name) const {
    const std::string text = Read(name);
    return static_cast<size_t>(std::ranges::count(text, '\n'));
  }
};

TEST_F(MpiTest, RanksTrainTheModelOfOneProcess) {
  const std::string config = WriteConfig(kSmall);
  const std::vector<std::string> simulate = {"simulate",        "--config", config,
                                             "--insecure-seed", "7",        "--out"};
  const auto with = [&](const std::string& out) {
    std::vector<std::string> arguments = simulate;
    arguments.push_back(out);
    return arguments;
  };
  ASSERT_EQ(Tacet(with("alone")).exit_code, 0);
  const std::string model = Read("alone/model.f32");
  // Seven ranks have more than one each of a cohort of six.
  for (const int ranks : {1, 2, 3, 7}) {
    const std::string name = "ranks" + std::to_string(ranks);
    const Outcome run = Mpirun(ranks, with(name));
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(LinesOf(name + "/metrics.jsonl"), 3u);
    EXPECT_TRUE(Read(name + "/model.f32") == model) << ranks;
    EXPECT_THAT(run.out, HasSubstr("round 3/3"));
    EXPECT_EQ(run.out.find("directory   "), run.out.rfind("directory   "));  // one rank speaks
    EXPECT_EQ(Number(*ReadJson(name + "/summary.json").Find("machine"), "ranks"), ranks);
    EXPECT_EQ(LinesOf(name + "/attempts"), 3u);
    ASSERT_EQ(Tacet({"audit", "write", name}).exit_code, 0);
    const base::JsonValue told = *ReadJson(name + "/audit.json").Find("record")->Find("run");
    EXPECT_EQ(*told.Find("kind")->AsString(), "simulation");
    EXPECT_EQ(Number(told, "processes"), ranks);
  }
}

TEST_F(MpiTest, AKilledRankEndsTheRunAndItGoesOn) {
  // Long enough to be killed in its midst, with noise for so many rounds.
  std::string settings = kSmall;
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"noise_multiplier = 3", "noise_multiplier = 60"},
        {"scale = 1e-3", "scale = 1e-2"}}) {
    settings.replace(settings.find(from), from.size(), to);
  }
  const std::string config = WriteConfig(settings + "[run]\nevaluate_every = 100\n");
  const std::vector<std::string> simulate = {
      "simulate",        "--config", config,      "--rounds", "60",
      "--insecure-seed", "7",        "--threads", "1",        "--out"};
  const auto with = [&](const std::string& out) {
    std::vector<std::string> arguments = simulate;
    arguments.push_back(out);
    return arguments;
  };
  ASSERT_EQ(Tacet(with("whole")).exit_code, 0);
  // Before its sixth checkpoint the run waits for the victim's death.
  const std::string hold = WriteConfig("make run/checkpoint.new", "hold");
  const pid_t mpirun =
      StartMpirun(3, with("run"), BrokenDiskOf(path_, {"BROKEN_HOLD=" + hold, "BROKEN_SKIP=5"}));
  for (int i = 0; i < 12'000 && LinesOf("run/metrics.jsonl") < 6; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const pid_t victim = ProcessOf(1, std::filesystem::canonical(path_));
  ASSERT_GT(victim, 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  std::filesystem::remove(hold);
  const Outcome killed = WaitFor(mpirun);
  EXPECT_NE(killed.exit_code, 0);
  EXPECT_THAT(killed.err, HasSubstr("rank 1"));
  const size_t done = LinesOf("run/metrics.jsonl");
  ASSERT_LT(done, 60u);

  const Outcome rest = Mpirun(2, {"simulate", "--resume", "--out", "run", "--threads", "1"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.out, HasSubstr("resumed     after "));
  EXPECT_EQ(LinesOf("run/metrics.jsonl"), 60u);
  EXPECT_TRUE(Read("run/model.f32") == Read("whole/model.f32"));
}

TEST_F(MpiTest, ARankThatCannotBeginSaysWhichAndWhy) {
  const std::string config = WriteConfig(kSmall);
  // Both do not find their data; the first to notice ends the other.
  const Outcome run = Mpirun(2, {"simulate", "--config", config, "--data", "nowhere"});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("tacet: rank "));
  EXPECT_THAT(run.err, HasSubstr("nowhere"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "runs"));
}

TEST_F(MpiTest, AWrongSettingEndsAllRanks) {
  const Outcome run =
      Mpirun(2, {"simulate", "--config", WriteConfig("[federation]\nround = 3\n"), "--out", "run"});
  EXPECT_NE(run.exit_code, 0);
  EXPECT_THAT(run.err, HasSubstr("tacet: rank 0 of 2: "));
  EXPECT_THAT(run.err, HasSubstr("federation.round"));
  EXPECT_THAT(run.err, Not(HasSubstr("rank 1 of 2")));
}

}  // namespace
}  // namespace tacet::app
