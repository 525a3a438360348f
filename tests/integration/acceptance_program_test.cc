// Invitations that a site joins without a person, as its officer's signed policy allows, and those
// for which it asks.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/enrolment_for_test.h"

namespace tacet::app {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kNeedsPerson = 4;

std::string Agreed(double epsilon, int rounds = 20) {
  return fmt::format(R"(
[data]
classes = 2
[model]
name = "logistic"
input_shape = [10]
[federation]
rounds = {}
[privacy]
target_epsilon = {}
scale = 1e-2
)",
                     rounds, epsilon);
}

constexpr std::string_view kAcceptance = R"(
[acceptance]
accept = "within-policy"
kinds = ["training", "removal", "renewal"]
)";

class AcceptanceProgramTest : public EnrolmentTest {
 protected:
  void SetUp() override { SetUpNorth(Agreed(1.5), "--config"); }

  // North has joined epoch 0, and pins an officer whose policy accepts nothing without a person.
  void SetUpNorth(const std::string& agreed, const std::string& kind) {
    EnrolmentTest::SetUp();
    Init(agreed, kind);
    for (const std::string& name : sites_) Enrol(name, Request(name));
    ASSERT_EQ(SealKey().exit_code, 0);
    ASSERT_EQ(Join("north", 0, {"--coordinator", coordinator_}).exit_code, 0);
    const Outcome key =
        Tacet({"client", "policy", "key", "officer.key", "--key-file", "officer.unlock"});
    std::string fingerprint = key.out.substr(key.out.find(' '));
    std::erase_if(fingerprint, [](char c) { return c == ' ' || c == '\n'; });
    SignPolicy("");
    ASSERT_EQ(Tacet({"client", "policy", "pin", fingerprint, "--home", "north", "--key-file",
                     "north.key"})
                  .exit_code,
              0);
  }

  // Two epsilon a year, sums of two sites at least.
  void SignPolicy(std::string_view acceptance) {
    ++serial_;
    Sign(fmt::format(R"(
[policy]
sites = ["north"]
serial = {}
[privacy]
epsilon_per_year = 2.0
delta = 1e-5
units = ["client"]
neighbouring = ["replace-one"]
noise_laws = ["gaussian"]
colluders = 0
[federation]
min_participants = 2
committee_seats = 2
committee_corrupt = 0
dummy_uploads = false
[data]
records = 5
columns = ["*"]
[training]
kinds = ["training"]
[ledger]
folder = "/ledger"
{})",
                     serial_, acceptance));
  }
  void Sign(const std::string& policy) {
    std::ofstream(path_ / "north/policy.toml") << policy;
    const Outcome made = Tacet({"client", "policy", "sign", "north/policy.toml", "--officer",
                                "officer.key", "--key-file", "officer.unlock"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }

  // The other sites join the epoch, and another one begins with fresh keys.
  void NextEpoch(const std::vector<std::string>& flags) {
    for (const std::string& name : sites_) {
      if (name != "north") {
        ASSERT_EQ(Join(name, epoch_, {"--coordinator", coordinator_}).exit_code, 0);
      }
      Renew(name);
    }
    const Outcome rotated = Rotate(flags);
    ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
    ++epoch_;
  }
  void BeginTraining(const std::string& agreed, std::vector<std::string> flags = {}) {
    WriteConfig(agreed, "next.toml");
    flags.insert(flags.end(), {"--config", "next.toml"});
    NextEpoch(flags);
  }
  // Without a word of acceptance, and without a terminal.
  Outcome JoinAlone(int epoch, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {
        "client",
        "join",
        "federation/invitations/north-epoch-" + std::to_string(epoch) + ".tacet",
        "--home",
        "north",
        "--key-file",
        "north.key"};
    words.insert(words.end(), more.begin(), more.end());
    return Tacet(words);
  }
  void ExpectAsked(int epoch, const std::string& objection) {
    const std::string before = Read("north/invitation");
    const Outcome asked = JoinAlone(epoch);
    EXPECT_EQ(asked.exit_code, kNeedsPerson) << asked.out;
    EXPECT_THAT(asked.err, HasSubstr(objection));
    EXPECT_THAT(asked.err,
                ContainsRegex("`tacet client join federation/invitations/north-epoch-" +
                              std::to_string(epoch) +
                              ".tacet --home north --key-file north.key --accept(-weaker)?` "
                              "accepts it"));
    EXPECT_EQ(Read("north/invitation"), before);
  }
  void ExpectJoined(int epoch, const std::string& kinds) {
    const Outcome joined = JoinAlone(epoch);
    EXPECT_EQ(joined.exit_code, 0) << joined.err;
    EXPECT_THAT(joined.out,
                HasSubstr(fmt::format("by the policy, number {}: {}\n", serial_, kinds)));
  }

  std::vector<std::string> sites_ = {"north", "south", "west"};
  int serial_ = 0, epoch_ = 0;
};

TEST_F(AcceptanceProgramTest, WhatIsInsideThePolicyIsJoinedAndTheRestIsAskedFor) {
  BeginTraining(Agreed(1.5, 10));
  ExpectAsked(1, "acceptance.kinds: \"training\" is not accepted without a person");
  SignPolicy(kAcceptance);
  ExpectJoined(1, "training");

  BeginTraining(Agreed(2.5));
  ExpectAsked(2, "privacy.epsilon_per_year: all permitted attempts together cost epsilon");
  ASSERT_EQ(Join("north", 2).exit_code, 0);  // a person

  NextEpoch({});
  ExpectAsked(3, "privacy.epsilon_per_year");  // the training that continues is outside
  ASSERT_EQ(Join("north", 3).exit_code, 0);
  sites_ = {"north", "south"};
  BeginTraining(Agreed(1.5), {"--remove", "west"});
  ExpectJoined(4, "training, removal");

  // The coordinator adds a member that no person here has seen.
  ASSERT_EQ(Enrol("east", Request("east")).exit_code, 0);
  NextEpoch({});
  ExpectAsked(5,
              "acceptance.unknown_members: no person at this site has accepted the keys of east");
  const Outcome shown = Tacet({"client", "show", "--home", "north"});
  EXPECT_THAT(shown.out, ContainsRegex("epoch 0 +accepted by a person"));
  EXPECT_THAT(shown.out, ContainsRegex("epoch 1 +accepted by the policy, number 2: training"));
}

constexpr std::string_view kMeanAge = R"(
floor = 5
[privacy]
target_epsilon = 0.5
max_units = 100
[[question]]
name = "age"
kind = "mean"
column = "age"
low = 20
high = 100
)";

class AcceptedQueryTest : public AcceptanceProgramTest {
 protected:
  void SetUp() override {
    SetUpNorth(std::string(kMeanAge), "--query");
    ++serial_;
    Sign(fmt::format(R"(
policy = {{ sites = ["north"], serial = {} }}
privacy = {{ epsilon_per_year = 2.0, delta = 1e-5, units = ["record"], appearances = 1, colluders = 0, neighbouring = ["replace-one", "zero-out"], noise_laws = ["gaussian", "discrete-laplace"] }}
federation = {{ min_participants = 3, committee_seats = 3, committee_corrupt = 0 }}
data = {{ records = 100, columns = ["age"] }}
training = {{ kinds = ["query"] }}
query = {{ kinds = ["mean"], floor = 5, site_groups = false }}
acceptance = {{ accept = "within-policy", kinds = ["query"] }}
ledger = {{ folder = "/ledger" }}
)",
                     serial_));
  }
  void BeginQuery(const std::string& query) {
    WriteConfig(query, "next.toml");
    NextEpoch({"--query", "next.toml"});
  }
  void BeginQueryWithKeptKeys(const std::string& query) {
    WriteConfig(query, "next.toml");
    const Outcome rotated = Rotate({"--query", "next.toml", "--keep-exchange-keys"});
    ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
    ++epoch_;
  }
};

// The manifest names the columns and questions, and no table is there to look at.
TEST_F(AcceptedQueryTest, QuestionsAreJudgedWithoutATable) {
  BeginQuery(std::string(kMeanAge));
  ExpectJoined(1, "query");
  const std::string sex =
      "[[question]]\nname = \"sex\"\nkind = \"histogram\"\ncolumn = \"sex\"\n"
      "categories = [\"f\", \"m\"]\n";
  BeginQueryWithKeptKeys(std::string(kMeanAge) + sex);
  ExpectAsked(2, "data.columns: the column \"sex\", which question \"sex\" reads, is not allowed");
  ExpectAsked(2, "query.kinds: question \"sex\" has the kind histogram");
  std::string low(kMeanAge);
  BeginQueryWithKeptKeys(low.replace(low.find("floor = 5"), 9, "floor = 4"));
  ExpectAsked(3, "query.floor: floor is 4, at least 5 is required");
  BeginQueryWithKeptKeys(std::string(kMeanAge) + "sites = [\"north\", \"south\"]\n");
  ExpectAsked(4, "query.site_groups: question \"age\" is about some sites only");
  BeginQuery(std::string(kMeanAge));
  ExpectJoined(5, "query");
}

// Write access to the home makes no key known.
TEST_F(AcceptanceProgramTest, ARecordThatIsLostOrAlteredOrOldAsksOnce) {
  SignPolicy(kAcceptance);
  const std::string first = Read("north/acceptances");
  BeginTraining(Agreed(1.5));
  ExpectJoined(1, "training");
  BeginTraining(Agreed(1.5));
  const auto put = [&](const std::string& bytes) {
    std::ofstream(path_ / "north/acceptances", std::ios::binary) << bytes;
  };
  std::string altered = Read("north/acceptances");
  altered[altered.size() / 2] ^= 1;
  put(altered);
  ExpectAsked(2, "acceptances: record of acceptances");
  put(first);
  ExpectAsked(2, "acceptance.unknown_members: no person at this site");
  std::filesystem::remove(path_ / "north/acceptances");
  ExpectAsked(2, "A person accepts this epoch, and the record begins with it");
  put(altered);
  ASSERT_EQ(Join("north", 2).exit_code, 0);
  EXPECT_EQ(Read("north/acceptances.damaged"), altered);
  BeginTraining(Agreed(1.5));
  ExpectJoined(3, "training");

  // One that cannot be read has to be put right, and is not written over.
  std::filesystem::remove(path_ / "north/acceptances");
  std::filesystem::create_directory(path_ / "north/acceptances");
  BeginTraining(Agreed(1.5));
  const std::string invitation = Read("north/invitation");
  EXPECT_EQ(Join("north", 4).exit_code, 1);
  EXPECT_EQ(Read("north/invitation"), invitation);
}

// The files on a site's disk decide nothing: the coordinator's fingerprint makes no key known.
TEST_F(AcceptanceProgramTest, AManifestThatIsLostMakesNoKeyKnown) {
  SignPolicy(kAcceptance);
  BeginTraining(Agreed(1.5));
  std::filesystem::remove(path_ / "north/invitation");
  const Outcome joined = JoinAlone(1, {"--coordinator", coordinator_});
  ASSERT_EQ(joined.exit_code, 0) << joined.err;
  EXPECT_THAT(joined.out, HasSubstr("no person at this site has accepted these members"));
  BeginTraining(Agreed(1.5));
  ExpectAsked(2, "members: a person at this site has accepted the keys of 0");
  EXPECT_THAT(Tacet({"client", "show", "--home", "north"}).out,
              ContainsRegex("epoch 1 +joined by the coordinator's fingerprint"));
  ASSERT_EQ(Join("north", 2).exit_code, 0);
  BeginTraining(Agreed(1.5));
  ExpectJoined(3, "training");
}

// A policy that asks is asked about fresh keys, too.
TEST_F(AcceptanceProgramTest, FreshKeysAloneAreARenewal) {
  SignPolicy("");
  NextEpoch({});
  ExpectAsked(1, "acceptance.kinds: \"renewal\" is not accepted without a person");
  EXPECT_EQ(JoinAlone(1, {"--check"}).exit_code, kNeedsPerson);
  std::filesystem::copy_file(path_ / "north/policy.toml", path_ / "north/my policy.toml");
  EXPECT_THAT(JoinAlone(1, {"--policy", "north/my policy.toml"}).err,
              HasSubstr("--policy 'north/my policy.toml' --key-file north.key --accept`"));
  SignPolicy(kAcceptance);
  ExpectJoined(1, "renewal");
  ASSERT_EQ(Rotate({"--keep-exchange-keys"}).exit_code, 0);
  ExpectAsked(2, "committee: north has a seat with an exchange key of epoch 1");
}

// The officer takes the word back, and a person joins under the new policy. An operator cannot put
// the old one back.
TEST_F(AcceptanceProgramTest, APolicyThatWasReplacedAcceptsNothing) {
  SignPolicy(kAcceptance);
  const std::string policy = Read("north/policy.toml"), signature = Read("north/policy.toml.sig");
  SignPolicy("");
  BeginTraining(Agreed(1.5));
  ExpectAsked(1, "acceptance.kinds");
  ASSERT_EQ(Join("north", 1).exit_code, 0);
  std::ofstream(path_ / "north/policy.toml") << policy;
  std::ofstream(path_ / "north/policy.toml.sig", std::ios::binary) << signature;
  BeginTraining(Agreed(1.5));
  ExpectAsked(2, "policy.serial: is 2, and number 3 was in force");
  std::ofstream(path_ / "north/policy.toml", std::ios::app) << "# altered\n";
  ExpectAsked(2, "policy: ");
}

}  // namespace
}  // namespace tacet::app
