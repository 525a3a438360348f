// Members of a live federation whose server lies. Wires between an unmodified server and unmodified
// members change bytes and order.
#include <algorithm>
#include <functional>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/member/attestors.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/opened_sum.h"
#include "tests/live/live_federation.h"

namespace tacet::live {
namespace {

using protocol::testing::ValueOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::ExactAgreement;
using ::testing::HasSubstr;
using testing::LiveFederation;

using Answered = absl::StatusOr<base::Bytes>;

class LyingServerTest : public ::testing::Test {
 protected:
  using Site = LiveFederation::Site;

  // What `site` is told of where the federation stands.
  static void LieInAnnouncements(Site& site, std::function<void(protocol::Announcement&)> lie) {
    site.wire.lie = [lie](const protocol::RequestBody& body, Answered answer) -> Answered {
      if (!std::holds_alternative<protocol::AwaitRequest>(body) || !answer.ok()) return answer;
      protocol::Announcement announcement = ValueOf(protocol::ReadAnnouncement(*answer));
      lie(announcement);
      return protocol::WriteAnnouncement(announcement);
    };
  }
  // What it fetches whole: objects here fit into one part.
  static void LieInObjects(
      Site& site, protocol::BulkKind kind,
      std::function<void(const protocol::FetchPartRequest&, base::Bytes&)> lie) {
    site.wire.lie = [kind, lie](const protocol::RequestBody& body, Answered answer) -> Answered {
      const auto* fetch = std::get_if<protocol::FetchPartRequest>(&body);
      if (fetch == nullptr || fetch->name.kind != kind || !answer.ok()) return answer;
      base::Bytes part = ValueOf(protocol::ReadFetchedPart(*answer)).part;
      lie(*fetch, part);
      return protocol::WriteFetchedPart(part.size(), part);
    };
  }

  static std::vector<std::string> ViolationsOf(const Site& site) {
    std::vector<std::string> names;
    for (const member::NodeEvent& event : site.log.events()) {
      if (event.kind == member::NodeEventKind::kViolation) names.push_back(event.what);
    }
    return names;
  }
  static std::string ViolationText(const Site& site) {
    for (const member::NodeEvent& event : site.log.events()) {
      if (event.kind == member::NodeEventKind::kViolation) return event.text;
    }
    return "";
  }
  static size_t Sent(const Site& site, std::string_view what) {
    return site.log.Count(member::NodeEventKind::kSent, what);
  }

  // One who uploads in the first attempt, which is collecting.
  uint64_t Participant() {
    for (uint64_t number = 0; number < 5; ++number) {
      if (live_.IsInvited(number)) return number;
    }
    ADD_FAILURE() << "nobody is invited";
    return 0;
  }
  void Begin() {
    const absl::Status ticked = live_.server->Tick();
    ASSERT_TRUE(ticked.ok()) << ticked;
    ASSERT_TRUE(live_.IsAt(protocol::AttemptPhase::kCollecting));
  }
  std::vector<uint64_t> Openers() const { return live_.members.OpenersOf(live_.Current()); }

  LiveFederation live_;
};

TEST_F(LyingServerTest, AForkedModelGetsNoUpload) {
  Begin();
  Site& site = live_.site(Participant());
  LieInAnnouncements(site, [](protocol::Announcement& announcement) {
    if (announcement.current) announcement.current->attempt.model_digest[0] ^= 1;
  });
  for (int turn = 0; turn < 5; ++turn) live_.Turn();
  EXPECT_THAT(ViolationsOf(site), ElementsAre("fork"));
  EXPECT_EQ(site.updates.asked, 0);
  EXPECT_EQ(Sent(site, "upload"), 0u);
  // Also when the server then says what it says to everybody: the attempt is not trusted any more.
  site.wire.lie = nullptr;
  for (int turn = 0; turn < 5; ++turn) {
    live_.Turn();
    live_.Restart(site);
  }
  EXPECT_EQ(Sent(site, "upload"), 0u);
  EXPECT_THAT(ViolationsOf(site), Contains("equivocation"));
}

TEST_F(LyingServerTest, AModelThatChangesDuringAnAttemptIsNamed) {
  Begin();
  Site& site = live_.site(Participant());
  live_.Turn();
  ASSERT_EQ(Sent(site, "upload"), 1u);
  LieInAnnouncements(site, [](protocol::Announcement& announcement) {
    ++announcement.revision;
    announcement.current->attempt.model_digest[0] ^= 1;
  });
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), ElementsAre("equivocation"));
  // Nothing of that attempt is signed or applied here, also after a restart: the next round's state
  // comes from its attestors.
  site.wire.lie = nullptr;
  live_.Restart(site);
  live_.RunUntil([&] { return site.session->next_round() == 1; }, 1);
  EXPECT_EQ(Sent(site, "vote"), 0u);
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "sum"), 0u);
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "checkpoint"), 1u);
}

TEST_F(LyingServerTest, AnOldAnnouncementIsARollback) {
  Site& site = live_.site(1);
  std::optional<protocol::Announcement> first;
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kCollecting); });
  first = ValueOf(live_.server->AnnouncementFor(1, 0, false));
  live_.RunUntil([&] {
    return live_.IsAt(protocol::AttemptPhase::kCollecting) && live_.Current().number.round == 1;
  });
  live_.Turn();
  const uint32_t applied = site.session->next_round();
  const int asked = site.updates.asked;
  LieInAnnouncements(site, [&](protocol::Announcement& announcement) {
    const uint64_t revision = announcement.revision;
    announcement = *first;
    announcement.revision = revision + 1;
  });
  for (int turn = 0; turn < 5; ++turn) {
    live_.Turn();
    live_.Restart(site);
  }
  EXPECT_THAT(ViolationsOf(site), Contains("rollback"));
  EXPECT_EQ(site.session->next_round(), applied);
  EXPECT_EQ(site.updates.asked, asked);
}

TEST_F(LyingServerTest, AClosedAttemptDoesNotCollectAgain) {
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kOpening); }, 1);
  Site& other = live_.site(3);
  ASSERT_TRUE(other.session->Step().ok());
  LieInAnnouncements(other, [](protocol::Announcement& announcement) {
    ++announcement.revision;
    announcement.current->phase = protocol::AttemptPhase::kCollecting;
    announcement.current->participants = 0;
    announcement.finished = announcement.current->attempt.number.round;
    announcement.kept.clear();
  });
  const uint32_t applied = other.session->next_round();
  live_.Turn();
  EXPECT_THAT(ViolationsOf(other), Contains("rollback"));
  EXPECT_EQ(other.session->next_round(), applied);
}

// The sum is altered for all openers alike: each refuses, and the server learns no more than that.
TEST_F(LyingServerTest, AnAlteredSumIsOpenedByNobody) {
  for (auto& site : live_.sites) {
    LieInObjects(
        *site, protocol::BulkKind::kClosedRound, [](const auto& fetch, base::Bytes& object) {
          if (fetch.name.attempt.number.attempt == 0 && fetch.name.attempt.number.round == 0)
            object.back() ^= 1;
        });
  }
  live_.RunUntil([&] { return live_.server->Status().failed == 1; });
  EXPECT_EQ(live_.server->Attempts().front().failure, "refused");
  size_t refused = 0;
  for (auto& site : live_.sites) {
    refused += site->log.Count(member::NodeEventKind::kViolation, "unsound-sum");
    EXPECT_EQ(Sent(*site, "opened-sum"), 0u);
    EXPECT_EQ(site->session->next_round(), 0u);
  }
  EXPECT_GE(refused, 2u);
  // The next attempt, with other keys, goes well.
  live_.Run();
  for (auto& site : live_.sites) EXPECT_EQ(site->session->next_round(), 3u);
}

// One upload alone, and what a sum of K' would be worth if nothing else were in it.
TEST_F(LyingServerTest, AnIsolatedUploadIsNotOpened) {
  Begin();
  const uint64_t victim = Participant();
  base::Bytes upload;
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kOpening); }, 1);
  upload = ValueOf(live_.site(victim).state.LoadUpload(live_.Current()));
  const secagg::Attempt attempt = live_.Current();
  secagg::Aggregator alone(live_.members.manifest().manifest().terms().aggregation(), attempt, 1);
  ASSERT_TRUE(alone.Submit(victim, upload).ok());
  const base::Bytes closed = ValueOf(alone.Close());
  for (auto& site : live_.sites) {
    LieInObjects(*site, protocol::BulkKind::kClosedRound,
                 [&](const protocol::FetchPartRequest&, base::Bytes& object) { object = closed; });
    live_.Restart(*site);  // those that voted for the true one say nothing about another
  }
  for (int turn = 0; turn < 5; ++turn) live_.Turn();
  size_t noticed = 0;
  for (auto& site : live_.sites) {
    EXPECT_EQ(Sent(*site, "opened-sum"), 0u);
    noticed += site->log.Count(member::NodeEventKind::kViolation, "closed-round");
    noticed += site->log.Count(member::NodeEventKind::kViolation, "participants");
  }
  EXPECT_GE(noticed, 1u);
}

TEST_F(LyingServerTest, ASecondClosedRoundGetsNoSecondVote) {
  live_.options.opening_seconds = 10'000;
  live_.RestartServer();
  // Only one opener is there: it votes, and waits.
  Begin();
  const std::vector<uint64_t> openers = Openers();
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kOpening); }, 1);
  for (auto& site : live_.sites) site->away = site->number != openers[0];
  Site& site = live_.site(openers[0]);
  live_.RunUntil([&] { return Sent(site, "vote") == 1; }, 1);
  LieInObjects(site, protocol::BulkKind::kClosedRound,
               [](const protocol::FetchPartRequest&, base::Bytes& object) { object.back() ^= 1; });
  live_.Restart(site);
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), ElementsAre("closed-round"));
  EXPECT_THAT(ViolationText(site), HasSubstr("a second, different sum"));
  live_.ExpectNobodySpokeTwice();
}

TEST_F(LyingServerTest, TwoSumsForTwoOpenersAreNamed) {
  live_.options.opening_seconds = 10'000;
  live_.RestartServer();
  Begin();
  const std::vector<uint64_t> openers = Openers();
  // Each opener is given another sum, with the tag that the server would need to know.
  for (size_t i = 0; i < openers.size(); ++i) {
    LieInObjects(live_.site(openers[i]), protocol::BulkKind::kClosedRound,
                 [i](const protocol::FetchPartRequest&, base::Bytes& object) {
                   object[object.size() - 1 - i] ^= 1;
                 });
  }
  live_.RunUntil([&] { return live_.IsAt(protocol::AttemptPhase::kOpening); }, 1);
  for (int turn = 0; turn < 8; ++turn) live_.Turn();
  size_t noticed = 0;
  for (auto& site : live_.sites) {
    EXPECT_EQ(Sent(*site, "opened-sum"), 0u);
    noticed += site->log.Count(member::NodeEventKind::kViolation, "votes-disagree");
  }
  EXPECT_EQ(noticed, 3u);
}

TEST_F(LyingServerTest, ADroppedUploadIsNamedByItsSender) {
  Begin();
  const std::vector<uint64_t> openers = Openers();
  std::optional<uint64_t> both;
  for (const uint64_t opener : openers) {
    if (live_.IsInvited(opener)) both = opener;
  }
  ASSERT_TRUE(both.has_value());  // three of five openers, three of five participants
  Site& site = live_.site(*both);
  const secagg::Attempt dropped = live_.Current();
  // Acknowledged, and thrown away.
  site.wire.lie = [](const protocol::RequestBody& body, Answered answer) -> Answered {
    const auto* put = std::get_if<protocol::PutPartRequest>(&body);
    if (put == nullptr || put->name.kind != protocol::BulkKind::kUpload) return answer;
    return protocol::WriteArrived(put->total);
  };
  // The empty part that asks comes first, so no byte of it ever reaches the server, which closes at
  // its deadline with the others.
  live_.Turn();
  live_.now += live_.options.collecting_seconds;
  live_.RunUntil([&] { return !ViolationsOf(site).empty(); }, 1);
  EXPECT_THAT(ViolationsOf(site), ElementsAre("dropped-upload"));
  EXPECT_EQ(Sent(site, "vote"), 0u);
  EXPECT_EQ(Sent(site, "upload"), 1u);
  // The others open without it, and what they published is not applied here by its sum.
  live_.RunUntil([&] { return live_.site(*both == 0 ? 1 : 0).session->next_round() == 1; }, 1);
  for (int turn = 0; turn < 3; ++turn) live_.Turn();
  for (const member::NodeEvent& event : site.log.events()) {
    if (event.kind != member::NodeEventKind::kApplied || event.what != "sum") continue;
    ASSERT_TRUE(event.attempt.has_value());
    EXPECT_NE(*event.attempt, dropped.number);
  }
}

TEST_F(LyingServerTest, AWrongNumberOfParticipantsGetsNoVote) {
  for (auto& site : live_.sites) {
    LieInAnnouncements(*site, [](protocol::Announcement& announcement) {
      if (announcement.current && announcement.current->participants > 0) {
        --announcement.current->participants;
      }
    });
  }
  live_.RunUntil([&] { return live_.server->Status().failed == 1; });
  for (auto& site : live_.sites) {
    EXPECT_EQ(Sent(*site, "vote"), 0u);
    EXPECT_EQ(site->session->next_round(), 0u);
  }
}

TEST_F(LyingServerTest, FewerParticipantsThanAgreedAreNamed) {
  Begin();
  Site& site = live_.site(Openers().front());
  LieInAnnouncements(site, [](protocol::Announcement& announcement) {
    if (announcement.current && announcement.current->participants > 0) {
      announcement.current->participants = 1;
    }
  });
  live_.RunUntil([&] { return !ViolationsOf(site).empty(); }, 1);
  EXPECT_THAT(ViolationsOf(site), ElementsAre("participants"));
  EXPECT_THAT(ViolationText(site), HasSubstr("1 participants, 2 to 3 are allowed"));
  EXPECT_EQ(Sent(site, "vote"), 0u);
}

// What openers sealed and signed is passed on altered, or another attempt's in its place.
TEST_F(LyingServerTest, AlteredOpenedSumsAreNotApplied) {
  Site& site = live_.site(2);
  LieInObjects(site, protocol::BulkKind::kOpenedSum,
               [](const protocol::FetchPartRequest&, base::Bytes& object) {
                 object[object.size() / 2] ^= 1;
               });
  live_.RunUntil([&] { return live_.site(0).session->next_round() >= 1; }, 1);
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), Contains("bad-sum"));
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "sum"), 0u);
}

// Not in the last round: the server may hold only two sums there, of which both are needed.
TEST_F(LyingServerTest, OneBadSumDoesNotHideTheOthers) {
  Site& site = live_.site(2);
  LieInObjects(site, protocol::BulkKind::kOpenedSum,
               [](const protocol::FetchPartRequest& fetch, base::Bytes& object) {
                 const bool last = fetch.name.attempt.number.round == 2;
                 if (fetch.index == 0 && !last) object[object.size() / 2] ^= 1;
               });
  live_.Run();
  live_.ExpectModels(3, {0, 1, 2, 3, 4});
  EXPECT_THAT(ViolationsOf(site), Contains("bad-sum"));
}

TEST_F(LyingServerTest, AnotherRoundsSumIsNotApplied) {
  Site& site = live_.site(2);
  base::Bytes first;
  LieInObjects(site, protocol::BulkKind::kOpenedSum,
               [&](const protocol::FetchPartRequest& fetch, base::Bytes& object) {
                 if (fetch.name.attempt.number.round == 0)
                   first = object;
                 else
                   object = first;
               });
  live_.RunUntil([&] { return live_.site(0).session->next_round() == 2; }, 1);
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), Contains("bad-sum"));
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kApplied, "sum"), 1u);
}

// Member 4 comes when the others are ahead by more than a kept sum, and needs a checkpoint.
class LyingServerAndLatecomersTest : public ::testing::Test {
 protected:
  LyingServerAndLatecomersTest() {
    late_.away = true;
    live_.options.collecting_seconds = 20;
    live_.RestartServer();
  }

  const agreement::SignedManifest& manifest() const { return live_.members.manifest(); }
  // What member 0 has come to.
  protocol::Checkpoint State() {
    return ValueOf(protocol::ReadCheckpoint(ValueOf(live_.site(0).state.LoadCheckpoint()),
                                            manifest().manifest().agreement(),
                                            protocol::testing::kSmallDimension));
  }
  base::Bytes Sealed(const protocol::Checkpoint& state) {
    return protocol::SealCheckpoint(state, manifest().manifest(), manifest().epoch(), 0,
                                    live_.members.epoch_key(), entropy_);
  }
  // The late member is given `sealed` in the place of each checkpoint for which `wanted`.
  void LieInCheckpoints(base::Bytes sealed,
                        std::function<bool(const protocol::FetchPartRequest&)> wanted) {
    late_.wire.lie = [sealed, wanted](const protocol::RequestBody& body,
                                      Answered answer) -> Answered {
      const auto* fetch = std::get_if<protocol::FetchPartRequest>(&body);
      if (fetch == nullptr || fetch->name.kind != protocol::BulkKind::kCheckpoint || !answer.ok() ||
          !wanted(*fetch)) {
        return answer;
      }
      return protocol::WriteFetchedPart(sealed.size(), sealed);
    };
  }
  void ComeBack() {
    late_.away = false;
    for (int turn = 0; turn < 5; ++turn) live_.Turn();
  }

  LiveFederation live_{ExactAgreement(), 1};
  LiveFederation::Site& late_ = live_.site(4);
  crypto::InsecureSeededEntropy entropy_{1, "latecomers"};
};

TEST_F(LyingServerAndLatecomersTest, AStaleCheckpointIsRefusedAndNamed) {
  live_.RunUntil([&] { return live_.site(0).session->next_round() == 1; });
  const base::Bytes stale = Sealed(State());
  live_.Run();
  // Only the stale one, in the place of all others: nothing is taken.
  bool only = true;
  LieInCheckpoints(
      stale, [&](const protocol::FetchPartRequest& fetch) { return only || fetch.index == 0; });
  ComeBack();
  EXPECT_EQ(late_.session->next_round(), 0u);
  EXPECT_GE(late_.log.Count(member::NodeEventKind::kViolation, "bad-checkpoint"), 1u);
  // One true one among them is found.
  only = false;
  live_.Restart(late_);
  live_.Run();
  EXPECT_EQ(late_.session->next_round(), 3u);
  EXPECT_EQ(late_.session->model(), live_.site(0).session->model());
}

// Anyone who holds the epoch key can seal any state: the optimiser's is stated as well as the
// model.
TEST_F(LyingServerAndLatecomersTest, AnotherVelocityIsRefusedAndNamed) {
  live_.Run();
  protocol::Checkpoint state = State();
  state.velocity[0] += 1;
  LieInCheckpoints(Sealed(state), [](const protocol::FetchPartRequest&) { return true; });
  ComeBack();
  EXPECT_EQ(late_.session->next_round(), 0u);
  EXPECT_GE(late_.log.Count(member::NodeEventKind::kViolation, "bad-checkpoint"), 1u);
}

// Statements are signed: without a majority of the attestors no state is taken.
TEST_F(LyingServerAndLatecomersTest, WithoutTheWitnessesNothingIsTaken) {
  live_.Run();
  const auto attestors = member::AttestorsOf(manifest(), live_.members.epoch_key(), 3);
  late_.wire.lie = [&](const protocol::RequestBody& body, Answered answer) -> Answered {
    if (!std::holds_alternative<protocol::FetchAttestationsRequest>(body) || !answer.ok())
      return answer;
    std::vector<base::Bytes> few;
    for (const base::Bytes& blob : ValueOf(protocol::ReadBlobs(*answer))) {
      if (ValueOf(protocol::ReadAttestation(blob, manifest())).member == attestors[0]) {
        few = {blob, blob, blob};
      }
    }
    return protocol::WriteBlobs(few);
  };
  ComeBack();
  EXPECT_EQ(late_.session->next_round(), 0u);
  EXPECT_EQ(late_.log.Count(member::NodeEventKind::kApplied, "checkpoint"), 0u);
}

TEST_F(LyingServerTest, WhatTheManifestDoesNotHaveIsNamed) {
  const std::vector<std::pair<std::string, std::function<void(protocol::Announcement&)>>> lies = {
      {"other-federation", [](protocol::Announcement& a) { a.manifest_hash[3] ^= 1; }},
      {"other-federation", [](protocol::Announcement& a) { a.epoch = 9; }},
      {"other-federation", [](protocol::Announcement& a) { a.current->attempt.number.epoch = 9; }},
      {"impossible", [](protocol::Announcement& a) { a.current->attempt.number.round = 3; }},
      {"impossible", [](protocol::Announcement& a) { a.current->attempt.number.attempt = 3; }},
      {"impossible", [](protocol::Announcement& a) { a.finished = 1; }},
      {"impossible", [](protocol::Announcement& a) { a.finished = 4; }},
      {"impossible",
       [](protocol::Announcement& a) { a.current->invited = protocol::Invited::kOwnCoin; }},
      {"impossible", [](protocol::Announcement& a) { a.listed.back().attempt = 1; }},
      {"impossible",
       [](protocol::Announcement& a) {
         a.listed.clear();
         for (uint32_t i = 0; i < 8; ++i) a.listed.push_back({0, i / 3, i % 3});
       }},
      {"impossible", [](protocol::Announcement& a) { a.first_listed = 1; }},
  };
  Begin();
  for (size_t i = 0; i < lies.size(); ++i) {
    SCOPED_TRACE(i);
    LiveFederation live;
    ASSERT_TRUE(live.server->Tick().ok());
    Site& site = live.site(0);
    LieInAnnouncements(site, lies[i].second);
    for (int turn = 0; turn < 3; ++turn) (void)site.session->Step();
    EXPECT_THAT(ViolationsOf(site), ElementsAre(lies[i].first));
    EXPECT_EQ(site.updates.asked, 0);
    EXPECT_TRUE(site.ledger->entries().empty());
  }
}

TEST_F(LyingServerTest, AnswersThatCannotBeReadAreNamed) {
  Begin();
  Site& site = live_.site(0);
  site.wire.lie = [](const protocol::RequestBody&, Answered) -> Answered {
    return base::Bytes{1, 2, 3};
  };
  const auto progress = site.session->Step();
  EXPECT_TRUE(protocol::IsRetryable(progress.status())) << progress.status();
  EXPECT_THAT(ViolationsOf(site), ElementsAre("unreadable"));
}

TEST_F(LyingServerTest, AnotherUploadInItsNameIsNamed) {
  Begin();
  Site& site = live_.site(Participant());
  site.wire.lie = [](const protocol::RequestBody& body, Answered answer) -> Answered {
    const auto* put = std::get_if<protocol::PutPartRequest>(&body);
    if (put == nullptr || put->name.kind != protocol::BulkKind::kUpload) return answer;
    return base::AlreadyExists("another upload of this member was accepted");
  };
  live_.Turn();
  EXPECT_THAT(ViolationsOf(site), ElementsAre("replaced-upload"));
}

// An invitation that comes after this member was told that it has no part, and was charged so.
TEST_F(LyingServerTest, ALaterInvitationIsRefused) {
  Begin();
  Site& site = live_.site(0);
  const bool invited = live_.IsInvited(0);
  protocol::Invited told = protocol::Invited::kNo;
  LieInAnnouncements(site, [&](protocol::Announcement& announcement) {
    announcement.revision += told == protocol::Invited::kNo ? 1 : 2;
    if (announcement.current) announcement.current->invited = told;
  });
  ASSERT_TRUE(site.session->Step().ok());
  told = protocol::Invited::kYes;
  ASSERT_TRUE(site.session->Step().ok());
  EXPECT_EQ(site.updates.asked, 0) << invited;
  EXPECT_EQ(site.log.Count(member::NodeEventKind::kRefused, "upload"), 1u);
}

}  // namespace
}  // namespace tacet::live
