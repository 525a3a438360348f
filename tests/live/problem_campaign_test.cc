// Faults of a live federation, each at several moments: /readyz alone names cause, member and
// remedy within two minutes, no other cause, and no member that is well.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/failure_cause.h"
#include "tacet/base/test_size_for_test.h"
#include "tacet/host/admin_site.h"
#include "tacet/host/log_for_test.h"
#include "tacet/host/operator_desk.h"
#include "tacet/policy/permission.h"
#include "tests/live/live_members_for_test.h"
#include "tests/live/site_policy_for_test.h"

namespace tacet::live::testing {
namespace {

using protocol::AttemptPhase;
using ::testing::IsEmpty;

constexpr uint64_t kTurnSeconds = 10;  // members call at least every 15
constexpr uint64_t kTwoMinutes = 120;
constexpr uint64_t kFarAway = 1200;  // of a clock

agreement::ManifestSpec Everybody() {
  agreement::ManifestSpec spec = ExactAgreement();
  spec.sampling.cohort = 5;
  spec.sampling.min_participants = 3;
  spec.rounds = 100;
  spec.spare_attempts = 100;
  return spec;
}
agreement::ManifestSpec Drawn() {
  agreement::ManifestSpec spec = ExactAgreement();
  spec.rounds = 100;
  spec.spare_attempts = 100;
  return spec;
}

struct Named {
  std::string code;
  std::set<uint64_t> members;
  std::string line;
};
std::ostream& operator<<(std::ostream& out, const Named& named) { return out << named.line; }

// A federation, its server's process without its sockets, and its operators.
class Campaign {
 public:
  explicit Campaign(const agreement::ManifestSpec& spec)
      : live(spec), guarantees_(live.members.manifest().manifest()) {
    live.observer.on_request = [this](const absl::Status& status) { health_.NoteRequest(status); };
    readiness_.SetListening(true);
    metrics.SetCertificateEnd(live.now + 365 * 86'400);
    mailbox_ = protocol::testing::ValueOf(server::Mailbox::Open(
        live.members.manifest(), mail_, live.limits, live.observer, [this] { return live.now; }));
  }

  // Members are here when they call; the server's clock and theirs continue alike.
  void Turn() {
    live.now += kTurnSeconds;
    steady_ += std::chrono::seconds(kTurnSeconds);
    health_.NoteTick(live.server->Tick());
    readiness_.NoteTick(live.now);
    if (each_turn) each_turn();
    for (const auto& site : live.sites) {
      if (site->away) continue;
      site->last = site->session->Step().status();
      if (!site->last.ok()) live.Restart(*site);
    }
  }
  void TurnUntil(const std::function<bool()>& condition) {
    for (int turn = 0; turn < 200 && !condition(); ++turn) Turn();
    ASSERT_TRUE(condition());
  }

  std::vector<Named> Problems() {
    const auto clock = [this] { return live.now; };
    host::OperatorDesk desk(live.members.manifest(), live.store, *live.server, *log_.log, clock);
    const host::AdminSite site({.manifest = live.members.manifest(),
                                .rounds = *live.server,
                                .log = *log_.log,
                                .metrics = metrics,
                                .readiness = readiness_,
                                .store = health_,
                                .mailbox = *mailbox_,
                                .desk = desk,
                                .guarantees = guarantees_,
                                .clock = clock,
                                .version = "",
                                .started_at = 0},
                               nullptr, std::nullopt);
    std::istringstream body(site.Handle({.path = "/readyz", .authorization = ""}).body);
    std::vector<Named> found;
    for (std::string line; std::getline(body, line);) {
      for (const host::ProblemKind& kind : host::ProblemKinds()) {
        if (!line.starts_with(std::string(kind.name) + ": ")) continue;
        EXPECT_THAT(line, ::testing::EndsWith(std::string(kind.remedy)));
        found.push_back({.code = std::string(kind.name), .members = MembersIn(line), .line = line});
      }
      // Only lines of problems have names.
      const bool is_problem = !found.empty() && found.back().line == line;
      EXPECT_TRUE(is_problem || MembersIn(line).empty()) << line;
    }
    return found;
  }

  LiveFederation live;
  host::ServerMetrics metrics;
  std::function<void()> each_turn;

 private:
  std::set<uint64_t> MembersIn(std::string_view line) const {
    std::set<uint64_t> members;
    for (const auto& site : live.sites) {
      const std::string name = live.members.manifest().members()[site->number].name;
      if (line.find(name) != line.npos) members.insert(site->number);
    }
    return members;
  }

  host::LogForTest log_;
  std::chrono::steady_clock::time_point steady_;
  host::Readiness readiness_{[this] { return steady_; }};
  host::StoreHealth health_;
  host::GuaranteeWorker guarantees_;
  server::MemoryBlobStore mail_;
  std::unique_ptr<server::Mailbox> mailbox_;
};

// The expected report, where there is one: one of these causes, of these members.
struct Expected {
  std::set<std::string> codes;
  std::set<uint64_t> members = {};
};

struct Fault {
  std::string name;
  // Plays it, in a federation that is at work.
  std::function<Expected(Campaign& campaign, uint64_t victim)> play;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

const std::set<std::string> kAway = {"member-away", "seat-away", "upload-missing"};

void Cut(Campaign& campaign, uint64_t number) { campaign.live.site(number).wire.cut = true; }

std::vector<Fault> Faults() {
  return {
      {.name = "ASiteThatIsOff",
       .play = [](Campaign& campaign, uint64_t victim) -> Expected {
         campaign.live.site(victim).away = true;
         return {kAway, {victim}};
       }},
      {.name = "ADeadLine",
       .play = [](Campaign& campaign, uint64_t victim) -> Expected {
         Cut(campaign, victim);
         return {kAway, {victim}};
       }},
      {.name = "SeatsThatDieInMidAttempt",
       .play = [](Campaign& campaign, uint64_t) -> Expected {
         LiveFederation& live = campaign.live;
         const std::set<uint64_t> dead = {live.MemberOn(1), live.MemberOn(3)};
         for (const uint64_t number : dead) {
           live.site(number).wire.swallows = [](const protocol::RequestBody& body) {
             return std::holds_alternative<protocol::PutVoteRequest>(body);
           };
         }
         campaign.TurnUntil([&] { return live.IsAt(AttemptPhase::kUnmasking); });
         for (const uint64_t number : dead) live.site(number).away = true;
         return {{"seat-away"}, dead};
       }},
      {.name = "ASitesClock",
       .play = [](Campaign& campaign, uint64_t victim) -> Expected {
         campaign.live.site(victim).clock_ahead = kFarAway;
         return {{"member-clock"}, {victim}};
       }},
      {.name = "TheServersClock",
       .play = [](Campaign& campaign, uint64_t) -> Expected {
         campaign.live.now += kFarAway;
         for (const auto& site : campaign.live.sites) site->clock_ahead -= kFarAway;
         return {{"server-clock"}};
       }},
      {.name = "ASitesCertificate",
       .play = [](Campaign& campaign, uint64_t victim) -> Expected {
         Cut(campaign, victim);
         campaign.each_turn = [&campaign, victim] {
           campaign.live.server->NotePresence(victim, server::RefusedFor::kCertificateEnded);
         };
         return {{"member-certificate"}, {victim}};
       }},
      {.name = "TheServersCertificate",
       .play = [](Campaign& campaign, uint64_t) -> Expected {
         campaign.metrics.SetCertificateEnd(campaign.live.now);
         for (const auto& site : campaign.live.sites) site->wire.cut = true;
         return {{"server-certificate-ended"}};
       }},
      {.name = "AFullDisk",
       .play = [](Campaign& campaign, uint64_t) -> Expected {
         campaign.live.blobs.failure().FailWith(
             base::WithCause(base::Unavailable("cannot append"), base::FailureCause::kNoRoom));
         campaign.live.blobs.failure().After(0);
         return {{"disk-full"}};
       }},
      {.name = "ADatabaseThatIsAway",
       .play = [](Campaign& campaign, uint64_t) -> Expected {
         campaign.live.store.failure().FailWith(base::WithCause(base::Unavailable("no connection"),
                                                                base::FailureCause::kNotConnected));
         campaign.live.store.failure().After(0);
         return {{"database-away"}};
       }},
      {.name = "AServerPutBackFromABackup",
       .play = [](Campaign& campaign, uint64_t) -> Expected {
         LiveFederation& live = campaign.live;
         const server::MemoryServerStore backup = live.store;
         const uint32_t finished = live.server->Status().finished;
         campaign.TurnUntil([&] { return live.server->Status().finished > finished + 1; });
         live.store = backup;
         live.RestartServer();
         return {{"rollback"}};
       }},
      {.name = "ABrokenProgram",
       .play = [](Campaign& campaign, uint64_t victim) -> Expected {
         campaign.live.site(victim).updates.fail = "no such patient";
         return {};
       }},
  };
}

class ProblemCampaignTest : public ::testing::TestWithParam<Fault> {
 protected:
  // Moments at which each fault is played.
  static int Moments() { return base::TestSize("TACET_FAULT_MOMENTS", 2); }

  // After the fault, for two minutes.
  static void ExpectNamed(Campaign& campaign, const Expected& expected) {
    std::vector<Named> found;
    for (uint64_t seconds = 0; seconds <= kTwoMinutes; seconds += kTurnSeconds) {
      found = campaign.Problems();
      for (const Named& named : found) {
        EXPECT_TRUE(expected.codes.contains(named.code)) << seconds << " s: " << named.line;
        EXPECT_TRUE(std::ranges::includes(expected.members, named.members)) << named.line;
      }
      campaign.Turn();
    }
    std::set<uint64_t> members;
    for (const Named& named : found) members.insert(named.members.begin(), named.members.end());
    EXPECT_EQ(members, expected.members);
    EXPECT_EQ(found.empty(), expected.codes.empty());
  }
};

TEST_P(ProblemCampaignTest, IsNamedWithinTwoMinutesAndNothingElseIs) {
  std::mt19937_64 random(11);
  for (int moment = 0; moment < Moments(); ++moment) {
    const bool everybody = moment % 2 == 0;
    SCOPED_TRACE(::testing::Message() << "moment " << moment);
    Campaign campaign(everybody ? Everybody() : Drawn());
    for (uint64_t turns = 12 + random() % 12; turns > 0; --turns) campaign.Turn();
    EXPECT_THAT(campaign.Problems(), IsEmpty());
    ExpectNamed(campaign, GetParam().play(campaign, random() % 5));
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, ProblemCampaignTest, ::testing::ValuesIn(Faults()),
                         [](const auto& fault) { return fault.param.name; });

// A drawn participant that trains says nothing for a while. Its silence names nobody.
TEST(ProblemsOfParticipantsTest, OneThatTrainsForLongIsNotNamed) {
  for (const bool everybody : {true, false}) {
    Campaign campaign(everybody ? Everybody() : Drawn());
    campaign.live.options.collecting_seconds = 600;
    campaign.live.RestartServer();
    campaign.TurnUntil([&] { return campaign.live.IsAt(AttemptPhase::kCollecting); });
    uint64_t busy = 0;
    while (!campaign.live.IsInvited(busy) && !everybody) ++busy;
    // It hears of the attempt, and then trains.
    campaign.live.site(busy).wire.swallows = [](const protocol::RequestBody& body) {
      return std::holds_alternative<protocol::PutPartRequest>(body);
    };
    campaign.Turn();
    campaign.live.site(busy).away = true;
    const auto begun = [&] { return campaign.live.server->Attempts().size(); };
    for (const size_t attempts = begun(); begun() == attempts;) {
      EXPECT_THAT(campaign.Problems(), IsEmpty());
      campaign.Turn();
      if (!campaign.live.IsAt(AttemptPhase::kCollecting)) break;
    }
  }
}

agreement::ManifestSpec NoisyEverybody() {
  agreement::ManifestSpec spec = protocol::testing::SmallAgreement();
  spec.sampling.cohort = 5;
  spec.sampling.min_participants = 3;
  return spec;
}

// Until a budget or a policy is named; it must be that one, of member 0.
void ExpectAbstainer(Campaign& campaign, std::string_view code) {
  std::vector<Named> found;
  for (int turn = 0; turn < 12 && found.empty(); ++turn) {
    campaign.Turn();
    found = campaign.Problems();
  }
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, code);
  EXPECT_EQ(found[0].members, std::set<uint64_t>{0});
}

TEST(ProblemsOfBudgetsTest, ABudgetThatIsSpentIsNamed) {
  Campaign campaign(NoisyEverybody());
  ledger::LedgerHeader header;
  header.population = "ward 3";
  header.spending.budget_epsilon = 1e-3;
  campaign.live.site(0).memory_ledger = ledger::testing::NewMemoryLedger(header);
  campaign.live.Restart(campaign.live.site(0));
  ExpectAbstainer(campaign, "budget");
}

TEST(ProblemsOfBudgetsTest, APolicyThatIsSpentIsNamed) {
  agreement::ManifestSpec spec = NoisyEverybody();
  ledger::LedgerHeader header;
  header.population = "ward 3";
  header.spending.composition = accounting::Composition::kAnyEvents;
  ledger::testing::MemoryLedger ledger = ledger::testing::NewMemoryLedger(header);
  for (const uint8_t federation : {uint8_t{1}, uint8_t{2}, uint8_t{3}}) {
    spec.federation = {federation};
    LiveFederation other(spec);
    other.site(0).memory_ledger = ledger;
    other.Restart(other.site(0));
    other.Run();
    ledger = other.site(0).memory_ledger;
  }
  spec.federation = {4};
  Campaign campaign(spec);
  LiveFederation& live = campaign.live;
  const agreement::Manifest& manifest = live.members.manifest().manifest();
  const policy::SitePolicy policy =
      PolicyOfFirstSite(1.1 * protocol::testing::ValueOf(
                                  agreement::ChargedEpsilon(manifest, manifest.attempt_budget())));
  live.site(0).memory_ledger = ledger;
  live.site(0).permission = protocol::testing::ValueOf(policy::Permission::ByPolicy(
      policy, "policy.toml", live.members.manifest(), {.site = "site-0", .records = 10}));
  live.Restart(live.site(0));
  ExpectAbstainer(campaign, "policy");
}

}  // namespace
}  // namespace tacet::live::testing
