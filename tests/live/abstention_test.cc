// Members whose budget has ended send zeros and say so. They say nothing that depends on data or on
// a coin, and each of them can say it for itself alone.
#include "tacet/protocol/abstention.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/policy/permission.h"
#include "tacet/secagg/small_round_for_test.h"
#include "tests/live/live_members_for_test.h"
#include "tests/live/site_policy_for_test.h"

namespace tacet::live::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Every member in every round; three givers are enough.
agreement::ManifestSpec Everybody(uint32_t least = 3) {
  agreement::ManifestSpec spec = protocol::testing::SmallAgreement();
  spec.sampling.cohort = 5;
  spec.sampling.min_participants = least;
  return spec;
}

agreement::ManifestSpec Coins() {
  agreement::ManifestSpec spec = Everybody();
  spec.sampling.method = accounting::Sampling::kPoisson;
  spec.sampling.dummy_uploads = true;
  spec.sampling.cohort = 3;
  return spec;
}

// A ledger whose budget is what so many attempts cost.
ledger::testing::MemoryLedger LedgerFor(const agreement::ManifestSpec& spec, size_t attempts) {
  static constexpr double kNothing = 1e-3;
  ledger::LedgerHeader header;
  header.population = "ward 3";
  header.spending.budget_epsilon = kNothing;
  if (attempts > 0) {
    LiveFederation rehearsal(spec);
    rehearsal.RunUntil([&] { return rehearsal.site(0).ledger->entries().size() == attempts; });
    header.spending.budget_epsilon =
        protocol::testing::ValueOf(rehearsal.site(0).ledger->spending().Epsilon()).epsilon() *
        1.001;
  }
  return ledger::testing::NewMemoryLedger(header);
}

void Spend(LiveFederation& live, const agreement::ManifestSpec& spec, size_t attempts,
           const std::vector<uint64_t>& numbers) {
  const ledger::testing::MemoryLedger ledger = LedgerFor(spec, attempts);
  for (const uint64_t number : numbers) {
    live.site(number).memory_ledger = ledger;
    live.Restart(live.site(number));
  }
}

std::vector<uint64_t> MembersOf(const std::vector<protocol::SignedAbstention>& abstentions) {
  std::vector<uint64_t> members;
  for (const protocol::SignedAbstention& one : abstentions) members.push_back(one.said.member);
  return members;
}

size_t Sent(const LiveFederation::Site& site, std::string_view what) {
  return site.log.Count(member::NodeEventKind::kSent, what);
}

TEST(AbstentionTest, BudgetsThatEndEverywhereEndTheTraining) {
  const agreement::ManifestSpec spec = Everybody();
  LiveFederation live(spec);
  Spend(live, spec, 2, {0, 1, 2, 3, 4});
  live.Run();
  EXPECT_THAT(live.server->Status().stopped, AllOf(HasSubstr("a budget or a policy of site-"),
                                                   HasSubstr("at least 3 must give data")));
  EXPECT_EQ(live.server->Attempts().size(), 3u);
  EXPECT_EQ(live.server->Attempts().back().failure, "too-few-givers");
  for (const auto& site : live.sites) {
    EXPECT_EQ(site->session->next_round(), 2u);
    EXPECT_EQ(site->session->model(), live.site(0).session->model());
    const auto abstentions = protocol::testing::ValueOf(site->session->FetchAbstentions());
    EXPECT_GE(abstentions.size(), 3u);  // of five: two could give, and three must
    EXPECT_THAT(protocol::AbstainersInWords(abstentions, live.members.manifest()),
                HasSubstr("(budget)"));
  }
  live.ExpectNoViolations();
  // The same after a restart of everybody.
  live.RestartServer();
  for (auto& site : live.sites) live.Restart(*site);
  live.Run();
  EXPECT_EQ(live.server->Attempts().size(), 3u);
  EXPECT_GE(protocol::testing::ValueOf(live.site(0).session->FetchAbstentions()).size(), 3u);
}

// Members that agreed that all of them give data have no sum without one of them.
TEST(AbstentionTest, OneSiteEndsATrainingThatNeedsAll) {
  const agreement::ManifestSpec spec = Everybody(5);
  LiveFederation live(spec);
  Spend(live, spec, 1, {2});
  live.Run();
  for (const auto& site : live.sites) {
    EXPECT_EQ(site->session->next_round(), 1u);
    EXPECT_EQ(MembersOf(protocol::testing::ValueOf(site->session->FetchAbstentions())),
              std::vector<uint64_t>{2});
  }
  live.ExpectNoViolations();
}

TEST(AbstentionTest, EveryMemberKnowsWhoGaveNothing) {
  const agreement::ManifestSpec spec = Everybody();
  LiveFederation live(spec);
  Spend(live, spec, 1, {0, 3});
  live.Run();
  for (const auto& site : live.sites) {
    ASSERT_THAT(site->session->applied(), SizeIs(3)) << site->number;
    EXPECT_THAT(site->session->applied()[0].abstentions, IsEmpty());
    EXPECT_THAT(MembersOf(site->session->applied()[1].abstentions), ElementsAre(0, 3));
    EXPECT_THAT(MembersOf(site->session->applied()[2].abstentions), ElementsAre(0, 3));
    EXPECT_EQ(site->session->applied()[2].participants, 5u);
    EXPECT_EQ(Sent(*site, "abstention"), site->number == 0 || site->number == 3 ? 2u : 0u);
  }
  live.ExpectNoViolations();
}

TEST(AbstentionTest, SurvivesNewProcessesOfEverybody) {
  const agreement::ManifestSpec spec = Everybody();
  LiveFederation live(spec);
  Spend(live, spec, 1, {0});
  std::set<uint32_t> seen;
  for (int turn = 0; turn < 60; ++turn) {
    live.Turn(5);
    for (const auto& round : live.site(1).session->applied()) {
      EXPECT_EQ(MembersOf(round.abstentions),
                round.round == 0 ? std::vector<uint64_t>() : std::vector<uint64_t>{0});
      seen.insert(round.round);
    }
    live.RestartServer();
    for (auto& site : live.sites) live.Restart(*site);
  }
  EXPECT_EQ(seen.size(), 3u);
  live.ExpectNoViolations();
  live.ExpectNobodySpokeTwice();
}

TEST(AbstentionTest, AYearThatIsSpentIsSaidToBeThePolicys) {
  agreement::ManifestSpec spec = Everybody();
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
  LiveFederation live(spec);
  const agreement::Manifest& manifest = live.members.manifest().manifest();
  const policy::SitePolicy policy =
      PolicyOfFirstSite(1.1 * protocol::testing::ValueOf(
                                  agreement::ChargedEpsilon(manifest, manifest.attempt_budget())));
  live.site(0).memory_ledger = ledger;
  live.site(0).permission = protocol::testing::ValueOf(policy::Permission::ByPolicy(
      policy, "policy.toml", live.members.manifest(), {.site = "site-0", .records = 10}));
  live.Restart(live.site(0));
  live.Run();
  const auto& last = live.site(1).session->applied()[2];
  ASSERT_THAT(MembersOf(last.abstentions), ElementsAre(0));
  EXPECT_EQ(protocol::AbstainersInWords(last.abstentions, live.members.manifest()),
            "site-0 (policy)");
  live.ExpectNoViolations();
}

// A member that is not drawn says the same, and is charged alike.
TEST(AbstentionTest, NeitherWordsNorChargesShowACoin) {
  const agreement::ManifestSpec spec = Coins();
  LiveFederation live(spec);
  Spend(live, spec, 0, {0});
  live.Run();
  size_t given = 0;
  for (uint32_t round = 0; round < 3; ++round) given += live.given[round].size();
  ASSERT_GT(given, 0u);
  ASSERT_LT(given, 15u);
  EXPECT_EQ(Sent(live.site(0), "abstention"), 3u);
  EXPECT_EQ(live.site(0).ledger->refusals().size(), 3u);
  EXPECT_THAT(live.site(0).ledger->entries(), IsEmpty());
  for (const auto& site : live.sites) {
    for (const ledger::LedgerEntry& entry : site->ledger->entries()) {
      EXPECT_EQ(entry.kind, ledger::ChargeKind::kSealing) << site->number;
    }
  }
  live.ExpectNoViolations();
}

TEST(AbstentionTest, NothingIsSaidWhereACoinWouldShow) {
  for (const bool capped : {true, false}) {
    agreement::ManifestSpec spec = Everybody();
    if (capped) spec.sampling.max_participations = 2;
    LiveFederation live(spec);
    if (!capped) live.site(0).rule = ledger::ChargingRule::kOwnSeals;
    Spend(live, spec, 0, {0});
    live.Run();
    EXPECT_EQ(Sent(live.site(0), "abstention"), 0u);
    EXPECT_EQ(Sent(live.site(0), "upload"), 3u);
    for (const auto& round : live.site(1).session->applied()) {
      EXPECT_THAT(round.abstentions, IsEmpty());
    }
    live.ExpectNoViolations();
  }
}

bool IsAbstention(const base::Bytes& bytes) { return bytes.size() > 4 && bytes[3] == '8'; }

// The server tells nobody, or lies about who it was.
TEST(AbstentionTest, AServerThatKeepsItToItselfIsNoticed) {
  const agreement::ManifestSpec spec = Everybody();
  LiveFederation live(spec);
  Spend(live, spec, 1, {0});
  for (auto& site : live.sites) {
    site->wire.lie = [](const protocol::RequestBody& body, absl::StatusOr<base::Bytes> answer) {
      if (!answer.ok() || !std::holds_alternative<protocol::FetchVotesRequest>(body)) return answer;
      std::vector<base::Bytes> blobs = protocol::testing::ValueOf(protocol::ReadBlobs(*answer));
      std::erase_if(blobs, IsAbstention);
      return absl::StatusOr<base::Bytes>(protocol::WriteBlobs(blobs));
    };
  }
  live.Run();
  EXPECT_EQ(live.site(0).log.Count(member::NodeEventKind::kViolation, "withheld-abstention"), 2u);
  EXPECT_THAT(MembersOf(live.site(0).session->applied()[2].abstentions), ElementsAre(0));
  // The others' records hold nothing that they have not seen signed.
  EXPECT_THAT(live.site(1).session->applied()[2].abstentions, IsEmpty());
}

TEST(AbstentionTest, NobodyAbstainsForAnother) {
  const agreement::ManifestSpec spec = Everybody();
  LiveFederation live(spec);
  Spend(live, spec, 1, {0});
  std::vector<base::Bytes> earlier;
  for (auto& site : live.sites) {
    site->wire.lie = [&](const protocol::RequestBody& body, absl::StatusOr<base::Bytes> answer) {
      const auto* fetch = std::get_if<protocol::FetchVotesRequest>(&body);
      if (!answer.ok() || fetch == nullptr || live.IsAt(protocol::AttemptPhase::kUnmasking)) {
        return answer;
      }
      std::vector<base::Bytes> blobs = protocol::testing::ValueOf(protocol::ReadBlobs(*answer));
      std::ranges::copy_if(blobs, std::back_inserter(earlier), IsAbstention);
      // One that another member signed, and those of other attempts.
      blobs.push_back(protocol::WriteAbstention({.member = 2, .attempt = fetch->attempt},
                                                live.members.site(4).signing));
      blobs.insert(blobs.end(), earlier.begin(), earlier.end());
      return absl::StatusOr<base::Bytes>(protocol::WriteBlobs(blobs));
    };
  }
  live.Run();
  EXPECT_THAT(live.site(1).session->applied()[0].abstentions, IsEmpty());
  EXPECT_THAT(MembersOf(live.site(1).session->applied()[1].abstentions), ElementsAre(0));
  EXPECT_THAT(MembersOf(live.site(1).session->applied()[2].abstentions), ElementsAre(0));
  live.ExpectNoViolations();
  // Neither does the server take it.
  const base::Bytes forged = protocol::WriteAbstention({.member = 2, .attempt = live.Current()},
                                                       live.members.site(2).signing);
  EXPECT_EQ(live.server->Take(4, protocol::PutAbstentionRequest{forged}).code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(live.server->Take(2, protocol::PutAbstentionRequest{forged}).code(),
            absl::StatusCode::kFailedPrecondition);
}

// The committee refused one sum, so a member is on trial. Without it and without the site whose
// budget has ended too few would give data. Another attempt has it back.
TEST(AbstentionTest, ATrialDoesNotEndATrainingForGivers) {
  const agreement::ManifestSpec spec = Everybody(4);
  LiveFederation live(spec);
  Spend(live, spec, 0, {4});
  bool is_first = true;
  live.site(2).state.spoil_upload = [&](base::Bytes& upload) {
    if (!std::exchange(is_first, false)) return;
    upload[secagg::testing::UploadTagByte(live.members.terms().aggregation())] ^= 0x20;
    secagg::testing::FixChecksum(upload);
  };
  live.Run();
  EXPECT_EQ(live.server->Status().finished, 3u);
  std::vector<std::string> failures;
  for (const server::AttemptRecord& one : live.server->Attempts()) failures.push_back(one.failure);
  EXPECT_THAT(failures, ElementsAre("refused", "too-few-uploads", "", "", ""));
}

// A member that abstains and is lost before it uploads is in no sum, and is not subtracted from it.
TEST(AbstentionTest, OnlyParticipantsAreCounted) {
  const agreement::ManifestSpec spec = Everybody();
  LiveFederation live(spec);
  Spend(live, spec, 1, {0});
  live.site(0).wire.swallows = [](const protocol::RequestBody& body) {
    const auto* put = std::get_if<protocol::PutPartRequest>(&body);
    return put != nullptr && put->name.kind == protocol::BulkKind::kUpload &&
           put->name.attempt.number.round == 1;
  };
  live.RunUntil([&] { return live.site(1).session->next_round() == 2; });
  const auto& second = live.site(1).session->applied()[1];
  EXPECT_EQ(second.participants, 4u);
  EXPECT_THAT(second.abstentions, IsEmpty());
}

// Without a site that is absent the others wait for a giver, and continue when it is back.
TEST(AbstentionTest, AnAttemptWaitsForEnoughGivers) {
  const agreement::ManifestSpec spec = Everybody();
  LiveFederation live(spec);
  Spend(live, spec, 1, {0, 1});
  live.RunUntil([&] {
    return live.IsAt(protocol::AttemptPhase::kCollecting) && live.Current().number.round == 1;
  });
  live.site(4).away = true;
  for (int turn = 0; turn < 100; ++turn) live.Turn(5);
  EXPECT_TRUE(live.IsAt(protocol::AttemptPhase::kCollecting));
  live.site(4).away = false;
  live.Run();
  EXPECT_EQ(live.site(2).session->next_round(), 3u);
}

// The answer to a query about fewer sites is of use: two givers besides the colluders suffice.
TEST(AbstentionTest, AQueryIsAnsweredWithoutTheSitesThatAbstain) {
  for (const size_t spent : {1, 3, 4}) {
    agreement::ManifestSpec spec = Everybody(5);
    spec.model = std::string(agreement::kQueryModel);
    spec.rounds = 1;
    spec.spare_attempts = 0;
    LiveFederation live(spec);
    std::vector<uint64_t> numbers;
    for (uint64_t number = 0; number < spent; ++number) numbers.push_back(number);
    Spend(live, spec, 0, numbers);
    live.Run();
    const bool enough = 5 - spent >= spec.privacy.colluders + 2;
    EXPECT_EQ(live.site(4).session->next_round(), enough ? 1u : 0u) << spent;
    if (!enough) continue;
    EXPECT_EQ(MembersOf(live.site(4).session->applied()[0].abstentions), numbers);
  }
}

// A failure on a record must not show: neither the number of messages nor their kinds and sizes.
TEST(AbstentionTest, AFailedTrainingLeavesNothingDifferentOnTheWire) {
  std::vector<std::vector<std::string>> seen;
  for (const bool fails : {true, false}) {
    for (const bool spent : {true, false}) {
      const agreement::ManifestSpec spec = Everybody();
      LiveFederation live(spec);
      if (spent) Spend(live, spec, 1, {0});
      if (fails) live.site(0).updates.fail = "no such patient";
      auto& messages = seen.emplace_back();
      const auto watch = live.site(0).wire.watch;
      live.site(0).wire.watch = [&, watch](const protocol::RequestBody& body) {
        watch(body);
        const auto* put = std::get_if<protocol::PutPartRequest>(&body);
        messages.push_back(fmt::format("{} {} {}", protocol::RequestKindName(body.index()),
                                       put == nullptr ? 0 : put->total,
                                       put == nullptr ? 0 : put->part.size()));
      };
      live.Run();
      live.ExpectNoViolations();
    }
  }
  EXPECT_EQ(seen[0], seen[2]);  // budgets that end, with and without a failure
  EXPECT_EQ(seen[1], seen[3]);
  EXPECT_NE(seen[0], seen[1]);
}

}  // namespace
}  // namespace tacet::live::testing
