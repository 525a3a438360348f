// Ledgers and policies of sites that run the program.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/ledger/attempt_cost.h"
#include "tacet/ledger/ledger_recovery.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/storage/file/ledger_folder.h"
#include "tacet/storage/file/site_folder.h"
#include "tacet/storage/file/sketch_folder.h"
#include "tests/integration/live_federation_for_test.h"
#include "tests/integration/north_policy_for_test.h"

namespace tacet::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SiteLedgerTest : public LiveFederationTest {
 protected:
  SiteLedgerTest() : LiveFederationTest(2) {}

  // `tacet client run` of a site that is refused before it asks the server for anything.
  std::string Refusal(const std::string& site, const std::vector<std::string>& more = {}) {
    const auto number = std::ranges::find(sites_, site) - sites_.begin();
    std::vector<std::string> arguments = {"client",
                                          "run",
                                          "--home",
                                          site,
                                          "--key-file",
                                          site + ".key",
                                          "--server",
                                          "127.0.0.1:1",
                                          "--config",
                                          "site.toml",
                                          "--draw",
                                          "--client",
                                          std::to_string(number)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (std::ranges::find(more, "--ledger") == more.end()) {
      arguments.insert(arguments.end(), {"--ledger", LedgerFolderOf(site)});
    }
    const Outcome outcome = Tacet(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
    return outcome.err;
  }
  std::filesystem::path Folder() const { return LedgerFolderOf("north"); }
  std::filesystem::path LedgerOf(const std::string& site) const {
    return LedgerFolderOf(site) / "main.ledger";
  }
  // Ledger and anchor as they were one charge earlier, as a backup has them.
  void PutOldCopyBack(const std::filesystem::path& path) {
    std::string bytes = ReadAll(path);
    bytes.resize(bytes.size() - ledger::kLedgerRecordBytes);
    const auto old = ledger::RecoverLedger(base::AsBytes(bytes),
                                           base::AsBytes(ReadAll(path.string() + ".anchor")));
    ASSERT_FALSE(old.ok());  // next to the last anchor
    auto end = ledger::ReadLedgerAnchor(base::AsBytes(ReadAll(path.string() + ".anchor")));
    ASSERT_TRUE(end.ok()) << end.status();
    --end->count;
    std::ranges::copy(ledger::RecordHash(base::AsBytes(bytes)), end->head.begin());
    std::ofstream(path, std::ios::binary) << bytes;
    std::ofstream(path.string() + ".anchor", std::ios::binary)
        << base::AsText(ledger::WriteLedgerAnchor(*end));
    ASSERT_EQ(Tacet({"ledger", "verify", path.string()}).exit_code, 0);
  }
};

// On the old code each of these was accepted: a ledger that was deleted was begun again with the
// whole budget, an old copy counted, and every folder and federation had a ledger of its own.
TEST_F(SiteLedgerTest, AMissingOrOldLedgerIsRefused) {
  AwaitAllDone();
  ExpectNoViolations();
  ExpectOneModelAndNothingSaidTwice();
  const std::filesystem::path ledger = LedgerOf("north");
  const auto shown = base::JsonValue::Parse(Tacet({"ledger", "show", ledger, "--json"}).out);
  EXPECT_EQ(Number(*shown, "charges"), Number(told_.at("north"), "charged_attempts"));
  EXPECT_EQ(*shown->Find("composition")->AsString(), "any-events");
  const auto copy = [](const std::filesystem::path& from, const std::filesystem::path& to) {
    std::filesystem::remove_all(to / "north");
    std::filesystem::create_directories(to);
    std::filesystem::copy(from / "north", to / "north", std::filesystem::copy_options::recursive);
  };
  copy(path_, path_ / "kept");
  const auto put_back = [&] { copy(path_ / "kept", path_); };

  // Everything that knows better has to be put back together, one after the other.
  const auto put_old_anchor_back = [&](const std::string& anchor) {
    std::filesystem::copy_file(ledger.string() + ".anchor", path_ / anchor,
                               std::filesystem::copy_options::overwrite_existing);
  };
  PutOldCopyBack(ledger);
  EXPECT_THAT(Refusal("north"), HasSubstr("older than its anchor north/ledger.anchor"));
  put_old_anchor_back("north/ledger.anchor");
  EXPECT_THAT(Refusal("north"), HasSubstr("older than its anchor north/state/ledger.anchor"));
  put_old_anchor_back("north/state/ledger.anchor");
  EXPECT_THAT(Refusal("north"), HasSubstr("has sealed an update for round 1 attempt 0"));
  for (const auto& file : std::filesystem::directory_iterator(path_ / "north/state")) {
    if (file.path().extension() == ".upload") std::filesystem::remove(file);
  }
  EXPECT_THAT(Refusal("north"), HasSubstr("the run has 2 attempts of this training"));
  put_back();
  std::filesystem::remove(ledger);
  EXPECT_THAT(Refusal("north"), HasSubstr("do not begin a new one"));
  std::filesystem::remove(ledger.string() + ".anchor");
  EXPECT_THAT(Refusal("north"), HasSubstr("north/ledger.anchor counts"));
  std::filesystem::remove_all(Folder());
  EXPECT_THAT(Refusal("north"), HasSubstr("north/ledger.anchor counts"));
  EXPECT_THAT(Refusal("north", {"--ledger", "elsewhere"}), HasSubstr("north/ledger.anchor counts"));
  std::filesystem::remove(path_ / "north/ledger.anchor");
  EXPECT_THAT(Refusal("north"), HasSubstr("north/state/ledger.anchor counts"));
  std::filesystem::remove(path_ / "north/state/ledger.anchor");
  EXPECT_THAT(Refusal("north"),
              HasSubstr("has begun attempts, but north/state/ledger.anchor is missing"));
  put_back();
  std::filesystem::remove(path_ / "north/state/ledger.anchor");
  EXPECT_THAT(Refusal("north"),
              HasSubstr("has begun attempts, but north/state/ledger.anchor is missing"));
  put_back();
  EXPECT_THAT(Refusal("north", {"--ledger-rule", "own-seals"}), HasSubstr("rules are never mixed"));
  EXPECT_THAT(Refusal("north", {"--ledger-composition", "one-event"}),
              HasSubstr("was made for any-events"));
  EXPECT_THAT(Refusal("north", {"--budget-epsilon", "7"}), HasSubstr("was made with the budget 0"));
  EXPECT_EQ(Tacet({"ledger", "verify", ledger}).exit_code, 0);
}

class PolicyProgramTest : public SiteLedgerTest {
 protected:
  void SetUp() override { SetUpFolders(); }

  void WritePolicy(int serial, double epsilon, const std::string& more = "") {
    WriteConfig(
        TextOf(NorthPolicy{
            .serial = serial, .more = more, .epsilon_per_year = epsilon, .ledger = Folder()}),
        "north/policy.toml");
  }
  void Sign(const std::string& officer = "officer") {
    const Outcome made = Tacet({"client", "policy", "sign", "north/policy.toml", "--officer",
                                officer + ".key", "--key-file", officer + ".unlock"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }
  std::string NewOfficer(const std::string& name) {
    const Outcome made =
        Tacet({"client", "policy", "key", name + ".key", "--key-file", name + ".unlock"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    const size_t begins = made.out.find_first_not_of(' ', made.out.find(' '));
    return made.out.substr(begins, made.out.find('\n') - begins);
  }
  Outcome Pin(const std::string& fingerprint) {
    return Tacet(
        {"client", "policy", "pin", fingerprint, "--home", "north", "--key-file", "north.key"});
  }
  absl::Status ChargeOthersUnder(uint64_t serial) {
    TACET_ASSIGN_OR_RETURN(const auto folder, storage::file::LedgerFolder::Open(Folder()));
    TACET_ASSIGN_OR_RETURN(ledger::OpenedLedger opened, folder.OpenOrCreate("staff", {}, {}, 1));
    TACET_ASSIGN_OR_RETURN(const auto ledger, ledger::PrivacyLedger::Create(std::move(opened)));
    return ledger->AdoptPolicy({1}, serial);
  }
  Outcome Check(const std::string& records = "10") {
    return Tacet({"client", "policy", "check", "--home", "north", "--key-file", "north.key",
                  "--records", records, "--json"});
  }
};

TEST_F(PolicyProgramTest, TheOperatorWeakensNothing) {
  const std::string officer = NewOfficer("officer"), other = NewOfficer("other");
  WritePolicy(1, 1e6);
  EXPECT_THAT(Refusal("north"), HasSubstr("pins no officer"));
  ASSERT_EQ(Pin(officer).exit_code, 0);
  EXPECT_THAT(Refusal("north"), HasSubstr("policy.toml.sig"));
  Sign("other");
  EXPECT_THAT(Refusal("north"), HasSubstr("this site's officer is"));
  Sign();
  EXPECT_EQ(Check().exit_code, 0);
  const Outcome few = Check("4");
  EXPECT_EQ(few.exit_code, 1);
  EXPECT_THAT(few.out, AllOf(HasSubstr("\"allowed\": false"), HasSubstr("data.records")));
  // The officer of another key is pinned only when this one says so.
  EXPECT_THAT(Pin(other).err, HasSubstr("does not name this one as policy.successor"));

  WritePolicy(2, 1e-3);
  EXPECT_THAT(Refusal("north"), HasSubstr("was changed after its officer signed it"));
  Sign();
  EXPECT_THAT(Refusal("north"),
              AllOf(HasSubstr("north/policy.toml refuses epoch 0 of hospitals: "
                              "privacy.epsilon_per_year: all permitted attempts together cost"),
                    HasSubstr("Nothing was charged or sealed")));
  std::filesystem::remove(path_ / "north/policy.toml");
  EXPECT_THAT(Refusal("north"), HasSubstr("north/policy.toml"));
  EXPECT_FALSE(std::filesystem::exists(Folder()));
  EXPECT_FALSE(std::filesystem::exists(path_ / "north/ledger.anchor"));

  // A later policy was seen, if only over other people.
  ASSERT_TRUE(ChargeOthersUnder(3).ok());
  WritePolicy(2, 1e6);
  Sign();
  EXPECT_THAT(Refusal("north"),
              HasSubstr("north/policy.toml has serial number 2, but a population of this site was "
                        "charged under number 3"));
  EXPECT_FALSE(std::filesystem::exists(path_ / "north/ledger.anchor"));

  std::string digits = other;
  std::erase(digits, ' ');
  WritePolicy(3, 1e6, "successor = \"" + digits + "\"");
  Sign();
  ASSERT_EQ(Pin(other).exit_code, 0);
  EXPECT_THAT(Refusal("north"), HasSubstr("this site's officer is"));
  Sign("other");
  EXPECT_EQ(Check().exit_code, 0);
  EXPECT_EQ(Tacet({"client", "policy", "sign", "site.toml", "--officer", "other.key", "--key-file",
                   "other.unlock"})
                .exit_code,
            1);
}

// The policy of a site in a federation that answers a query.
class QueryPolicyProgramTest : public PolicyProgramTest {
 protected:
  void SetUp() override {
    SetUpFederation(R"(
floor = 5
[privacy]
target_epsilon = 1.0
max_units = 100
[[question]]
name = "age"
kind = "mean"
column = "age"
low = 20
high = 100
[[question]]
name = "status"
kind = "crosstab"
rows = { column = "sex", categories = ["f", "m"] }
columns = { column = "hiv", categories = [0, 1] }
)",
                    "--query");
    WriteConfig("age,sex,hiv\n30,f,0\n40,m,1\n50,f,0\n", "north.csv");
    ASSERT_EQ(Pin(NewOfficer("officer")).exit_code, 0);
  }
  // For the policy's number `serial` with these values.
  std::string RefusalBy(int serial, std::string_view columns, std::string_view query) {
    WriteConfig(fmt::format(R"(
policy = {{ sites = ["north"], serial = {} }}
privacy = {{ epsilon_per_year = 2.0, delta = 1e-5, units = ["record"] }}
federation = {{ min_participants = 3, committee_seats = 3, committee_corrupt = 0 }}
data = {{ records = 1, columns = {} }}
training = {{ kinds = ["query"] }}
ledger = {{ folder = "{}" }}
query = {}
)",
                            serial, columns, Folder().string(), query),
                "north/policy.toml");
    Sign();
    const Outcome run = Tacet({"client", "run", "--home", "north", "--key-file", "north.key",
                               "--server", "127.0.0.1:1", "--data", "north.csv", "--ledger-rule",
                               "announced-attempts", "--ledger", Folder()});
    EXPECT_EQ(run.exit_code, 1) << run.out;
    EXPECT_FALSE(std::filesystem::exists(Folder()));
    EXPECT_FALSE(std::filesystem::exists(path_ / "north/ledger.anchor"));
    const Outcome check = Check("3");
    EXPECT_EQ(check.exit_code, 1);
    EXPECT_THAT(check.out, HasSubstr("\"allowed\": false"));
    return run.err;
  }
};

TEST_F(QueryPolicyProgramTest, ARefusedQueryChargesNothing) {
  EXPECT_THAT(RefusalBy(1, R"(["age", "sex"])", "{}"),
              AllOf(HasSubstr("north/policy.toml refuses epoch 0 of hospitals: data.columns: the "
                              "column \"hiv\", which question \"status\" reads, is not allowed"),
                    HasSubstr("Nothing was charged or sealed")));
  EXPECT_THAT(RefusalBy(2, R"(["*"])", R"({ kinds = ["mean", "count"] })"),
              HasSubstr("query.kinds: question \"status\" has the kind crosstab"));
  EXPECT_THAT(RefusalBy(3, R"(["*"])", "{ floor = 6 }"),
              HasSubstr("query.floor: floor is 5, at least 6 is required"));
}

// Tables of sites, in a federation that answers a query.
class PopulationTest : public PolicyProgramTest {
 protected:
  void SetUp() override {
    SetUpFederation(R"(
[privacy]
target_epsilon = 1.0
max_units = 1000
[[question]]
name = "age"
kind = "mean"
column = "age"
low = 20
high = 100
)",
                    "--query");
    for (int i = 0; i < kPatients; ++i) {
      rows_.push_back(fmt::format("{},{},{}", 20 + i % 70, 90 + 7 * i % 113, 1000 + i));
    }
    WriteTable("patients.csv", "age,sbp,number", rows_);
  }
  void WriteTable(const std::string& name, const std::string& header,
                  const std::vector<std::string>& rows) {
    WriteConfig(fmt::format("{}\n{}\n", header, fmt::join(rows, "\n")), name);
  }
  // `tacet client run` of a site until it asks the server, which is not there. What it warned of.
  std::string Begin(const std::string& site, const std::string& table,
                    const std::filesystem::path& ledgers) {
    std::filesystem::remove(path_ / "begun-stderr");
    const pid_t process = StartAs(site,
                                  {"client", "run", "--home", site, "--key-file", site + ".key",
                                   "--server", "127.0.0.1:1", "--data", table, "--ledger", ledgers},
                                  "begun-");
    Await([this] { return Read("begun-stderr").find("trying again") != std::string::npos; });
    ::kill(process, SIGKILL);
    WaitFor(process, "begun-");
    return Read("begun-stderr");
  }
  std::string BeginRefused(const std::string& site, const std::filesystem::path& ledgers,
                           const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"client",     "run",          "--home",   site,
                                          "--key-file", site + ".key",  "--server", "127.0.0.1:1",
                                          "--data",     "patients.csv", "--ledger", ledgers};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = Tacet(std::move(arguments));
    EXPECT_NE(outcome.exit_code, 0) << outcome.out;
    return outcome.err;
  }
  // Populations with a ledger in the folder.
  std::vector<std::string> Populations(const std::filesystem::path& ledgers) {
    const auto list =
        base::JsonValue::Parse(Tacet({"ledger", "list", "--ledger", ledgers, "--json"}).out);
    EXPECT_TRUE(list.ok()) << list.status();
    std::vector<std::string> populations;
    for (const base::JsonValue& ledger : list->items()) {
      populations.push_back(*ledger.Find("population")->AsString());
    }
    return populations;
  }
  // The policy of a home, signed by its officer, with these keys of section [ledger].
  void Declare(const std::string& site, const std::string& ledger, const std::string& officer) {
    WriteConfig(fmt::format(R"(
policy = {{ sites = ["{}"], serial = 1 }}
privacy = {{ epsilon_per_year = 2.0, delta = 1e-5, units = ["record"] }}
federation = {{ min_participants = 3, committee_seats = 3, committee_corrupt = 0 }}
data = {{ records = 1, columns = ["*"] }}
training = {{ kinds = ["query"] }}
ledger = {{ folder = "{}", {} }}
)",
                            site, ledgers_.string(), ledger),
                site + "/policy.toml");
    const Outcome made = Tacet({"client", "policy", "sign", site + "/policy.toml", "--officer",
                                officer + ".key", "--key-file", officer + ".unlock"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }
  void PinAt(const std::string& site, const std::string& fingerprint) {
    const Outcome pinned = Tacet(
        {"client", "policy", "pin", fingerprint, "--home", site, "--key-file", site + ".key"});
    EXPECT_EQ(pinned.exit_code, 0) << pinned.err;
  }

  static constexpr int kPatients = 260;
  std::vector<std::string> rows_;
  const std::filesystem::path ledgers_ = path_ / "hospital";
};

// On the old code, 260 patients shuffled under a dated name had a ledger of their own, with the
// whole budget, in a new home; in this one they were refused as a lost ledger.
TEST_F(PopulationTest, EveryTableChargesTheOneLedger) {
  EXPECT_EQ(Begin("north", "patients.csv", ledgers_).find("warning"), std::string::npos);
  std::vector<std::string> shuffled = rows_;
  std::ranges::reverse(shuffled);
  WriteTable("patients-2026-11.csv", "age,sbp,number", shuffled);
  shuffled.push_back("50,120,2000");
  WriteTable("one-more.csv", "age,sbp,number", shuffled);
  WriteTable("columns.csv", "age,weight", {"30,70", "40,81"});
  for (const std::string table : {"patients-2026-11.csv", "one-more.csv", "columns.csv"}) {
    EXPECT_THAT(Begin("north", table, ledgers_),
                HasSubstr(table + " holds other data than this training ran with before. They are "
                                  "charged to the same ledger"));
    EXPECT_THAT(Populations(ledgers_), ::testing::ElementsAre("main")) << table;
  }
  EXPECT_EQ(Begin("north", "columns.csv", ledgers_).find("warning"), std::string::npos);
  EXPECT_THAT(BeginRefused("north", ledgers_, {"--data-set", "other"}), HasSubstr("--data-set"));
}

TEST_F(PopulationTest, OnlyASignedPolicyDeclaresAnotherPopulation) {
  // No setting of the site does.
  WriteConfig("[ledger]\npopulation = \"staff\"\n", "own.toml");
  EXPECT_THAT(BeginRefused("south", ledgers_, {"--config", "own.toml"}),
              HasSubstr("unknown key `ledger.population`"));
  Begin("north", "patients.csv", ledgers_);
  const std::string officer = NewOfficer("officer");
  NewOfficer("other");
  PinAt("south", officer);
  // Nor a policy that another one signed, or that does not say that they are other people.
  Declare("south", "population = \"staff\", others = true", "other");
  EXPECT_THAT(BeginRefused("south", ledgers_), HasSubstr("this site's officer is"));
  EXPECT_THAT(Populations(ledgers_), ::testing::ElementsAre("main"));
  Declare("south", "population = \"staff\", others = true", "officer");
  const std::string warned = Begin("south", "patients.csv", ledgers_);
  EXPECT_THAT(warned, HasSubstr("about 100 % of the rows of patients.csv are in the tables of the "
                                "population \"main\", too, and are charged to \"staff\""));
  EXPECT_THAT(Populations(ledgers_), ::testing::ElementsAre("main", "staff"));
  EXPECT_THAT(BeginRefused("south", path_ / "elsewhere"), HasSubstr("ledger.folder"));
  // It has an anchor of its own, in the home, too.
  EXPECT_TRUE(std::filesystem::exists(ledgers_ / "staff.ledger.anchor"));
  std::filesystem::copy_file(path_ / "north/ledger.anchor", path_ / "south/ledger.anchor",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(BeginRefused("south", ledgers_),
              HasSubstr("is an anchor of the population \"main\", not of \"staff\""));
}

// The content of the sketch, and the findings, are in no other file: run, state, log, ledgers,
// anchors and home are what audits, backups and servers get.
TEST_F(PopulationTest, NothingOfTheSketchLeavesItsFolder) {
  Begin("north", "patients.csv", ledgers_);
  PinAt("south", NewOfficer("officer"));
  Declare("south", "population = \"staff\", others = true", "officer");
  ASSERT_THAT(Begin("south", "patients.csv", ledgers_), HasSubstr("about 100 %"));
  const auto folder = storage::file::SketchFolder::Open(ledgers_);
  ASSERT_TRUE(folder.ok()) << folder.status();
  const std::string key(base::AsText(folder->key().Expose()));
  const std::string sketch = ReadAll(ledgers_ / "sketch/main.rows");
  ASSERT_GT(sketch.size(), 42u + 8 * 20);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
    if (!entry.is_regular_file() || entry.path().parent_path() == ledgers_ / "sketch") continue;
    const std::string content = ReadAll(entry.path());
    EXPECT_EQ(content.find(key), std::string::npos) << entry.path();
    for (size_t at = 42; at + 32 < sketch.size(); at += 8) {
      EXPECT_EQ(content.find(sketch.substr(at, 8)), std::string::npos) << entry.path();
    }
    if (entry.path().filename() == "begun-stderr") continue;  // what the site's people read
    EXPECT_EQ(content.find("of the rows of"), std::string::npos) << entry.path();
  }
  for (const std::string command : {"list", "show"}) {
    std::vector<std::string> arguments = {"ledger", command, "--json"};
    if (command == "list") {
      arguments.insert(arguments.end(), {"--ledger", ledgers_});
    } else {
      arguments.push_back(ledgers_ / "staff.ledger");
    }
    const Outcome told = Tacet(arguments);
    EXPECT_EQ(told.exit_code, 0) << told.err;
    EXPECT_EQ(told.out.find("rows"), std::string::npos);
  }
}

// Two sites on one machine that name one ledger folder: a charge would stand for both.
TEST_F(PopulationTest, TwoMembersOfAFederationHaveTwoFolders) {
  Begin("north", "patients.csv", ledgers_);
  const auto site = storage::file::SiteFolder::Open(path_ / "north");
  ASSERT_TRUE(site.ok()) << site.status();
  const auto membership = site->Joined();
  ASSERT_TRUE(membership.ok()) << membership.status();
  {  // as north does in its first attempt
    const auto folder = storage::file::LedgerFolder::Open(ledgers_);
    auto opened = folder->OpenOrCreate("main", {}, {path_ / "north/ledger.anchor"}, 1);
    ASSERT_TRUE(opened.ok()) << opened.status();
    const auto ledger = ledger::PrivacyLedger::Create(*std::move(opened));
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    ledger::AttemptCost cost =
        ledger::AttemptCostOf(membership->manifest.manifest(), (*ledger)->header(),
                              ledger::ChargingRule::kAnnouncedAttempts);
    cost.member = static_cast<uint32_t>(*membership->member);
    ASSERT_TRUE((*ledger)->ChargeForSealing(cost, {}).ok());
  }
  EXPECT_THAT(BeginRefused("south", ledgers_),
              HasSubstr(fmt::format("is charged for member {} of this federation, and this is "
                                    "member",
                                    *membership->member)));
  EXPECT_EQ(Begin("south", "patients.csv", path_ / "clinic").find("warning"), std::string::npos);
}

}  // namespace
}  // namespace tacet::app
