// Opening of an epoch: which round it begins with is known to its members alone, not to its server.
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

// Everything that a server and two members can do together when an epoch begins. The committee of
// five tolerates two corrupt seats.
class LyingOpeningTest : public ::testing::Test {
 protected:
  using Answered = absl::StatusOr<base::Bytes>;

  struct State {
    crypto::Digest model{}, whole{};
  };
  // What a site has.
  State StateOf(int id) {
    const auto attested = ValueOf(protocol::ReadAttestation(all_.SiteOf(id).session->Attestation(),
                                                            all_.SiteOf(id).epoch->manifest));
    return {attested.model_digest, attested.state_digest};
  }
  base::Bytes Attestation(int id, const Epoch& epoch, uint32_t round, const State& state) {
    return protocol::WriteAttestation({.member = epoch.NumberOf(id),
                                       .round = round,
                                       .model_digest = state.model,
                                       .state_digest = state.whole},
                                      epoch.manifest, all_.SiteOf(id).keys.signing);
  }
  // The server tells `id` that the epoch begins with `round`, with these attestations; its attempt
  // collects, once `began`.
  void TellThat(int id, uint32_t round, std::vector<base::Bytes> attestations,
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
        if (began.has_value()) {
          told.current = protocol::AnnouncedAttempt{
              .attempt = *began, .invited = protocol::Invited::kYes, .deadline = all_.now + 100};
          told.listed = {began->number};
        }
        return protocol::WriteAnnouncement(told);
      }
      const auto* fetch = std::get_if<protocol::FetchAttestationsRequest>(&body);
      if (fetch != nullptr && fetch->round == round) return protocol::WriteBlobs(attestations);
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
  const State earlier = StateOf(0);
  all_.RunUntil(3);
  all_.LoseServerFolder();
  const auto& second = all_.Sign(kAll, &first);
  all_.Begin(second);
  const State invented{.model = {1}, .whole = {2}};
  for (const int liar : {3, 4}) {
    const uint64_t number = second.NumberOf(liar);
    for (const auto& [round, state] : {std::pair(5u, invented), {1u, earlier}}) {
      EXPECT_TRUE(
          all_.server->TakeAttestation(number, Attestation(liar, second, round, state)).ok());
    }
    // Not more of them than an honest member has, and no round that does not exist.
    EXPECT_THAT(
        base::Message(all_.server->TakeAttestation(number, Attestation(liar, second, 4, invented))),
        HasSubstr("has attested 2 other rounds"));
    EXPECT_THAT(
        base::Message(all_.server->TakeAttestation(number, Attestation(liar, second, 7, invented))),
        HasSubstr("the agreement has 6 rounds"));
    EXPECT_EQ(all_.server->TakeAttestation(number, Attestation(liar, second, 5, earlier)).code(),
              absl::StatusCode::kAlreadyExists);
  }
  all_.Finish();
  all_.ExpectModels();
  all_.ExpectCharges();
  all_.ExpectNoViolations();
  for (const int id : kAll) {
    EXPECT_EQ(all_.SiteOf(id).log.Count(member::NodeEventKind::kApplied, "earlier-state"), 0u);
  }
}

// Attestations of too few, of another epoch, of others' names and of one seat several times.
TEST_F(LyingOpeningTest, NobodyGoesBackWithoutAMajority) {
  const auto& first = all_.Sign(kAll);
  all_.Begin(first);
  all_.RunUntil(1);
  const State before = StateOf(0);
  std::vector<base::Bytes> of_last_epoch;
  for (const int id : kAll) of_last_epoch.push_back(Attestation(id, first, 1, before));
  all_.PublishFor(2, {0, 1, 2, 3, 4});
  const auto& second = all_.Sign(kAll, &first);
  all_.Begin(second);
  const auto of = [&](int id) { return Attestation(id, second, 1, before); };
  base::Bytes forged = of(1);
  forged.back() ^= 1;
  const std::vector<std::vector<base::Bytes>> lies = {
      {}, {of(3), of(4)}, of_last_epoch, {of(3), of(3), of(3), of(4)}, {of(3), of(4), forged}};
  for (const std::vector<base::Bytes>& lie : lies) {
    TellThat(0, 1, lie);
    Step(0);
    EXPECT_EQ(RoundOf(0), 2u);
  }
  EXPECT_THAT(all_.ViolationsOf(0), IsEmpty());
  all_.SiteOf(0).lie = {};
  all_.Finish();
  all_.ExpectModels();
  all_.ExpectCharges();
}

// With one member that is behind they are a majority: this undoes the last round once, at one
// member. It seals nothing twice, and has the model of the others in the end.
TEST_F(LyingOpeningTest, AMemberGoesBackOneRoundOnceAnEpoch) {
  const auto& first = all_.Sign(kAll);
  all_.Begin(first);
  all_.RunUntil(1);
  const State before = StateOf(2);
  all_.PublishFor(2, {0, 1, 3, 4});
  const auto& second = all_.Sign(kAll, &first);
  all_.Begin(second);
  std::vector<base::Bytes> majority;
  for (const int id : {2, 3, 4}) majority.push_back(Attestation(id, second, 1, before));
  const secagg::Attempt again{.manifest_hash = second.hash(),
                              .number = {.epoch = 1, .round = 1, .attempt = 0},
                              .model_digest = before.model};
  TellThat(0, 1, majority, again);
  Step(0);
  EXPECT_EQ(RoundOf(0), 1u);
  EXPECT_EQ(StateOf(0).whole, before.whole);
  EXPECT_TRUE(
      all_.SiteOf(0).ledger->Knows({.manifest_hash = second.hash(), .number = again.number}));
  // Not behind that, whatever is said: what it gave its unmask share for starts there.
  std::vector<base::Bytes> start;
  const State initial{.model = all_.EpochOf(0).manifest.manifest().spec().initial_model,
                      .whole = {}};
  for (const int id : {2, 3, 4}) start.push_back(Attestation(id, second, 0, initial));
  TellThat(0, 0, start);
  Step(0);
  EXPECT_EQ(RoundOf(0), 1u);
  EXPECT_THAT(all_.ViolationsOf(0), Each("rollback"));
  EXPECT_THAT(all_.ViolationsOf(0), Not(IsEmpty()));

  // The others go on, and so does it.
  all_.SiteOf(0).lie = {};
  for (int turn = 0; turn < 40 && RoundOf(0) < 4; ++turn) all_.Turn();
  EXPECT_GE(RoundOf(0), 4u);
  // In the same epoch it does not go back again, and no attempt is sealed again.
  const uint32_t round = RoundOf(0);
  const auto sealed = all_.SiteOf(0).sealed;
  TellThat(0, 1, majority, again);
  Step(0);
  ASSERT_TRUE(all_.Join(0, second).ok());
  Step(0);
  EXPECT_EQ(RoundOf(0), round);
  EXPECT_EQ(all_.SiteOf(0).sealed, sealed);
  all_.SiteOf(0).lie = {};
  all_.Finish();
  all_.ExpectModels();
  all_.ExpectCharges();  // one seal an attempt
}

// Site 2 is behind by two rounds. With the liars it attests a state from which the others have
// given unmask shares: they do not go back there, so no sum from there has a quorum of votes.
TEST_F(LyingOpeningTest, WhatASumStartedFromIsNeverUndone) {
  const auto& first = all_.Sign(kAll);
  all_.Begin(first);
  all_.RunUntil(1);
  const State before = StateOf(2);
  all_.SiteOf(2).session.reset();
  for (int turn = 0; turn < 60 && all_.server->Status().finished < 3; ++turn) all_.Turn();
  for (const int id : {0, 1, 3, 4}) ASSERT_GE(RoundOf(id), 2u);
  const auto& second = all_.Sign(kAll, &first);
  all_.Begin(second);
  std::vector<base::Bytes> majority;
  for (const int id : {2, 3, 4}) majority.push_back(Attestation(id, second, 1, before));
  const std::map<int, uint32_t> rounds = {{0, RoundOf(0)}, {1, RoundOf(1)}};
  const secagg::Attempt again{.manifest_hash = second.hash(),
                              .number = {.epoch = 1, .round = 1, .attempt = 0},
                              .model_digest = before.model};
  for (const auto& [id, round] : rounds) {
    TellThat(id, 1, majority, again);
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

}  // namespace
}  // namespace tacet
