// Opening of an epoch: which round it begins with is known to its members alone, not to its server.
#include "tacet/protocol/epoch_opening.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/protocol/attestation.h"
#include "tests/live/changing_federation.h"

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
  const auto& first = all.Sign(kAll);
  all.Begin(first);
  all.PublishFor(2, GetParam());
  const auto& second = all.Sign(kAll, &first);
  all.Begin(second);
  all.Finish();
  all.ExpectModels();
  all.ExpectCharges();
  all.ExpectNoViolations();
}

INSTANTIATE_TEST_SUITE_P(EpochOpeningTest, LastRoundTest,
                         ::testing::Values(std::set<int>{}, std::set<int>{0}, std::set<int>{1, 3},
                                           std::set<int>{0, 2, 4}, std::set<int>{0, 1, 2, 3}));

// Every process is started again whenever it has done something.
TEST_P(LastRoundTest, TheFederationGoesOnThroughKills) {
  ChangingFederation all(4);
  const auto& first = all.Sign(kAll);
  all.Begin(first);
  all.PublishFor(2, GetParam());
  const auto& second = all.Sign(kAll, &first);
  all.Begin(second);
  for (int turn = 0; turn < 8; ++turn) {
    all.Turn();
    for (const int id : kAll) ASSERT_TRUE(all.Join(id, second).ok());
    all.Turn();
    ASSERT_TRUE(all.Serve(second).ok());
  }
  all.Finish();
  all.ExpectModels();
  all.ExpectCharges();
  all.ExpectNoViolations();
}

// One of those who had applied the last round leaves, and a newcomer has no round at all.
TEST(EpochOpeningTest, ANewcomerOnTheCommitteeFollows) {
  for (const std::set<int>& appliers : {std::set<int>{2}, {0, 1}, {0, 2, 3}, {0, 1, 3}}) {
    ChangingFederation all(4);
    const auto& first = all.Sign(kAll);
    all.Begin(first);
    all.PublishFor(2, appliers);
    const auto& second = all.Sign({0, 1, 3, 4, 5}, &first);
    all.Begin(second);
    all.Finish();
    all.ExpectModels();
    all.ExpectCharges();
    all.ExpectNoViolations();
  }
}

// A round that is undone was charged, and stays so.
TEST(EpochOpeningTest, AnUndoneRoundStaysCharged) {
  ChangingFederation all(3);
  const auto& first = all.Sign(kAll);
  all.Begin(first);
  all.PublishFor(2, {0, 1});
  const auto charged = [&](int id, uint32_t epoch, uint32_t round) {
    return all.SiteOf(id).ledger->Holds({.manifest_hash = all.EpochOf(epoch).hash(),
                                         .number = {.epoch = epoch, .round = round, .attempt = 0}});
  };
  const auto& second = all.Sign(kAll, &first);
  all.Begin(second);
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

// Two sites join when the epoch has gone on without the round that they alone had applied.
TEST(EpochOpeningTest, WhoJoinsLaterLosesTheUndoneRound) {
  for (const uint32_t late : {2u, 3u}) {
    ChangingFederation all(6);
    const auto& first = all.Sign(kAll);
    all.Begin(first);
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
    const auto& first = all.Sign(kAll);
    all.Begin(first);
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
    const auto& second = all.Sign(kAll, &first);
    all.Begin(second);
    all.Finish();
    all.ExpectModels();
    all.ExpectCharges();
    all.ExpectNoViolations();
  }
}

// What the epoch before left is swept away before the first attempt begins, and no upload with it.
TEST(EpochOpeningTest, UploadsToItsFirstAttemptStay) {
  ChangingFederation all(4);
  const auto& first = all.Sign(kAll);
  all.Begin(first);
  all.RunUntil(2);
  const auto& second = all.Sign(kAll, &first);
  all.Begin(second);
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
  all.Finish();
  all.ExpectModels();
  all.ExpectCharges();
  all.ExpectNoViolations();
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
    const auto& first = all.Sign({1, 2, 3, 4, 5}, nullptr, needs_all);
    all.Begin(first);
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
    // Who asked too early is told when it can ask again, and needs no deadline.
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
    const auto& first = all.Sign(kAll);
    all.Begin(first);
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

// Everything that a server and two members can do together when an epoch begins. The committee of
// five tolerates two corrupt seats; four votes open an epoch.
class LyingOpeningTest : public ::testing::Test {
 protected:
  using Answered = absl::StatusOr<base::Bytes>;
  using Word = protocol::OpeningWord;

  // What a site has.
  protocol::OpeningState StateOf(int id) {
    const auto attested = ValueOf(protocol::ReadAttestation(all_.SiteOf(id).session->Attestation(),
                                                            all_.SiteOf(id).epoch->manifest));
    return {attested.round, attested.model_digest, attested.state_digest};
  }
  base::Bytes Says(int id, Word word, const Epoch& epoch, const protocol::OpeningState& state) {
    return protocol::WriteOpeningStatement(
        {.word = word, .member = epoch.NumberOf(id), .state = state}, epoch.manifest,
        all_.SiteOf(id).keys.signing);
  }
  std::vector<base::Bytes> AllSay(const std::vector<int>& ids, Word word, const Epoch& epoch,
                                  const protocol::OpeningState& state) {
    std::vector<base::Bytes> statements;
    for (const int id : ids) statements.push_back(Says(id, word, epoch, state));
    return statements;
  }
  // The server tells `id` that the epoch begins with `round`, as these statements say; its attempt
  // collects, once `began`, or the training has ended.
  void TellThat(int id, uint32_t round, std::vector<base::Bytes> statements,
                std::optional<secagg::Attempt> began = std::nullopt) {
    all_.SiteOf(id).lie = [=, this](const protocol::RequestBody& body,
                                    Answered answer) -> Answered {
      if (std::holds_alternative<protocol::AwaitRequest>(body) && answer.ok()) {
        protocol::Announcement told = ValueOf(protocol::ReadAnnouncement(*answer));
        told.finished = round;
        told.kept.clear();
        told.listed.clear();
        told.first_listed = 0;
        told.current.reset();
        told.revision = ++revision_;
        told.stopped = round == all_.SiteOf(id).epoch->agreed().rounds;
        if (began.has_value()) {
          told.current = protocol::AnnouncedAttempt{
              .attempt = *began, .invited = protocol::Invited::kYes, .deadline = all_.now + 100};
          told.listed = {began->number};
        }
        return protocol::WriteAnnouncement(told);
      }
      if (std::holds_alternative<protocol::FetchOpeningRequest>(body)) {
        return protocol::WriteBlobs(statements);
      }
      return answer;
    };
  }
  void Step(int id, int times = 5) {
    for (int i = 0; i < times; ++i) all_.StepOf(all_.SiteOf(id));
  }
  uint32_t RoundOf(int id) { return all_.SiteOf(id).session->next_round(); }

  uint64_t revision_ = 1000;
  ChangingFederation all_{6};
};

// They say that the epoch begins where nobody is, or where few are.
TEST_F(LyingOpeningTest, AMinorityChangesNothing) {
  const auto& first = all_.Sign(kAll);
  all_.Begin(first);
  all_.RunUntil(1);
  const protocol::OpeningState earlier = StateOf(0);
  all_.RunUntil(3);
  all_.LoseServerFolder();
  const auto& second = all_.Sign(kAll, &first);
  all_.Begin(second);
  const protocol::OpeningState invented{.round = 5, .model_digest = {1}, .state_digest = {2}};
  for (const int liar : {3, 4}) {
    const auto take = [&](const protocol::OpeningState& state) {
      return all_.server->TakeOpeningStatement(second.NumberOf(liar),
                                               Says(liar, Word::kHas, second, state));
    };
    EXPECT_TRUE(take(invented).ok());
    EXPECT_TRUE(take(earlier).ok());
    // Not more of them than an honest member has, and no round that does not exist.
    protocol::OpeningState another = invented;
    another.round = 4;
    EXPECT_THAT(base::Message(take(another)), HasSubstr("has named 2 other rounds"));
    another.round = 7;
    EXPECT_THAT(base::Message(take(another)), HasSubstr("the agreement has 6 rounds"));
    another = earlier;
    another.round = 5;
    EXPECT_EQ(take(another).code(), absl::StatusCode::kAlreadyExists);
  }
  all_.Finish();
  all_.ExpectModels();
  all_.ExpectCharges();
  all_.ExpectNoViolations();
  for (const int id : kAll) {
    EXPECT_EQ(all_.SiteOf(id).log.Count(member::NodeEventKind::kApplied, "earlier-state"), 0u);
  }
}

// Votes of too few, of another epoch, in others' names and of one seat several times; words of a
// majority in the place of votes.
TEST_F(LyingOpeningTest, NobodyGoesBackWithoutAQuorum) {
  const auto& first = all_.Sign(kAll);
  all_.Begin(first);
  all_.RunUntil(1);
  const protocol::OpeningState before = StateOf(0);
  const std::vector<base::Bytes> of_last_epoch = AllSay(kAll, Word::kVote, first, before);
  all_.PublishFor(2, {0, 1, 2, 3, 4});
  const auto& second = all_.Sign(kAll, &first);
  all_.Begin(second);
  const auto of = [&](int id) { return Says(id, Word::kVote, second, before); };
  base::Bytes forged = of(1);
  forged.back() ^= 1;
  const std::vector<std::vector<base::Bytes>> lies = {
      {},
      {of(2), of(3), of(4)},
      of_last_epoch,
      {of(3), of(3), of(3), of(4)},
      {of(2), of(3), of(4), forged},
      AllSay({1, 2, 3, 4}, Word::kHas, second, before)};
  const secagg::Attempt again{.manifest_hash = second.hash(),
                              .number = {.epoch = 1, .round = 1, .attempt = 0},
                              .model_digest = before.model_digest};
  for (const std::vector<base::Bytes>& lie : lies) {
    TellThat(0, 1, lie);
    Step(0);
    EXPECT_EQ(RoundOf(0), 2u);
    EXPECT_FALSE(all_.SiteOf(0).session->has_entered());
    EXPECT_THAT(all_.ViolationsOf(0), IsEmpty());
    TellThat(0, 1, lie, again);
    Step(0);
    EXPECT_EQ(RoundOf(0), 2u);
    EXPECT_THAT(all_.ViolationsOf(0), Contains("not-opened"));
    EXPECT_TRUE(all_.SiteOf(0).sealed.find(again.number) == all_.SiteOf(0).sealed.end());
    all_.SiteOf(0).log = {};
    ASSERT_TRUE(all_.Join(0, second).ok());
  }
  all_.SiteOf(0).lie = {};
  all_.Finish();
  all_.ExpectModels();
  all_.ExpectCharges();
}

// With one member that is behind they are a majority: the epoch may begin without the last round,
// and then it does for everybody. Nobody seals anything twice.
TEST_F(LyingOpeningTest, AllGoBackOneRoundOrNobody) {
  const auto& first = all_.Sign(kAll);
  all_.Begin(first);
  all_.RunUntil(1);
  const protocol::OpeningState before = StateOf(2);
  all_.PublishFor(2, {0, 1, 3, 4});
  const auto& second = all_.Sign(kAll, &first);
  all_.Begin(second);
  for (const int id : {0, 2}) {
    TellThat(id, 1, AllSay({2, 3, 4}, Word::kHas, second, before));
    Step(id);
  }
  EXPECT_EQ(RoundOf(0), 2u);  // it has voted, and there is no quorum
  for (const int liar : {3, 4}) {
    const absl::Status taken = all_.server->TakeOpeningStatement(
        second.NumberOf(liar), Says(liar, Word::kVote, second, before));
    EXPECT_TRUE(taken.ok()) << taken;
  }
  // What one of them is told now does not divide them any more.
  TellThat(1, 2, AllSay({0, 1, 3}, Word::kHas, second, StateOf(1)));
  Step(1);
  for (const int id : {0, 1, 2}) all_.SiteOf(id).lie = {};
  all_.Finish();
  for (const int id : {0, 1, 3, 4}) {
    EXPECT_EQ(all_.SiteOf(id).log.Count(member::NodeEventKind::kApplied, "earlier-state"), 1u);
  }
  all_.ExpectModels();
  all_.ExpectCharges();  // one seal an attempt
  all_.ExpectNoViolations();
}

// Site 2 is behind by two rounds. With the liars it says that it has a state from which the others
// have given unmask shares: these do not vote for it, and do not go back there if more seats are
// corrupt than the committee tolerates.
TEST_F(LyingOpeningTest, WhatASumStartedFromIsNeverUndone) {
  const auto& first = all_.Sign(kAll);
  all_.Begin(first);
  all_.RunUntil(1);
  const protocol::OpeningState before = StateOf(2);
  all_.SiteOf(2).session.reset();
  for (int turn = 0; turn < 60 && all_.server->Status().finished < 3; ++turn) all_.Turn();
  for (const int id : {0, 1, 3, 4}) ASSERT_GE(RoundOf(id), 2u);
  const auto& second = all_.Sign(kAll, &first);
  all_.Begin(second);
  const std::map<int, uint32_t> rounds = {{0, RoundOf(0)}, {1, RoundOf(1)}};
  const secagg::Attempt again{.manifest_hash = second.hash(),
                              .number = {.epoch = 1, .round = 1, .attempt = 0},
                              .model_digest = before.model_digest};
  for (const auto& [id, round] : rounds) {
    TellThat(id, 1, AllSay({2, 3, 4}, Word::kHas, second, before));
    Step(id);
    EXPECT_FALSE(all_.SiteOf(id).state.LoadOpeningVote().ok());
    TellThat(id, 1, AllSay({1 - id, 2, 3, 4}, Word::kVote, second, before), again);
    Step(id);
    ASSERT_TRUE(all_.Join(id, second).ok());
    Step(id);
    EXPECT_EQ(RoundOf(id), round);
    EXPECT_THAT(all_.ViolationsOf(id), Each("rollback"));
    EXPECT_THAT(all_.ViolationsOf(id), Not(IsEmpty()));
    EXPECT_TRUE(all_.SiteOf(id).sealed.find(again.number) == all_.SiteOf(id).sealed.end());
    all_.SiteOf(id).lie = {};
    // The server has announced an attempt that it now denies: people look at it, and start again.
    ASSERT_TRUE(all_.Join(id, second).ok());
  }
  all_.Finish();
  all_.ExpectModels();
  all_.ExpectCharges();
}

// The training has ended, so no attempt of the epoch would show that members began it with
// different states: some are told that it begins with the last round, the others without it.
// Without votes the former ended at once, and the latter repeated the round.
class DividingOpeningTest : public LyingOpeningTest,
                            public ::testing::WithParamInterface<std::vector<int>> {};

TEST_P(DividingOpeningTest, NobodyEndsWithAModelThatOthersDoNotHave) {
  const std::vector<int>& told_of_the_end = GetParam();
  const auto& first = all_.Sign(kAll);
  all_.Begin(first);
  all_.RunUntil(5);
  const protocol::OpeningState before = StateOf(2);
  all_.PublishFor(6, {0, 1, 3});
  const protocol::OpeningState end = StateOf(0);
  const auto& second = all_.Sign(kAll, &first);
  all_.Begin(second);
  for (const int id : kAll) {
    const bool fooled = std::ranges::find(told_of_the_end, id) != told_of_the_end.end();
    if (fooled) {
      TellThat(id, 6, AllSay({0, 1, 3}, Word::kHas, second, end));
    } else {
      TellThat(id, 5, AllSay({0, 2, 4}, Word::kHas, second, before));
    }
  }
  for (int turn = 0; turn < 5; ++turn) {
    all_.Turn();
    for (const int id : kAll) {
      EXPECT_FALSE(all_.SiteOf(id).done) << id;
      EXPECT_EQ(RoundOf(id), id == 2 || id == 4 ? 5u : 6u) << id;
    }
  }
  for (const int id : kAll) all_.SiteOf(id).lie = {};
  for (int turn = 0; turn < 10; ++turn) all_.Turn();
  if (told_of_the_end.size() > 1) {  // two votes and three: nobody begins
    for (const int id : kAll) {
      EXPECT_FALSE(all_.SiteOf(id).done) << id;
      EXPECT_EQ(RoundOf(id), id == 2 || id == 4 ? 5u : 6u) << id;
    }
    all_.Begin(all_.Sign(kAll, &second));
  }
  all_.Finish();
  all_.ExpectModels();
  all_.ExpectCharges();
  all_.ExpectNoViolations();
}

INSTANTIATE_TEST_SUITE_P(EpochOpeningTest, DividingOpeningTest,
                         ::testing::Values(std::vector<int>{0}, std::vector<int>{0, 1},
                                           std::vector<int>{0, 1, 3}));

}  // namespace
}  // namespace tacet
