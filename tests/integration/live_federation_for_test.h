// A whole federation in separate processes: a server and three sites.
#ifndef TACET_TESTS_INTEGRATION_LIVE_FEDERATION_FOR_TEST_H_
#define TACET_TESTS_INTEGRATION_LIVE_FEDERATION_FOR_TEST_H_

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "tacet/base/bytes.h"
#include "tacet/base/json.h"
#include "tests/integration/broken_disk_for_test.h"
#include "tests/integration/federation_for_test.h"
#include "tests/integration/north_policy_for_test.h"

namespace tacet::app {

// The stores over which a test runs a server.
enum class Store { kSqlite, kPostgresql };

class LiveFederationTest : public FederationProgramTest {
 protected:
  explicit LiveFederationTest(int rounds) : rounds_(rounds) {}

  void SetUp() override {
    SetUpFolders();
    BeginServer();
    for (const std::string& site : sites_) StartSite(site);
  }
  void TearDown() override {
    for (const auto& [site, process] : running_) {
      ::kill(process, SIGKILL);
      WaitFor(process, site + "-");
    }
    FederationProgramTest::TearDown();
  }

  void SetUpFolders() {
    SetUpFederation(fmt::format(fmt::runtime(agreed_), rounds_));
    WriteConfig(
        "[data]\nhandwriting_writers = 3\nhandwriting_min_samples = 10\n"
        "handwriting_max_samples = 20\nhandwriting_classes = 4\n",
        "site.toml");
  }
  // Begins it again, at the same address.
  void BeginServer() {
    StartServer(server_flags_);
    reached_at_ = "127.0.0.1:" + std::to_string(members_port_);
    server_flags_.insert(server_flags_.end(), {"--listen", reached_at_});
  }
  void StartSite(const std::string& site) {
    const auto number = std::ranges::find(sites_, site) - sites_.begin();
    std::vector<std::string> arguments = {"client",     "run",         "--home",   site,
                                          "--key-file", site + ".key", "--server", reached_at_};
    const auto own = site_configs_.find(site);
    arguments.insert(arguments.end(),
                     {"--config", own == site_configs_.end() ? "site.toml" : own->second, "--draw",
                      "--json", "--client", std::to_string(number)});
    arguments.insert(arguments.end(), site_flags_[site].begin(), site_flags_[site].end());
    if (holds_ && held_.insert(site).second) AddHold(site);
    running_[site] = StartAs(site, std::move(arguments), site + "-");
  }

  // No site uploads in this round, from 0, until another call: so the training comes to that round
  // and no further, however fast it is. The first call is before the sites start.
  void HoldBefore(long round) {
    holds_ = true;
    WriteConfig(fmt::format("make state/*-{}-*.upload.new", round), "hold.new");
    std::filesystem::rename(path_ / "hold.new", path_ / "hold");
  }
  void LetGo() const { std::filesystem::remove(path_ / "hold"); }
  // Rounds of the training that a site's run folder has.
  long RoundsOf(const std::string& site, const std::string& run = "run") const {
    return std::ranges::count(Read(site + "/" + run + "/metrics.jsonl"), '\n');
  }
  // Rounds that a site has applied: of the checkpoint in its folder.
  uint32_t AppliedBy(const std::string& site) const {
    constexpr size_t kPlace = 4 + 2 + 32 + 4;
    const std::string checkpoint = Read(site + "/state/state.ckpt");
    if (checkpoint.size() < kPlace + sizeof(uint32_t)) return 0;
    return base::LoadU32(base::AsBytes(checkpoint).data() + kPlace);
  }
  // A line of the run folder comes behind the next upload where the server publishes and begins at
  // once, and an upload may be held.
  void AwaitRounds(const std::vector<std::string>& sites, long rounds) {
    Await([&] {
      return std::ranges::all_of(sites, [&](const std::string& site) {
        return RoundsOf(site) >= rounds || AppliedBy(site) >= rounds;
      });
    });
  }

  // North's officer signs it, and is the one whom north believes.
  void PinPolicy(const NorthPolicy& policy) {
    const Outcome made =
        Tacet({"client", "policy", "key", "officer.key", "--key-file", "officer.unlock"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const size_t begins = made.out.find_first_not_of(' ', made.out.find(' '));
    SignPolicy(policy);
    const Outcome pinned =
        Tacet({"client", "policy", "pin", made.out.substr(begins, made.out.find('\n') - begins),
               "--home", "north", "--key-file", "north.key"});
    ASSERT_EQ(pinned.exit_code, 0) << pinned.err;
  }
  void SignPolicy(const NorthPolicy& policy) {
    WriteConfig(TextOf(policy), "north/policy.toml");
    const Outcome made = Tacet({"client", "policy", "sign", "north/policy.toml", "--officer",
                                "officer.key", "--key-file", "officer.unlock"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }

  void KillSite(const std::string& site) {
    ::kill(running_[site], SIGKILL);
    EXPECT_EQ(WaitFor(running_[site], site + "-").exit_code, -1) << "it had ended by itself";
    running_.erase(site);
  }
  // A victim is the number of a site in sites_, or their number: the server.
  void Kill(size_t victim) {
    if (victim < sites_.size()) return KillSite(sites_[victim]);
    ::kill(server_, SIGKILL);
    EXPECT_EQ(WaitFor(server_, "server-").exit_code, -1);
  }
  void StartAgain(size_t victim) {
    if (victim < sites_.size()) return StartSite(sites_[victim]);
    StartServer(server_flags_);
  }

  void AwaitAllDone() {
    for (const std::string& site : sites_) {
      const Outcome ended = WaitFor(running_[site], site + "-");
      running_.erase(site);
      ASSERT_EQ(ended.exit_code, 0) << ended.err;
      auto json = base::JsonValue::Parse(ended.out);
      ASSERT_TRUE(json.ok()) << ended.out;
      EXPECT_EQ(Number(*json, "rounds"), rounds_);
      told_.insert_or_assign(site, *std::move(json));
    }
  }
  void ExpectNoViolations() {
    for (const auto& [site, told] : told_) {
      EXPECT_EQ(told.Find("violations")->Dump(), "[]") << Read(site + "-stderr");
    }
  }

  std::vector<base::JsonValue> NodeLog(const std::string& site) const {
    std::vector<base::JsonValue> events;
    std::istringstream log(Read(site + "/node-log.jsonl"));
    for (std::string line; std::getline(log, line);) {
      auto event = base::JsonValue::Parse(line);
      if (event.ok()) events.push_back(*std::move(event));
    }
    return events;
  }
  static bool Is(const base::JsonValue& event, std::string_view kind, std::string_view what) {
    return *event.Find("event")->AsString() == kind && *event.Find("what")->AsString() == what;
  }
  bool Noted(const std::string& site, std::string_view kind, std::string_view what) const {
    return std::ranges::any_of(NodeLog(site),
                               [&](const auto& event) { return Is(event, kind, what); });
  }
  // "epoch/round/attempt" that a line of the log is about.
  static std::string AttemptOf(const base::JsonValue& event) {
    return event.Find("epoch")->Dump() + "/" + event.Find("round")->Dump() + "/" +
           event.Find("attempt")->Dump();
  }
  // By attempt, the digests of what the site ever sent for it of one kind.
  std::map<std::string, std::set<std::string>> Sent(const std::string& site,
                                                    std::string_view what) const {
    std::map<std::string, std::set<std::string>> sent;
    for (const base::JsonValue& event : NodeLog(site)) {
      if (!Is(event, "sent", what)) continue;
      sent[AttemptOf(event)].insert(*event.Find("sha256")->AsString());
    }
    return sent;
  }

  // Sites that were killed when an epoch ended need not have heard of its last attempt.
  void ExpectOneModelAndNothingSaidTwice(bool charged_alike = true) {
    std::set<std::string> models;
    std::set<double> charged;
    for (const std::string& site : sites_) {
      models.insert(Read(site + "/run/model.f32"));
      charged.insert(Number(told_.at(site), "charged_attempts"));
      for (const std::string what : {"upload", "vote", "unmask-share", "attestation"}) {
        // The state that it had when the epoch opened, and the one that replaced it.
        const bool undid = what == "attestation" && Noted(site, "applied", "earlier-state");
        for (const auto& [attempt, digests] : Sent(site, what)) {
          if (undid && digests.size() == 2) continue;
          EXPECT_THAT(digests, ::testing::SizeIs(1))
              << site << " sent two " << what << " for " << attempt;
        }
      }
      const Outcome verified = Tacet({"ledger", "verify", site + "/run/ledger"});
      EXPECT_EQ(verified.exit_code, 0) << verified.err;
    }
    EXPECT_THAT(models, ::testing::SizeIs(1));
    EXPECT_FALSE(models.begin()->empty());
    if (!charged_alike) return;
    EXPECT_THAT(charged, ::testing::SizeIs(1)) << "ledgers of announced attempts are all alike";
  }

  // To what the site's process has in its environment already.
  void AddHold(const std::string& site) {
    std::vector<std::string>& variables = environment_[site];
    std::vector<std::string> more =
        BrokenDiskOf(path_ / site, {"BROKEN_HOLD=" + (path_ / "hold").string()});
    for (std::string& one : variables) {
      if (one.starts_with("LD_PRELOAD=")) more[0] += ":" + one.substr(one.find('=') + 1);
    }
    variables.insert(variables.end(), more.begin(), more.end());  // of two the last one counts
  }

  const int rounds_;
  // With {} for the number of rounds.
  std::string agreed_ = R"(
[data]
classes = 4
[model]
name = "logistic"
input_shape = [28, 28]
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
  std::vector<std::string> server_flags_ = {"--collecting-seconds", "5", "--unmasking-seconds",
                                            "10"};
  std::map<std::string, std::vector<std::string>> site_flags_;  // further ones
  std::map<std::string, std::string> site_configs_;  // of sites with another than site.toml
  std::string reached_at_;                           // where sites look for the server
  std::map<std::string, pid_t> running_;
  bool holds_ = false;                           // some round
  std::set<std::string> held_;                   // sites that look for it
  std::map<std::string, base::JsonValue> told_;  // by the sites that are done
};

// Puts this process into namespaces of its own; false where the system lets nobody do that, with
// the reason in errno.
inline bool EnterNamespaces(int which) {
  if (::unshare(which) == 0) return true;
  const std::string user = fmt::format("{0} {0} 1", ::getuid()),
                    group = fmt::format("{0} {0} 1", ::getgid());
  if (::unshare(CLONE_NEWUSER | which) != 0) return false;
  // A user without a number in a namespace cannot make files there.
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << user;
  std::ofstream("/proc/self/gid_map") << group;
  return true;
}

}  // namespace tacet::app

#endif  // TACET_TESTS_INTEGRATION_LIVE_FEDERATION_FOR_TEST_H_
