// A campaign of faults of many kinds, one after the other, on servers over SQLite and PostgreSQL,
// and inside another framework (CMakeLists.txt). No charge is lost, nothing is said twice, nobody
// is accused or left out, all members have one model, and every standstill has an owner.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "fmt/core.h"
#include <gtest/gtest.h>

#include "tacet/base/test_size_for_test.h"
#include "tacet/host/problems.h"
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
  kAbsence,  // of a site, for four deadlines
  kSilence   // of a seat that is connected, for four deadlines
};
constexpr std::array<const char*, 17> kFaultNames = {
    "server killed",  "server down",   "site killed",   "all sites killed", "site cut",
    "all sites cut",  "request lost",  "answer lost",   "answer damaged",   "all suspended",
    "disk full",      "database cut",  "blobs removed", "blobs damaged",    "host lost",
    "site is absent", "seat is silent"};

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

// One federation and its faults. Deterministic in `seed`, but for what databases do.
class Campaign {
 public:
  Campaign(Database database, uint32_t seed)
      : random_(seed), stored_(database, Agreement()), live_(stored_.live()) {
    live_.options.abandon_seconds = 1'000'000;  // nothing ends because it took long
    live_.options.grace_seconds = 10;
    stored_.Stop();
    stored_.Start();
  }

  // `faults`, in this order; then until everybody is done.
  void Play(const std::vector<Fault>& faults) {
    for (const Fault fault : faults) {
      for (int turn = Below(8); turn >= 0; --turn) Turn();
      last_ = fault;
      Cause(fault);
    }
    for (int turn = 0; turn < 400 && !IsDone(); ++turn) Turn();
    Check();
  }

 private:
  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  LiveFederation::Site& AnySite() { return live_.site(static_cast<uint64_t>(Below(5))); }

  bool IsDone() const {
    return std::ranges::all_of(live_.sites, [](const auto& site) { return site->done; });
  }

  void Step(LiveFederation::Site& site) {
    const auto progress = site.session->Step();
    site.last = progress.status();
    site.done = progress.ok() && *progress == member::MemberSession::Progress::kDone;
    EXPECT_TRUE(progress.ok() || protocol::IsRetryable(progress.status()))
        << site.number << ": " << progress.status();
  }
  void Turn() {
    live_.now += kTurnSeconds;
    if (live_.server == nullptr) return;
    for (const auto& site : live_.sites) {
      if (!site->away && !site->wire.cut) live_.server->NotePresence(site->number);
    }
    (void)live_.server->Tick();  // it tries again
    for (const auto& site : live_.sites) {
      if (!site->away) Step(*site);
    }
    ExpectOwner();
  }
  void Turns(uint64_t seconds) {
    for (uint64_t passed = 0; passed < seconds; passed += kTurnSeconds) Turn();
  }

  // Whatever stands still for three deadlines has an owner on /readyz.
  void ExpectOwner() {
    const server::ServerStatus status = live_.server->Status();
    EXPECT_TRUE(status.left_out.empty());
    const std::string now = fmt::format(
        "{} {} {} {} {} {}", status.finished, status.attempts, status.accepted, status.votes,
        status.unmask_shares, status.last.has_value() ? static_cast<int>(status.last->phase) : 0);
    still_ += kTurnSeconds;
    if (now != seen_ || !status.stopped.empty()) still_ = 0;
    seen_ = now;
    if (still_ <= 3 * live_.options.collecting_seconds) return;
    const std::vector<host::Problem> problems =
        host::FindProblems({.manifest = live_.members.manifest(),
                            .status = status,
                            .mail = {},
                            .own = {},
                            .now = live_.now});
    EXPECT_FALSE(problems.empty())
        << "nobody owns a standstill after: " << kFaultNames.at(static_cast<size_t>(last_)) << ": "
        << seen_;
    still_ = 0;
  }

  void Restart() {
    stored_.Stop();
    stored_.Start();
  }
  void Cause(Fault fault) {
    LiveFederation::Site& site = AnySite();
    const uint64_t long_time = 4 * live_.options.collecting_seconds;
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
        Turns(60);
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
        site.state.fail_record = [](secagg::JournalStep) { return true; };
        Turns(60);
        site.state.fail_record = nullptr;
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
        site.away = true;
        Turns(long_time);
        site.away = false;
        return;
      case Fault::kSilence:
        site.wire.swallows = [](const protocol::RequestBody& body) {
          return std::holds_alternative<protocol::PutVoteRequest>(body);
        };
        Turns(long_time);
        site.wire.swallows = nullptr;
        return;
    }
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

  void Check() {
    EXPECT_TRUE(IsDone());
    const server::ServerStatus status = live_.server->Status();
    EXPECT_EQ(status.finished, kRounds);
    EXPECT_TRUE(status.lost.empty());
    for (const auto& site : live_.sites) {
      EXPECT_EQ(site->session->next_round(), kRounds) << site->number << ": " << site->last;
      EXPECT_EQ(site->session->model(), live_.site(0).session->model()) << site->number;
      EXPECT_EQ(site->ledger->ChargesOf(live_.members.manifest().manifest().federation(), 0),
                status.attempts)
          << site->number;
    }
    live_.ExpectNobodySpokeTwice();
    // A damaged answer looks like a lie.
    if (!is_damaged_) live_.ExpectNoViolations();
  }

  std::mt19937 random_;
  StoredFederation stored_;
  LiveFederation& live_;
  Fault last_ = Fault::kKillServer;
  bool is_damaged_ = false;
  std::string seen_;
  uint64_t still_ = 0;  // seconds in which machines ran and nothing happened
};

class FaultCampaignTest : public ::testing::TestWithParam<Database> {};

// All kinds equally often, in random order, six to a federation.
TEST_P(FaultCampaignTest, LosesForksAndEndsNothing) {
  const int faults = base::TestSize("TACET_CAMPAIGN_FAULTS", 17);
  std::mt19937 random(7);
  std::vector<Fault> coming;
  std::vector<Fault> of_federation;
  uint32_t seed = 0;
  for (int i = 0; i < faults && !HasFailure(); ++i) {
    if (coming.empty()) {
      for (size_t kind = 0; kind < kFaultNames.size(); ++kind) {
        coming.push_back(static_cast<Fault>(kind));
      }
      std::ranges::shuffle(coming, random);
    }
    of_federation.push_back(coming.back());
    coming.pop_back();
    if (of_federation.size() < 6 && i + 1 < faults) continue;
    std::string names;
    for (const Fault fault : of_federation) {
      names += fmt::format("{}; ", kFaultNames.at(static_cast<size_t>(fault)));
    }
    SCOPED_TRACE(fmt::format("federation {}: {}", seed, names));
    Campaign(GetParam(), seed++).Play(of_federation);
    of_federation.clear();
  }
}

INSTANTIATE_TEST_SUITE_P(Databases, FaultCampaignTest,
                         ::testing::Values(Database::kSqlite, Database::kPostgres),
                         [](const auto& database) { return NameOf(database.param); });

}  // namespace
}  // namespace tacet::live::testing
