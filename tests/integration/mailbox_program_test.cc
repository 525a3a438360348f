// Later epochs of a federation through the mailbox of its running server, with the programs as
// people run them: one command of the coordinator, and one of each site.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/crypto/hash.h"
#include "tests/integration/live_federation_for_test.h"

namespace tacet::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kMailboxAgreed[] = R"(
[data]
classes = 2
[model]
name = "logistic"
input_shape = [10]
[federation]
rounds = 20
[privacy]
noise_multiplier = 6
scale = 1e-2
)";

class MailboxProgramTest : public FederationProgramTest {
 protected:
  void SetUp() override {
    SetUpFederation(kMailboxAgreed);
    StartFollowing();
  }
  void StartFollowing(std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--follow", ""});
    StartServer(more);
  }
  std::string Server() const { return "127.0.0.1:" + std::to_string(members_port_); }
  // `invitation` and flags; without a file the one that waits at the server.
  Outcome JoinByMail(const std::string& site, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"client",     "join",        "--home",   site,
                                          "--key-file", site + ".key", "--server", Server()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Tacet(arguments);
  }
  Outcome RotateByMail(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--mailbox", Server()});
    return Rotate(more);
  }
};

TEST_F(MailboxProgramTest, AnEpochTakesOneCommandOfEachParty) {
  // Before anybody has left a prekey, the sites are named, and nothing changes.
  const Outcome too_early = RotateByMail();
  EXPECT_EQ(too_early.exit_code, 1);
  EXPECT_THAT(too_early.out, HasSubstr("without one for the next epoch: north, south, west"));
  EXPECT_THAT(too_early.err, HasSubstr("would keep exchange keys of an earlier epoch"));
  const Outcome nothing_waits = JoinByMail("north");
  EXPECT_EQ(nothing_waits.exit_code, 1);
  EXPECT_THAT(nothing_waits.err, HasSubstr("no invitation for this site waits at"));
  for (const std::string& site : sites_) {
    const Outcome left = JoinByMail(site, {"federation/invitations/" + site + "-epoch-0.tacet"});
    EXPECT_EQ(left.exit_code, 0) << left.err;
    EXPECT_THAT(left.out, HasSubstr("those of the next epoch are left at"));
  }

  const Outcome rotated = RotateByMail();
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, HasSubstr("new for the next epoch: north, south, west"));
  EXPECT_THAT(rotated.out, HasSubstr("left at " + Server() + ": north, south, west"));
  EXPECT_THAT(rotated.out, Not(HasSubstr("warning")));

  // A check shows what the file would show, and the letter stays.
  const Outcome checked = JoinByMail("north", {"--check"});
  EXPECT_EQ(checked.exit_code, 4) << checked.err;  // a person is needed
  EXPECT_THAT(checked.out, HasSubstr("Nothing was changed."));
  // Keys are new, and no policy of the site accepts them.
  const Outcome joined = JoinByMail("north", {"--accept"});
  EXPECT_EQ(joined.exit_code, 0) << joined.err;
  EXPECT_EQ(Read("north/invitation"), Read("federation/invitations/north-epoch-1.tacet"));

  // The server has continued to the epoch before the letters came.
  EXPECT_EQ(Read("hub/invitation"), Read("federation/invitations/hub-epoch-1.tacet"));
  for (const std::string site : {"south", "west"}) {
    const Outcome late = JoinByMail(site, {"--accept-weaker"});
    EXPECT_EQ(late.exit_code, 0) << late.err;
    EXPECT_EQ(Read(site + "/invitation"),
              Read("federation/invitations/" + site + "-epoch-1.tacet"));
  }

  // The prekeys of the next epoch are there already. A newcomer's invitation goes as a file.
  Request("east");
  Admit("east");
  const Outcome next = RotateByMail();
  ASSERT_EQ(next.exit_code, 0) << next.err;
  EXPECT_THAT(next.out, HasSubstr("to be sent as files, because they join for the first time: "
                                  "east"));
  // With a newcomer the site is asked, and nobody is there to answer.
  const std::string before = Read("west/invitation");
  const Outcome asked = JoinByMail("west");
  EXPECT_EQ(asked.exit_code, 4);
  EXPECT_THAT(asked.err, HasSubstr("there is no terminal on which to ask"));
  EXPECT_TRUE(Read("west/invitation") == before);
  EXPECT_EQ(JoinByMail("west", {"--accept-weaker"}).exit_code, 0);
  EXPECT_TRUE(Read("west/invitation") == Read("federation/invitations/west-epoch-2.tacet"));
  EXPECT_THAT(JoinByMail("east").err, HasSubstr("--coordinator is needed the first time"));
  const Outcome newcomer = JoinByMail("east", {"--coordinator", coordinator_});
  EXPECT_THAT(newcomer.err, HasSubstr("the first invitation comes as a file"));
}

// After a theft a site replaces the keys that it has left, and the epoch begins with the new ones.
TEST_F(MailboxProgramTest, KeysThatWereStolenAreReplacedAtTheServer) {
  for (const std::string& site : sites_) {
    ASSERT_EQ(JoinByMail(site, {"federation/invitations/" + site + "-epoch-0.tacet"}).exit_code, 0);
  }
  const std::string stolen = Read("north/exchange-next.key");
  const std::vector<std::string> renew = {"client",     "renew",     "--home",   "north",
                                          "--key-file", "north.key", "--server", Server()};
  EXPECT_THAT(Tacet(renew).out, HasSubstr("If somebody may have copied that key, add --discard"));
  EXPECT_EQ(Read("north/exchange-next.key"), stolen);
  std::vector<std::string> discard = renew;
  discard.emplace_back("--discard");
  const Outcome discarded = Tacet(discard);
  ASSERT_EQ(discarded.exit_code, 0) << discarded.err;
  EXPECT_THAT(discarded.out, HasSubstr("It is left at the server, too."));
  EXPECT_NE(Read("north/exchange-next.key"), stolen);
  const std::string request = Read("north/north.request");
  const Outcome rotated = RotateByMail();
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, HasSubstr("new for the next epoch: north, south, west"));
  EXPECT_THAT(Read("federation/sites/north.enrolled"), HasSubstr(request));
  EXPECT_EQ(JoinByMail("north", {"--accept-weaker"}).exit_code, 0);
}

// The work of a command that could not reach the server is ended by the same command, or by the one
// that writes invitations.
TEST_F(MailboxProgramTest, AnInterruptedCommandIsEndedByAnother) {
  for (const std::string& site : sites_) {
    ASSERT_EQ(JoinByMail(site, {"federation/invitations/" + site + "-epoch-0.tacet"}).exit_code, 0);
  }
  const std::string address = Server();
  ASSERT_EQ(StopServer().exit_code, 0);
  EXPECT_EQ(RotateByMail().exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(path_ / "federation/epochs/0000000001.manifest"));
  StartFollowing({"--listen", address});
  ASSERT_EQ(RotateByMail().exit_code, 0);
  // The server lost its mail.
  ASSERT_EQ(StopServer().exit_code, 0);
  std::filesystem::remove_all(path_ / "hub/mail");
  StartFollowing({"--listen", address});
  EXPECT_THAT(JoinByMail("north").err, HasSubstr("no invitation for this site waits"));
  const Outcome again =
      Tacet({"federation", "seal-key", "--key-file", "c.key", "--mailbox", address});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(JoinByMail("north", {"--accept-weaker"}).exit_code, 0);
  // The server's disk lost the ends of its mail: what comes again takes its place.
  std::map<std::filesystem::path, std::string> whole;
  for (const auto& entry : std::filesystem::directory_iterator(path_ / "hub/mail")) {
    if (entry.path().extension() == ".whole") whole[entry.path()] = ReadAll(entry.path());
  }
  for (const auto& [file, bytes] : whole) std::filesystem::resize_file(file, bytes.size() / 2);
  const Outcome sealed =
      Tacet({"federation", "seal-key", "--key-file", "c.key", "--mailbox", address});
  EXPECT_EQ(sealed.exit_code, 0) << sealed.err;
  for (const std::string& site : sites_) {
    const Outcome left = Tacet(
        {"client", "renew", "--home", site, "--key-file", site + ".key", "--server", address});
    EXPECT_EQ(left.exit_code, 0) << left.err;
  }
  size_t prekeys = 0;
  for (const auto& [file, bytes] : whole) {
    if (bytes.find("TCTQ") != crypto::Digest().size()) continue;  // letters are sealed again
    ++prekeys;
    EXPECT_TRUE(ReadAll(file) == bytes) << file;
  }
  EXPECT_EQ(prekeys, 1u);  // north's: the folder had been removed
  EXPECT_EQ(JoinByMail("south", {"--accept-weaker"}).exit_code, 0);
}

// Sites that run need no command for their prekeys, and say that an invitation waits.
class RunningMailboxTest : public LiveFederationTest {
 protected:
  RunningMailboxTest() : LiveFederationTest(1) {}
};

TEST_F(RunningMailboxTest, RunningSitesLeavePrekeysAndTellOfInvitations) {
  AwaitAllDone();
  // A running site makes no keys by itself.
  EXPECT_FALSE(std::filesystem::exists(path_ / "north/exchange-next.key"));
  EXPECT_EQ(Rotate({"--mailbox", reached_at_}).exit_code, 1);
  for (const std::string& site : sites_) {
    const Outcome made = Tacet({"client", "renew", "--home", site, "--key-file", site + ".key"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    StartSite(site);
  }
  AwaitAllDone();
  const Outcome rotated = Rotate({"--mailbox", reached_at_});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, HasSubstr("new for the next epoch: north, south, west"));
  StartSite("north");
  const Outcome ended = WaitFor(running_["north"], "north-");
  running_.erase("north");
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("an invitation to epoch 1 waits at the server. See what it "
                                   "changes, and accept it: tacet client join --home north "
                                   "--server " +
                                   reached_at_));
  EXPECT_FALSE(std::filesystem::exists(path_ / "north/run-1"));  // it has joined nothing by itself
  EXPECT_EQ(Number(*base::JsonValue::Parse(ended.out), "epoch"), 0);
  EXPECT_EQ(Number(*base::JsonValue::Parse(ended.out), "waiting_epoch"), 1);

  // A site waits for a server that has continued to the epoch, and is told what to do.
  ASSERT_EQ(Join("hub", 1).exit_code, 0);
  ASSERT_EQ(StopServer().exit_code, 0);
  StartServer(server_flags_);
  StartSite("south");
  Await([this] {
    return Read("south-stderr").find("an invitation to epoch 1 waits at the server") !=
           std::string::npos;
  });
}

// A site may join the next epoch by a file while its client of the epoch before runs. That client
// does not put a used prekey in the place of the fresh one.
class JoinedWhileRunningTest : public LiveFederationTest {
 protected:
  JoinedWhileRunningTest() : LiveFederationTest(2) { HoldBefore(1); }
};

TEST_F(JoinedWhileRunningTest, APrekeyIsNotReplacedByAUsedOne) {
  AwaitRounds(sites_, 1);
  for (const std::string& site : sites_) {
    const Outcome made = Tacet(
        {"client", "renew", "--home", site, "--key-file", site + ".key", "--server", reached_at_});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  // An attempt is open, and the server takes its invitation as a file: no letter goes first.
  const Outcome rotated = Rotate({"--mailbox", reached_at_});
  EXPECT_EQ(rotated.exit_code, 1) << rotated.out;
  EXPECT_THAT(rotated.err, HasSubstr("the server is in epoch 0 still"));
  EXPECT_THAT(rotated.err, HasSubstr("Give the server federation/invitations/hub-epoch-1.tacet"));
  const Outcome sealed =
      Tacet({"federation", "seal-key", "--key-file", "c.key", "--mailbox", reached_at_});
  EXPECT_EQ(sealed.exit_code, 1) << sealed.out;
  EXPECT_THAT(sealed.err, HasSubstr("the server is in epoch 0 still"));
  for (const std::string& site : sites_) {
    const std::vector<std::string> join = {"client",     "join",        "--home",   site,
                                           "--key-file", site + ".key", "--server", reached_at_};
    EXPECT_THAT(Tacet(join).err, HasSubstr("no invitation for this site waits at"));
    std::vector<std::string> by_file = join;
    by_file.insert(by_file.begin() + 2, "federation/invitations/" + site + "-epoch-1.tacet");
    by_file.emplace_back("--accept-weaker");
    const Outcome joined = Tacet(by_file);
    ASSERT_EQ(joined.exit_code, 0) << joined.err;
  }
  LetGo();
  AwaitAllDone();
  // Once the server is in the epoch, the same command ends its work.
  ASSERT_EQ(Join("hub", 1).exit_code, 0);
  ASSERT_EQ(StopServer().exit_code, 0);
  StartServer(server_flags_);
  const Outcome ended = Rotate({"--mailbox", reached_at_});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("left at " + reached_at_ + ": north, south, west"));
  const Outcome next = Rotate({"--mailbox", reached_at_});
  EXPECT_EQ(next.exit_code, 0) << next.err;
  EXPECT_THAT(next.out, HasSubstr("new for the next epoch: north, south, west"));
}

}  // namespace
}  // namespace tacet::app
