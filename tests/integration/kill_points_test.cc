// Commands of coordinator and site that are killed before each of their steps: the same command
// finishes what the killed one began, whether or not the machine lost what was not synchronised.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/test_size_for_test.h"
#include "tests/integration/enrolment_for_test.h"
#include "tests/integration/north_policy_for_test.h"
#include "tests/integration/synced_copy_for_test.h"

namespace tacet::app {
namespace {

namespace fs = std::filesystem;

// Kills of all commands together; 0: before every step.
int KillPoints() { return base::TestSize("TACET_KILL_POINTS", 4); }

constexpr char kTwoRounds[] = R"(
[data]
classes = 2
[model]
name = "logistic"
input_shape = [3]
[federation]
min_participants = 2
rounds = {}
[privacy]
clip_norm = 0.5
coordinate_bound = 0.1
noise_multiplier = 12
scale = 1e-3
)";

class KillPointsTest : public EnrolmentTest {
 protected:
  using Arguments = std::vector<std::string>;

  fs::path Folder() const { return path_ / "all"; }

  // The command, whose steps are counted, killed before step `kill_at` unless that is negative.
  Outcome RunCounted(const Arguments& command, int kill_at) {
    const uint64_t none = 0;
    std::ofstream(path_ / "steps", std::ios::binary)
        .write(reinterpret_cast<const char*>(&none), sizeof(none));
    Arguments arguments = SyncedCopyOf(Folder(), path_ / "synced");
    arguments.push_back("LD_PRELOAD=" TACET_BROKEN_DISK ":" TACET_SYNCED_COPY);
    arguments.push_back("BROKEN_ROOT=" + Folder().string());
    arguments.push_back("BROKEN_STEPS=" + (path_ / "steps").string());
    if (kill_at >= 0) arguments.push_back("BROKEN_KILL=" + std::to_string(kill_at));
    arguments.emplace_back(TACET_PROGRAM);
    arguments.insert(arguments.end(), command.begin(), command.end());
    return Run("env", arguments);
  }
  int Steps() const {
    const std::string bytes = Read("steps");
    uint64_t steps = 0;
    std::memcpy(&steps, bytes.data(), std::min(bytes.size(), sizeof(steps)));
    return static_cast<int>(steps);
  }

  static void Copy(const fs::path& from, const fs::path& to) {
    fs::remove_all(to);
    fs::copy(from, to, fs::copy_options::recursive);
  }
  std::set<std::string> Files() const {
    std::set<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(Folder())) {
      files.insert(entry.path().lexically_relative(Folder()).string());
    }
    return files;
  }

  // Runs a command to its end, after it was killed before some of its steps, or before each.
  void Play(const Arguments& command) {
    SCOPED_TRACE(fmt::format("tacet {}", fmt::join(command, " ")));
    Copy(Folder(), path_ / "before");
    const Outcome whole = RunCounted(command, -1);
    ASSERT_EQ(whole.exit_code, 0) << whole.err;
    const int steps = Steps();
    const std::set<std::string> files = Files();
    Copy(Folder(), path_ / "after");
    for (int step = 0; step < steps; ++step) {
      for (const bool loses : {false, true}) {
        ++points_;
        if (KillPoints() > 0 && random_() % kAllPoints >= static_cast<uint32_t>(KillPoints())) {
          continue;
        }
        SCOPED_TRACE(fmt::format("killed before step {} of {}{}", step, steps,
                                 loses ? ", without what was not synchronised" : ""));
        Copy(path_ / "before", Folder());
        ASSERT_EQ(RunCounted(command, step).exit_code, -1);
        if (loses) LoseUnsynced(Folder(), path_ / "synced");
        const Outcome again = Tacet(command);
        ASSERT_EQ(again.exit_code, 0) << again.err;
        EXPECT_EQ(Files(), files);
        ++played_;
        check_();
      }
    }
    Copy(path_ / "after", Folder());
  }

  static Arguments With(Arguments arguments, const Arguments& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::string In(const std::string& name) { return "all/" + name; }
  static Arguments Coordinator(const std::string& command, const Arguments& more) {
    return With({"federation", command, "--key-file", In("c.key")}, more);
  }
  static Arguments Party(const std::string& command, const std::string& name,
                         const Arguments& more = {}) {
    return With({"client", command, "--home", In(name), "--key-file", In(name + ".key")}, more);
  }
  Arguments EnrolOf(const std::string& name, const Arguments& more) const {
    return Coordinator("enrol", With({name, "--folder", In("federation"), "--request",
                                      In(name + "/" + name + ".request"), "--server", "hub"},
                                     more));
  }
  static std::string Invitation(const std::string& name, int epoch) {
    return In(fmt::format("federation/invitations/{}-epoch-{}.tacet", name, epoch));
  }

  // About as many as there are, for the share that is drawn.
  static constexpr uint32_t kAllPoints = 928;

  std::function<void()> check_ = [] {};
  std::mt19937 random_{11};
  int points_ = 0, played_ = 0;
};

TEST_F(KillPointsTest, TheSameCommandFinishesItsWork) {
  fs::create_directory(Folder());
  WriteConfig(fmt::format(kTwoRounds, 2), "agreed.toml");
  WriteConfig(fmt::format(kTwoRounds, 3), "second.toml");
  WriteConfig(TextOf(NorthPolicy{.seats = 1, .ledger = "/var/lib/tacet/ledger"}), "policy.toml");
  const Arguments folder = {"--folder", In("federation")};
  Play(Coordinator(
      "init", With(folder, {"--name", "hospitals", "--config", "agreed.toml", "--members", "3"})));
  const std::vector<std::string> sites = {"north", "south", "west"};
  Play(Party("request", "hub", {"--name", "hub", "--server-host", "localhost"}));
  for (const std::string& site : sites) Play(Party("request", site, {"--name", site}));
  for (const std::string name : {"hub", "north", "south", "west"}) {
    Play(EnrolOf(name, {"--fingerprint", Fingerprint(name, In(name))}));
  }
  Play(Coordinator("seal-key", folder));
  const Outcome shown = Tacet(With({"federation", "show", "--json"}, folder));
  const std::string coordinator =
      *base::JsonValue::Parse(shown.out)->Find("coordinator")->AsString();
  for (const std::string name : {"hub", "north", "south", "west"}) {
    Play(Party("join", name, {Invitation(name, 0), "--coordinator", coordinator}));
  }
  Play({"client", "policy", "key", In("officer.key"), "--key-file", In("officer.unlock")});
  const Outcome officer =
      Tacet({"client", "policy", "key", In("officer.key"), "--key-file", In("officer.unlock")});
  const size_t begins = officer.out.find_first_not_of(' ', officer.out.find(' '));
  fs::copy_file(path_ / "policy.toml", Folder() / "policy.toml");
  Play({"client", "policy", "sign", In("policy.toml"), "--officer", In("officer.key"), "--key-file",
        In("officer.unlock")});
  Play({"client", "policy", "pin", officer.out.substr(begins, officer.out.find('\n') - begins),
        "--home", In("north"), "--key-file", In("north.key")});
  for (const std::string site : {"north", "south"}) {
    Play(Party("renew", site));
    Play(EnrolOf(site, {}));
  }
  // One epoch begins, without west and with the next training, and both sites can join it.
  check_ = [&] {
    EXPECT_THAT(Files(), ::testing::Contains("federation/epochs/0000000001.manifest"));
    EXPECT_THAT(Files(),
                ::testing::Not(::testing::Contains("federation/epochs/0000000002.manifest")));
    EXPECT_THAT(Files(), ::testing::Not(::testing::Contains("federation/epochs/0000000000.key")));
    const Outcome joined = Tacet(Party("join", "north", {Invitation("north", 1), "--check"}));
    EXPECT_EQ(joined.exit_code, 4) << joined.err;  // it is in order, and asks
    EXPECT_THAT(joined.out, ::testing::HasSubstr("The invitation is in order"));
  };
  Play(Coordinator("rotate", With(folder, {"--remove", "west", "--config", "second.toml"})));
  check_ = [] {};
  for (const std::string name : {"north", "hub"}) {
    Play(Party("join", name, {Invitation(name, 1), "--accept-weaker"}));
  }
  Play(Coordinator("seal-key", folder));
  for (const auto& [home, key] :
       {std::pair("federation", "c.key"), std::pair("south", "south.key")}) {
    Play({"keys", "change", In(home), "--key-file", In(key), "--new-key-file",
          In(std::string("new-") + key)});
  }
  fmt::print("{} of {} kills\n", played_, points_);
}

}  // namespace
}  // namespace tacet::app
