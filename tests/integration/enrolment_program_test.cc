#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/integration/enrolment_for_test.h"

namespace tacet::app {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kAgreed[] = R"(
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

class EnrolmentProgramTest : public EnrolmentTest {
 protected:
  void Init() { EnrolmentTest::Init(kAgreed); }
  // The items below that heading.
  static std::string NotGuaranteed(const std::string& text) {
    constexpr std::string_view kHeading = "\nNot guaranteed\n";
    const size_t at = text.find(kHeading);
    EXPECT_NE(at, std::string::npos) << text;
    if (at == std::string::npos) return "";
    std::istringstream lines(text.substr(at + kHeading.size()));
    std::string items;
    for (std::string line; std::getline(lines, line) && line.starts_with("- ");) {
      items += "\n" + line;
    }
    return items;
  }
};

TEST_F(EnrolmentProgramTest, ThreeSitesAndAServer) {
  Init();
  for (const std::string name : {"north", "south", "west"}) {
    const Outcome enrolled = Enrol(name, Request(name));
    EXPECT_EQ(enrolled.exit_code, 0) << enrolled.err;
  }
  const std::string hub = Request("hub", {"--server-host", "localhost"});
  EXPECT_EQ(Enrol("hub", hub).exit_code, 0);
  EXPECT_THAT(Tacet({"federation", "show"}).out, HasSubstr("is not signed yet"));

  const Outcome sealed = SealKey();
  ASSERT_EQ(sealed.exit_code, 0) << sealed.err;
  const Outcome unknown = Join("north", 0);
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.err, HasSubstr("--coordinator is needed the first time"));
  std::set<std::string> limits;
  for (const std::string name : {"north", "south", "west", "hub"}) {
    const Outcome joined = Join(name, 0, {"--coordinator", coordinator_});
    ASSERT_EQ(joined.exit_code, 0) << name << ": " << joined.err;
    EXPECT_THAT(joined.out, HasSubstr("3 clients, 3 a round"));
    limits.insert(NotGuaranteed(joined.out));
    limits.insert(NotGuaranteed(Tacet({"client", "show", "--home", name}).out));
  }
  limits.insert(NotGuaranteed(Tacet({"federation", "show"}).out));
  EXPECT_EQ(limits.size(), 1u);  // one list, word for word
  EXPECT_THAT(*limits.begin(), HasSubstr("\n- Integrity. The server together with a member"));
  // Every member holds the same agreement; every view's epsilon is there in words and as JSON.
  const auto shown = *base::JsonValue::Parse(Tacet({"federation", "show", "--json"}).out);
  for (const std::string name : {"north", "hub"}) {
    const auto own =
        *base::JsonValue::Parse(Tacet({"client", "show", "--home", name, "--json"}).out);
    EXPECT_EQ(own.Dump(), shown.Dump());
  }
  EXPECT_EQ(shown.Find("members")->items().size(), 3u);
  EXPECT_FALSE(shown.Find("privacy")->Find("headlines")->items().empty());
  const std::string words = Tacet({"federation", "show"}).out;
  EXPECT_THAT(words, HasSubstr("The guarantee covers 20 rounds and 10 spare attempts."));
  EXPECT_THAT(words, HasSubstr("The server, should it have the epoch's key"));

  // The server's file holds nobody's key; a site's only its own, sealed.
  const auto server_bytes =
      std::filesystem::file_size(path_ / "federation/invitations/hub-epoch-0.tacet");
  const auto site_bytes =
      std::filesystem::file_size(path_ / "federation/invitations/north-epoch-0.tacet");
  EXPECT_LT(server_bytes + 22 * 4 + 100, site_bytes);
}

TEST_F(EnrolmentProgramTest, ARemovedSiteCanOpenNothingThatComesAfter) {
  Init();
  for (const std::string name : {"north", "south", "west"}) Enrol(name, Request(name));
  ASSERT_EQ(SealKey().exit_code, 0);
  for (const std::string name : {"north", "south", "west"}) {
    ASSERT_EQ(Join(name, 0, {"--coordinator", coordinator_}).exit_code, 0);
  }
  for (const std::string name : {"north", "south"}) Renew(name);
  const std::filesystem::path invitations = path_ / "federation/invitations";
  std::filesystem::copy_file(invitations / "north-epoch-0.tacet", path_ / "kept.tacet");
  EXPECT_THAT(Rotate({"--remove", "east"}).err, HasSubstr("no site called east is enrolled"));
  const Outcome rotated = Rotate({"--remove", "west"});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, HasSubstr("epoch 1 of hospitals with 2 members"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "federation/invitations/west-epoch-1.tacet"));
  EXPECT_EQ(Join("north", 1).exit_code, 0);  // the coordinator is known by now
  // Another site's invitation does not help it.
  const Outcome stolen = Tacet({"client", "join", "federation/invitations/south-epoch-1.tacet",
                                "--home", "west", "--key-file", "west.key"});
  EXPECT_EQ(stolen.exit_code, 1);
  EXPECT_THAT(stolen.err, HasSubstr("the certificate is for south with another key"));
  const Outcome back =
      Tacet({"client", "join", "kept.tacet", "--home", "north", "--key-file", "north.key"});
  EXPECT_THAT(back.err, HasSubstr("epoch 0 has ended"));
}

// Every site would otherwise join the epoch, and find out when it starts.
TEST_F(EnrolmentProgramTest, AnEpochWithoutASiteThatTheQueryNamesDoesNotBegin) {
  EnrolmentTest::Init(R"(
[privacy]
target_epsilon = 1.0
[[question]]
name = "western"
kind = "count"
sites = ["west"]
)",
                      "--query");
  for (const std::string name : {"north", "south"}) Enrol(name, Request(name));
  EXPECT_THAT(SealKey().err,
              HasSubstr("question \"western\": there is no site \"west\" among the members"));
  Enrol("west", Request("west"));
  ASSERT_EQ(SealKey().exit_code, 0);
  const Outcome rotated = Rotate({"--remove", "west", "--keep-exchange-keys"});
  EXPECT_EQ(rotated.exit_code, 1);
  EXPECT_THAT(rotated.err,
              HasSubstr("question \"western\": there is no site \"west\" among the members of this "
                        "epoch. Enrol it, or keep it enrolled until the query is answered"));
  const std::string shown = Tacet({"federation", "show"}).out;
  EXPECT_THAT(shown, HasSubstr("west"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "federation/epochs/0000000001.manifest"));
}

// A later manifest is shown and asked for; weaker terms have a flag of their own.
TEST_F(EnrolmentProgramTest, ChangesAreShownAndAskedFor) {
  Init();
  for (const std::string name : {"north", "south", "west"}) Enrol(name, Request(name));
  ASSERT_EQ(SealKey().exit_code, 0);
  ASSERT_EQ(Join("north", 0, {"--coordinator", coordinator_}).exit_code, 0);
  const auto join = [this](int epoch, std::vector<std::string> flags) {
    std::vector<std::string> arguments = {
        "client",
        "join",
        "federation/invitations/north-epoch-" + std::to_string(epoch) + ".tacet",
        "--home",
        "north",
        "--key-file",
        "north.key"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return Tacet(arguments);
  };
  // Another member: 3 of 4 in a cohort as before would be less, all 4 are in it.
  ASSERT_EQ(Enrol("east", Request("east")).exit_code, 0);
  ASSERT_EQ(Rotate({"--keep-exchange-keys"}).exit_code, 0);
  const std::string before = Read("north/invitation");
  const Outcome checked = join(1, {"--check"});
  EXPECT_EQ(checked.exit_code, 4) << checked.err;
  EXPECT_THAT(checked.out, ContainsRegex("changed +member +\\(none\\) -> east"));
  EXPECT_THAT(checked.out, HasSubstr("Nothing was changed."));
  const Outcome asked = join(1, {});
  EXPECT_EQ(asked.exit_code, 4);
  EXPECT_THAT(asked.err, HasSubstr("Nothing was changed, and there is no terminal"));
  EXPECT_THAT(asked.err, ContainsRegex("changed +member +\\(none\\) -> east"));
  EXPECT_EQ(Read("north/invitation"), before);
  const bool weaker = asked.err.find("WEAKER") != std::string::npos;
  ASSERT_EQ(join(1, {weaker ? "--accept-weaker" : "--accept"}).exit_code, 0);
  // The same epoch again asks nothing.
  EXPECT_EQ(join(1, {}).exit_code, 0);

  // Fewer members: K_min falls with them.
  ASSERT_EQ(Rotate({"--keep-exchange-keys", "--remove", "east", "--remove", "west"}).exit_code, 0);
  const std::string accepted = Read("north/invitation");
  const Outcome refused = join(2, {"--accept"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, HasSubstr("has weaker terms than the manifest of epoch 1"));
  EXPECT_THAT(refused.err, ContainsRegex("WEAKER +federation.min_participants +3 -> 2"));
  EXPECT_EQ(Read("north/invitation"), accepted);
  EXPECT_EQ(join(2, {"--accept-weaker"}).exit_code, 0);
}

// The coordinator keeps no key of an epoch that has ended, and no file that holds one.
TEST_F(EnrolmentProgramTest, RotateDeletesTheKeysOfEndedEpochs) {
  Init();
  for (const std::string name : {"north", "south", "west"}) Enrol(name, Request(name));
  ASSERT_EQ(SealKey().exit_code, 0);
  const std::filesystem::path epochs = path_ / "federation/epochs",
                              invitations = path_ / "federation/invitations";
  const std::filesystem::path key = epochs / "0000000000.key", kept = path_ / "kept.key";
  ASSERT_EQ(SealKey().exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(key));
  std::filesystem::copy_file(key, kept);
  ASSERT_EQ(Rotate({"--keep-exchange-keys"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(key));
  EXPECT_TRUE(std::filesystem::exists(epochs / "0000000000.manifest"));
  EXPECT_TRUE(std::filesystem::exists(epochs / "0000000001.key"));
  EXPECT_FALSE(std::filesystem::exists(invitations / "north-epoch-0.tacet"));
  EXPECT_TRUE(std::filesystem::exists(invitations / "north-epoch-1.tacet"));
  // As if `rotate` had been killed before: `seal-key` ends it.
  std::filesystem::copy_file(kept, key);
  ASSERT_EQ(SealKey().exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(key));
}

TEST_F(EnrolmentProgramTest, WhoJoinsLaterWaitsForAnEpoch) {
  Init();
  for (const std::string name : {"north", "south", "west"}) Enrol(name, Request(name));
  ASSERT_EQ(SealKey().exit_code, 0);
  ASSERT_EQ(Enrol("east", Request("east")).exit_code, 0);
  EXPECT_THAT(SealKey().err, HasSubstr("epoch 0 was agreed with other members"));
  EXPECT_THAT(Rotate({"--keep-exchange-keys"}).out,
              HasSubstr("epoch 1 of hospitals with 4 members"));
}

TEST_F(EnrolmentProgramTest, TheCoordinatorNamesTheCommittee) {
  Init();
  for (const std::string name : {"north", "south", "west"}) Enrol(name, Request(name));
  const auto seal = [&](std::vector<std::string> committee, std::string command = "seal-key") {
    std::vector<std::string> arguments = {"federation", command, "--key-file", "c.key"};
    for (const std::string& name : committee) {
      arguments.insert(arguments.end(), {"--committee", name});
    }
    return Tacet(arguments);
  };
  EXPECT_THAT(seal({"west", "east"}).err, HasSubstr("east, which is not enrolled as a member"));
  EXPECT_THAT(seal({"west", "west"}).err, HasSubstr("each seat needs another member"));
  ASSERT_EQ(seal({"west", "south"}).exit_code, 0);
  const std::string words = Tacet({"federation", "show"}).out;
  EXPECT_THAT(words, HasSubstr("committee   2 members, of which 0 may collude with the server"));
  EXPECT_THAT(words, ContainsRegex("member +west [^\n]* on the committee"));
  EXPECT_THAT(words, Not(ContainsRegex("member +north [^\n]* on the committee")));
  // It is fixed for the epoch.
  EXPECT_EQ(seal({"west", "south"}).exit_code, 0);
  EXPECT_THAT(seal({"north", "south"}).err, HasSubstr("was agreed with another committee"));
  EXPECT_THAT(seal({"north", "south"}, "rotate").err,
              HasSubstr("would keep exchange keys of an earlier epoch, those of north, south."));
  for (const std::string name : {"north", "south"}) {
    ASSERT_EQ(Join(name, 0, {"--coordinator", coordinator_}).exit_code, 0);
    Renew(name);
  }
  // A member outside the committee may keep its key, at its own cost.
  const Outcome rotated = seal({"north", "south"}, "rotate");
  EXPECT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, HasSubstr("these members keep their exchange keys: west."));
  EXPECT_THAT(Tacet({"federation", "show"}).out,
              ContainsRegex("member +north [^\n]* on the committee"));
}

class ThreeSitesInAnEpoch : public EnrolmentProgramTest {
 protected:
  void SetUp() override {
    EnrolmentProgramTest::SetUp();
    Init();
    for (const std::string& name : sites_) Enrol(name, Request(name));
    ASSERT_EQ(SealKey().exit_code, 0);
    for (const std::string& name : sites_) {
      ASSERT_EQ(Join(name, 0, {"--coordinator", coordinator_}).exit_code, 0);
    }
  }
  // Names and contents.
  std::map<std::string, std::string> Files(const std::string& folder) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_ / folder)) {
      const auto name = std::filesystem::relative(entry.path(), path_).string();
      if (entry.is_regular_file()) files[name] = Read(name);
    }
    return files;
  }

  const std::vector<std::string> sites_ = {"north", "south", "west"};
};

TEST_F(ThreeSitesInAnEpoch, TheCommitteeNeedsFreshKeysForTheNext) {
  const auto before = Files("federation");
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, std::vector<std::string>{"--remove", "west"}}) {
    const Outcome refused = Rotate(more);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_THAT(refused.err, HasSubstr("those of north, south"));
    EXPECT_THAT(refused.err, HasSubstr("run `tacet client renew`"));
    EXPECT_THAT(refused.err, HasSubstr("Anyone who takes such keys of one seat"));
    EXPECT_EQ(Files("federation"), before);
  }
  for (const std::string name : {"north", "south"}) Renew(name);
  EXPECT_THAT(Rotate().err, HasSubstr("those of west."));
  Renew("west");
  const Outcome rotated = Rotate();
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, HasSubstr("epoch 1 of hospitals with 3 members"));
  EXPECT_THAT(rotated.out, Not(HasSubstr("warning")));
  for (const std::string& name : sites_) {
    const Outcome joined = Join(name, 1);
    ASSERT_EQ(joined.exit_code, 0) << joined.err;
    EXPECT_THAT(joined.out, HasSubstr("the one of epoch 0 is deleted"));
    EXPECT_THAT(joined.out, Not(HasSubstr("warning")));
    EXPECT_FALSE(std::filesystem::exists(path_ / name / "exchange-next.key"));
  }
}

TEST_F(ThreeSitesInAnEpoch, KeptKeysAreSaidToEveryone) {
  Renew("south");
  const Outcome rotated = Rotate({"--keep-exchange-keys"});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, HasSubstr("keeps exchange keys of an earlier epoch: north, west."));
  const Outcome north = Join("north", 1), south = Join("south", 1);
  EXPECT_THAT(north.out, HasSubstr("keeps exchange keys of epoch 0: north, west."));
  EXPECT_THAT(north.out, HasSubstr("this site keeps its exchange key of epoch 0"));
  EXPECT_THAT(south.out, HasSubstr("keeps exchange keys of epoch 0: north, west."));
  EXPECT_THAT(south.out, HasSubstr("this site's exchange key is new"));
}

TEST_F(ThreeSitesInAnEpoch, ARenewalIsRepeatedAndNotReplayed) {
  std::filesystem::copy_file(path_ / "north/north.request", path_ / "old.request");
  const auto renew = [&](const std::string& key_file) {
    return Tacet({"client", "renew", "--home", "north", "--key-file", key_file});
  };
  const auto before = Files("north");
  EXPECT_THAT(renew("south.key").err, HasSubstr("a wrong key file"));
  EXPECT_EQ(Files("north"), before);
  const Outcome made = renew("north.key");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, Not(HasSubstr("the same request again")));
  std::string told = made.out;
  std::erase(told, ' ');
  EXPECT_THAT(told, HasSubstr(Fingerprint("north")));
  const auto after = Files("north");
  EXPECT_THAT(renew("north.key").out, HasSubstr("the same request again"));
  EXPECT_EQ(Files("north"), after);

  Renew("north");
  const auto enrol = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"federation", "enrol", "north", "--key-file", "c.key"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Tacet(arguments);
  };
  EXPECT_THAT(enrol({"--request", "old.request"}).err, HasSubstr("the request is an old one"));
  // A fingerprint that is given is checked all the same.
  EXPECT_THAT(
      enrol({"--request", "north/north.request", "--fingerprint", Fingerprint("south")}).err,
      HasSubstr("somebody altered it, or it is another one"));
  // Somebody else in its name.
  const Outcome stranger =
      Tacet({"client", "request", "--home", "other", "--name", "north", "--key-file", "other.key"});
  ASSERT_EQ(stranger.exit_code, 0) << stranger.err;
  EXPECT_THAT(enrol({"--request", "other/north.request"}).err,
              HasSubstr("--fingerprint is needed"));
  EXPECT_THAT(
      enrol({"--request", "other/north.request", "--fingerprint", Fingerprint("north", "other")})
          .err,
      HasSubstr("north is enrolled already, with other keys"));
  // The present epoch continues: its certificates can be renewed, with the keys that it has.
  EXPECT_EQ(SealKey().exit_code, 0);
  EXPECT_EQ(Join("north", 0).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path_ / "north/exchange-next.key"));
  // They are those of the last invitation, which is the only one that north's keys open.
  std::filesystem::remove(path_ / "federation/invitations/north-epoch-0.tacet");
  EXPECT_THAT(SealKey().err, HasSubstr("north has renewed its keys, and its invitation for epoch 0 "
                                       "is missing in federation"));
}

TEST_F(EnrolmentProgramTest, KeysAreLockedAndForTheirOwnerAlone) {
  Init();
  const std::string north = Request("north");
  for (const std::string key :
       {"federation/coordinator.key", "federation/epochs/0000000000.key", "north/identity.key",
        "north/exchange-next.key", "north.key", "c.key"}) {
    struct stat info {};
    ASSERT_EQ(::stat((path_ / key).c_str(), &info), 0) << key;
    EXPECT_EQ(info.st_mode & 07777, 0600u) << key;
  }
  std::filesystem::permissions(path_ / "c.key", std::filesystem::perms(0640));
  EXPECT_THAT(Enrol("north", north).err, HasSubstr("others than its owner may use it"));
  std::filesystem::permissions(path_ / "c.key", std::filesystem::perms(0600));
  std::filesystem::permissions(path_ / "federation/coordinator.key", std::filesystem::perms(0604));
  EXPECT_THAT(Enrol("north", north).err, HasSubstr("coordinator.key has mode 0604"));
  std::filesystem::permissions(path_ / "federation/coordinator.key", std::filesystem::perms(0600));

  const Outcome wrong = Tacet({"federation", "enrol", "north", "--request", "north/north.request",
                               "--fingerprint", north, "--key-file", "north.key"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("coordinator's keys does not open: a wrong key file"));
}

TEST_F(EnrolmentProgramTest, APassphraseLocksToo) {
  std::ofstream(path_ / "pass") << "correct horse battery staple\nsecond line\n";
  std::filesystem::permissions(path_ / "pass", std::filesystem::perms(0600));
  std::ofstream(path_ / "other") << "correct horse";
  std::filesystem::permissions(path_ / "other", std::filesystem::perms(0600));
  const Outcome made = Tacet({"federation", "init", "--name", "hospitals", "--config",
                              WriteConfig(kAgreed), "--members", "3", "--passphrase-file", "pass"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string north = Request("north");
  const auto enrol = [&](const std::string& passphrase) {
    return Tacet({"federation", "enrol", "north", "--request", "north/north.request",
                  "--fingerprint", north, "--passphrase-file", passphrase});
  };
  EXPECT_THAT(enrol("other").err, HasSubstr("a wrong passphrase"));
  EXPECT_EQ(enrol("pass").exit_code, 0);
}

TEST_F(EnrolmentProgramTest, KeysChangeTheirPassphrase) {
  const auto write = [this](const char* name, const char* line) {
    std::ofstream(path_ / name) << line << "\n";
    std::filesystem::permissions(path_ / name, std::filesystem::perms(0600));
  };
  write("short", "12345678901");
  const Outcome refused = Tacet(
      {"client", "request", "--home", "north", "--name", "north", "--passphrase-file", "short"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("the new passphrase has 11 bytes, expected 12 or more"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "north"));

  const std::string north = Request("north");
  write("pass", "correct horse battery staple");
  const Outcome changed = Tacet(
      {"keys", "change", "north", "--key-file", "north.key", "--new-passphrase-file", "pass"});
  ASSERT_EQ(changed.exit_code, 0) << changed.err;
  EXPECT_THAT(changed.out, HasSubstr("north/exchange-next.key"));
  EXPECT_THAT(changed.out, HasSubstr("north/identity.key"));
  const auto renew = [this](const char* flag, const char* file) {
    return Tacet({"client", "renew", "--home", "north", flag, file});
  };
  EXPECT_THAT(renew("--key-file", "north.key").err, HasSubstr("is locked with a passphrase"));
  EXPECT_EQ(renew("--passphrase-file", "pass").exit_code, 0);
  EXPECT_EQ(Fingerprint("north"), north);
}

TEST_F(EnrolmentProgramTest, RefusesWhatSomebodyAltered) {
  Init();
  const std::string north = Request("north");
  const std::string other = Request("other");
  EXPECT_THAT(Enrol("north", other).err, HasSubstr("somebody altered it, or it is another one"));
  const Outcome unasked = Tacet(
      {"federation", "enrol", "north", "--request", "north/north.request", "--key-file", "c.key"});
  EXPECT_THAT(
      unasked.err,
      HasSubstr("--fingerprint is needed: there is no terminal on which to confirm the request"));
  const Outcome mixed = Tacet({"federation", "enrol", "north", "--request", "other/other.request",
                               "--fingerprint", other, "--key-file", "c.key"});
  EXPECT_THAT(mixed.err, HasSubstr("is the request of other, not of north"));
}

TEST_F(EnrolmentProgramTest, AnAgreementThatProtectsNobodyIsWarnedOfOrRefused) {
  const auto init = [&](const std::string& privacy) {
    return Tacet({"federation", "init", "--name", "hospitals", "--config",
                  WriteConfig("[data]\nclasses = 2\n[model]\nname = \"logistic\"\n"
                              "input_shape = [10]\n[federation]\nrounds = 20\n[privacy]\n"
                              "scale = 1e-2\n" +
                              privacy),
                  "--members", "3", "--key-file", "c.key"});
  };
  const Outcome refused = init("noise_multiplier = 0.5\n");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("protects nobody: raise `privacy.noise_multiplier`"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "federation"));
  const Outcome warned = init("noise_multiplier = 6\ndelta = 0.4\n");
  EXPECT_EQ(warned.exit_code, 0) << warned.err;
  EXPECT_THAT(warned.out, HasSubstr("warning     delta is 0.4 for 3 clients"));
}

TEST_F(EnrolmentProgramTest, AModelOfItsUsersOwnIsAgreedByItsParametersAndItsName) {
  const auto init = [&](const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"federation",
                                      "init",
                                      "--name",
                                      "hospitals",
                                      "--config",
                                      WriteConfig("[model]\n" + model +
                                                  "[federation]\nrounds = 20\n"
                                                  "[privacy]\nnoise_multiplier = 6\n"
                                                  "scale = 1e-2\n"),
                                      "--members",
                                      "3",
                                      "--key-file",
                                      "c.key"};
    words.insert(words.end(), more.begin(), more.end());
    return Tacet(words);
  };
  const auto write = [&](const std::string& name, const std::vector<float>& values) {
    std::ofstream(path_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
    return std::vector<std::string>{"--initial-model", name};
  };
  const std::string external = "name = \"external\"\narchitecture = \"Cox, 4 covariates\"\n";
  const std::vector<std::string> start = write("start.f32", {0.5F, 0, -1, 2});
  EXPECT_THAT(init(external, {}).err, HasSubstr("--initial-model is needed"));
  EXPECT_THAT(init("name = \"external\"\n", start).err, HasSubstr("model.architecture is missing"));
  EXPECT_THAT(init("name = \"external\"\narchitecture = \"two\\nlines\"\n", start).err,
              HasSubstr("it must be one line of at most 1000 printable ASCII characters"));
  EXPECT_THAT(init(external, write("nan.f32", {1, NAN})).err,
              HasSubstr("--initial-model: value 1 of nan.f32 is not finite"));
  EXPECT_THAT(init(external, write("none.f32", {})).err, HasSubstr("none.f32 has 0 bytes"));
  EXPECT_THAT(init(external, {"--initial-model", "nowhere"}).err,
              HasSubstr("--initial-model: cannot read nowhere"));
  EXPECT_THAT(init("name = \"logistic\"\ninput_shape = [10]\n[data]\nclasses = 2\n", start).err,
              HasSubstr("run.seed draws the parameters of logistic"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "federation"));

  const Outcome made = init(external, start);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("external, 4 parameters"));
  std::string coordinator = made.out.substr(made.out.find("coordinator ") + 12);
  coordinator = coordinator.substr(0, coordinator.find('\n'));
  for (const std::string name : {"north", "south", "west"}) {
    ASSERT_EQ(Enrol(name, Request(name)).exit_code, 0);
  }
  ASSERT_EQ(Enrol("hub", Request("hub", {"--server-host", "localhost"})).exit_code, 0);
  ASSERT_EQ(SealKey().exit_code, 0);
  const Outcome joined = Join("north", 0, {"--coordinator", coordinator});
  ASSERT_EQ(joined.exit_code, 0) << joined.err;
  EXPECT_THAT(joined.out, HasSubstr("architecture Cox, 4 covariates\n"));
  EXPECT_THAT(joined.out, HasSubstr("model       external, 4 parameters"));
  EXPECT_THAT(Tacet({"federation", "show"}).out, HasSubstr("architecture Cox, 4 covariates\n"));

  std::ofstream(path_ / "scan.npz") << "records of any form";
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"client",     "run",      "--home",   "north",
                                      "--server",   "a:1",      "--ledger", "the-ledger",
                                      "--key-file", "north.key"};
    words.insert(words.end(), more.begin(), more.end());
    return Tacet(words).err;
  };
  EXPECT_THAT(run({"--data", "scan.npz"}),
              HasSubstr("the agreed model is external (Cox, 4 covariates): give the program"));
  EXPECT_THAT(run({"--draw", "--train-with", "true"}), HasSubstr("--draw is for the models"));
  EXPECT_THAT(run({"--data", "scan.npz", "--client", "1", "--train-with", "true"}),
              HasSubstr("give this site's data alone"));
  EXPECT_THAT(run({"--data", "nowhere", "--train-with", "true"}), HasSubstr("nowhere"));
  EXPECT_THAT(Tacet({"data", "check", "--agreement", "north", "--data", "scan.npz"}).err,
              HasSubstr("the agreed model is external"));
}

TEST_F(EnrolmentProgramTest, AFederationIsNoSimulation) {
  const auto init = [&](const std::string& config) {
    return Tacet({"federation", "init", "--name", "hospitals", "--config", WriteConfig(config),
                  "--members", "3", "--key-file", "c.key"});
  };
  EXPECT_THAT(init(std::string(kAgreed) + "[run]\nno_noise = true\n").err,
              HasSubstr("makes sense in simulations only"));
  EXPECT_THAT(init("[model]\nname = \"logistic\"\n[data]\nclasses = 2\n").err,
              HasSubstr("model.input_shape is missing"));
  EXPECT_THAT(init("[model]\nname = \"logistic\"\ninput_shape = [3]\n").err,
              HasSubstr("data.classes is missing"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "federation"));
  EXPECT_EQ(init(kAgreed).exit_code, 0);
  EXPECT_EQ(init(kAgreed).exit_code, 0);  // the first one may have been killed at its end
  std::string other = kAgreed;
  other.replace(other.find("rounds = 20"), 11, "rounds = 21");
  EXPECT_THAT(init(other).err, HasSubstr("is not empty"));
}

}  // namespace
}  // namespace tacet::app
