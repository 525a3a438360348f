// Everything that a server and two seats of the committee can do together when an epoch begins.
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/protocol/whole_requests_for_test.h"
#include "tests/live/opening_for_test.h"

namespace tacet {
namespace {

using live::testing::ChangingFederation;
using protocol::testing::ValueOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using LyingOpeningTest = live::testing::OpeningFixture;

// They say that the epoch begins where nobody is, or where few are.
TEST_F(LyingOpeningTest, AMinorityChangesNothing) {
  const auto& first = all_.BeginEpoch(kAll);
  all_.RunUntil(1);
  const State earlier = StateOf(0);
  all_.RunUntil(3);
  all_.LoseServerFolder();
  const auto& second = all_.BeginEpoch(kAll, &first);
  const protocol::OpeningState invented{.round = 5, .model_digest = {1}, .state_digest = {2}};
  for (const int liar : {3, 4}) {
    const auto take = [&](const protocol::OpeningState& state) {
      return all_.server->Take(second.NumberOf(liar),
                               protocol::PutOpeningRequest{
                                   Says(liar, Word::kHas, second, state, Under(second, earlier))});
    };
    EXPECT_TRUE(take(invented).ok());
    EXPECT_TRUE(take(Under(second, earlier)).ok());
    // Not many of them, and no round that does not exist.
    protocol::OpeningState another = invented;
    another.round = 4;
    EXPECT_THAT(base::Message(take(another)), HasSubstr("2 other opening statements"));
    another.round = 7;
    EXPECT_THAT(base::Message(take(another)), HasSubstr("the agreement has 6 rounds"));
  }
  all_.FinishWithoutFault();
  for (const int id : kAll) {
    EXPECT_EQ(all_.SiteOf(id).log.Count(member::NodeEventKind::kApplied, "earlier-state"), 0u);
  }
}

// Votes of too few, of another epoch, in others' names and of one seat several times; words of a
// majority in the place of votes.
TEST_F(LyingOpeningTest, NobodyGoesBackWithoutAQuorum) {
  const auto& first = all_.BeginEpoch(kAll);
  all_.RunUntil(1);
  const State before = StateOf(0);
  const std::vector<base::Bytes> of_last_epoch = AllSay(kAll, Word::kVote, first, before);
  all_.PublishFor(2, {0, 1, 2, 3, 4});
  const auto& second = all_.BeginEpoch(kAll, &first);
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
                              .model_digest = Under(second, before).model_digest};
  for (const std::vector<base::Bytes>& lie : lies) {
    TellThat(0, 1, lie);
    Step(0);
    EXPECT_EQ(RoundOf(0), 2u);
    EXPECT_FALSE(HasEntered(0));
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
  const auto& first = all_.BeginEpoch(kAll);
  all_.RunUntil(1);
  const State before = StateOf(2);
  all_.PublishFor(2, {0, 1, 3, 4});
  const auto& second = all_.BeginEpoch(kAll, &first);
  for (const int id : {0, 2}) {
    TellThat(id, 1, AllSay({2, 3, 4}, Word::kHas, second, before));
    Step(id);
  }
  EXPECT_EQ(RoundOf(0), 2u);  // it has voted, and there is no quorum
  for (const int liar : {3, 4}) {
    const absl::Status taken =
        all_.server->Take(second.NumberOf(liar),
                          protocol::PutOpeningRequest{Says(liar, Word::kVote, second, before)});
    EXPECT_TRUE(taken.ok()) << taken;
  }
  // The present lie to one of them does not divide them any more.
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
  const auto& first = all_.BeginEpoch(kAll);
  all_.RunUntil(1);
  const State before = StateOf(2);
  all_.SiteOf(2).session.reset();
  for (int turn = 0; turn < 60 && all_.server->Status().finished < 3; ++turn) all_.Turn();
  for (const int id : {0, 1, 3, 4}) ASSERT_GE(RoundOf(id), 2u);
  const auto& second = all_.BeginEpoch(kAll, &first);
  const std::map<int, uint32_t> rounds = {{0, RoundOf(0)}, {1, RoundOf(1)}};
  const secagg::Attempt again{.manifest_hash = second.hash(),
                              .number = {.epoch = 1, .round = 1, .attempt = 0},
                              .model_digest = Under(second, before).model_digest};
  for (const auto& [id, round] : rounds) {
    TellThat(id, 1, AllSay({2, 3, 4}, Word::kHas, second, before));
    Step(id);
    EXPECT_FALSE(HasVoted(id, second));
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

// With one key coefficient a polynomial, three seats determine a sum. Two corrupt ones and site 0
// do so twice, while the server keeps the votes from sites 1 and 2: these give no unmask share, and
// continue from what is published. Without v unmask shares for a sum they would vote for the state
// before both rounds, and site 0 could never follow.
TEST_F(LyingOpeningTest, AtMostOneRoundIsUndoneWithPackingOne) {
  const auto& first = all_.BeginEpoch(kAll, nullptr, [](agreement::SignedManifestSpec& spec) {
    spec.agreement.committee = {.seats = 5, .corrupt = 2, .packing = 1};
  });
  all_.RunUntil(1);
  const State before = StateOf(1);
  for (const uint32_t round : {1, 2}) {
    for (const int id : {1, 2}) {
      all_.SiteOf(id).lie = [](const protocol::RequestBody& body, Answered answer) -> Answered {
        if (std::holds_alternative<protocol::FetchVotesRequest>(body)) {
          return protocol::WriteBlobs(std::vector<base::Bytes>());
        }
        return answer;
      };
    }
    for (int turn = 0; turn < 12 && all_.server->Status().finished == round; ++turn) all_.Turn(1);
    for (const int id : {1, 2}) all_.SiteOf(id).lie = {};
    if (round == 1 && all_.server->Status().finished == 2) {
      for (int turn = 0; turn < 3; ++turn) {
        for (const int id : kAll) Step(id);
      }
    }
  }
  Step(0);
  const uint32_t applied = RoundOf(0);
  const auto& second = all_.BeginEpoch(kAll, &first);
  for (const int id : {1, 2}) {
    TellThat(id, 1,
             {Says(1, Word::kHas, second, Under(second, StateOf(1)), Under(second, before)),
              Says(2, Word::kHas, second, Under(second, StateOf(2)), Under(second, before)),
              Says(3, Word::kHas, second, before), Says(4, Word::kHas, second, before)});
    Step(id);
  }
  for (const int id : {1, 2}) {
    std::vector<base::Bytes> votes = AllSay({3, 4}, Word::kVote, second, before);
    for (const int voter : {1, 2}) {
      if (HasVoted(voter, second)) votes.push_back(VoteOf(voter));
    }
    TellThat(id, 1, votes);
    Step(id);
  }
  for (const int id : {1, 2}) EXPECT_GE(RoundOf(id) + 1, applied) << id;
  for (const int id : kAll) all_.SiteOf(id).lie = {};
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
  const auto& first = all_.BeginEpoch(kAll);
  all_.RunUntil(5);
  const State before = StateOf(2);
  all_.PublishFor(6, {0, 1, 3});
  const State end = StateOf(0);
  const auto& second = all_.BeginEpoch(kAll, &first);
  for (const int id : kAll) {
    const bool fooled = std::ranges::find(told_of_the_end, id) != told_of_the_end.end();
    const auto has_both = [&](int site) {
      return Says(site, Word::kHas, second, Under(second, end), Under(second, before));
    };
    if (fooled) {
      TellThat(id, 6, {has_both(0), has_both(1), has_both(3)});
    } else {
      TellThat(
          id, 5,
          {has_both(0), Says(2, Word::kHas, second, before), Says(4, Word::kHas, second, before)});
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
    all_.BeginEpoch(kAll, &second);
  }
  all_.FinishWithoutFault();
}

INSTANTIATE_TEST_SUITE_P(EpochOpeningTest, DividingOpeningTest,
                         ::testing::Values(std::vector<int>{0}, std::vector<int>{0, 1},
                                           std::vector<int>{0, 1, 3}));

// Site 0 has the last round, and ends with it. Sites 1 and 2 are behind, 3 and 4 are corrupt. All
// see one quorum of votes, and all but site 0 are served by a server that begins behind it.
TEST_F(LyingOpeningTest, AnEpochHasOneHistory) {
  const auto& first = all_.BeginEpoch(kAll);
  all_.RunUntil(5);
  const State before = StateOf(1);
  all_.PublishFor(6, {0});
  const State end = StateOf(0);
  const auto& second = all_.BeginEpoch(kAll, &first);
  for (const int id : {0, 1}) {
    TellThat(id, 6, AllSay({0, 3, 4}, Word::kHas, second, end));
    Step(id);
    ASSERT_TRUE(HasVoted(id, second));
  }
  std::vector<base::Bytes> votes = AllSay({3, 4}, Word::kVote, second, end);
  for (const int id : {0, 1}) votes.push_back(VoteOf(id));
  TellThat(0, 6, votes);
  Step(0);
  EXPECT_TRUE(all_.SiteOf(0).done);
  all_.LoseServerFolder();
  ASSERT_TRUE(all_.Serve(second).ok());
  hides_statements_ = true;
  for (const int id : {1, 2, 3, 4}) {  // so that the server's code begins; no member sees these
    ASSERT_TRUE(all_.server
                    ->Take(second.NumberOf(id),
                           protocol::PutOpeningRequest{Says(id, Word::kVote, second, before)})
                    .ok());
    Tell(id, votes, [](protocol::Announcement&) {});
  }
  for (int turn = 0; turn < 40; ++turn) all_.Turn();
  for (const int id : {1, 2}) {
    EXPECT_FALSE(all_.SiteOf(id).done) << id;
    EXPECT_EQ(RoundOf(id), 5u) << id;
    EXPECT_FALSE(HasEntered(id)) << id;
    EXPECT_EQ(all_.SiteOf(id).sealed.count({.epoch = 1, .round = 5, .attempt = 0}), 0u) << id;
  }
}

// The attempt behind the opening is announced as published: no seat that is behind votes for it or
// unmasks it.
TEST_F(LyingOpeningTest, NoSeatUnmasksAnAttemptBehindTheOpening) {
  const auto& first = all_.BeginEpoch(kAll);
  all_.RunUntil(5);
  const State before = StateOf(1);
  all_.PublishFor(6, {0});
  const State end = StateOf(0);
  const auto& second = all_.BeginEpoch(kAll, &first);
  const secagg::Attempt attempt{.manifest_hash = second.hash(),
                                .number = {.epoch = 1, .round = 5, .attempt = 0},
                                .model_digest = Under(second, before).model_digest};
  for (const int id : {1, 2}) {
    Tell(id, AllSay({0, 1, 3, 4}, Word::kVote, second, end), [=](protocol::Announcement& told) {
      told.finished = 6;
      told.listed = {attempt.number};
      told.first_listed = 0;
      told.current = protocol::AnnouncedAttempt{.attempt = attempt,
                                                .phase = protocol::AttemptPhase::kPublished,
                                                .invited = protocol::Invited::kYes,
                                                .participants = 5};
    });
    all_.SiteOf(id).log = {};
    Step(id, 1);
    EXPECT_FALSE(HasEntered(id));
    EXPECT_THAT(all_.ViolationsOf(id), ElementsAre("not-opened"));
    for (const std::string_view asked : {"vote", "upload"}) {
      EXPECT_EQ(all_.SiteOf(id).log.Count(member::NodeEventKind::kAsked, asked), 0u) << id << asked;
    }
  }
}

// All votes are genuine. A member that has seen a quorum for the end of the training is told that
// it has ended a round before.
TEST_F(LyingOpeningTest, NobodyEndsOrAttestsBehindTheOpening) {
  const auto& first = all_.BeginEpoch(kAll);
  all_.RunUntil(5);
  all_.PublishFor(6, {0, 1, 3});
  const State end = StateOf(0);
  const auto& second = all_.BeginEpoch(kAll, &first);
  TellThat(2, 5, AllSay({0, 1, 3, 4}, Word::kVote, second, end));
  all_.SiteOf(2).log = {};
  Step(2);
  EXPECT_FALSE(all_.SiteOf(2).done);
  EXPECT_FALSE(HasEntered(2));
  for (const auto& [kind, what] : {std::pair(member::NodeEventKind::kSent, "attestation"),
                                   {member::NodeEventKind::kNote, "attestation-not-taken"}}) {
    EXPECT_EQ(all_.SiteOf(2).log.Count(kind, what), 0u);
  }
  all_.SiteOf(2).lie = {};
  all_.Finish();
  all_.ExpectModels();
}

// Nobody is corrupt and all have the last round: the server alone, which returns whatever part of
// the truth it likes, does not make them go back.
TEST_F(LyingOpeningTest, AServerAloneUndoesNothing) {
  const auto& first = all_.BeginEpoch(kAll);
  all_.RunUntil(3);
  const auto& second = all_.BeginEpoch(kAll, &first);
  std::map<uint64_t, base::Bytes> said;
  all_.on_request = [&](std::span<const uint8_t> request) {
    const auto read = protocol::ReadMemberRequest(request, second.manifest, all_.now);
    if (!read.ok()) return;
    const auto* put = std::get_if<protocol::PutOpeningRequest>(&read->body);
    if (put != nullptr) said.try_emplace(read->member, put->statement);
  };
  for (const int id : kAll) Step(id, 1);
  ASSERT_EQ(said.size(), 5u);
  for (size_t others = 0; others < 5; ++others) {
    for (const int id : kAll) {
      std::vector<base::Bytes> some;
      for (const auto& [member, statement] : said) {
        if (some.size() < others && member != second.NumberOf(id)) some.push_back(statement);
      }
      Tell(id, some, [](protocol::Announcement& told) { told.finished = 2; });
      Step(id, 2);
      EXPECT_FALSE(HasVoted(id, second)) << id << " has heard " << others;
    }
  }
  for (const int id : kAll) {
    all_.SiteOf(id).lie = {};
    ASSERT_TRUE(all_.Join(id, second).ok());
  }
  all_.Finish();
  for (const int id : kAll) {
    EXPECT_EQ(all_.SiteOf(id).log.Count(member::NodeEventKind::kApplied, "earlier-state"), 0u);
  }
  all_.ExpectModels();
  all_.ExpectNoViolations();
}

// One corrupt seat is the first to vote, for an invented state, or for the one before the last
// round, which all others have had.
TEST_F(LyingOpeningTest, OneVoteStopsAndUndoesNothing) {
  for (const bool invents : {true, false}) {
    ChangingFederation all(6);
    const auto& first = all.BeginEpoch(kAll);
    all.RunUntil(2);
    const State before = all.CheckpointOf(4);
    all.RunUntil(3);
    const auto& second = all.BeginEpoch(kAll, &first);
    all.SiteOf(4).session.reset();
    const protocol::OpeningState state =
        invents ? protocol::OpeningState{.round = 5, .model_digest = {1}, .state_digest = {2}}
                : Under(second, before);
    const base::Bytes vote = protocol::WriteOpeningStatement(
        {.word = Word::kVote, .member = second.NumberOf(4), .state = state}, second.manifest,
        all.SiteOf(4).keys.signing);
    ASSERT_TRUE(all.server->Take(second.NumberOf(4), protocol::PutOpeningRequest{vote}).ok());
    all.FinishAt({0, 1, 2, 3});
    for (const int id : {0, 1, 2, 3}) {
      EXPECT_EQ(all.SiteOf(id).log.Count(member::NodeEventKind::kApplied, "earlier-state"), 0u);
    }
  }
}

// Site 5, outside the committee, took a checkpoint of round 6: its earlier state is of round 3. The
// votes are for round 5; the server and a majority of seats say that three rounds are finished.
TEST_F(LyingOpeningTest, NoMemberUndoesMoreThanTheVotesSay) {
  ChangingFederation all(8);
  all.options.kept_rounds = 1;
  const std::vector<int> six = {0, 1, 2, 3, 4, 5};
  const auto five_seats = [](agreement::SignedManifestSpec& spec) {
    spec.agreement.committee = {.seats = 5, .corrupt = 2};
    spec.agreement.committee_members = {0, 1, 2, 3, 4};
  };
  const auto& first = all.BeginEpoch(six, nullptr, five_seats);
  all.RunUntil(3);
  const State third = all.CheckpointOf(5);
  all.SiteOf(5).session.reset();
  std::optional<State> fifth;
  for (int turn = 0; turn < 300 && all.server->Status().finished < 6; ++turn) {
    all.Turn();
    if (all.SiteOf(0).session->next_round() == 5) fifth = all.CheckpointOf(0);
  }
  ASSERT_TRUE(fifth.has_value());
  ASSERT_TRUE(all.Join(5, first).ok());
  for (int turn = 0; turn < 20 && all.SiteOf(5).session->next_round() < 6; ++turn) all.Turn(1);
  ASSERT_EQ(all.SiteOf(5).session->next_round(), 6u);
  const auto& second = all.BeginEpoch(six, &first, five_seats);
  std::vector<base::Bytes> votes, attestations;
  for (const int id : {0, 1, 3, 4}) {
    votes.push_back(protocol::WriteOpeningStatement(
        {.word = Word::kVote, .member = second.NumberOf(id), .state = Under(second, *fifth)},
        second.manifest, all.SiteOf(id).keys.signing));
  }
  for (const int id : {2, 3, 4}) {
    const protocol::OpeningState stated = Under(second, third);
    attestations.push_back(protocol::WriteAttestation({.member = second.NumberOf(id),
                                                       .round = stated.round,
                                                       .model_digest = stated.model_digest,
                                                       .state_digest = stated.state_digest},
                                                      second.manifest,
                                                      all.SiteOf(id).keys.signing));
  }
  bool asked_for_checkpoint = false;
  all.SiteOf(5).lie = [&](const protocol::RequestBody& body, Answered answer) -> Answered {
    if (std::holds_alternative<protocol::AwaitRequest>(body) && answer.ok()) {
      protocol::Announcement told = ValueOf(protocol::ReadAnnouncement(*answer));
      told.finished = 3;
      told.revision = ++revision_;
      return protocol::WriteAnnouncement(told);
    }
    if (std::holds_alternative<protocol::FetchOpeningRequest>(body)) {
      return protocol::WriteBlobs(votes);
    }
    if (std::holds_alternative<protocol::FetchAttestationsRequest>(body)) {
      return protocol::WriteBlobs(attestations);
    }
    if (std::holds_alternative<protocol::FetchPartRequest>(body)) asked_for_checkpoint = true;
    return answer;
  };
  for (int i = 0; i < 5; ++i) all.StepOf(all.SiteOf(5));
  EXPECT_EQ(all.SiteOf(5).session->next_round(), 6u);
  EXPECT_FALSE(all.SiteOf(5).session->has_entered());
  EXPECT_FALSE(asked_for_checkpoint);
}

}  // namespace
}  // namespace tacet
