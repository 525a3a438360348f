// Commands of a coordinator that change a running federation, each killed before every step that it
// takes on its disk: the same command ends its work, begins nothing twice, and every site follows.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/test_size_for_test.h"
#include "tests/integration/following_federation_for_test.h"
#include "tests/integration/synced_copy_for_test.h"

namespace tacet::app {
namespace {

using Words = std::vector<std::string>;

// 1: a kill before every step; 7: before every seventh; 0: none. The long tests play them all, each
// command in a federation of its own, since the programs mostly wait. A year of changes
// (federation_year_test.cc) is killed before a few of them always.
int Stride() { return base::TestSize("TACET_FEDERATION_KILLS", 0); }

class FederationKillPointsTest : public FollowingFederationTest {
 protected:
  void SetUp() override {
    if (Stride() == 0) GTEST_SKIP() << "the long tests kill them";
    FollowingFederationTest::SetUp();
    for (const std::string& site : sites_) SignPolicy(site, kAllKinds, 100'000);
    FollowAll();
    for (const std::string& site : sites_) AwaitFile(site + "/exchange-next.key");
  }

  // A command that takes the federation `epochs` further, killed before `step`, and run to its end.
  // Every second kill loses what was not synchronised. False where it has no such step.
  bool KilledBefore(int step, const std::string& command, const Words& words, int epochs) {
    SCOPED_TRACE(fmt::format("{} killed before step {}", command, step));
    const std::filesystem::path folder = path_ / "federation", synced = path_ / "synced";
    std::filesystem::remove_all(synced);
    const uint64_t none = 0;
    std::ofstream(path_ / "steps", std::ios::binary)
        .write(reinterpret_cast<const char*>(&none), sizeof(none));
    Words arguments = SyncedCopyOf(folder, synced);
    arguments.insert(arguments.end(), {"LD_PRELOAD=" TACET_BROKEN_DISK ":" TACET_SYNCED_COPY,
                                       "BROKEN_ROOT=" + folder.string(),
                                       "BROKEN_STEPS=" + (path_ / "steps").string(),
                                       "BROKEN_KILL=" + std::to_string(step), TACET_PROGRAM});
    Words whole = Change(command, words);
    whole.insert(whole.end(), {"--wait-seconds", "60"});
    arguments.insert(arguments.end(), whole.begin(), whole.end());
    const Outcome killed = Run("env", arguments);
    const bool is_killed = killed.exit_code == -1;
    EXPECT_TRUE(is_killed || killed.exit_code == 0) << killed.out << killed.err;
    if (is_killed && kills_[command]++ % 2 == 1) LoseUnsynced(folder, synced);
    const Outcome again = Tacet(whole);
    EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
    epoch_ += epochs;
    for (const std::string& site : sites_) EXPECT_EQ(EpochOf(site), epoch_) << site;
    const std::string next = fmt::format("epochs/{:010}.manifest", epoch_ + 1);
    EXPECT_FALSE(std::filesystem::exists(folder / next)) << "it was begun twice";
    return is_killed;
  }
  bool Train(int step) {
    WriteConfig(Training(1, 21 + 0.01 * step), "training.toml");
    return KilledBefore(step, "train", {"training.toml", "--give-up"}, 1);
  }
  bool Ask(int step) {
    WriteConfig(Query(100 + step), "query.toml");
    return KilledBefore(step, "ask", {"query.toml", "--give-up"}, 1);
  }
  bool AddAndRemove(int step) {
    const std::string name = fmt::format("east-{}", step);
    Request(name);
    const bool added = KilledBefore(step, "add", RequestOf(name), 1);
    const bool removed = KilledBefore(step, "remove", {name}, 1);
    return added || removed;
  }
  bool Renew(int step) {
    return KilledBefore(step, "renew", {"--days", std::to_string(100 + step)}, 0);
  }
  bool MoveServer(int step) {
    const std::string name = fmt::format("hub-{}", step);
    const std::string host = reached_at_.starts_with("127.0.0.1") ? "127.0.0.2" : "127.0.0.1";
    Request(name, {"--server-host", host});
    const bool is_killed = KilledBefore(step, "move-server", RequestOf(name), 1);
    EXPECT_EQ(StopServer().exit_code, 0);
    Accept(name, epoch_);
    reached_at_ = host + reached_at_.substr(reached_at_.find(':'));
    ServeFollowing({"--home", name, "--key-file", name + ".key"});
    return is_killed;
  }
  Words RequestOf(const std::string& name) {
    return {name, "--request", name + "/" + name + ".request", "--fingerprint", Fingerprint(name)};
  }

  // Kills `command` before one step after another, until it has no further one.
  void KillBeforeEach(const std::function<bool(int step)>& command) {
    int step = 0;
    while (!HasFailure() && command(step)) step += Stride();
    for (const auto& [name, kills] : kills_) {
      EXPECT_GT(kills * Stride(), 10) << name;
      fmt::print("{}: {} kills\n", name, kills);
    }
  }

  std::map<std::string, int> kills_;
  int epoch_ = 0;
};

TEST_F(FederationKillPointsTest, Train) {
  KillBeforeEach([this](int step) { return Train(step); });
}
TEST_F(FederationKillPointsTest, Ask) {
  KillBeforeEach([this](int step) { return Ask(step); });
}
TEST_F(FederationKillPointsTest, AddAndRemove) {
  KillBeforeEach([this](int step) { return AddAndRemove(step); });
}
TEST_F(FederationKillPointsTest, Renew) {
  KillBeforeEach([this](int step) { return Renew(step); });
}
TEST_F(FederationKillPointsTest, MoveServer) {
  KillBeforeEach([this](int step) { return MoveServer(step); });
}

}  // namespace
}  // namespace tacet::app
