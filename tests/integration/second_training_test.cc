// A federation's second training, in separate processes: other terms, the same identities and
// ledgers. It continues over another epoch while everybody is killed, on both stores.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/storage/postgres/postgres_for_test.h"
#include "tests/integration/live_federation_for_test.h"

namespace tacet::app {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kFirstRounds = 2, kSecondRounds = 8;

class SecondTrainingProgramTest : public LiveFederationTest {
 protected:
  SecondTrainingProgramTest() : LiveFederationTest(kFirstRounds) {}

  // Terms of the second training.
  void WriteSecondTerms() {
    WriteConfig(R"(
[data]
classes = 4
[model]
name = "mlp"
hidden = [6]
input_shape = [28, 28]
[federation]
min_participants = 2
spare_attempts = 60
rounds = 8
[privacy]
clip_norm = 0.4
coordinate_bound = 0.1
noise_multiplier = 20
scale = 1e-3
)",
                "second.toml");
  }

  void BeginEpoch(int epoch) {
    Accept("hub", epoch);
    for (const std::string& site : sites_) Accept(site, epoch);
    BeginServer();
    for (const std::string& site : sites_) StartSite(site);
  }
  void KillAll() {
    for (size_t victim = 0; victim <= sites_.size(); ++victim) Kill(victim);
  }

  // Each is done with `rounds` rounds.
  void AwaitEnd(int rounds) {
    for (const std::string& site : sites_) {
      const Outcome ended = WaitFor(running_.at(site), site + "-");
      running_.erase(site);
      ASSERT_EQ(ended.exit_code, 0) << ended.err;
      said_[site] = ended.err;
      auto told = base::JsonValue::Parse(ended.out);
      ASSERT_TRUE(told.ok()) << ended.out;
      EXPECT_EQ(Number(*told, "rounds"), rounds);
      EXPECT_EQ(told->Find("violations")->Dump(), "[]") << ended.err;
      told_.insert_or_assign(site, *std::move(told));
    }
  }
  void ExpectOneModelIn(const std::string& run) {
    std::set<std::string> models;
    for (const std::string& site : sites_) models.insert(Read(site + "/" + run + "/model.f32"));
    EXPECT_THAT(models, SizeIs(1));
    EXPECT_FALSE(models.begin()->empty());
  }
  void ExpectNothingSealedTwice() {
    for (const std::string& site : sites_) {
      for (const auto& [attempt, digests] : Sent(site, "upload")) {
        EXPECT_THAT(digests, SizeIs(1)) << site << " sealed two updates for " << attempt;
      }
    }
  }
  std::filesystem::path LedgerOf(const std::string& site) const {
    return LedgerFolderOf(site) / "main.ledger";
  }
  double ChargesInLedger(const std::string& site) {
    const Outcome shown = Tacet({"ledger", "show", LedgerOf(site).string(), "--json"});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    return Number(*base::JsonValue::Parse(shown.out), "charges");
  }

  std::map<std::string, std::string> said_;  // by site: its last standard error
};

class SecondTrainingStoresTest : public SecondTrainingProgramTest,
                                 public ::testing::WithParamInterface<Store> {
 protected:
  void SetUp() override {
    if (GetParam() == Store::kPostgresql) {
      server_flags_.insert(server_flags_.end(),
                           {"--state", storage::postgres::PostgresForTest::Get().NewDatabase()});
    }
    SecondTrainingProgramTest::SetUp();
  }
};

TEST_P(SecondTrainingStoresTest, GoesOnThroughKillsAndLedgersAddUp) {
  AwaitEnd(kFirstRounds);
  const std::string first_model = Read("north/run/model.f32");
  const double first_charges = Number(told_.at("north"), "charged_attempts");
  const double first_epsilon = Number(told_.at("north"), "ledger_epsilon");
  Kill(sites_.size());

  WriteSecondTerms();
  HoldBefore(kSecondRounds - 1);
  for (const std::string& site : sites_) Renew(site);
  const Outcome rotated = Rotate({"--config", "second.toml"});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  EXPECT_THAT(rotated.out, HasSubstr("mlp"));
  // Said before it is accepted: every figure of it comes on top of what was spent.
  const std::string invitation = "federation/invitations/north-epoch-1.tacet";
  const Outcome refused = Tacet(
      {"client", "join", invitation, "--home", "north", "--key-file", "north.key", "--accept"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, ContainsRegex("WEAKER +training +the first -> begun with epoch 1"));
  BeginEpoch(1);
  EXPECT_EQ(Number(*Event("server-started"), "training"), 1);
  EXPECT_EQ(Number(*Event("server-started"), "finished_rounds"), 0);

  std::mt19937 random(GetParam() == Store::kSqlite ? 1 : 2);
  for (int i = 0; i < 4; ++i) {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(std::uniform_int_distribution<int>(50, 700)(random)));
    const size_t victim = i % 2 == 0 ? sites_.size() : static_cast<size_t>(i / 2);
    Kill(victim);
    StartAgain(victim);
  }
  Await([this] { return RoundsOf("north", "run-1") >= 2; });
  KillAll();
  LetGo();

  // An epoch that continues with it.
  for (const std::string& site : sites_) Renew(site);
  const Outcome continued = Rotate();
  ASSERT_EQ(continued.exit_code, 0) << continued.err;
  BeginEpoch(2);
  EXPECT_EQ(Number(*Event("server-started"), "training"), 1);
  AwaitEnd(kSecondRounds);
  ExpectOneModelIn("run");
  ExpectOneModelIn("run-1");
  ExpectNothingSealedTwice();
  EXPECT_EQ(Read("north/run/model.f32"), first_model);
  EXPECT_NE(Read("north/run-1/model.f32").size(), first_model.size());
  for (const std::string& site : sites_) {
    const base::JsonValue& told = told_.at(site);
    EXPECT_EQ(ChargesInLedger(site), first_charges + Number(told, "charged_attempts"));
    EXPECT_GT(Number(told, "ledger_epsilon"), first_epsilon);
    EXPECT_THAT(told.Find("run")->Dump(), HasSubstr("run-1"));
  }
  // Each training has a record of its own.
  for (const auto& [run, epoch] :
       std::vector<std::pair<std::string, int>>{{"north/run", 0}, {"north/run-1", 2}}) {
    const Outcome audited = Tacet({"audit", "write", run});
    EXPECT_EQ(audited.exit_code, 0) << audited.err;
    const Outcome verified =
        Tacet({"audit", "verify", run + "/audit.json", "--model", run + "/model.f32",
               "--digest-key", fmt::format("{}/digest-{}.key", run, epoch)});
    EXPECT_EQ(verified.exit_code, 0) << verified.err;
    EXPECT_EQ(Tacet({"report", run}).exit_code, 0);
  }
  const Outcome of_another =
      Tacet({"audit", "verify", "north/run-1/audit.json", "--model", "north/run/model.f32",
             "--digest-key", "north/run-1/digest-2.key"});
  EXPECT_EQ(of_another.exit_code, 1);
  EXPECT_THAT(of_another.err, HasSubstr("the record is not about this model"));
}

INSTANTIATE_TEST_SUITE_P(Stores, SecondTrainingStoresTest,
                         ::testing::Values(Store::kSqlite, Store::kPostgresql),
                         [](const auto& store) {
                           return store.param == Store::kSqlite ? "Sqlite" : "Postgresql";
                         });

// A site that lost its ledger, both anchors in its home and its state: the run of the first
// training still knows what was charged. Without it the data's budget would begin again.
TEST_F(SecondTrainingProgramTest, TheRunOfTheFirstMissesItsCharges) {
  AwaitEnd(kFirstRounds);
  WriteSecondTerms();
  for (const std::string& site : sites_) Renew(site);
  ASSERT_EQ(Rotate({"--config", "second.toml"}).exit_code, 0);
  Accept("north", 1);
  for (const char* const lost : {"data", "state", "ledger.anchor"}) {
    std::filesystem::remove_all(path_ / "north" / lost);
  }
  StartSite("north");
  const Outcome refused = WaitFor(running_.at("north"), "north-");
  running_.erase("north");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, ContainsRegex("north/run/ledger has 2 attempts of which the ledger of "
                                         ".* knows 0: it is an older one"));
}

// A query over tables, in the homes of a training over other data. On the old code each site
// refused it as a lost ledger: its table had a ledger of its own, and the home's anchor knew of
// charges.
TEST_F(SecondTrainingProgramTest, AQueryOverAnotherTableChargesTheSameLedger) {
  AwaitEnd(kFirstRounds);
  Kill(sites_.size());
  WriteConfig(R"(
[privacy]
target_epsilon = 1.0
max_units = 100
[[question]]
name = "old"
kind = "count"
where = ["age >= 35"]
)",
              "query.toml");
  for (const std::string& site : sites_) Renew(site);
  const Outcome rotated = Rotate({"--query", "query.toml"});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  Accept("hub", 1);
  for (const std::string& site : sites_) Accept(site, 1);
  BeginServer();
  for (const std::string& site : sites_) {
    // Had this cell stopped its site, the server would name the site as absent for ever: who knows
    // the record would learn from it what the cell holds.
    WriteConfig(site == sites_[0] ? "age\n30\n36y\n50\n" : "age\n30\n40\n50\n", site + ".csv");
    const double before = ChargesInLedger(site);
    EXPECT_EQ(before, Number(told_.at(site), "charged_attempts"));
    running_[site] = StartAs(site,
                             {"client", "run", "--home", site, "--key-file", site + ".key",
                              "--server", reached_at_, "--data", site + ".csv", "--json"},
                             site + "-");
  }
  std::map<std::string, base::JsonValue> trained = told_;
  AwaitEnd(1);
  for (const std::string& site : sites_) {
    EXPECT_EQ(said_[site].find("\"36y\" is not a finite number") != std::string::npos,
              site == sites_[0])
        << said_[site];
    EXPECT_EQ(ChargesInLedger(site), Number(trained.at(site), "charged_attempts") +
                                         Number(told_.at(site), "charged_attempts"));
    const Outcome listed = Tacet({"ledger", "list", "--ledger", LedgerFolderOf(site), "--json"});
    EXPECT_THAT(base::JsonValue::Parse(listed.out)->items(), SizeIs(1));
  }
}

// A training over tables, one of which has a bad row.
class TableTrainingProgramTest : public SecondTrainingProgramTest {
 protected:
  TableTrainingProgramTest() {
    agreed_ = R"(
[data]
classes = 2
csv_label_column = "ill"
csv_features = ["age 0..120"]
[model]
name = "logistic"
[federation]
min_participants = 2
spare_attempts = 60
rounds = {}
[privacy]
clip_norm = 0.5
coordinate_bound = 0.1
noise_multiplier = 12
scale = 1e-3
)";
  }

  void SetUp() override {
    SetUpFolders();
    WriteConfig("[data]\ncsv_client_column = \"\"\n", "table.toml");
    BeginServer();
    for (const std::string& site : sites_) {
      WriteConfig(fmt::format("age,ill\n30,0\n{},1\n70,1\n", site == sites_[0] ? "36y" : "36"),
                  site + ".csv");
      running_[site] =
          StartAs(site,
                  {"client", "run", "--home", site, "--key-file", site + ".key", "--server",
                   reached_at_, "--config", "table.toml", "--data", site + ".csv", "--json"},
                  site + "-");
    }
  }
};

// On the old code the first site ended with an error, and the others named it as absent.
TEST_F(TableTrainingProgramTest, ARowThatCannotBeReadEndsNothing) {
  AwaitEnd(kFirstRounds);
  for (const std::string& site : sites_) {
    EXPECT_EQ(said_[site].find("\"36y\" is not a finite number") != std::string::npos,
              site == sites_[0])
        << said_[site];
  }
}

}  // namespace
}  // namespace tacet::app
