// A federation of hospitals over tables whose server and sites follow its epochs, each site under
// its officer's policy.
#ifndef TACET_TESTS_INTEGRATION_FOLLOWING_FEDERATION_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_FOLLOWING_FEDERATION_FOR_TEST_H_

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/federation_for_test.h"

namespace tacet::app {

inline constexpr std::string_view kAllKinds =
    R"(["training", "query", "removal", "server", "renewal", "addition"])";

class FollowingFederationTest : public FederationProgramTest {
 protected:
  // One round of a model of one column.
  static std::string Training(int rounds = 1, double noise = 20) {
    return fmt::format(R"(
[data]
classes = 2
csv_label_column = "ill"
csv_features = ["age 18..100"]
[model]
name = "logistic"
[federation]
rounds = {}
min_participants = 3
committee_seats = 3
committee_corrupt = 1
spare_attempts = 20
[privacy]
unit = "record"
neighbouring = "zero-out"
record_rate = 0.5
expected_batch = 60
colluders = 1
clip_norm = 1
noise_multiplier = {}
scale = 1e-2
)",
                       rounds, noise);
  }
  static std::string Query(int max_units = 100, std::string_view more = "") {
    return fmt::format(R"(
[privacy]
neighbouring = "zero-out"
target_epsilon = 0.2
noise_law = "gaussian"
colluders = 1
max_units = {}
[[question]]
name = "ill"
kind = "count"
where = ["ill = 1"]
{})",
                       max_units, more);
  }

  void SetUp() override { SetUpSites({"north", "south", "west"}, Training()); }
  void SetUpSites(const std::vector<std::string>& sites, const std::string& terms) {
    sites_ = sites;
    init_flags_ = {"--members", std::to_string(sites.size())};
    SetUpFederation(terms);
    WriteConfig("[data]\ncsv_client_column = \"\"\n", "site.toml");
    MakeOfficer();
    for (const std::string& site : sites_) Equip(site);
    ServeFollowing();
  }
  void TearDown() override {
    for (const auto& [site, process] : running_) {
      ::kill(process, SIGKILL);
      WaitFor(process, site + "-");
    }
    FederationProgramTest::TearDown();
  }

  void ServeFollowing(std::vector<std::string> more = {}) {
    more.insert(more.end(),
                {"--follow", "", "--collecting-seconds", "20", "--unmasking-seconds", "20"});
    if (!reached_at_.empty()) more.insert(more.end(), {"--listen", reached_at_});
    StartServer(more);
    if (reached_at_.empty()) reached_at_ = "127.0.0.1:" + std::to_string(members_port_);
  }
  void MakeOfficer() {
    const Outcome key =
        Tacet({"client", "policy", "key", "officer.key", "--key-file", "officer.unlock"});
    officer_ = key.out.substr(key.out.find(' '));
    std::erase_if(officer_, [](char c) { return c == ' ' || c == '\n'; });
  }
  // Its table, and a policy that its identity pins.
  void Equip(const std::string& site) {
    std::ofstream table(path_ / (site + ".csv"));
    table << "age,ill\n";
    for (int row = 0; row < 40; ++row) table << 20 + row << ',' << row % 3 / 2 << '\n';
    SignPolicy(site, kAllKinds);
    ASSERT_EQ(
        Tacet({"client", "policy", "pin", officer_, "--home", site, "--key-file", site + ".key"})
            .exit_code,
        0);
  }
  // Which kinds of change it accepts, as a list in TOML; none: it asks.
  void SignPolicy(const std::string& site, std::string_view kinds, double epsilon = 100) {
    WriteConfig(fmt::format(R"(
policy = {{ sites = ["{}"], serial = {} }}
privacy = {{ epsilon_per_year = {}, delta = 1e-5, units = ["record"], appearances = 1, colluders = 1, neighbouring = ["replace-one", "zero-out"], noise_laws = ["gaussian"] }}
federation = {{ min_participants = 3, committee_seats = 3, committee_corrupt = 0 }}
data = {{ records = 10, columns = ["age", "ill"] }}
training = {{ kinds = ["training", "query"] }}
query = {{ kinds = ["count", "mean"], floor = 0, site_groups = false }}
acceptance = {{ {} }}
ledger = {{ folder = "{}" }}
)",
                            site, ++serial_, epsilon,
                            kinds.empty() ? "accept = \"ask\""
                                          : fmt::format("accept = \"within-policy\", kinds = {}, "
                                                        "unknown_members = 1",
                                                        kinds),
                            LedgerFolderOf(site).string()),
                site + "/policy.toml");
    const Outcome made = Tacet({"client", "policy", "sign", site + "/policy.toml", "--officer",
                                "officer.key", "--key-file", "officer.unlock"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  void Follow(const std::string& site, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "client",      "run",      "--home",      site,       "--key-file",
        site + ".key", "--server", reached_at_,   "--follow", "--look-seconds",
        "0.2",         "--data",   site + ".csv", "--config", "site.toml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    running_[site] = StartAs(site, std::move(arguments), site + "-");
  }
  void FollowAll() {
    for (const std::string& site : sites_) Follow(site);
  }
  Outcome Stop(const std::string& site) {
    ::kill(running_.at(site), SIGTERM);
    const Outcome ended = WaitFor(running_.at(site), site + "-");
    running_.erase(site);
    return ended;
  }
  void Kill(const std::string& site) {
    ::kill(running_.at(site), SIGKILL);
    WaitFor(running_.at(site), site + "-");
    running_.erase(site);
  }
  void AwaitFile(const std::string& name) {
    Await([&] { return std::filesystem::exists(path_ / name); });
  }
  void AwaitSaid(const std::string& site, const std::string& words) {
    Await([&] { return Read(site + "-stderr").find(words) != std::string::npos; });
  }
  // A command of the coordinator, and its words.
  std::vector<std::string> Change(const std::string& command, std::vector<std::string> words) {
    words.insert(words.begin(), {"federation", command});
    words.insert(words.end(), {"--key-file", "c.key", "--mailbox", reached_at_});
    return words;
  }
  Outcome Make(const std::string& command, std::vector<std::string> words,
               const std::string& seconds = "60") {
    words.insert(words.end(), {"--wait-seconds", seconds});
    return Tacet(Change(command, std::move(words)));
  }
  double ChargesOf(const std::string& site) {
    const Outcome shown =
        Tacet({"ledger", "show", (LedgerFolderOf(site) / "main.ledger").string(), "--json"});
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    return Number(*base::JsonValue::Parse(shown.out), "charges");
  }
  int EpochOf(const std::string& site) {
    const Outcome shown = Tacet({"client", "show", "--home", site, "--json"});
    return static_cast<int>(Number(*base::JsonValue::Parse(shown.out), "epoch"));
  }

  std::string officer_, reached_at_;
  int serial_ = 0;
  std::map<std::string, pid_t> running_;
};

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_FOLLOWING_FEDERATION_FOR_TEST_H_
