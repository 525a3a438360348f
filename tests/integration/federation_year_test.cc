// A year of a federation of five hospitals, by a clock that the test sets: trainings, queries,
// members that leave and come, certificates, another server and absences. Every command of the
// coordinator is killed before one of its steps, and the same command ends its work. Nobody at a
// site does anything but decide about a member that nobody there knows.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/test_size_for_test.h"
#include "tests/integration/clock_shift_for_test.h"
#include "tests/integration/following_federation_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMonthSeconds = 30 * 86'400;

// Months of the year that are played. By default the first one alone.
int Months() { return base::TestSize("TACET_YEAR_MONTHS", 1); }

class FederationYearTest : public FollowingFederationTest {
 protected:
  void SetUp() override {
    clock_ = ShiftedClockOf(path_ / "clock");
    for (const std::string who : {"hub", "hub-2"}) environment_[who] = clock_;
    for (const std::string& site : Everybody()) environment_[site] = clock_;
    SetUpSites({"centre", "east", "north", "south", "west"}, Terms(-1));
  }
  static std::vector<std::string> Everybody() {
    return {"centre", "east", "harbour", "north", "south", "valley", "west"};
  }

  // A command under the shifted clock.
  Outcome Timed(std::vector<std::string> words, const std::vector<std::string>& environment) {
    words.insert(words.begin(), TACET_PROGRAM);
    words.insert(words.begin(), environment.begin(), environment.end());
    return Run("env", words);
  }
  Outcome Timed(std::vector<std::string> words) { return Timed(std::move(words), clock_); }
  // The same, killed before the `step`th change of the coordinator's disk.
  Outcome KilledBefore(int step, std::vector<std::string> words) {
    const uint64_t none = 0;
    std::ofstream(path_ / "steps", std::ios::binary)
        .write(reinterpret_cast<const char*>(&none), sizeof(none));
    std::vector<std::string> environment = clock_;
    for (std::string& one : environment) {
      if (one.starts_with("LD_PRELOAD=")) one += ":" TACET_BROKEN_DISK;
    }
    environment.push_back("BROKEN_ROOT=" + (path_ / "federation").string());
    environment.push_back("BROKEN_STEPS=" + (path_ / "steps").string());
    environment.push_back("BROKEN_KILL=" + std::to_string(step));
    return Timed(std::move(words), environment);
  }

  // A change that all sites join. It begins one epoch, or none.
  Outcome Carry(const std::string& command, std::vector<std::string> words, int epochs = 1) {
    words = Change(command, std::move(words));
    words.insert(words.end(), {"--wait-seconds", "60"});
    // Steps of a command are some thirty; one of a kill behind the end kills nothing.
    const Outcome killed = KilledBefore(static_cast<int>(random_() % 32), words);
    killed_ += killed.exit_code == -1 ? 1 : 0;
    const Outcome again = Timed(words);
    epoch_ += epochs;
    if (again.exit_code != 0) return again;
    for (const std::string& site : sites_) {
      EXPECT_EQ(EpochOf(site), epoch_) << site << " after " << command;
    }
    return again;
  }
  void Train(int month, std::vector<std::string> more = {}) {
    WriteConfig(Terms(month), "training.toml");
    more.insert(more.begin(), "training.toml");
    const Outcome trained = Carry("train", more);
    ASSERT_EQ(trained.exit_code, 0) << trained.out << trained.err;
    AwaitResults("summary.json");
    ++uses_;
  }
  void Ask(int number) {
    WriteConfig(Query(100 + number), "query.toml");
    const Outcome asked = Carry("ask", {"query.toml"});
    ASSERT_EQ(asked.exit_code, 0) << asked.out << asked.err;
    AwaitResults("answers.json");
    ++uses_;
  }
  void AwaitResults(const std::string& file) {
    const std::string run = fmt::format("/run-{}/{}", epoch_, file);
    for (const std::string& site : sites_) AwaitFile(site + run);
    if (file != "answers.json") return;
    for (const std::string& site : sites_) EXPECT_EQ(Read(site + run), Read(sites_[0] + run));
  }
  void Remove(const std::string& site, int month) {
    std::erase(sites_, site);
    Train(month, {"--remove", site});
    Stop(site);
  }
  // Every member has a seat, so a person at each site looks at the newcomer once.
  void Add(const std::string& site) {
    Request(site);
    const std::vector<std::string> words = {site, "--request", site + "/" + site + ".request",
                                            "--fingerprint", Fingerprint(site)};
    const Outcome asks = Carry("add", words);
    ASSERT_EQ(asks.exit_code, 4) << asks.out << asks.err;
    for (const std::string& member : sites_) {
      const Outcome person = Timed({"client", "join", "--home", member, "--key-file",
                                    member + ".key", "--server", reached_at_, "--accept-weaker"});
      ASSERT_EQ(person.exit_code, 0) << person.err;
    }
    std::vector<std::string> same = Change("add", words);
    same.insert(same.end(), {"--wait-seconds", "60"});
    ASSERT_EQ(Timed(same).exit_code, 0);
    ASSERT_EQ(
        Timed({"client", "join",
               fmt::format("federation/invitations/{}-epoch-{}.tacet", site, epoch_), "--home",
               site, "--key-file", site + ".key", "--accept-weaker", "--coordinator", coordinator_})
            .exit_code,
        0);
    Equip(site);
    Follow(site);
    sites_.push_back(site);
    AwaitFile(site + "/exchange-next.key");
  }
  void MoveServer() {
    Request("hub-2", {"--server-host", "127.0.0.2"});
    const Outcome moved = Carry("move-server", {"hub-2", "--request", "hub-2/hub-2.request",
                                                "--fingerprint", Fingerprint("hub-2")});
    ASSERT_EQ(moved.exit_code, 0) << moved.out << moved.err;
    ASSERT_EQ(StopServer().exit_code, 0);
    ASSERT_EQ(
        Timed({"client", "join", fmt::format("federation/invitations/hub-2-epoch-{}.tacet", epoch_),
               "--home", "hub-2", "--key-file", "hub-2.key", "--coordinator", coordinator_})
            .exit_code,
        0);
    reached_at_ = "127.0.0.2" + reached_at_.substr(reached_at_.find(':'));
    ServeFollowing({"--home", "hub-2", "--key-file", "hub-2.key"});
  }
  static std::string Terms(int month) {
    std::string terms = Training(1, 20 + month);
    // Every member has a seat, in trainings as in queries.
    const size_t seats = terms.find("committee_seats = 3\ncommittee_corrupt = 1\n");
    return terms.erase(seats,
                       std::string_view("committee_seats = 3\ncommittee_corrupt = 1\n").size());
  }

  std::vector<std::string> clock_;
  std::mt19937 random_{5};
  int epoch_ = 0, uses_ = 0, killed_ = 0;
};

TEST_F(FederationYearTest, RunsUnattended) {
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/run/summary.json");
  int queries = 0;
  for (int month = 0; month < Months() && !HasFatalFailure(); ++month) {
    SCOPED_TRACE(fmt::format("month {}", month));
    ShiftClock(path_ / "clock", (month + 1) * kMonthSeconds);
    const bool is_absent = month == 1 || month == 8;
    if (is_absent) Stop("north");
    if (month == 3) {
      Remove("west", month);
    } else if (month == 6) {
      Remove("harbour", month);
    } else if (month == 9) {
      Remove("south", month);
    } else if (is_absent) {
      // Its keys for this epoch were left; it joins when it is back.
      WriteConfig(Terms(month), "training.toml");
      std::vector<std::string> words = Change("train", {"training.toml"});
      words.insert(words.end(), {"--wait-seconds", "20"});
      EXPECT_EQ(Timed(words).exit_code, 3);
      Follow("north");
      Train(month);
    } else {
      Train(month);
    }
    const int of_month = Months() == 1 ? 1 : month % 2 == 0 ? 2 : 3;
    for (int query = 0; query < of_month && !HasFatalFailure(); ++query) {
      Ask(queries++);
    }
    if (month == 2) Add("harbour");
    if (month == 7) Add("valley");
    if (month == 5) MoveServer();
    if (month % 6 == 4 || Months() == 1) {
      const Outcome renewed = Carry("renew", {"--days", "365"}, 0);
      EXPECT_EQ(renewed.exit_code, 0) << renewed.out << renewed.err;
    }
  }
  for (const std::string& site : sites_) {
    EXPECT_THAT(Read(site + "-stderr"), Not(HasSubstr("VIOLATION"))) << site;
    const Outcome verified =
        Tacet({"ledger", "verify", (LedgerFolderOf(site) / "main.ledger").string()});
    EXPECT_EQ(verified.exit_code, 0) << verified.err;
  }
  // A use is charged once at least, and an attempt that failed once more.
  EXPECT_GE(ChargesOf("north"), uses_ + 1);
  EXPECT_LE(ChargesOf("north"), 2 * (uses_ + 1));
  EXPECT_GT(killed_, 0);
  fmt::print("{} trainings and queries, {} commands were killed\n", uses_, killed_);
}

}  // namespace
}  // namespace tacet::app
