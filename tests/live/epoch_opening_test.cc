// Opening of an epoch: which round it begins with is known to its members alone, not to its server.
#include "tacet/protocol/epoch_opening.h"

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/protocol/whole_requests_for_test.h"
#include "tests/live/changing_federation_for_test.h"
#include "tests/live/opening_for_test.h"

namespace tacet {
namespace {

using live::testing::ChangingFederation;
using protocol::testing::ValueOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Epoch = ChangingFederation::Epoch;
const std::vector<int> kAll = {0, 1, 2, 3, 4};

// The last round of an epoch was published, and its members had applied it or not when they joined
// the next one.
class LastRoundTest : public ::testing::TestWithParam<std::set<int>> {};

TEST_P(LastRoundTest, TheFederationGoesOn) {
  ChangingFederation all(5);
  const auto& first = all.BeginEpoch(kAll);
  all.PublishFor(2, GetParam());
  all.BeginEpoch(kAll, &first);
  all.FinishWithoutFault();
}

INSTANTIATE_TEST_SUITE_P(EpochOpeningTest, LastRoundTest,
                         ::testing::Values(std::set<int>{}, std::set<int>{0}, std::set<int>{1, 3},
                                           std::set<int>{0, 2, 4}, std::set<int>{0, 1, 2, 3}));

// Every process is started again whenever it has done something.
TEST_P(LastRoundTest, TheFederationGoesOnThroughKills) {
  ChangingFederation all(4);
  const auto& first = all.BeginEpoch(kAll);
  all.PublishFor(2, GetParam());
  const auto& second = all.BeginEpoch(kAll, &first);
  for (int turn = 0; turn < 8; ++turn) {
    all.Turn();
    for (const int id : kAll) ASSERT_TRUE(all.Join(id, second).ok());
    all.Turn();
    ASSERT_TRUE(all.Serve(second).ok());
  }
  all.FinishWithoutFault();
}

// One of those who had applied the last round leaves, and a newcomer has no round at all.
TEST(EpochOpeningTest, ANewcomerOnTheCommitteeFollows) {
  for (const std::set<int>& appliers : {std::set<int>{2}, {0, 1}, {0, 2, 3}, {0, 1, 3}}) {
    ChangingFederation all(4);
    const auto& first = all.BeginEpoch(kAll);
    all.PublishFor(2, appliers);
    all.BeginEpoch({0, 1, 3, 4, 5}, &first);
    all.FinishWithoutFault();
  }
}

// Three of eight seats are two rounds behind and speak first. The state that is held is known to
// one seat as its last, and to four that are ahead as their earlier one: what these say is
// returned, too.
TEST(EpochOpeningTest, SeatsFarBehindDoNotHideTheStateThatIsHeld) {
  const auto eight_seats = [](agreement::SignedManifestSpec& spec) {
    spec.agreement.committee = {.seats = 8, .corrupt = 1};
  };
  const std::vector<int> sites = {0, 1, 2, 3, 4, 5, 6, 7};
  ChangingFederation all(6);
  const auto& first = all.BeginEpoch(sites, nullptr, eight_seats);
  all.RunUntil(1);
  for (const int id : {0, 1, 2}) all.SiteOf(id).session.reset();
  const std::vector<int> here = {3, 4, 5, 6, 7};
  const auto turn_until = [&](uint32_t finished) {
    for (int turn = 0; turn < 300 && all.server->Status().finished < finished; ++turn) {
      all.now += 5;
      for (const int id : here) all.server->NotePresence(first.NumberOf(id));
      EXPECT_TRUE(all.server->Tick().ok());
      for (const int id : here) {
        if (all.server->Status().finished < finished) all.StepOf(all.SiteOf(id));
      }
    }
    ASSERT_EQ(all.server->Status().finished, finished);
  };
  turn_until(2);
  turn_until(3);
  for (const int id : {4, 5, 6, 7}) all.StepOf(all.SiteOf(id));
  ASSERT_EQ(all.SiteOf(3).session->next_round(), 2u);
  for (const int id : {4, 5, 6, 7}) ASSERT_EQ(all.SiteOf(id).session->next_round(), 3u);
  all.BeginEpoch(sites, &first, eight_seats);
  all.FinishWithoutFault();
}

// A round that is undone was charged, and stays so.
TEST(EpochOpeningTest, AnUndoneRoundStaysCharged) {
  ChangingFederation all(3);
  const auto& first = all.BeginEpoch(kAll);
  all.PublishFor(2, {0, 1});
  const auto charged = [&](int id, uint32_t epoch, uint32_t round) {
    return all.SiteOf(id).ledger->Holds({.manifest_hash = all.EpochOf(epoch).hash(),
                                         .number = {.epoch = epoch, .round = round, .attempt = 0}});
  };
  all.BeginEpoch(kAll, &first);
  all.Finish();
  all.ExpectModels();
  for (const int id : kAll) {
    EXPECT_TRUE(charged(id, 0, 1)) << id;
    EXPECT_TRUE(charged(id, 1, 1)) << id;
    EXPECT_EQ(all.SiteOf(id).ledger->entries().size(), 4u) << id;  // of 3 rounds
    EXPECT_EQ(all.SiteOf(id).log.Count(member::NodeEventKind::kApplied, "earlier-state"),
              id < 2 ? 1u : 0u)
        << id;
  }
}

// Two sites join when the epoch has continued without the round that they alone had applied.
TEST(EpochOpeningTest, WhoJoinsLaterLosesTheUndoneRound) {
  for (const uint32_t late : {2u, 3u}) {
    ChangingFederation all(6);
    const auto& first = all.BeginEpoch(kAll);
    all.PublishFor(2, {4});
    const auto& second = all.Sign(kAll, &first);
    ASSERT_TRUE(all.Serve(second).ok());
    all.SiteOf(4).session.reset();
    for (const int id : {0, 1, 2, 3}) ASSERT_TRUE(all.Join(id, second).ok());
    for (int turn = 0; turn < 60 && all.server->Status().finished < late; ++turn) all.Turn();
    ASSERT_EQ(all.server->Status().finished, late);
    ASSERT_TRUE(all.Join(4, second).ok());
    ASSERT_EQ(all.SiteOf(4).session->next_round(), 2u);
    all.Finish();
    EXPECT_EQ(all.SiteOf(4).session->model(), all.SiteOf(0).session->model());
    all.ExpectCharges();
    all.ExpectNoViolations();
  }
}

// A server that has lost its folder learns the round from its members, under a new epoch only.
TEST(EpochOpeningTest, AServerThatLostItsFolderGoesOn) {
  for (const bool last_round_is_known : {true, false}) {
    ChangingFederation all(6);
    const auto& first = all.BeginEpoch(kAll);
    if (last_round_is_known) {
      all.RunUntil(3);
    } else {
      all.PublishFor(3, {2});
    }
    all.LoseServerFolder();
    ASSERT_TRUE(all.Serve(first).ok());
    for (int turn = 0; turn < 10; ++turn) all.Turn();
    EXPECT_EQ(all.server->Status().finished, 0u);
    for (const int id : kAll) {
      EXPECT_THAT(all.ViolationsOf(id), Each("rollback")) << id;
      EXPECT_EQ(all.SiteOf(id).log.Count(member::NodeEventKind::kSent, "upload"), 3u) << id;
      all.SiteOf(id).log = {};
    }
    all.LoseServerFolder();
    all.BeginEpoch(kAll, &first);
    all.FinishWithoutFault();
  }
}

// The rest of the epoch before is swept before the first attempt begins, and no upload with it.
TEST(EpochOpeningTest, UploadsToItsFirstAttemptStay) {
  ChangingFederation all(4);
  const auto& first = all.BeginEpoch(kAll);
  all.RunUntil(2);
  const auto& second = all.BeginEpoch(kAll, &first);
  for (int turn = 0; turn < 10; ++turn) {
    all.now += 5;
    for (const uint64_t member : {0, 1, 2, 3, 4}) all.server->NotePresence(member);
    ASSERT_TRUE(all.server->Tick().ok());
    for (const int id : {0, 1, 2, 3}) all.StepOf(all.SiteOf(id));  // the last one trains
  }
  ASSERT_EQ(all.server->Status().accepted, 4u);
  const absl::Status served = all.Serve(second);
  ASSERT_TRUE(served.ok()) << served;
  EXPECT_EQ(all.server->Status().accepted, 4u);
  all.FinishWithoutFault();
}

// The newcomer asks for the state before anybody has sent it, or gets no answer at first. Without
// its upload the first attempt has too few.
TEST(EpochOpeningTest, ANewcomerWithoutWhomNothingIsSummedIsInTheFirstAttempt) {
  for (const bool asks_first : {true, false}) {
    SCOPED_TRACE(asks_first);
    const int newcomer = asks_first ? 0 : 6;
    const auto needs_all = [](agreement::SignedManifestSpec& spec) {
      spec.agreement.sampling.min_participants = 5;
    };
    ChangingFederation all(4);
    const auto& first = all.BeginEpoch({1, 2, 3, 4, 5}, nullptr, needs_all);
    all.RunUntil(2);
    const auto& second = all.Sign({1, 2, 3, 4, newcomer}, &first, needs_all);
    all.SiteOf(5).session.reset();
    all.Begin(second);
    int refused = 0;
    if (!asks_first) {
      all.SiteOf(newcomer).lie = [&](const protocol::RequestBody& body,
                                     absl::StatusOr<base::Bytes> answer) {
        const auto* fetch = std::get_if<protocol::FetchPartRequest>(&body);
        const bool refuses = fetch != nullptr &&
                             fetch->name.kind == protocol::BulkKind::kCheckpoint && refused++ == 0;
        if (refuses) answer = base::OutOfRange("none");
        return answer;
      };
    }
    const uint64_t begun = all.now;
    all.RunUntil(3);
    // A member that asked too early is told when it can ask again, and needs no deadline.
    if (asks_first) {
      EXPECT_LT(all.now, begun + all.options.collecting_seconds);
    }
    all.Finish();
    EXPECT_EQ(refused > 0, !asks_first);
    all.ExpectModels();
    all.ExpectCharges();
    all.ExpectNoViolations();
    EXPECT_EQ(all.SiteOf(newcomer).sealed.size(), 2u);
    EXPECT_EQ(all.server->Status().failed, 0u);
  }
}

// A seat that has signed its vote sends the same one from its next process, and to a server that
// has lost its folder.
TEST(EpochOpeningTest, ASeatVotesOnce) {
  for (const std::set<int>& appliers : {std::set<int>{0}, {0, 2, 4}}) {
    ChangingFederation all(4);
    const auto& first = all.BeginEpoch(kAll);
    all.PublishFor(2, appliers);
    const auto& second = all.Sign(kAll, &first);
    std::map<uint64_t, std::set<base::Bytes>> votes;
    all.on_request = [&](std::span<const uint8_t> request) {
      const auto read = protocol::ReadMemberRequest(request, second.manifest, all.now);
      if (!read.ok()) return;
      const auto* put = std::get_if<protocol::PutOpeningRequest>(&read->body);
      if (put == nullptr) return;
      const auto said = ValueOf(protocol::ReadOpeningStatement(put->statement, second.manifest));
      if (said.word == protocol::OpeningWord::kVote) votes[read->member].insert(put->statement);
    };
    all.Begin(second);
    for (int turn = 0; turn < 6; ++turn) {
      all.now += 5;
      for (const int id : kAll) all.server->NotePresence(second.NumberOf(id));
      ASSERT_TRUE(all.server->Tick().ok());
      all.StepOf(all.SiteOf(turn % 5));
      all.StepOf(all.SiteOf((turn + 1) % 5));
      for (const int id : kAll) ASSERT_TRUE(all.Join(id, second).ok());
      all.LoseServerFolder();
      ASSERT_TRUE(all.Serve(second).ok());
    }
    all.Finish();
    EXPECT_GE(votes.size(), 4u);  // a quorum
    for (const auto& [member, signed_votes] : votes) EXPECT_EQ(signed_votes.size(), 1u) << member;
    all.ExpectModels();
    all.ExpectCharges();
    all.ExpectNoViolations();
  }
}

// Seats away, lines that break and processes that end, with an honest server.
class OpeningFaultsTest : public live::testing::OpeningFixture {
 protected:
  void ExpectAllEntered(const std::vector<int>& ids) {
    for (const int id : ids) EXPECT_TRUE(HasEntered(id)) << id;
  }
};

// Three have voted when the server is restarted. The fourth is back before them.
TEST_F(OpeningFaultsTest, WhoIsBackFirstAfterARestartVotes) {
  const auto& first = all_.BeginEpoch(kAll);
  all_.RunUntil(3);
  const auto& second = all_.BeginEpoch(kAll, &first);
  all_.SiteOf(4).session.reset();
  for (int turn = 0; turn < 20; ++turn) {
    Tick(second, {0, 1, 2, 3});
    for (const int id : {0, 1, 2, 3}) {
      if (id > 0 || turn == 0) Step(id, 1);  // site 0 has spoken, and is slow to hear
    }
    if (HasVoted(1, second) && HasVoted(2, second) && HasVoted(3, second)) break;
  }
  ASSERT_FALSE(HasVoted(0, second));
  ASSERT_TRUE(all_.Serve(second).ok());
  for (int turn = 0; turn < 4; ++turn) {
    Tick(second, {0});
    Step(0, 1);
  }
  for (int turn = 0; turn < 40; ++turn) all_.Turn();
  ExpectAllEntered({0, 1, 2, 3});
}

// Two seats have stored their votes and are cut off before they sent them. The fifth comes, which
// has the last round, and the server continues to ask for what it asked before.
TEST_F(OpeningFaultsTest, AServerAsksForOneState) {
  const auto& first = all_.BeginEpoch(kAll);
  all_.PublishFor(3, {0, 1, 4});
  const auto& second = all_.BeginEpoch(kAll, &first);
  all_.SiteOf(4).session.reset();
  for (const int id : {0, 1, 2, 3}) Step(id, 1);
  for (int i = 0; i < 3; ++i) Tick(second, {0, 1, 2, 3});
  for (const int id : {2, 3}) {
    auto& site = all_.SiteOf(id);
    site.wire->lose_request = site.wire->calls + 3;  // await, fetch, its state, its vote
    EXPECT_FALSE(site.session->Step().ok());
    site.session.reset();
    ASSERT_TRUE(HasVoted(id, second));
  }
  ASSERT_TRUE(all_.Join(4, second).ok());
  Step(4, 1);
  for (int i = 0; i < 3; ++i) Tick(second, {0, 1, 4});
  for (int turn = 0; turn < 10; ++turn) all_.Turn(1);
  for (const int id : {2, 3}) ASSERT_TRUE(all_.Join(id, second).ok());
  all_.FinishWithoutFault();
}

// Sites 0, 1 and 4 have the last round. Site 3 is behind, and votes for it. Then the server is
// restarted, and site 4 stays away: its word is with the vote that relied on it.
TEST_F(OpeningFaultsTest, AVoteBringsTheStatementsThatItReliedOn) {
  for (const bool folder_is_lost : {false, true}) {
    ChangingFederation all(6);
    const auto& first = all.BeginEpoch(kAll);
    all.PublishFor(3, {0, 1, 4});
    const auto& second = all.BeginEpoch(kAll, &first);
    for (const int id : kAll) all.StepOf(all.SiteOf(id));
    all.Turn(0);
    all.SiteOf(4).session.reset();
    for (const int id : {1, 2, 3}) all.SiteOf(id).session.reset();
    all.Turn(1);  // site 0 votes
    ASSERT_TRUE(all.SiteOf(0).state.LoadOpeningVote().ok());
    if (folder_is_lost) all.LoseServerFolder();
    ASSERT_TRUE(all.Serve(second).ok());
    for (const int id : {0, 1, 2, 3}) ASSERT_TRUE(all.Join(id, second).ok());
    all.FinishAt({0, 1, 2, 3});
    ASSERT_TRUE(all.Join(4, second).ok());
    all.FinishWithoutFault();
  }
}

// Sites 0, 1 and 4 have the last round and say so. Site 4 goes away, before or after its vote. The
// others open the epoch, and sites 2 and 3 get the state from the two that have it.
TEST_F(OpeningFaultsTest, AfterTheOpeningFourSeatsGoOn) {
  for (const bool votes : {false, true}) {
    ChangingFederation all(6);
    const auto& first = all.BeginEpoch(kAll);
    all.PublishFor(3, {0, 1, 4});
    const auto& second = all.BeginEpoch(kAll, &first);
    for (const int id : kAll) all.StepOf(all.SiteOf(id));
    all.now += 1;
    for (const int id : kAll) all.server->NotePresence(second.NumberOf(id));
    ASSERT_TRUE(all.server->Tick().ok());
    if (votes) all.StepOf(all.SiteOf(4));
    EXPECT_EQ(all.SiteOf(4).state.LoadOpeningVote().ok(), votes);
    all.SiteOf(4).session.reset();
    all.FinishAt({0, 1, 2, 3});
    for (const int id : {0, 1, 2, 3}) {
      EXPECT_EQ(all.SiteOf(id).session->next_round(), 6u) << id;
    }
  }
}

// A seat that has lost its vote, and not its server, does not give another one.
TEST_F(OpeningFaultsTest, AVoteThatOnlyTheServerHasIsTheSeatsVote) {
  const auto& first = all_.BeginEpoch(kAll);
  all_.RunUntil(2);
  const auto before = StateOf(3);
  all_.RunUntil(3);
  const auto& second = all_.BeginEpoch(kAll, &first);
  const base::Bytes given = Says(3, Word::kVote, second, before);
  ASSERT_TRUE(all_.server->Take(second.NumberOf(3), protocol::PutOpeningRequest{given}).ok());
  for (int turn = 0; turn < 10; ++turn) all_.Turn();
  EXPECT_EQ(VoteOf(3), given);
  all_.Finish();  // by the votes of the others
  EXPECT_EQ(all_.SiteOf(3).log.Count(member::NodeEventKind::kApplied, "earlier-state"), 0u);
  all_.ExpectModels();
}

// Kills of an honest server, lines that break at any request, sites that are killed or away while
// the epoch opens; in the end so many seats are there, and begin it. A newcomer may be among them.
class OpeningChaosTest : public ::testing::TestWithParam<std::tuple<int, std::set<int>>> {};

TEST_P(OpeningChaosTest, TheEpochBeginsForAllThatAreThere) {
  const auto& [here, appliers] = GetParam();
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    crypto::Random random = crypto::SeededRandom(seed, "opening chaos", appliers.size());
    ChangingFederation all(4);
    all.options.grace_seconds = random.Below(2) == 0 ? 0 : 10;
    const auto& first = all.BeginEpoch(kAll);
    all.PublishFor(3, appliers);
    const bool has_newcomer = here == 5 && seed % 2 == 0;
    const std::vector<int> sites = has_newcomer ? std::vector<int>{0, 1, 3, 4, 5} : kAll;
    const auto& second = all.Sign(sites, &first);
    ASSERT_TRUE(all.Serve(second).ok());
    for (const int id : kAll) all.SiteOf(id).session.reset();
    for (int event = 0; event < 80; ++event) {
      all.now += 1;
      for (const int id : sites) {
        if (all.SiteOf(id).session != nullptr && random.Below(4) != 0) {
          all.server->NotePresence(second.NumberOf(id));
        }
      }
      ASSERT_TRUE(all.server->Tick().ok());
      if (random.Below(12) == 0) {
        ASSERT_TRUE(all.Serve(second).ok());
        continue;
      }
      const int id = sites[random.Below(5)];
      auto& site = all.SiteOf(id);
      if (site.session == nullptr || random.Below(10) == 0) {
        ASSERT_TRUE(all.Join(id, second).ok());
      }
      if (random.Below(4) == 0) {
        site.wire->lose_request = site.wire->calls + static_cast<int>(random.Below(6));
      }
      if (random.Below(8) == 0) {
        site.wire->lose_answer = site.wire->calls + static_cast<int>(random.Below(6));
      }
      all.StepOf(site);
      if (random.Below(12) == 0) site.session.reset();
    }
    std::vector<int> there = sites;
    while (std::ssize(there) > here) {
      const auto away = there.begin() + static_cast<ptrdiff_t>(random.Below(there.size()));
      all.SiteOf(*away).session.reset();
      there.erase(away);
    }
    for (const int id : there) {
      if (all.SiteOf(id).session == nullptr) {
        ASSERT_TRUE(all.Join(id, second).ok());
      }
    }
    for (int turn = 0; turn < 60; ++turn) all.Turn();
    for (const int id : there) EXPECT_TRUE(all.SiteOf(id).session->has_entered()) << id;
    if (here < 5) continue;
    all.FinishWithoutFault();
  }
}

INSTANTIATE_TEST_SUITE_P(
    EpochOpeningTest, OpeningChaosTest,
    ::testing::Combine(::testing::Values(4, 5),
                       ::testing::Values(std::set<int>{0, 1, 2, 3, 4}, std::set<int>{0, 1, 4},
                                         std::set<int>{2}, std::set<int>{0, 3})));

}  // namespace
}  // namespace tacet
