// Ledgers and policies of sites that run the program.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/json.h"
#include "tacet/base/status.h"
#include "tacet/ledger/ledger_recovery.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/storage/file/ledger_folder.h"
#include "tests/integration/live_federation_for_test.h"

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
    const Outcome outcome = Tacet(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, 1) << outcome.out;
    return outcome.err;
  }
  std::filesystem::path Folder() const { return path_ / "tacet" / "ledger"; }
  // Of the site's data, by the list that the program gives.
  std::filesystem::path LedgerOf(const std::string& site) {
    const auto number = std::ranges::find(sites_, site) - sites_.begin();
    const auto list = base::JsonValue::Parse(Tacet({"ledger", "list", "--json"}).out);
    EXPECT_TRUE(list.ok()) << list.status();
    for (const base::JsonValue& ledger : list->items()) {
      const std::string name = *ledger.Find("data_set")->AsString();
      if (name.ends_with(fmt::format("client {}", number))) return *ledger.Find("path")->AsString();
    }
    ADD_FAILURE() << "no ledger of " << site;
    return {};
  }
  // Ledger and anchor as they were one charge earlier, as a backup has them.
  void PutOldCopyBack(const std::filesystem::path& path) {
    std::string bytes = ReadAll(path);
    bytes.resize(bytes.size() - ledger::kLedgerRecordBytes);
    const auto old = ledger::RecoverLedger(base::AsBytes(bytes),
                                           base::AsBytes(ReadAll(path.string() + ".anchor")));
    ASSERT_FALSE(old.ok());  // beside the last anchor
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
  EXPECT_EQ(ledger.parent_path(), Folder());
  const auto shown = base::JsonValue::Parse(Tacet({"ledger", "show", ledger, "--json"}).out);
  EXPECT_EQ(Number(*shown, "charges"), Number(told_.at("north"), "charged_attempts"));
  EXPECT_EQ(*shown->Find("composition")->AsString(), "any-events");
  const std::vector<std::string> folders = {"tacet", "north"};
  const auto copy = [&](const std::filesystem::path& from, const std::filesystem::path& to) {
    for (const std::string& folder : folders) {
      std::filesystem::remove_all(to / folder);
      std::filesystem::create_directories(to);
      std::filesystem::copy(from / folder, to / folder, std::filesystem::copy_options::recursive);
    }
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
  std::filesystem::remove_all(path_ / "tacet");
  EXPECT_THAT(Refusal("north"), HasSubstr("north/ledger.anchor counts"));
  EXPECT_THAT(Refusal("north", {"--ledger", "elsewhere"}), HasSubstr("north/ledger.anchor counts"));
  std::filesystem::remove(path_ / "north/ledger.anchor");
  EXPECT_THAT(Refusal("north"),
              HasSubstr("has begun attempts, but north/ledger.anchor is missing"));
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
    WriteConfig(fmt::format(R"(
[policy]
sites = ["north"]
serial = {}
{}
[privacy]
epsilon_per_year = {}
delta = 1e-5
units = ["client"]
[federation]
min_participants = 2
committee_seats = 3
committee_corrupt = 0
[data]
records = 5
columns = ["*"]
[training]
kinds = ["training"]
)",
                            serial, more, epsilon),
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
  absl::Status ChargeOtherDataUnder(uint64_t serial) {
    TACET_ASSIGN_OR_RETURN(const auto folder, storage::file::LedgerFolder::Open(Folder()));
    TACET_ASSIGN_OR_RETURN(ledger::OpenedLedger opened,
                           folder.OpenOrCreate({.name = "other.csv", .digest = {1}}, {}, {}, 1));
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

  // A later policy was seen, if only over other data.
  ASSERT_TRUE(ChargeOtherDataUnder(3).ok());
  WritePolicy(2, 1e6);
  Sign();
  EXPECT_THAT(Refusal("north"),
              HasSubstr("north/policy.toml has serial number 2, but data of this site were charged "
                        "under number 3"));
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
  // Of the policy's number `serial` with these values.
  std::string RefusalBy(int serial, std::string_view columns, std::string_view query) {
    WriteConfig(fmt::format(R"(
policy = {{ sites = ["north"], serial = {} }}
privacy = {{ epsilon_per_year = 2.0, delta = 1e-5, units = ["record"] }}
federation = {{ min_participants = 3, committee_seats = 3, committee_corrupt = 0 }}
data = {{ records = 1, columns = {} }}
training = {{ kinds = ["query"] }}
query = {}
)",
                            serial, columns, query),
                "north/policy.toml");
    Sign();
    const Outcome run =
        Tacet({"client", "run", "--home", "north", "--key-file", "north.key", "--server",
               "127.0.0.1:1", "--data", "north.csv", "--ledger-rule", "announced-attempts"});
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

}  // namespace
}  // namespace tacet::app
