// A federation that changes by one command of its coordinator and none at its sites, with the
// programs as people run them, and what must never follow by itself.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/following_federation_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(FollowingFederationTest, TrainingsQueriesAndMembersChangeByOneCommandEach) {
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/run/summary.json");
  WriteConfig(Training(2), "second.toml");
  const Outcome trained = Make("train", {"second.toml"});
  ASSERT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  for (const std::string& site : sites_) {
    EXPECT_THAT(trained.out, HasSubstr("joined      " + site));
    AwaitFile(site + "/run-1/summary.json");
    EXPECT_THAT(Read(site + "-stderr"), HasSubstr("joined epoch 1 by the policy, number"));
  }
  // Once more, it is the same command, and nobody pays again.
  const double charged = ChargesOf("north");
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
  for (const std::string& site : sites_) EXPECT_THAT(Stop(site).err, Not(HasSubstr("VIOLATION")));
}

TEST_F(FollowingFederationTest, AnotherServerTakesOver) {
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/run/summary.json");
  Request("hub-2", {"--server-host", "127.0.0.2"});
  const Outcome moved = Make("move-server", {"hub-2", "--request", "hub-2/hub-2.request",
                                             "--fingerprint", Fingerprint("hub-2")});
  ASSERT_EQ(moved.exit_code, 0) << moved.out << moved.err;
  EXPECT_THAT(moved.out, HasSubstr("send        hub-2 its invitation as a file"));
  ASSERT_EQ(StopServer().exit_code, 0);
  Accept("hub-2", 1);
  const std::string port = reached_at_.substr(reached_at_.find(':'));
  reached_at_ = "127.0.0.2" + port;
  ServeFollowing({"--home", "hub-2", "--key-file", "hub-2.key"});
  WriteConfig(Training(2), "second.toml");
  const Outcome trained = Make("train", {"second.toml"});
  ASSERT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  for (const std::string& site : sites_) AwaitFile(site + "/run-2/summary.json");
}

// What is outside one site's policy stops at that site, which is named with the field. A person
// there accepts it, and the same command ends its work.
TEST_F(FollowingFederationTest, ASiteThatAsksIsNamedWithItsField) {
  SignPolicy("west", kAllKinds, 0.5);
  FollowAll();
  WriteConfig(Training(2, 8), "second.toml");
  const Outcome asked = Make("train", {"second.toml"}, "20");
  EXPECT_EQ(asked.exit_code, 4) << asked.out << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("asks        west: its policy stops it: "
                                   "privacy.epsilon_per_year"));
  EXPECT_THAT(asked.out, HasSubstr("joined      north"));
  AwaitSaid("west", "the policy does not accept epoch 1 without a person");
  EXPECT_EQ(EpochOf("west"), 0);
  const Outcome person = Tacet({"client", "join", "--home", "west", "--key-file", "west.key",
                                "--server", reached_at_, "--accept-weaker"});
  ASSERT_EQ(person.exit_code, 0) << person.err;
  const Outcome again = Make("train", {"second.toml"});
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_EQ(EpochOf("north"), 1);
}

// The decision reads no table: it is the same without one, and with one that is not like the
// others'.
TEST_F(FollowingFederationTest, TheDecisionReadsNoTable) {
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/run/summary.json");
  std::filesystem::remove(path_ / "north.csv");
  std::ofstream(path_ / "south.csv") << "this is no table";
  WriteConfig(Training(2), "second.toml");
  const Outcome trained = Make("train", {"second.toml"});
  EXPECT_EQ(trained.exit_code, 0) << trained.out << trained.err;
  EXPECT_THAT(trained.out, HasSubstr("joined      north"));
  EXPECT_THAT(trained.out, HasSubstr("joined      south"));
  // Without its data a site charges nothing, says so, and still follows.
  AwaitSaid("north", "north.csv");
  EXPECT_EQ(ChargesOf("north"), 1);
}

// The officer takes the word back while a client runs, and an operator puts the old file in its
// place before anything was joined or charged under the new one.
TEST_F(FollowingFederationTest, APolicyThatWasReplacedAcceptsNothing) {
  FollowAll();
  for (const std::string& site : sites_) AwaitFile(site + "/run/summary.json");
  const std::string policy = Read("west/policy.toml"), signature = Read("west/policy.toml.sig");
  const std::string record = Read("west/acceptances");
  SignPolicy("west", "");
  Await([&] { return Read("west/acceptances") != record; });
  std::ofstream(path_ / "west/policy.toml") << policy;
  std::ofstream(path_ / "west/policy.toml.sig", std::ios::binary) << signature;
  WriteConfig(Training(2), "second.toml");
  const Outcome asked = Make("train", {"second.toml"});
  EXPECT_EQ(asked.exit_code, 4) << asked.out << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("asks        west: its policy stops it: policy.serial"));
  EXPECT_EQ(EpochOf("west"), 0);
}

}  // namespace
}  // namespace tacet::app
