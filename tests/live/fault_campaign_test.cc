// A campaign of faults of many kinds, one after the other, on servers over SQLite and PostgreSQL,
// and inside another framework (CMakeLists.txt). No charge is lost, nothing is said twice, nobody
// is accused or left out, all members have one model, and every standstill has an owner.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"
#include "fmt/ranges.h"
#include <gtest/gtest.h>

#include "tacet/base/test_size_for_test.h"
#include "tacet/host/problems.h"
#include "tacet/host/store_health.h"
#include "tacet/ledger/ledger_recovery.h"
#include "tests/live/stored_federation_for_test.h"

namespace tacet::live::testing {
namespace {

enum class Fault : uint8_t {
  kKillServer,
  kServerIsDown,  // past a deadline
  kKillSite,
  kKillAllSites,
  kCutSite,
  kCutAllSites,
  kLoseRequest,
  kLoseAnswer,
  kDamageAnswer,
  kSuspend,   // all machines stand still for hours
  kFullDisk,  // of a site
  kCutDatabase,
  kRemoveBlobs,
  kDamageBlobs,
  kLoseHost,
  // All below last four deadlines.
  kAbsence,
  kSilence,      // of a seat that is connected
  kTwoAbsences,  // no quorum is left
  kTwoSilences,
  kWrongClock,     // of a site
  kBrokenProgram,  // of a site
  kServersDisk,    // it is full
  kDatabaseAway,   // or full, where it is a part of the server
};
constexpr std::array<const char*, 23> kFaultNames = {
    "server killed",     "server down",        "site killed",      "all sites killed",
    "site cut",          "all sites cut",      "request lost",     "answer lost",
    "answer damaged",    "all suspended",      "disk full",        "database cut",
    "blobs removed",     "blobs damaged",      "host lost",        "site is absent",
    "seat is silent",    "two sites absent",   "two seats silent", "wrong clock",
    "program is broken", "server's disk full", "database is away"};

constexpr uint32_t kRounds = 6;
constexpr uint64_t kTurnSeconds = 5;

agreement::ManifestSpec Agreement() {
  agreement::ManifestSpec spec = ExactAgreement();
  spec.rounds = kRounds;
  spec.spare_attempts = 20;
  spec.sampling.cohort = 5;
  spec.sampling.min_participants = 4;
  return spec;
}

// The sums over all federations.
struct Tally {
  int faults = 0, federations = 0;
  uint64_t attempts = 0;
  std::map<std::string, int> owners;    // of standstills, by code
  std::map<std::string, int> failures;  // of attempts
};

// One federation and its faults. Deterministic in `seed`, but for what databases do.
class Campaign {
 public:
  Campaign(Database database, uint32_t seed, Tally& tally)
      : random_(seed), stored_(database, Agreement()), live_(stored_.live()), tally_(tally) {
    live_.observer.on_request = [this](const absl::Status& status) { health_.NoteRequest(status); };
    live_.options.abandon_seconds = 1'000'000;  // nothing ends because it took long
    live_.options.grace_seconds = 10;
    stored_.Stop();
    stored_.Start();
  }

  // The last ones of `coming`, at most `most` of them and until everybody is done.
  void Play(std::vector<Fault>& coming, size_t most) {
    std::string names;
    for (size_t played = 0; played < most && !coming.empty(); ++played) {
      for (int turn = Below(8); turn >= 0; --turn) Turn();
      if (IsDone()) break;
      last_ = coming.back();
      coming.pop_back();
      ++tally_.faults;
      names += fmt::format("{}; ", kFaultNames.at(static_cast<size_t>(last_)));
      const ::testing::ScopedTrace trace(__FILE__, __LINE__, names);
      Cause(last_);
    }
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, names);
    for (int turn = 0; turn < 400 && !IsDone(); ++turn) Turn();
    Check();
  }

 private:
  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  LiveFederation::Site& AnySite() { return live_.site(static_cast<uint64_t>(Below(5))); }
  LiveFederation::Site& AnotherSite(const LiveFederation::Site& one) {
    return live_.site((one.number + 1 + static_cast<uint64_t>(Below(4))) % 5);
  }

  bool IsDone() const {
    return std::ranges::all_of(live_.sites, [](const auto& site) { return site->done; });
  }

  void Step(LiveFederation::Site& site) {
    const auto progress = site.session->Step();
    site.last = progress.status();
    site.done = progress.ok() && *progress == member::MemberSession::Progress::kDone;
    ExpectCharged(site);
    EXPECT_TRUE(progress.ok() || protocol::IsRetryable(progress.status()))
        << site.number << ": " << progress.status();
    // In each round all have one model.
    const auto [known, is_new] =
        models_.try_emplace(site.session->next_round(), site.session->model());
    EXPECT_EQ(known->second, site.session->model())
        << site.number << " has another model in round " << known->first;
  }
  // Each attempt whose upload has left, in the bytes of the site's own ledger: a later announcement
  // would charge one that is missing, so the end does not show it.
  void ExpectCharged(const LiveFederation::Site& site) {
    for (const auto& [what, digests] : site.said) {
      if (!what.starts_with("upload ") || !sent_.emplace(site.number, what).second) continue;
      const auto found =
          ledger::RecoverLedger(site.memory_ledger.ledger, site.memory_ledger.anchor);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_TRUE(std::ranges::any_of(found->entries,
                                      [&what](const ledger::LedgerEntry& entry) {
                                        const secagg::AttemptNumber& number = entry.label.number;
                                        return what == fmt::format("upload {}/{}", number.round,
                                                                   number.attempt);
                                      }))
          << site.number << " sent what it had not charged: " << what;
    }
  }
  void Turn() {
    live_.now += kTurnSeconds;
    steady_ += std::chrono::seconds(kTurnSeconds);
    if (live_.server == nullptr) return;
    for (const auto& site : live_.sites) {
      if (!site->away && !site->wire.cut) live_.server->NotePresence(site->number);
    }
    health_.NoteTick(live_.server->Tick());  // it tries again
    for (const auto& site : live_.sites) {
      if (!site->away) Step(*site);
    }
    ExpectOwner();
  }
  void Turns(uint64_t seconds) {
    for (uint64_t passed = 0; passed < seconds; passed += kTurnSeconds) Turn();
  }
  // While these sites are at fault.
  void Turns(uint64_t seconds, std::set<uint64_t> at_fault) {
    at_fault_ = std::move(at_fault);
    Turns(seconds);
    at_fault_.clear();
  }

  // Whatever stands still for three deadlines has an owner on /readyz, and no site that is well has
  // a part of it.
  void ExpectOwner() {
    const server::ServerStatus status = live_.server->Status();
    EXPECT_TRUE(status.left_out.empty());
    const std::string now = fmt::format(
        "{} {} {} {} {} {}", status.finished, status.attempts, status.accepted, status.votes,
        status.unmask_shares, status.last.has_value() ? static_cast<int>(status.last->phase) : 0);
    still_ += kTurnSeconds;
    if (now != seen_ || !status.stopped.empty()) still_ = 0;
    seen_ = now;
    if (still_ <= 3 * live_.options.collecting_seconds || IsDone()) return;
    still_ = 0;
    std::vector<host::Problem> own;
    if (const auto problem = health_.Now(); problem.has_value()) own.push_back(*problem);
    const std::vector<host::Problem> problems =
        host::FindProblems({.manifest = live_.members.manifest(),
                            .status = status,
                            .mail = {},
                            .own = std::move(own),
                            .now = live_.now});
    const char* const fault = kFaultNames.at(static_cast<size_t>(last_));
    EXPECT_FALSE(problems.empty()) << "nobody owns a standstill after: " << fault << ": " << seen_;
    for (const host::Problem& problem : problems) {
      ++tally_.owners[std::string(host::KindOf(problem.code).name)];
      for (const host::ConcernedMember& one : problem.members) {
        EXPECT_TRUE(at_fault_.contains(one.member))
            << fault << ": " << host::ProblemText(problem, live_.members.manifest());
      }
    }
  }

  void Restart() {
    stored_.Stop();
    stored_.Start();
  }
  void Cause(Fault fault) {
    LiveFederation::Site& site = AnySite();
    const uint64_t long_time = LongTime();
    switch (fault) {
      case Fault::kKillServer:
        return Restart();
      case Fault::kServerIsDown:
        stored_.Stop();
        live_.now += 2 * live_.options.collecting_seconds;
        return stored_.Start();
      case Fault::kKillSite:
        return live_.Restart(site);
      case Fault::kKillAllSites:
        for (const auto& one : live_.sites) live_.Restart(*one);
        return;
      case Fault::kCutSite:
        site.wire.cut = true;
        Turns(60, {site.number});
        site.wire.cut = false;
        return;
      case Fault::kCutAllSites:
        for (const auto& one : live_.sites) one->wire.cut = true;
        Turns(60);
        for (const auto& one : live_.sites) one->wire.cut = false;
        return;
      case Fault::kLoseRequest:
        site.wire.lose_request = site.wire.calls + Below(6);
        return;
      case Fault::kLoseAnswer:
        site.wire.lose_answer = site.wire.calls + Below(6);
        return;
      case Fault::kDamageAnswer:
        return DamageAnswer(site);
      case Fault::kSuspend:
        live_.now += 3600 * static_cast<uint64_t>(1 + Below(100));
        return;
      case Fault::kFullDisk:
        site.state.full = site.memory_ledger.full = true;
        Turns(60, {site.number});
        site.state.full = site.memory_ledger.full = false;
        return;
      case Fault::kCutDatabase:
        return stored_.CutDatabase();
      case Fault::kRemoveBlobs:
        return stored_.RemoveBlobs();
      case Fault::kDamageBlobs:
        stored_.Stop();
        stored_.DamageBlobs();
        return stored_.Start();
      case Fault::kLoseHost:
        stored_.Stop();
        stored_.LoseHost();
        live_.now += 120;
        return stored_.Start();
      case Fault::kAbsence:
        return BeAway({&site});
      case Fault::kTwoAbsences:
        return BeAway({&site, &AnotherSite(site)});
      case Fault::kSilence:
        return BeSilent({&site});
      case Fault::kTwoSilences:
        return BeSilent({&site, &AnotherSite(site)});
      case Fault::kWrongClock:
        site.clock_ahead = 3600;
        Turns(long_time, {site.number});
        site.clock_ahead = 0;
        return;
      case Fault::kBrokenProgram:
        site.updates.fail = "no such column";
        Turns(long_time, {site.number});
        site.updates.fail.clear();
        return;
      case Fault::kServersDisk:
        stored_.SetDiskFull(true);
        Turns(long_time);
        return stored_.SetDiskFull(false);
      case Fault::kDatabaseAway:
        stored_.SetDatabaseAway(true);
        Turns(long_time);
        return stored_.SetDatabaseAway(false);
    }
  }
  uint64_t LongTime() const { return 4 * live_.options.collecting_seconds; }
  static std::set<uint64_t> NumbersOf(const std::vector<LiveFederation::Site*>& sites) {
    std::set<uint64_t> numbers;
    for (const auto* site : sites) numbers.insert(site->number);
    return numbers;
  }
  void BeAway(const std::vector<LiveFederation::Site*>& sites) {
    for (auto* site : sites) site->away = true;
    Turns(LongTime(), NumbersOf(sites));
    for (auto* site : sites) site->away = false;
  }
  void BeSilent(const std::vector<LiveFederation::Site*>& sites) {
    for (auto* site : sites) {
      site->wire.swallows = [](const protocol::RequestBody& body) {
        return std::holds_alternative<protocol::PutVoteRequest>(body);
      };
    }
    Turns(LongTime(), NumbersOf(sites));
    for (auto* site : sites) site->wire.swallows = nullptr;
  }
  // The next answer that has bytes.
  void DamageAnswer(LiveFederation::Site& site) {
    is_damaged_ = true;
    site.wire.lie = [&site, at = static_cast<size_t>(Below(1000))](
                        const protocol::RequestBody&, absl::StatusOr<base::Bytes> answer) mutable {
      if (!answer.ok() || answer->empty() || at == SIZE_MAX) return answer;
      (*answer)[at % answer->size()] ^= 0x40;
      at = SIZE_MAX;
      return answer;
    };
  }

  // After a restart of everybody: what counts is what they keep.
  void Check() {
    EXPECT_TRUE(IsDone());
    EXPECT_TRUE(live_.server->Status().lost.empty());
    for (const auto& site : live_.sites) live_.Restart(*site);
    stored_.Stop();
    stored_.Start();
    const server::ServerStatus status = live_.server->Status();
    EXPECT_EQ(status.finished, kRounds);
    for (const auto& site : live_.sites) {
      EXPECT_EQ(site->session->next_round(), kRounds) << site->number << ": " << site->last;
      EXPECT_EQ(site->session->model(), live_.site(0).session->model()) << site->number;
      EXPECT_EQ(site->ledger->ChargesOf(live_.members.manifest().manifest().federation(), 0),
                status.attempts)
          << site->number;
    }
    live_.ExpectNobodySpokeTwice();
    live_.ExpectNobodySealedTwice();
    ++tally_.federations;
    tally_.attempts += status.attempts;
    for (const server::AttemptRecord& record : live_.server->Attempts()) {
      if (!record.failure.empty()) ++tally_.failures[record.failure];
    }
    // A damaged answer looks like a lie.
    if (!is_damaged_) live_.ExpectNoViolations();
  }

  std::mt19937 random_;
  std::chrono::steady_clock::time_point steady_;
  host::StoreHealth health_{[this] { return steady_; }};
  StoredFederation stored_;
  LiveFederation& live_;
  Tally& tally_;
  std::map<uint32_t, std::vector<float>> models_;    // by the round that comes next
  std::set<std::pair<uint64_t, std::string>> sent_;  // uploads, by member
  std::set<uint64_t> at_fault_;
  Fault last_ = Fault::kKillServer;
  bool is_damaged_ = false;
  std::string seen_;
  uint64_t still_ = 0;  // seconds in which machines ran and nothing happened
};

class FaultCampaignTest : public ::testing::TestWithParam<Database> {};

// All kinds equally often, in random order, up to six in a federation.
TEST_P(FaultCampaignTest, LosesForksAndEndsNothing) {
  const int faults = base::TestSize("TACET_CAMPAIGN_FAULTS", static_cast<int>(kFaultNames.size()));
  const int seed = base::TestSize("TACET_CAMPAIGN_SEED", 7);
  std::mt19937 random(static_cast<uint32_t>(seed));
  Tally tally;
  std::vector<Fault> coming;
  while ((tally.faults < faults || !coming.empty()) && !HasFailure()) {
    if (coming.empty()) {
      for (size_t kind = 0; kind < kFaultNames.size(); ++kind) {
        coming.push_back(static_cast<Fault>(kind));
      }
      std::ranges::shuffle(coming, random);
    }
    SCOPED_TRACE(fmt::format("seed {}, federation {}", seed, tally.federations));
    Campaign(GetParam(), static_cast<uint32_t>(random()), tally).Play(coming, 6);
  }
  fmt::print("{} faults in {} federations, {} attempts; failures: {}; owners of standstills: {}\n",
             tally.faults, tally.federations, tally.attempts, fmt::join(tally.failures, ", "),
             fmt::join(tally.owners, ", "));
  // Faults that stop everything are among them.
  EXPECT_FALSE(tally.owners.empty());
}

INSTANTIATE_TEST_SUITE_P(Databases, FaultCampaignTest,
                         ::testing::Values(Database::kSqlite, Database::kPostgres),
                         [](const auto& database) { return NameOf(database.param); });

}  // namespace
}  // namespace tacet::live::testing
