// Faults of a federation whose server and sites are the programs. /readyz alone names each within
// two minutes, with the member and the remedy. It names no other cause, and no member that is well.
// A training program that fails is named by its own site only.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include "tacet/base/test_size_for_test.h"
#include "tacet/host/problem_kinds.h"
#include "tacet/storage/postgres/postgres_for_test.h"
#include "tests/integration/clock_shift_for_test.h"
#include "tests/integration/live_federation_for_test.h"

namespace tacet::app {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

enum class NamedFault {
  kFullDisk,
  kDatabase,
  kServersCertificate,
  kServersBackup,
  kLostObjects,
  kSitesClock,
  kAbsentSite,
  kDeadLine,
  kDeadSeats,
  kSitesCertificate,
  kBrokenProgram,
  kBudget,
  kPolicy,
};
constexpr std::array<const char*, 13> kNames = {"AFullDisk",
                                                "ADatabaseThatIsAway",
                                                "TheServersCertificate",
                                                "AServerPutBack",
                                                "LostObjects",
                                                "ASitesClock",
                                                "ASiteThatIsOff",
                                                "ADeadLine",
                                                "SeatsThatDieInMidAttempt",
                                                "ASitesCertificate",
                                                "ABrokenProgram",
                                                "ABudget",
                                                "APolicy"};
// The first ones are named within seconds.
constexpr size_t kFast = 6;

// One of these causes, of these members.
struct Expected {
  std::set<std::string> codes;
  std::set<std::string> members = {};
};

struct Shown {
  std::string code;
  std::set<std::string> members;
  std::string line;
};

class NamedFaultsTest : public LiveFederationTest,
                        public ::testing::WithParamInterface<NamedFault> {
 protected:
  NamedFaultsTest() : LiveFederationTest(400) {
    server_flags_ = {"--collecting-seconds", "30", "--unmasking-seconds", "60"};
  }
  void SetUp() override {
    const auto all = base::TestSize("TACET_NAMED_FAULTS", 0);
    const size_t drawn = std::mt19937(2026)() % kFast;
    if (all == 0 && static_cast<size_t>(GetParam()) != drawn) {
      GTEST_SKIP() << "the long tests play all faults";
    }
  }
  void TearDown() override {
    LiveFederationTest::TearDown();
    if (crashed_) storage::postgres::PostgresForTest::Get().Start();
  }

  // A federation at work, whose sites train for a second.
  void Begin(const std::function<void()>& prepare = [] {}) {
    SetUpFolders();
    WriteConfig(
        "#!/bin/sh\n"
        "sleep 1\n"
        "while test -e \"wait-$1\"; do sleep 0.1; done\n"
        "test -e \"broken-$1\" && exit 1\n"
        "cp \"$2\" \"$3\"\n",
        "train.sh");
    for (const std::string& site : sites_) {
      for (const std::string word :
           {"--train-with", "sh", "--train-argument", "train.sh", "--train-argument"}) {
        site_flags_[site].push_back(word);
      }
      site_flags_[site].push_back(site);
    }
    prepare();
    BeginServer();
    for (const std::string& site : sites_) StartSite(site);
    AwaitRounds(sites_, 1);
  }
  std::string Page() const { return HttpGet(admin_port_, "/readyz"); }
  std::vector<Shown> Problems() const {
    std::istringstream page(Page());
    std::vector<Shown> found;
    for (std::string line; std::getline(page, line);) {
      Shown shown{.code = {}, .members = {}, .line = line};
      for (const std::string& site : sites_) {
        if (line.find(" " + site) != std::string::npos) shown.members.insert(site);
      }
      for (const host::ProblemKind& kind : host::ProblemKinds()) {
        if (!line.starts_with(std::string(kind.name) + ": ")) continue;
        shown.code = kind.name;
        EXPECT_THAT(line, ::testing::EndsWith(std::string(kind.remedy)));
      }
      if (!shown.code.empty()) {
        found.push_back(shown);
      } else {
        EXPECT_TRUE(shown.members.empty()) << line;
      }
    }
    return found;
  }
  // Whether all that is expected is shown. Nothing else ever is.
  static bool IsNamed(const std::vector<Shown>& found, const Expected& expected) {
    std::set<std::string> members;
    for (const Shown& shown : found) {
      EXPECT_TRUE(expected.codes.contains(shown.code)) << shown.line;
      EXPECT_TRUE(std::ranges::includes(expected.members, shown.members)) << shown.line;
      members.insert(shown.members.begin(), shown.members.end());
    }
    return !found.empty() && members == expected.members;
  }
  void ExpectNamed(const Expected& expected, seconds within = seconds(120)) {
    const Clock::time_point begun = Clock::now();
    bool named = false;
    const auto watch = [&](seconds time, bool until_named) {
      for (const auto end = Clock::now() + time; Clock::now() < end;) {
        named = IsNamed(Problems(), expected) || named;
        if ((until_named && named) || HasFailure()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
    };
    watch(within, true);
    ASSERT_TRUE(named) << Page();
    fmt::print("named after {} s\n",
               std::chrono::duration_cast<seconds>(Clock::now() - begun).count());
    watch(seconds(10), false);
  }

  void Play();
  void PlayLostObjects();
  void PlayBackup();
  void PlayDeadSeats();
  void PlayBrokenProgram();
  void PlayCertificate(const std::string& who);
  void PlayPolicy();

  // By the programs of all, or of one.
  void ShiftAll(int64_t by) const {
    for (const std::string who : {"hub", "north", "south", "west"}) ShiftClock(ClockOf(who), by);
  }
  fs::path ClockOf(const std::string& who) const { return path_ / (who + ".clock"); }
  void Signal(int signal) const {
    for (const auto& [site, process] : running_) ::kill(process, signal);
  }
  void EndServer() {
    ::kill(server_, SIGKILL);
    WaitFor(std::exchange(server_, 0), "server-");
  }
  void Touch(const std::string& name) const { std::ofstream(path_ / name) << ""; }

  bool crashed_ = false;  // the database
};

// All sites rest, so that none gives anything back before somebody looked.
void NamedFaultsTest::PlayLostObjects() {
  Begin();
  Touch("wait-north");
  Await([this] { return Page().find("(2 came)") != std::string::npos; });
  Signal(SIGSTOP);
  fs::remove_all(path_ / "hub/blobs");
  ExpectNamed({{"object-lost"}}, seconds(10));
  EXPECT_THAT(Page(), ::testing::HasSubstr(" 503 "));
  Signal(SIGCONT);
  fs::remove(path_ / "wait-north");
  AwaitRounds(sites_, RoundsOf("north") + 2);
  Await([this] { return Problems().empty(); });
}

void NamedFaultsTest::PlayBackup() {
  Begin();
  EndServer();
  fs::copy(path_ / "hub", path_ / "backup", fs::copy_options::recursive);
  StartServer(server_flags_);
  AwaitRounds(sites_, RoundsOf("north") + 2);
  EndServer();
  fs::remove_all(path_ / "hub");
  fs::rename(path_ / "backup", path_ / "hub");
  ASSERT_EQ(::chmod((path_ / "hub").c_str(), 0700), 0);
  StartServer(server_flags_);
  ExpectNamed({{"rollback"}});
}

void NamedFaultsTest::PlayDeadSeats() {
  const std::vector<std::string> dead = {"north", "south"};
  for (const std::string& site : dead) {
    environment_[site] =
        BrokenDiskOf(path_ / site, {"BROKEN_STOP=make state/*.vote.new", "BROKEN_SKIP=2"});
  }
  Begin();
  for (const std::string& site : dead) {
    int status = 0;
    ASSERT_TRUE(AwaitStop(running_.at(site), status));
  }
  for (const std::string& site : dead) KillSite(site);
  ExpectNamed({{"seat-away"}, {dead.begin(), dead.end()}});
}

// A failure can depend on one record. So nothing outside of the site shows it, no absence either.
void NamedFaultsTest::PlayBrokenProgram() {
  Begin();
  Touch("broken-north");
  const auto continues = [this](long rounds) {
    const long last = RoundsOf("north") + rounds;
    Await([&] {
      EXPECT_FALSE(IsNamed(Problems(), {}));
      return RoundsOf("north") >= last || HasFailure();
    });
  };
  continues(4);
  const std::string err = Read("north-stderr"), told = "zeros are sealed in its place";
  EXPECT_NE(err.find(told), err.rfind(told)) << err;  // more than once
  fs::remove(path_ / "broken-north");                 // repaired, while the site runs
  continues(2);
}

// It is valid for a day, and two pass: for the server while it runs, for a site while nobody does.
void NamedFaultsTest::PlayCertificate(const std::string& who) {
  for (const std::string name : {"hub", "north", "south", "west"}) {
    environment_[name] = ShiftedClockOf(ClockOf(name));
  }
  Begin([&] {
    Admit(who, "1");
    const Outcome sealed = Tacet({"federation", "seal-key", "--key-file", "c.key"});
    ASSERT_EQ(sealed.exit_code, 0) << sealed.err;
    Accept(who);
  });
  if (who == "hub") {
    ShiftAll(2 * 86'400);
    return ExpectNamed({{"server-certificate-ends", "server-certificate-ended"}});
  }
  for (const std::string& site : sites_) KillSite(site);
  EndServer();
  ShiftAll(2 * 86'400);
  StartServer(server_flags_);
  for (const std::string& site : sites_) StartSite(site);
  ExpectNamed({{"member-certificate"}, {who}});
}

// A year's limit lets the whole of an agreement through, and not two of them.
void NamedFaultsTest::PlayPolicy() {
  agreed_.replace(agreed_.find("rounds = {}"), 11, "rounds = 10");
  agreed_.replace(agreed_.find("spare_attempts = 60"), 19, "spare_attempts = 2");
  NorthPolicy policy{.epsilon_per_year = 1e-3, .ledger = path_ / "north/ledger"};
  Begin([&] {
    PinPolicy(policy);
    const Outcome checked = Tacet({"client", "policy", "check", "--home", "north", "--key-file",
                                   "north.key", "--records", "10"});
    const std::string cost = "together cost epsilon ";
    ASSERT_THAT(checked.out + checked.err, ::testing::HasSubstr(cost));
    const std::string all = checked.out + checked.err;
    policy.epsilon_per_year = 1.05 * std::stod(all.substr(all.find(cost) + cost.size()));
    ++policy.serial;
    SignPolicy(policy);
  });
  for (const std::string& site : sites_) {
    const Outcome ended = WaitFor(running_.at(site), site + "-");
    running_.erase(site);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
  }
  EndServer();
  for (const std::string& site : sites_) Renew(site);
  WriteConfig(fmt::format(fmt::runtime(agreed_), 0) + "[server]\nlearning_rate = 0.5\n",
              "second.toml");
  const Outcome rotated = Rotate({"--config", "second.toml"});
  ASSERT_EQ(rotated.exit_code, 0) << rotated.err;
  for (const std::string who : {"hub", "north", "south", "west"}) Accept(who, 1);
  StartServer(server_flags_);
  for (const std::string& site : sites_) StartSite(site);
  ExpectNamed({{"policy"}, {"north"}});
}

void NamedFaultsTest::Play() {
  const Expected away = {{"member-away", "seat-away", "upload-missing"}, {"north"}};
  switch (GetParam()) {
    case NamedFault::kFullDisk:
      environment_["hub"] = BrokenDiskOf(
          path_ / "hub", {"BROKEN_FULL=blobs/*", "BROKEN_SWITCH=" + (path_ / "full").string()});
      Begin();
      Touch("full");
      return ExpectNamed({{"disk-full"}});
    case NamedFault::kDatabase: {
      auto& postgres = storage::postgres::PostgresForTest::Get();
      server_flags_.insert(server_flags_.end(), {"--state", postgres.NewDatabase()});
      Begin();
      postgres.Kill();
      crashed_ = true;
      return ExpectNamed({{"database-away"}});
    }
    case NamedFault::kServersCertificate:
      return PlayCertificate("hub");
    case NamedFault::kServersBackup:
      return PlayBackup();
    case NamedFault::kLostObjects:
      return PlayLostObjects();
    case NamedFault::kSitesClock:
      environment_["north"] = ShiftedClockOf(ClockOf("north"));
      Begin();
      ShiftClock(ClockOf("north"), 1200);
      return ExpectNamed({{"member-clock"}, {"north"}});
    case NamedFault::kAbsentSite:
      Begin();
      KillSite("north");
      return ExpectNamed(away);
    case NamedFault::kDeadLine:
      Begin();
      ::kill(running_.at("north"), SIGSTOP);
      return ExpectNamed(away);
    case NamedFault::kDeadSeats:
      return PlayDeadSeats();
    case NamedFault::kSitesCertificate:
      return PlayCertificate("north");
    case NamedFault::kBrokenProgram:
      return PlayBrokenProgram();
    case NamedFault::kBudget:
      site_flags_["west"] = {"--ledger", "west-ledger", "--budget-epsilon", "1.5"};
      Begin();
      return ExpectNamed({{"budget"}, {"west"}});
    case NamedFault::kPolicy:
      return PlayPolicy();
  }
}

TEST_P(NamedFaultsTest, IsNamedWithinTwoMinutesAndNothingElseIs) { Play(); }

constexpr auto kAllFaults = [] {
  std::array<NamedFault, kNames.size()> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<NamedFault>(i);
  return all;
}();

INSTANTIATE_TEST_SUITE_P(Faults, NamedFaultsTest, ::testing::ValuesIn(kAllFaults),
                         [](const auto& fault) {
                           return kNames[static_cast<size_t>(fault.param)];
                         });

}  // namespace
}  // namespace tacet::app
