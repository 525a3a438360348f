// A whole federation in separate processes: a server and three sites, killed at random moments.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/bytes.h"
#include "tacet/base/test_size_for_test.h"
#include "tests/integration/haystack_for_test.h"
#include "tests/integration/live_federation_for_test.h"

namespace tacet::app {
namespace {

using ::testing::ContainsRegex;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

int Kills() { return base::TestSize("TACET_KILLS", 5); }

// The last round waits for the last kill.
class KilledFederationTest : public LiveFederationTest {
 protected:
  KilledFederationTest() : LiveFederationTest(2 * Kills()) { HoldBefore(rounds_ - 1); }

  // Every site's record says that it is a member's, holds, and is about the one model.
  void ExpectAuditsOfMembers() {
    bool attested_by_all = false;
    for (size_t number = 0; number < sites_.size(); ++number) {
      const std::string run = sites_[number] + "/run";
      const Outcome audited = Tacet({"audit", "write", run, "--json"});
      ASSERT_EQ(audited.exit_code, 0) << audited.err;
      const Outcome verified = Tacet({"audit", "verify", run + "/audit.json", "--model",
                                      sites_.front() + "/run/model.f32", "--digest-key",
                                      run + "/digest-0.key", "--json"});
      ASSERT_EQ(verified.exit_code, 0) << verified.err;
      EXPECT_THAT(verified.out, HasSubstr("the released model is attested by"));
      const base::JsonValue record = *ReadJson(run + "/audit.json").Find("record");
      const base::JsonValue& told = *record.Find("run");
      EXPECT_EQ(*told.Find("kind")->AsString(), "member");
      EXPECT_EQ(*told.Find("member")->AsUint(), number);
      EXPECT_FALSE(record.Find("attestations")->items().empty());
      attested_by_all |= verified.out.find("attested by 3 of 3 members") != std::string::npos;
    }
    // Every member attests the last model before it ends, so the last one finds all of them.
    EXPECT_TRUE(attested_by_all);
  }
  void NoteOutcomes();
  void ExpectEveryOutcomeInTheLogs();

  std::set<std::string> outcomes_;  // attempts that ended, by the logs
};

// Those of the log of the server's last process.
void KilledFederationTest::NoteOutcomes() {
  for (const base::JsonValue& event : Events()) {
    const base::JsonValue* const phase = event.Find("phase");
    const std::string text = *(phase == nullptr ? event.Find("event") : phase)->AsString();
    if (!text.starts_with("attempt-") && phase == nullptr) continue;
    if (text.ends_with("published") || text.ends_with("failed")) outcomes_.insert(AttemptOf(event));
  }
}

// A line whose event was decided before a kill is written after it, as `attempt-found`.
void KilledFederationTest::ExpectEveryOutcomeInTheLogs() {
  EXPECT_EQ(StopServer().exit_code, 0);
  NoteOutcomes();
  for (const std::string& site : sites_) {
    for (const auto& [attempt, digests] : Sent(site, "upload")) {
      EXPECT_TRUE(outcomes_.contains(attempt)) << site << " " << attempt;
    }
  }
}

TEST_F(KilledFederationTest, KillsAtRandomMomentsLoseNothing) {
  std::mt19937 random(static_cast<uint32_t>(Kills()));
  for (int i = 0; i < Kills(); ++i) {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(std::uniform_int_distribution<int>(50, 800)(random)));
    // The server every second time, the sites in turn.
    const size_t victim = i % 2 == 0 ? sites_.size() : static_cast<size_t>(i / 2) % sites_.size();
    Kill(victim);
    if (victim == sites_.size()) NoteOutcomes();
    StartAgain(victim);
  }
  LetGo();
  AwaitAllDone();
  ExpectNoViolations();
  ExpectOneModelAndNothingSaidTwice();
  ExpectAuditsOfMembers();
  ExpectEveryOutcomeInTheLogs();
}

// The server is there long before its sites, and one site long before the others.
class AbsentSitesTest : public LiveFederationTest {
 protected:
  AbsentSitesTest() : LiveFederationTest(2) {}
  void SetUp() override {
    SetUpFolders();
    BeginServer();
  }
};

TEST_F(AbsentSitesTest, NothingIsChargedBeforeTheyAreThere) {
  StartSite("north");
  Await([this] { return !NodeLog("north").empty(); });
  std::this_thread::sleep_for(std::chrono::seconds(2));  // for what should not happen
  ::kill(running_["north"], SIGTERM);
  const Outcome ended = WaitFor(running_["north"], "north-");
  running_.erase("north");
  EXPECT_EQ(ended.exit_code, 3) << ended.err;
  auto told = base::JsonValue::Parse(ended.out);
  ASSERT_TRUE(told.ok()) << ended.out;
  EXPECT_EQ(told->Find("complete")->Dump(), "false");
  EXPECT_EQ(Number(*told, "charged_attempts"), 0);

  for (const std::string& site : sites_) StartSite(site);
  AwaitAllDone();
  ExpectNoViolations();
  for (const std::string& site : sites_) {
    EXPECT_EQ(told_.at(site).Find("complete")->Dump(), "true");
    EXPECT_EQ(Number(told_.at(site), "charged_attempts"), rounds_);
  }
}

// Its committee seat could speak twice.
TEST_F(AbsentSitesTest, ACopyOfARunningSiteDoesNotStart) {
  StartSite("north");
  while (!std::filesystem::exists(path_ / "north/node-log.jsonl")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  // A file that it replaces meanwhile could not be copied.
  ::kill(running_["north"], SIGSTOP);
  std::filesystem::copy(path_ / "north", path_ / "twin", std::filesystem::copy_options::recursive);
  ::kill(running_["north"], SIGCONT);
  const pid_t twin =
      StartAs("twin",
              {"client", "run", "--home", "twin", "--key-file", "north.key", "--server",
               reached_at_, "--config", "site.toml", "--draw", "--json", "--client", "0"},
              "twin-");
  const Outcome refused = WaitFor(twin, "twin-");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("stop the second copy of this site's folder"));
}

// For a number as JSON writes it: 3 of "0.123", 2 of "0.00012" and of "1.2e-05".
long SignificantDigits(std::string number) {
  number = number.substr(0, number.find('e'));
  const size_t first = number.find_first_of("123456789");
  if (first == std::string::npos) return 0;
  return std::ranges::count_if(number.substr(first), [](char c) { return c >= '0' && c <= '9'; });
}

// The last site has its held-out part evaluated, the others have not asked for that.
class OptedInTest : public LiveFederationTest {
 protected:
  OptedInTest() : LiveFederationTest(2) {}
  void SetUp() override {
    SetUpFolders();
    WriteConfig(Read("site.toml") + "[run]\npublish_evaluation = true\n", "told.toml");
    site_configs_[sites_.back()] = "told.toml";
    BeginServer();
    for (const std::string& site : sites_) StartSite(site);
  }
};

TEST_F(OptedInTest, ASiteThatDoesNotOptInTellsNothingOfItsData) {
  const std::string opted_out = sites_.front(), opted_in = sites_.back();
  AwaitAllDone();
  const base::JsonValue quiet = ReadJson(opted_out + "/run/summary.json");
  const base::JsonValue told = ReadJson(opted_in + "/run/summary.json");
  for (const char* figure : {"accuracy", "loss", "most_frequent_class"}) {
    EXPECT_TRUE(quiet.Find(figure)->is_null()) << figure;
    EXPECT_LE(SignificantDigits(told.Find(figure)->Dump()), 3) << figure;
    EXPECT_FALSE(told.Find(figure)->is_null()) << figure;
  }
  for (const std::string file : {"metrics.jsonl", "start.json"}) {
    const std::string text = Read(opted_out + "/run/" + file);
    EXPECT_EQ(text.find("\"accuracy\":0"), std::string::npos) << text;
    EXPECT_EQ(text.find("\"accuracy\": 0"), std::string::npos) << text;
    EXPECT_EQ(text.find("\"auc\""), std::string::npos) << text;
  }
  EXPECT_THAT(Read(opted_in + "/run/metrics.jsonl"), ContainsRegex("\"accuracy\":[01]"));
  EXPECT_EQ(Read(opted_out + "-stdout").find("accuracy"), std::string::npos);
  EXPECT_EQ(Read(opted_out + "-stderr").find("held-out"), std::string::npos);
  EXPECT_THAT(Read(opted_in + "-stderr"), HasSubstr("held-out"));
  ASSERT_EQ(Tacet({"audit", "write", opted_out + "/run"}).exit_code, 0);
  const base::JsonValue record = *ReadJson(opted_out + "/run/audit.json").Find("record");
  EXPECT_TRUE(record.Find("run")->Find("result")->is_null());
}

// All sites renewed their exchange keys for this epoch. The last one died in its `join`, between
// the invitation and the keys: `run` ends that.
class SecondEpochTest : public LiveFederationTest {
 protected:
  SecondEpochTest() : LiveFederationTest(2) {}
  void SetUp() override {
    SetUpFolders();
    for (const std::string& site : sites_) Renew(site);
    ASSERT_EQ(Rotate().exit_code, 0);
    const std::filesystem::path last = path_ / sites_.back(), kept = path_ / "kept";
    std::filesystem::copy(last, kept);
    for (const std::string& site : sites_) Accept(site, 1);
    Accept("hub", 1);
    for (const char* const name : {"exchange.key", "exchange-next.key"}) {
      std::filesystem::copy_file(kept / name, last / name,
                                 std::filesystem::copy_options::overwrite_existing);
    }
    BeginServer();
    for (const std::string& site : sites_) StartSite(site);
  }
};

TEST_F(SecondEpochTest, RoundsDecryptWithTheNewKeysAndTheOldOnesAreGone) {
  AwaitAllDone();
  ExpectNoViolations();
  ExpectOneModelAndNothingSaidTwice();
  for (const std::string& site : sites_) {
    EXPECT_TRUE(std::filesystem::exists(path_ / site / "exchange.key"));
    EXPECT_FALSE(std::filesystem::exists(path_ / site / "exchange-next.key"));
  }
}

// Between the epochs all programs are killed, while the next round is open and all have the last.
class ChangedMembersTest : public LiveFederationTest {
 protected:
  explicit ChangedMembersTest(int rounds = 9) : LiveFederationTest(rounds) {
    HoldBefore(3);
    site_configs_["east"] = "east.toml";
    server_flags_.insert(server_flags_.end(), {"--grace-seconds", "3"});
  }
  void SetUp() override {
    LiveFederationTest::SetUp();
    WriteConfig(
        "[data]\nhandwriting_writers = 4\nhandwriting_min_samples = 10\n"
        "handwriting_max_samples = 20\nhandwriting_classes = 4\n",
        "east.toml");
  }
  // After so many rounds: the next is held.
  void StopAll(long rounds, const std::string& leaving, const std::vector<std::string>& staying) {
    AwaitRounds(staying, rounds);
    AwaitRounds({leaving}, rounds);
    KillSite(leaving);
    Kill(sites_.size());
    for (const std::string& site : staying) KillSite(site);
  }
  // The same without and with new members, who take the server's epoch.
  void BeginEpoch(int epoch, const std::vector<std::string>& sites) {
    Accept("hub", epoch);
    for (const std::string& site : sites) Accept(site, epoch);
    BeginServer();
    for (const std::string& site : sites) StartSite(site);
  }
};

TEST_F(ChangedMembersTest, RoundsGoOn) {
  StopAll(3, "west", {"north", "south"});
  Request("east");
  Admit("east");
  for (const std::string site : {"north", "south"}) Renew(site);
  const Outcome rotated = Rotate({"--remove", "west"});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_THAT(Tacet({"federation", "show"}).out, ContainsRegex("follows +[0-9a-f]{4} "));
  HoldBefore(6);
  BeginEpoch(1, {"north", "south", "east"});
  StartSite("west");
  const Outcome west = WaitFor(running_.at("west"), "west-");
  running_.erase("west");
  EXPECT_EQ(west.exit_code, 1);
  EXPECT_THAT(west.err, HasSubstr("it is not a member in the server's epoch"));
  StopAll(6, "east", {"north", "south"});
  // West was replaced and no term changed: a record covers both epochs.
  const Outcome audited = Tacet({"audit", "write", "north/run", "--json"});
  EXPECT_EQ(audited.exit_code, 0) << audited.err;

  for (const std::string site : {"north", "south"}) Renew(site);
  ASSERT_EQ(Rotate({"--remove", "east"}).exit_code, 0);
  LetGo();
  BeginEpoch(2, {"north", "south"});
  std::set<std::string> models;
  for (const std::string site : {"north", "south"}) {
    const Outcome ended = WaitFor(running_.at(site), site + "-");
    running_.erase(site);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
    const base::JsonValue told = *base::JsonValue::Parse(ended.out);
    EXPECT_EQ(Number(told, "rounds"), rounds_);
    EXPECT_EQ(Number(told, "epoch"), 2);
    EXPECT_GE(Number(told, "charged_attempts"), rounds_);
    EXPECT_EQ(told.Find("violations")->Dump(), "[]") << ended.err;
    models.insert(Read(site + "/run/model.f32"));
    EXPECT_EQ(Tacet({"ledger", "verify", site + "/run/ledger"}).exit_code, 0);
  }
  EXPECT_THAT(models, SizeIs(1));
}

// A site that joins after the last round takes the model over, and ends.
class LateSiteTest : public ChangedMembersTest {
 protected:
  LateSiteTest() : ChangedMembersTest(2) {}
};

TEST_F(LateSiteTest, EndsWithAModelAndAnAudit) {
  AwaitAllDone();
  Kill(sites_.size());
  Request("east");
  Admit("east");
  for (const std::string& site : sites_) Renew(site);
  const Outcome rotated = Rotate({});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  BeginEpoch(1, {"north", "south", "west", "east"});
  for (const std::string site : {"north", "south", "west", "east"}) {
    const Outcome ended = WaitFor(running_.at(site), site + "-");
    running_.erase(site);
    ASSERT_EQ(ended.exit_code, 0) << site << ": " << ended.err;
    const base::JsonValue told = *base::JsonValue::Parse(ended.out);
    EXPECT_EQ(Number(told, "rounds"), rounds_);
    EXPECT_EQ(Number(told, "charged_attempts"), site == "east" ? 0 : rounds_);
    EXPECT_EQ(Read(site + "/run/model.f32"), Read("north/run/model.f32"));
    const Outcome audited = Tacet({"audit", "write", site + "/run"});
    ASSERT_EQ(audited.exit_code, 0) << site << ": " << audited.err;
    const Outcome verified = Tacet(
        {"audit", "verify", site + "/run/audit.json", "--model", site + "/run/model.f32",
         "--digest-key", site + (site == "east" ? "/run/digest-1.key" : "/run/digest-0.key")});
    EXPECT_EQ(verified.exit_code, 0) << site << ": " << verified.err;
    EXPECT_EQ(Tacet({"report", site + "/run", "--json"}).exit_code, 0) << site;
  }
}

// Budgets that end in mid-training, and say so.
class SpentBudgetsTest : public LiveFederationTest {
 protected:
  SpentBudgetsTest() : LiveFederationTest(12) {}
  void SetUp() override {}
  void Begin(const std::vector<std::string>& spent) {
    SetUpFolders();
    BeginServer();
    for (const std::string& site : spent) {
      site_flags_[site] = {"--ledger", site + "-ledger", "--budget-epsilon", budget_};
    }
    for (const std::string& site : sites_) StartSite(site);
  }
  std::string budget_ = "1.5";
};

TEST_F(SpentBudgetsTest, EndTheTrainingWhereTooFewAreLeft) {
  Begin(sites_);
  std::set<std::string> models;
  for (const std::string& site : sites_) {
    const Outcome ended = WaitFor(running_.at(site), site + "-");
    running_.erase(site);
    EXPECT_EQ(ended.exit_code, 3) << site << ": " << ended.err;
    const base::JsonValue told = *base::JsonValue::Parse(ended.out);
    EXPECT_GT(Number(told, "rounds"), 0);
    EXPECT_LT(Number(told, "rounds"), rounds_);
    EXPECT_THAT(told.Find("stopped")->Dump(), HasSubstr("(budget) allow no further attempt"));
    EXPECT_EQ(Number(told, "abstained_rounds"), 0);
    models.insert(Read(site + "/run/model.f32"));
    const Outcome audited = Tacet({"audit", "write", site + "/run"});
    ASSERT_EQ(audited.exit_code, 0) << audited.err;
    EXPECT_EQ(Tacet({"audit", "verify", site + "/run/audit.json"}).exit_code, 0);
    EXPECT_THAT(Read(site + "/run/audit.json"), HasSubstr("\"cause\": \"budget\""));
  }
  EXPECT_THAT(models, SizeIs(1));
}

TEST_F(SpentBudgetsTest, AreCountedWhereEnoughAreLeft) {
  Begin({"west"});
  for (const std::string& site : sites_) {
    const Outcome ended = WaitFor(running_.at(site), site + "-");
    running_.erase(site);
    EXPECT_EQ(ended.exit_code, 0) << site << ": " << ended.err;
    const base::JsonValue told = *base::JsonValue::Parse(ended.out);
    const auto& givers = told.Find("givers")->items();
    ASSERT_EQ(givers.size(), static_cast<size_t>(rounds_));
    EXPECT_EQ(*givers.front().AsUint(), 3u);
    EXPECT_EQ(*givers.back().AsUint(), 2u);
    const auto fewer =
        std::ranges::count(givers, 2u, [](const auto& one) { return *one.AsUint(); });
    EXPECT_EQ(Number(told, "abstained_rounds"), site == "west" ? fewer : 0);
    const Outcome audited = Tacet({"audit", "write", site + "/run"});
    ASSERT_EQ(audited.exit_code, 0) << audited.err;
    EXPECT_EQ(Tacet({"audit", "verify", site + "/run/audit.json"}).exit_code, 0);
    const base::JsonValue record = *ReadJson(site + "/run/audit.json").Find("record");
    EXPECT_EQ(*record.Find("rounds")->items().back().Find("givers")->AsUint(), 2u);
    EXPECT_THAT(Read(site + "/run/model-card.md"),
                HasSubstr(fmt::format("2 of 3 in round {}", rounds_)));
  }
}

// K follows the number of members, and so the terms change with it.
class ChangedTermsTest : public ChangedMembersTest {
 protected:
  explicit ChangedTermsTest(int rounds = 12) : ChangedMembersTest(rounds) { HoldBefore(2); }

  // The others continue without west, which had two rounds, up to round `held`.
  void GoOnWithoutWest(const std::vector<std::string>& others, long held) {
    StopAll(2, "west", others);
    HoldBefore(held);
    for (const std::string& site : others) Renew(site);
    ASSERT_EQ(Rotate({"--remove", "west"}).exit_code, 0);
    BeginEpoch(1, others);
  }
  void AwaitEndOf(const std::vector<std::string>& sites) {
    for (const std::string& site : sites) {
      const Outcome ended = WaitFor(running_.at(site), site + "-");
      running_.erase(site);
      ASSERT_EQ(ended.exit_code, 0) << ended.err;
    }
  }
  static double WorstOf(const base::JsonValue& privacy) {
    return Number(*privacy.Find("worst"), "epsilon");
  }
  // The record of a site's run, written and verified. Everything that states a figure about the run
  // states the same one.
  base::JsonValue AuditedRecordOf(const std::string& site) {
    const std::string run = site + "/run";
    const Outcome audited = Tacet({"audit", "write", run});
    EXPECT_EQ(audited.exit_code, 0) << audited.err;
    const base::JsonValue record = *ReadJson(run + "/audit.json").Find("record");
    // The key of the epoch in which the last round ended.
    const std::string epoch = record.Find("rounds")->items().back().Find("model_epoch")->Dump();
    const Outcome verified =
        Tacet({"audit", "verify", run + "/audit.json", "--model", run + "/model.f32",
               "--digest-key", run + "/digest-" + epoch + ".key"});
    EXPECT_EQ(verified.exit_code, 0) << verified.err;
    const base::JsonValue& privacy = *record.Find("privacy");
    const double worst = WorstOf(privacy);
    EXPECT_GT(worst, 0);
    EXPECT_THAT(Read(run + "/model-card.md"),
                HasSubstr(fmt::format("**Epsilon is {:.3f}**", worst)));

    const base::JsonValue summary = ReadJson(run + "/summary.json");
    EXPECT_EQ(Number(summary, "epsilon"), worst);
    EXPECT_EQ(WorstOf(*summary.Find("privacy")), worst);
    const Outcome reported = Tacet({"report", run, "--json"});
    EXPECT_EQ(reported.exit_code, 0) << reported.err;
    const base::JsonValue report = *base::JsonValue::Parse(reported.out);
    const base::JsonValue& told = report.Find("runs")->items().at(0);
    EXPECT_EQ(told.Find("privacy")->Find("headlines")->Dump(), privacy.Find("headlines")->Dump());
    EXPECT_EQ(WorstOf(*told.Find("privacy")), worst);
    EXPECT_FALSE(told.Find("statement")->is_null());
    EXPECT_THAT(
        Read(run + "/metrics.jsonl"),
        HasSubstr(fmt::format("\"charged_epsilon\":{}", Number(privacy, "charged_epsilon"))));

    const Outcome shown = Tacet({"ledger", "show", run + "/ledger", "--json"});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    const base::JsonValue ledger = *base::JsonValue::Parse(shown.out);
    EXPECT_EQ(Number(ledger, "epsilon"), Number(*privacy.Find("ledger"), "epsilon"));
    EXPECT_EQ(Number(ledger, "charges"), Number(privacy, "charged_attempts"));
    EXPECT_LE(Number(privacy, "charged_epsilon"), Number(ledger, "epsilon"));
    EXPECT_LE(Number(privacy, "charged_epsilon"), worst);
    return record;
  }
};

TEST_F(ChangedTermsTest, ARecordCoversAllOfThem) {
  constexpr long kWithoutEast = 5;
  GoOnWithoutWest({"north", "south"}, kWithoutEast);
  StopAll(kWithoutEast, "south", {"north"});
  Request("east");
  Admit("east");
  for (const std::string site : {"north", "south"}) Renew(site);
  ASSERT_EQ(Rotate().exit_code, 0);
  LetGo();
  BeginEpoch(2, {"north", "south", "east"});
  AwaitEndOf({"north", "south", "east"});

  const base::JsonValue stayed = AuditedRecordOf("north"), came = AuditedRecordOf("east");
  ASSERT_THAT(stayed.Find("earlier_terms")->items(), SizeIs(1));
  const base::JsonValue& fewer = stayed.Find("earlier_terms")->items().front();
  EXPECT_EQ(Number(fewer, "members"), 2);
  EXPECT_EQ(Number(*fewer.Find("mechanism"), "cohort"), 2);
  EXPECT_GE(Number(fewer, "charged_attempts"), 2);
  EXPECT_EQ(Number(*stayed.Find("members"), "count"), 3);
  EXPECT_THAT(stayed.Find("agreement")->Find("manifests")->items(), SizeIs(3));
  EXPECT_EQ(Number(*stayed.Find("run"), "first_round"), 0);
  // Its data were in the rounds from its epoch on.
  EXPECT_THAT(came.Find("earlier_terms")->items(), SizeIs(0));
  EXPECT_EQ(Number(*came.Find("run"), "first_round"), kWithoutEast);
  EXPECT_EQ(came.Find("run")->Find("released_model")->Dump(),
            stayed.Find("run")->Find("released_model")->Dump());
  // Both state the guarantee of all attempts that may still be made; one was charged for fewer.
  EXPECT_LE(WorstOf(*came.Find("privacy")), WorstOf(*stayed.Find("privacy")));
  EXPECT_LT(Number(*came.Find("privacy"), "charged_epsilon"),
            Number(*stayed.Find("privacy"), "charged_epsilon"));
  // The member that was removed has a record of what it was charged for.
  const Outcome left = Tacet({"audit", "write", "west/run"});
  EXPECT_EQ(left.exit_code, 0) << left.err;
}

// K_min is one less than the members: an attempt of three costs more than one of four.
class DearerEpochTest : public ChangedTermsTest {
 protected:
  DearerEpochTest() : ChangedTermsTest(7) {
    const std::string least = "min_participants = 2\n";
    agreed_.erase(agreed_.find(least), least.size());
    sites_.push_back("east");
  }
};

TEST_F(DearerEpochTest, EachAttemptCountsAtItsOwnPrice) {
  const std::vector<std::string> others = {"north", "south", "east"};
  GoOnWithoutWest(others, rounds_);
  AwaitEndOf(others);
  const base::JsonValue record = AuditedRecordOf("north");
  const auto price = [](const base::JsonValue& mechanism) {
    return Number(*mechanism.Find("charged_event"), "noise_stddev");
  };
  const base::JsonValue& earlier = record.Find("earlier_terms")->items().at(0);
  EXPECT_GT(price(*earlier.Find("mechanism")), price(*record.Find("mechanism")));
  bool by_terms = false;
  for (const base::JsonValue& row : record.Find("privacy")->Find("accountants")->items()) {
    by_terms = by_terms || *row.Find("name")->AsString() == "gaussian-filter";
  }
  EXPECT_TRUE(by_terms);
}

// Another server, with another key at another address, takes over in mid-run. The first one's
// folder is lost. Everybody is killed in between, and the new server once more.
class ReplacedServerTest : public LiveFederationTest {
 protected:
  ReplacedServerTest() : LiveFederationTest(7) { HoldBefore(3); }

  // After each round, as the site wrote it down; "null" where it skipped the round.
  std::vector<std::string> ModelsOf(const std::string& site) const {
    std::vector<std::string> models;
    std::istringstream lines(Read(site + "/run/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto round = base::JsonValue::Parse(line);
      models.push_back(round.ok() ? round->Find("model")->Dump() : line);
    }
    return models;
  }
  // Whether all sites have the same rounds, and the last of them started no other sum yet.
  bool MayUndoLastRound() const {
    return std::ranges::all_of(sites_, [this](const std::string& site) {
      return AppliedBy(site) == AppliedBy("north") &&
             std::filesystem::exists(path_ / site / "state/earlier.ckpt");
    });
  }
};

TEST_F(ReplacedServerTest, RoundsGoOn) {
  // South and west are killed before they have applied the last round, which north has.
  AwaitRounds(sites_, 3);
  for (size_t victim = 0; victim <= sites_.size(); ++victim) Kill(victim);
  ASSERT_TRUE(MayUndoLastRound());
  LetGo();
  for (const std::string site : {"south", "west"}) {
    std::filesystem::rename(path_ / site / "state/earlier.ckpt", path_ / site / "state/state.ckpt");
  }
  const uint32_t undone = AppliedBy("south");
  ASSERT_EQ(AppliedBy("north"), undone + 1);
  const std::string first_address = reached_at_;

  Request("hub2", {"--server-host", "localhost", "--server-host", "127.0.0.1"});
  const Outcome enrolled =
      Tacet({"federation", "enrol", "hub2", "--request", "hub2/hub2.request", "--fingerprint",
             Fingerprint("hub2"), "--server", "hub2", "--key-file", "c.key"});
  ASSERT_EQ(enrolled.exit_code, 0) << enrolled.err;
  for (const std::string& site : sites_) Renew(site);
  const Outcome rotated = Rotate({"--remove", "hub"});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  std::filesystem::remove_all(path_ / "hub");

  Accept("hub2", 1);
  server_flags_.insert(server_flags_.end(),
                       {"--home", "hub2", "--key-file", "hub2.key", "--listen", "127.0.0.1:0"});
  BeginServer();
  EXPECT_NE(reached_at_, first_address);
  for (const std::string& site : sites_) {
    Accept(site, 1);
    StartSite(site);
  }
  Await([&] { return RoundsOf("south") >= undone + 3; });
  Kill(sites_.size());
  StartAgain(sites_.size());
  AwaitAllDone();
  ExpectNoViolations();
  ExpectOneModelAndNothingSaidTwice(false);
  for (const std::string& site : sites_) {
    EXPECT_EQ(RoundsOf(site), rounds_) << site;
    EXPECT_GT(Number(told_.at(site), "charged_attempts"), rounds_) << site;  // once more for it
    EXPECT_EQ(Noted(site, "applied", "earlier-state"), site == "north") << site;
    EXPECT_EQ(ModelsOf(site)[undone], ModelsOf("north")[undone]) << site;
    EXPECT_THAT(ModelsOf(site)[undone], Not("null")) << site;
    const Outcome audited = Tacet({"audit", "write", site + "/run"});
    EXPECT_EQ(audited.exit_code, 0) << audited.err;
  }
}

TEST_F(KilledFederationTest, TheServerHoldsNoModelAndNoKey) {
  LetGo();
  AwaitAllDone();
  ExpectNoViolations();
  Haystack server, north;
  server.AddFolder(path_ / "hub");
  const bool has_memory = server.AddMemory(server_);
  north.AddFolder(path_ / "north");

  std::vector<std::string> models = PiecesOf(Read("federation/initial-model").substr(32));
  for (std::string& piece : PiecesOf(Read("north/run/model.f32"))) {
    models.push_back(std::move(piece));
  }
  ASSERT_THAT(models, SizeIs(Gt(50u)));
  EXPECT_THAT(server.Find(models), IsEmpty()) << "pieces of models";
  const auto site = OpenSite(path_ / "north", path_ / "north.key");
  ASSERT_TRUE(site.ok()) << site.status();
  EXPECT_THAT(server.Find(KeysOf(*site)), IsEmpty());
  // This search finds what is there.
  EXPECT_THAT(north.Find(models), SizeIs(models.size()));
  EXPECT_TRUE(server.Holds(base::AsText(site->joined.manifest.manifest().hash())));
  if (!has_memory) GTEST_SKIP() << "the server's memory is for an administrator to read";
}

}  // namespace
}  // namespace tacet::app
