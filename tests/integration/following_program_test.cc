// A federation that changes by one command of its coordinator and none at its sites, with the
// programs as people run them, and what must never follow by itself.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tacet/base/stopwatch.h"
#include "tacet/base/test_size_for_test.h"
#include "tests/integration/broken_disk_for_test.h"
#include "tests/integration/following_federation_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kRounds = 12;

// In the long set. The guide of five hospitals has the usual changes in every run of the tests.
class AllChangesTest : public FollowingFederationTest {
 protected:
  void SetUp() override {
    if (base::TestSize("TACET_CHANGES", 0) == 0) GTEST_SKIP();
    FollowingFederationTest::SetUp();
  }
};

TEST_F(AllChangesTest, TrainingsQueriesAndMembersChangeByOneCommandEach) {
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/run/summary.json");
  WriteConfig(Training(kRounds), "second.toml");
  const Outcome trained = Make("train", {"second.toml"});
  ASSERT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  for (const std::string& site : sites_) {
    EXPECT_THAT(trained.out, HasSubstr("joined      " + site));
    EXPECT_THAT(Read(site + "-stderr"), HasSubstr("joined epoch 1 by the policy, number"));
  }
  // Once more, it is the same command, and nobody pays again.
  const Outcome same = Make("train", {"second.toml"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("which this command began before"));
  EXPECT_EQ(EpochOf("north"), 1);

  // A site comes, with commands of its own, and another one leaves.
  Request("east");
  const Outcome added =
      Make("add", {"east", "--request", "east/east.request", "--fingerprint", Fingerprint("east")});
  ASSERT_EQ(added.exit_code, 0) << added.out << added.err;
  EXPECT_THAT(added.out, HasSubstr("send        east its invitation as a file: "
                                   "federation/invitations/east-epoch-2.tacet"));
  Accept("east", 2);
  Equip("east");
  Follow("east");
  AwaitFile("east/exchange-next.key");
  // The epoch changed between rounds of the training. No attempt was lost, and none is charged at
  // one site alone.
  for (const std::string& site : sites_) AwaitFile(site + "/run-1/summary.json");
  const double charged = ChargesOf("north");
  EXPECT_GE(charged, 1 + kRounds);
  for (const std::string& site : sites_) EXPECT_EQ(ChargesOf(site), charged) << site;
  const Outcome removed = Make("remove", {"east"});
  ASSERT_EQ(removed.exit_code, 0) << removed.out << removed.err;
  EXPECT_THAT(removed.out, Not(HasSubstr("east")));
  EXPECT_EQ(EpochOf("east"), 2);
  for (const std::string& site : sites_) EXPECT_EQ(EpochOf(site), 3) << site;

  WriteConfig(Query(), "query.toml");
  const Outcome asked = Make("ask", {"query.toml"});
  ASSERT_EQ(asked.exit_code, 0) << asked.out << asked.err;
  for (const std::string& site : sites_) AwaitFile(site + "/run-4/answers.json");
  EXPECT_EQ(Read("north/run-4/answers.json"), Read("west/run-4/answers.json"));
  EXPECT_EQ(ChargesOf("north"), charged + 1);

  const std::string certificate = Read("north/invitation");
  const Outcome renewed = Make("renew", {"--days", "500"});
  ASSERT_EQ(renewed.exit_code, 0) << renewed.out << renewed.err;
  EXPECT_NE(Read("north/invitation"), certificate);
  EXPECT_EQ(EpochOf("north"), 4);

  // Another server takes over, at another address.
  Request("hub-2", {"--server-host", "127.0.0.2"});
  const Outcome moved = Make("move-server", {"hub-2", "--request", "hub-2/hub-2.request",
                                             "--fingerprint", Fingerprint("hub-2")});
  ASSERT_EQ(moved.exit_code, 0) << moved.out << moved.err;
  EXPECT_THAT(moved.out, HasSubstr("send        hub-2 its invitation as a file"));
  ASSERT_EQ(StopServer().exit_code, 0);
  Accept("hub-2", 5);
  reached_at_ = "127.0.0.2" + reached_at_.substr(reached_at_.find(':'));
  ServeFollowing({"--home", "hub-2", "--key-file", "hub-2.key"});
  // Its terms hold still: to ask again is to pay again, so it has to be said.
  EXPECT_THAT(Make("ask", {"query.toml"}).err, HasSubstr("pay for them once more"));
  const Outcome once_more = Make("ask", {"query.toml", "--again"});
  ASSERT_EQ(once_more.exit_code, 0) << once_more.out << once_more.err;
  for (const std::string& site : sites_) AwaitFile(site + "/run-6/answers.json");
  for (const std::string& site : sites_) EXPECT_THAT(Stop(site).err, Not(HasSubstr("VIOLATION")));
}

// A change outside one site's policy stops at that site, which is named with the field. A person
// there accepts it, and the same command ends its work. The decisions of the others read no table:
// they are the same without one, and with one that is none.
TEST_F(FollowingFederationTest, ASiteThatAsksIsNamedAndNoDecisionReadsATable) {
  SignPolicy("west", kAllKinds, 0.5);
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/exchange-next.key");
  std::filesystem::remove(path_ / "north.csv");
  std::ofstream(path_ / "south.csv") << "this is no table";
  WriteConfig(Training(2, 8), "second.toml");
  const Outcome asked = Make("train", {"second.toml"}, "20");
  EXPECT_EQ(asked.exit_code, 4) << asked.out << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("asks        west: its policy stops it: "
                                   "privacy.epsilon_per_year"));
  EXPECT_THAT(asked.out, HasSubstr("joined      north"));
  EXPECT_THAT(asked.out, HasSubstr("joined      south"));
  AwaitSaid("west", "the policy does not accept epoch 1 without a person");
  EXPECT_EQ(EpochOf("west"), 0);
  const Outcome person = Tacet({"client", "join", "--home", "west", "--key-file", "west.key",
                                "--server", reached_at_, "--accept-weaker"});
  ASSERT_EQ(person.exit_code, 0) << person.err;
  const Outcome again = Make("train", {"second.toml"});
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_EQ(EpochOf("north"), 1);
  AwaitSaid("north", "north.csv");  // without its data a site says so, and still follows
  // That training cannot end, and is not dropped without a word.
  WriteConfig(Training(3, 8), "third.toml");
  const Outcome refused = Make("train", {"third.toml"}, "1");
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("the training of epoch 1 has not ended: 0 of 2 rounds"));
  EXPECT_THAT(refused.err, HasSubstr("--give-up"));
  EXPECT_EQ(EpochOf("north"), 1);

  // The officer takes the word back while a client runs, and an operator puts the old file in its
  // place before anything was joined or charged under the new one.
  const std::string policy = Read("south/policy.toml"), signature = Read("south/policy.toml.sig");
  const std::string record = Read("south/acceptances");
  SignPolicy("south", "");
  Await([&] { return Read("south/acceptances") != record; });
  std::ofstream(path_ / "south/policy.toml") << policy;
  std::ofstream(path_ / "south/policy.toml.sig", std::ios::binary) << signature;
  const Outcome replaced = Make("train", {"third.toml", "--give-up"}, "20");
  EXPECT_EQ(replaced.exit_code, 4) << replaced.out << replaced.err;
  EXPECT_THAT(replaced.out, HasSubstr("asks        south: its policy stops it: policy.serial"));
  EXPECT_EQ(EpochOf("south"), 1);

  // The officer gives the word again, and the coordinator repeats the command before the site has
  // looked. The site's answer from before does not end it.
  ::kill(running_.at("south"), SIGSTOP);
  for (const std::string site : {"south", "west"}) SignPolicy(site, kAllKinds);
  const pid_t repeated =
      StartAs("coordinator", Change("train", {"third.toml", "--wait-seconds", "60"}), "c-");
  Await([&] { return Read("c-stdout").find("joined      west") != std::string::npos; });
  ::kill(running_.at("south"), SIGCONT);
  const Outcome joined = WaitFor(repeated, "c-");
  EXPECT_EQ(joined.exit_code, 0) << joined.out << joined.err;
  EXPECT_EQ(EpochOf("south"), 2);
}

// A committee of three among four sites, so an epoch can begin without the keys of one.
class FourFollowingTest : public FollowingFederationTest {
 protected:
  void SetUp() override { SetUpSites({"east", "north", "south", "west"}, Training()); }
  bool HasBegun(int epoch) const {
    const std::string name = fmt::format("north-epoch-{}.tacet", epoch);
    return std::filesystem::exists(path_ / "federation/invitations" / name);
  }
};

TEST_F(FourFollowingTest, NothingBeginsThatNobodyAskedFor) {
  for (const std::string site : {"north", "south", "west"}) {
    Follow(site);
    AwaitFile(site + "/exchange-next.key");
  }
  WriteConfig(Training(2), "second.toml");
  // A person who ends the command while it waits for a site's keys has ended it. The present
  // training cannot end without the seat of east.
  const pid_t command = StartAs(
      "coordinator", Change("train", {"second.toml", "--give-up", "--wait-seconds", "60"}), "c-");
  Await([&] { return Read("c-stdout").find("next epoch's keys of east") != std::string::npos; });
  ::kill(command, SIGINT);
  const Outcome ended = WaitFor(command, "c-");
  EXPECT_NE(ended.exit_code, 0);
  EXPECT_THAT(ended.err, HasSubstr("no epoch was begun"));
  EXPECT_FALSE(HasBegun(1));

  // The training that runs is not begun again by its own files, whatever came between.
  Follow("east");
  AwaitFile("east/exchange-next.key");
  ASSERT_EQ(Make("train", {"second.toml"}).exit_code, 0);
  ASSERT_EQ(Make("remove", {"east"}).exit_code, 0);
  const Outcome same = Make("train", {"second.toml"});
  EXPECT_NE(same.exit_code, 0) << same.out;
  EXPECT_THAT(same.err, HasSubstr("--again"));
  EXPECT_FALSE(HasBegun(3));
  const Outcome again = Make("train", {"second.toml", "--again"});
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_TRUE(HasBegun(3));
}

// A member that calls and never takes a result delays a change once, by --unmasking-seconds, and
// the log names it. The others have the seats.
TEST_F(FourFollowingTest, AMemberThatTakesNoResultDelaysAChangeOnce) {
  ASSERT_EQ(StopServer().exit_code, 0);
  StartServer({"--follow", "", "--listen", reached_at_, "--unmasking-seconds", "3"});
  for (const std::string site : {"east", "north", "south"}) Follow(site);
  for (const std::string site : {"east", "north", "south"}) AwaitFile(site + "/run/summary.json");
  const std::string call = fmt::format("{} {} show-up west", TACET_DRIVE_ROUNDS, reached_at_);
  const Outcome called = Run("sh", {"-c", call});
  ASSERT_EQ(called.exit_code, 0) << called.err;
  const pid_t calls = Start("sh", {"-c", "while " + call + "; do sleep 1; done"}, "calls-");
  const base::Stopwatch waited;
  const Outcome removed = Make("remove", {"west"});
  EXPECT_EQ(removed.exit_code, 0) << removed.out << removed.err;
  EXPECT_GE(waited.Seconds(), 3);
  EXPECT_THAT(Read("server.log"), HasSubstr(R"("event":"result-not-taken","names":["west"])"));
  ::kill(calls, SIGKILL);
  WaitFor(calls, "calls-");
}

// By default a change waits longer for the server than one with default times stays in its epoch.
using DefaultTimesTest = ProgramTest;
TEST_F(DefaultTimesTest, AChangeWaitsLongerThanAServerStays) {
  const auto seconds = [](const Outcome& help, const std::string& flag) {
    return std::stod(help.out.substr(help.out.find('=', help.out.find("  --" + flag + " ")) + 1));
  };
  const Outcome change = Tacet({"federation", "move-server", "--help"});
  const Outcome server = Tacet({"server", "--help"});
  EXPECT_GT(seconds(change, "wait-seconds"),
            seconds(server, "collecting-seconds") + 2 * seconds(server, "unmasking-seconds"));
}

// Another request in the name of a site that was added is another command.
TEST_F(AllChangesTest, AnotherRequestIsNotTheOneThatWasAdded) {
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/exchange-next.key");
  Request("east");
  const auto add = [this] {
    return Make("add",
                {"east", "--request", "east/east.request", "--fingerprint", Fingerprint("east")});
  };
  ASSERT_EQ(add().exit_code, 0);
  EXPECT_EQ(add().exit_code, 0);
  std::filesystem::remove_all(path_ / "east");
  Request("east");
  const Outcome other = add();
  EXPECT_NE(other.exit_code, 0) << other.out;
  EXPECT_THAT(other.err, HasSubstr("enrolled already, with other keys"));
}

// Certificates that end earlier, or at the same time, reach the sites as well.
TEST_F(FollowingFederationTest, AShorterCertificateIsTakenUp) {
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/exchange-next.key");
  for (const std::string days : {"100", "99999", "99999"}) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const Outcome renewed = Make("renew", {"--days", days}, "10");
    EXPECT_EQ(renewed.exit_code, 0) << days << renewed.out << renewed.err;
  }
}

// A site whose disk is full cannot join. Its people hear of it, and it joins once there is room.
TEST_F(AllChangesTest, AFullDiskIsTold) {
  environment_["west"] = BrokenDiskOf(
      path_ / "west", {"BROKEN_FULL=acceptances*", "BROKEN_SWITCH=" + (path_ / "full").string()});
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/run/summary.json");
  std::ofstream(path_ / "full") << "";
  WriteConfig(Training(2), "second.toml");
  const Outcome waits = Make("train", {"second.toml"}, "15");
  EXPECT_EQ(waits.exit_code, 3) << waits.out << waits.err;
  EXPECT_EQ(EpochOf("west"), 0);
  EXPECT_THAT(Read("west-stderr"), HasSubstr("cannot join epoch 1"));
  EXPECT_THAT(Read("west-stderr"), HasSubstr("No space left"));
  std::filesystem::remove(path_ / "full");
  EXPECT_EQ(Make("train", {"second.toml"}).exit_code, 0);
  EXPECT_EQ(EpochOf("west"), 1);
}

// A query that no attempt has begun is not dropped by the next training, which waits for its end.
TEST_F(FollowingFederationTest, ATrainingWaitsForTheQueryBeforeIt) {
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/run/summary.json");
  WriteConfig(Query(), "query.toml");
  WriteConfig(Training(2), "second.toml");
  ASSERT_EQ(Make("ask", {"query.toml"}).exit_code, 0);
  const Outcome trained = Make("train", {"second.toml"});
  ASSERT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("waiting     for the end of the query of epoch 1: 0 of 1"));
  for (const std::string& site : sites_) {
    EXPECT_TRUE(std::filesystem::exists(path_ / site / "run-1/answers.json")) << site;
  }
}

// Also with --give-up an attempt that is open comes to its end, and its answers reach every site,
// however long the one that the server waited for takes to fetch them.
TEST_F(FollowingFederationTest, AnswersThatWerePaidReachEverySite) {
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/run/summary.json");
  WriteConfig(Query(), "query.toml");
  WriteConfig(Training(2), "second.toml");
  ASSERT_EQ(Make("ask", {"query.toml"}).exit_code, 0);
  const auto is_logged = [this](const std::string& name) {
    for (const base::JsonValue& event : Events()) {
      const base::JsonValue* const epoch = event.Find("epoch");
      if (epoch != nullptr && *event.Find("event")->AsString() == name && *epoch->AsDouble() >= 1) {
        return true;
      }
    }
    return false;
  };
  Await([&] { return is_logged("attempt-begun"); });
  ::kill(running_.at("west"), SIGSTOP);  // the attempt waits for it
  const pid_t train = StartAs(
      "coordinator", Change("train", {"second.toml", "--give-up", "--wait-seconds", "60"}), "c-");
  Await(
      [&] { return Read("c-stdout").find("to end its attempt of epoch 1") != std::string::npos; });
  ::kill(running_.at("west"), SIGCONT);
  const Outcome trained = WaitFor(train, "c-");
  ASSERT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  for (const std::string& site : sites_) {
    AwaitFile(site + "/run-2/summary.json");
    EXPECT_TRUE(std::filesystem::exists(path_ / site / "run-1/answers.json")) << site;
  }
}

// A server that takes its invitation as a file goes first, too: no site leaves an attempt that was
// charged.
TEST_F(FollowingFederationTest, SitesStayUntilTheServerHasItsFile) {
  ASSERT_EQ(StopServer().exit_code, 0);
  StartServer({"--listen", reached_at_});
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/run/summary.json");
  WriteConfig(Training(2), "second.toml");
  const Outcome waits = Make("train", {"second.toml"}, "2");
  EXPECT_NE(waits.exit_code, 0);
  EXPECT_THAT(waits.out, HasSubstr("send        hub its invitation as a file: "
                                   "federation/invitations/hub-epoch-1.tacet"));
  EXPECT_EQ(EpochOf("north"), 0);
  Accept("hub", 1);
  ASSERT_EQ(StopServer().exit_code, 0);
  StartServer({"--listen", reached_at_});
  const Outcome trained = Make("train", {"second.toml"});
  EXPECT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  EXPECT_EQ(EpochOf("north"), 1);
}

}  // namespace
}  // namespace tacet::app
