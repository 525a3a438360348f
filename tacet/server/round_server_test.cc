#include "tacet/server/round_server.h"

#include <algorithm>
#include <optional>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status_for_test.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/server/round_server_for_test.h"

namespace tacet::server {
namespace {

using protocol::testing::kSmallDimension;
using protocol::testing::SmallAgreement;
using protocol::testing::SmallFederation;
using protocol::testing::ValueOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using RoundServerTest = testing::RoundServerFixture;

TEST_F(RoundServerTest, ARoundEndsWithTheSumOfItsCohort) {
  EXPECT_EQ(For(0).current, std::nullopt);
  const secagg::Attempt attempt = Collect();
  EXPECT_EQ(attempt.model_digest, testing::kInitialModel);
  EXPECT_EQ(For(4).current->participants, 3u);
  Publish();

  EXPECT_EQ(For(0).finished, 1u);
  EXPECT_THAT(For(0).kept, ElementsAre(attempt));
  ASSERT_OK_AND_ASSIGN(const auto decrypted, Decrypt(0, attempt));
  EXPECT_EQ(decrypted.aggregate.participants, 3u);
  EXPECT_THAT(decrypted.wrong_seats, IsEmpty());
}

// The server cannot compute the digest of the initial model. Seats name it, as many as a vote
// needs: neither members without a seat nor seats that say something else begin a round.
TEST_F(RoundServerTest, RoundZeroBeginsWithWhatAQuorumOfSeatsNames) {
  const SmallFederation nine(protocol::testing::AgreementWith(2, {7, 0, 4, 2, 8, 1, 5}), 9);
  MemoryServerStore store;
  MemoryBlobStore blobs;
  const auto server = ValueOf(RoundServer::Create(
      nine.manifest(), {}, store, blobs, [this] { return now_; }, cohorts_));
  const auto begins_after = [&](uint64_t member, const crypto::Digest& model) {
    EXPECT_TRUE(
        server->Take(member, protocol::PutAttestationRequest{nine.Attestation(member, 0, model)})
            .ok());
    for (uint64_t here = 0; here < 9; ++here) server->NotePresence(here);
    EXPECT_TRUE(server->Tick().ok());
    return ValueOf(server->AnnouncementFor(0, 0, false)).current.has_value();
  };
  for (const uint64_t outside : {3, 6}) {
    EXPECT_FALSE(begins_after(outside, testing::kInitialModel)) << outside;
  }
  for (const uint64_t liar : {5, 1}) EXPECT_FALSE(begins_after(liar, crypto::Digest{1})) << liar;
  for (const uint64_t seat : {7, 0, 4, 2}) {
    EXPECT_FALSE(begins_after(seat, testing::kInitialModel)) << seat;
    EXPECT_TRUE(server->Status().gathering.has_value());
  }
  EXPECT_TRUE(begins_after(8, testing::kInitialModel));
  EXPECT_EQ(server->Status().last->attempt.model_digest, testing::kInitialModel);
}

TEST_F(RoundServerTest, TheNextRoundStartsFromTheModelThatIsStated) {
  RunRound(0);
  Tick();
  crypto::Digest stated;
  stated.fill(10);
  EXPECT_EQ(Current().number.round, 1u);
  EXPECT_EQ(Current().model_digest, stated);
}

TEST_F(RoundServerTest, AttestationsOfLessThanAMajorityAreNotEnough) {
  Collect();
  Publish();
  State(0, 1, 7);
  Tick();
  EXPECT_EQ(Current().number.round, 0u);
  State(1, 1, 8);  // another model
  State(2, 1, 8);
  Tick();
  EXPECT_EQ(Current().number.round, 0u);
  State(3, 1, 8);
  Tick();
  EXPECT_EQ(Current().number.round, 1u);
}

// Members attest the initial model again while the first attempt collects: its uploads stay.
TEST_F(RoundServerTest, AttestationsDuringAnAttemptSweepNothing) {
  Tick();
  const std::vector<uint64_t> invited = Invited();
  ASSERT_TRUE(Upload(invited[0]).ok());
  testing::AttestInitialModel(*server_, members_);
  Restart();
  for (const uint64_t member : {invited[1], invited[2]}) ASSERT_TRUE(Upload(member).ok());
  Tick();
  EXPECT_EQ(For(0).current->participants, 3u);
}

// Without its bytes an upload is not in the sum, and its sender is not told that it has arrived.
TEST_F(RoundServerTest, AnAcceptedUploadWhoseBytesAreLostIsTakenAgain) {
  Tick();
  const uint64_t member = Invited()[0];
  const base::Bytes upload = members_.Upload(member, Current());
  ASSERT_TRUE(Give(member, protocol::BulkKind::kUpload, upload).ok());
  ASSERT_TRUE(blobs_.KeepOnly({}).ok());
  Restart();
  EXPECT_EQ(server_->Status().accepted, 0u);
  EXPECT_EQ(ValueOf(testing::TakePart(*server_, member,
                                      Part(protocol::BulkKind::kUpload, Current(), upload, 0, 0))),
            0u);
  ASSERT_TRUE(Give(member, protocol::BulkKind::kUpload, upload).ok());
  for (const uint64_t other : Invited()) {
    if (other == member) continue;
    ASSERT_TRUE(Upload(other).ok());
  }
  Restart();
  EXPECT_EQ(server_->Status().accepted, 3u);
  Tick();
  EXPECT_EQ(For(0).current->participants, 3u);
}

TEST_F(RoundServerTest, AllRoundsThenStop) {
  for (uint32_t round = 0; round < 3; ++round) RunRound(round);
  Tick();
  EXPECT_TRUE(For(0).stopped);
  EXPECT_TRUE(server_->Idle());
  EXPECT_EQ(server_->Status().stopped, "all 3 rounds are done");
  EXPECT_EQ(server_->Status().attempts, 3u);
  EXPECT_THAT(For(0).kept, SizeIs(2));  // kept_rounds
  EXPECT_EQ(For(0).kept.back().number.round, 2u);
}

TEST_F(RoundServerTest, CohortsAreDrawnAgainAndKnownToNobodyElse) {
  std::set<std::vector<uint64_t>> cohorts;
  for (int i = 0; i < 3; ++i) {
    Tick();
    const std::vector<uint64_t> invited = Invited();
    EXPECT_THAT(invited, SizeIs(3));
    cohorts.insert(invited);
    TickAfter(100);  // nothing has arrived
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
    EXPECT_THAT(Invited(), IsEmpty());
    EXPECT_THAT(ValueOf(store_.Cohort()), IsEmpty());
  }
  EXPECT_GT(cohorts.size(), 1u);
}

TEST_F(RoundServerTest, TooFewUploadsFailTheAttempt) {
  Tick();
  ASSERT_TRUE(Upload(Invited()[0]).ok());
  TickAfter(99);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kCollecting);
  TickAfter(1);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  EXPECT_EQ(server_->Attempts().back().failure, "too-few-uploads");
  Tick();
  EXPECT_EQ(Current().number.attempt, 1u);
  EXPECT_THAT(For(0).listed, SizeIs(2));
}

// Its clock was a day ahead when the attempt began, and is right again, with or without a restart.
TEST_F(RoundServerTest, ADeadlineOfAWrongClockIsNotWaitedFor) {
  for (const bool restart : {false, true}) {
    const uint64_t right = now_;
    TickAfter(86'400);
    const secagg::Attempt attempt = Current();
    now_ = right;
    if (restart) Restart();
    Tick();
    EXPECT_EQ(For(0).current->deadline, right + 100);
    Restart();
    EXPECT_EQ(For(0).current->deadline, right + 100);
    ASSERT_TRUE(Upload(Invited()[0]).ok());
    now_ = right + 100;
    Tick();
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
    EXPECT_EQ(Current(), attempt);
  }
}

class DowntimeTest : public RoundServerTest {
 protected:
  // An attempt that has collected for so many seconds.
  void CollectFor(uint64_t seconds) {
    Tick();
    ASSERT_TRUE(Upload(Invited()[0]).ok());
    Run(seconds);
  }
  void Run(uint64_t seconds) {
    for (uint64_t second = 0; second < seconds; ++second) TickAfter(1);
  }
  // The server is killed, and starts so much later.
  void BeDownFor(int64_t seconds) {
    now_ += static_cast<uint64_t>(seconds);
    Restart();
    Tick();
  }
  uint64_t Left() const { return server_->Attempts().back().deadline - now_; }
};

// Up to a sixteenth of the collecting time that it did not note, and a minute in which members
// return.
TEST_F(DowntimeTest, AfterAStartAnAttemptHasTheTimeThatItHadLeft) {
  for (const int64_t down : {1, 10, 90, 900}) {
    CollectFor(20);
    const secagg::Attempt attempt = Current();
    BeDownFor(down);
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kCollecting) << down;
    EXPECT_THAT(Left(), ::testing::AllOf(::testing::Ge(80u), ::testing::Le(86u))) << down;
    const uint64_t left = Left();
    Run(left - 1);
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kCollecting) << down;
    Run(1);
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed) << down;
    EXPECT_EQ(Current(), attempt) << down;
  }
}

TEST_F(DowntimeTest, MembersHaveAMinuteToReturn) {
  CollectFor(99);
  BeDownFor(500);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kCollecting);
  EXPECT_EQ(Left(), 60u);
}

// As long as the server runs, time passes for the attempt.
TEST_F(DowntimeTest, StartsDoNotGiveTimeThatHasPassed) {
  CollectFor(0);
  uint64_t ran = 0;
  for (; ran < 500 && server_->Attempts().size() == 1; ran += 7) {
    Run(7);
    if (Left() > 60) BeDownFor(40);
  }
  EXPECT_LE(ran, 140u);
}

// A server that is killed again and again, and one whose clock is wrong.
TEST_F(DowntimeTest, NoAttemptCollectsForEver) {
  CollectFor(10);
  const secagg::Attempt attempt = Current();
  uint64_t starts = 0;
  while (Phase() == protocol::AttemptPhase::kCollecting && ++starts < 1000) BeDownFor(50);
  EXPECT_LE(starts, 1000u / 50 + 1);
  EXPECT_EQ(Current(), attempt);
  for (const int64_t jump : {int64_t{86'400 * 365}, int64_t{-86'400 * 365}}) {
    CollectFor(10);
    BeDownFor(jump);
    if (Phase() == protocol::AttemptPhase::kCollecting) {
      EXPECT_LE(Left(), 100u);
      Run(Left());
    }
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed) << jump;
  }
}

// The time of the store's last read is not told to the next attempt.
TEST_F(DowntimeTest, AStartBetweenAttemptsMovesNoDeadline) {
  CollectFor(10);
  Run(90);
  ASSERT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  now_ += 10;
  Restart();
  now_ += 1000;
  Tick();
  ASSERT_EQ(Phase(), protocol::AttemptPhase::kCollecting);
  EXPECT_EQ(Left(), 100u);
  TickAfter(1);
  EXPECT_EQ(Left(), 99u);
}

TEST_F(RoundServerTest, EnoughUploadsAtTheDeadlineAreASum) {
  Tick();
  const std::vector<uint64_t> invited = Invited();
  ASSERT_TRUE(Upload(invited[0]).ok());
  ASSERT_TRUE(Upload(invited[2]).ok());
  TickAfter(100);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  EXPECT_EQ(For(0).current->participants, 2u);
  EXPECT_THAT(base::Message(Upload(invited[1])), HasSubstr("round 0 attempt 0 is closed"));
}

// Its clock was three months ahead for a moment while an attempt collected, and is right again.
TEST_F(RoundServerTest, APauseAfterAWrongClockIsNoLongerThanAnother) {
  retry_seconds_ = 60;
  Restart();
  Tick();
  const uint64_t right = now_;
  TickAfter(90 * base::kSecondsADay);
  ASSERT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  now_ = right + 10;
  Tick();
  TickAfter(59);
  EXPECT_EQ(Current().number.attempt, 0u);
  TickAfter(1);
  EXPECT_EQ(Current().number.attempt, 1u);
}

// An attempt is charged as soon as it is announced. 0.1 began one whether or not anybody was there:
// a server that was started an hour before its sites used up a round's attempts.
class GatheringTest : public testing::RoundServerFixture {
 protected:
  explicit GatheringTest(agreement::ManifestSpec agreement = SmallAgreement(), int members = 5)
      : RoundServerFixture(std::move(agreement), members) {
    grace_seconds_ = 60;
    retry_seconds_ = 60;
    Restart();
  }
  bool HasBegun() { return !server_->Attempts().empty(); }
  void Wait(uint64_t seconds) {
    for (const uint64_t end = now_ + seconds; now_ < end; now_ += 10) Tick();
  }
  std::vector<uint64_t> Away() {
    std::vector<uint64_t> away;
    for (const Absence& absence : server_->Status().awaited) away.push_back(absence.member);
    return away;
  }
};

TEST_F(GatheringTest, NothingBeginsBeforeTheMembersAreThere) {
  away_ = {0, 1, 2, 3, 4};
  Wait(3600);
  EXPECT_FALSE(HasBegun());
  EXPECT_THAT(Away(), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(server_->Status().gathering->here, 0u);
  away_ = {};
  Tick();
  EXPECT_TRUE(HasBegun());
}

// Four of the five seats have to vote.
TEST_F(GatheringTest, EnoughMembersWaitAMinuteForTheOthers) {
  away_ = {1, 2};
  Wait(600);
  EXPECT_FALSE(HasBegun());
  EXPECT_EQ(server_->Status().gathering->seats_needed, 4u);
  EXPECT_THAT(Away(), ElementsAre(1, 2));
  away_ = {2};
  Wait(60);
  EXPECT_FALSE(HasBegun());
  Tick();
  EXPECT_TRUE(HasBegun());
}

// Three of five are drawn, and two uploads are enough: of four members two are always drawn, of
// three in seven cohorts out of ten. With spare attempts that is often enough.
TEST_F(GatheringTest, FewSpareAttemptsNeedMoreMembers) {
  Tick();
  for (int failed = 0; failed < 3; ++failed) {
    away_ = {0, 1, 2, 3, 4};
    Wait(1200);
    EXPECT_EQ(server_->Status().gathering->needed, failed == 0 ? 3u : 4u) << failed;
    away_ = {};
    Tick();
  }
}

TEST_F(GatheringTest, AMemberThatLeftAMinuteAgoIsAway) {
  Tick();
  ASSERT_TRUE(HasBegun());
  TickAfter(100);
  ASSERT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  away_ = {0, 1, 2, 3, 4};
  now_ += kHereSeconds + 1;
  Wait(86'400);
  EXPECT_EQ(server_->Attempts().size(), 1u);
  EXPECT_EQ(server_->Status().awaited[0].last_seen, now_ - 86'400 - kHereSeconds - 1);
}

TEST_F(GatheringTest, AttemptsWithoutUploadsFollowWithGrowingPauses) {
  std::vector<uint64_t> begun;
  for (int i = 0; i < 4 * 3600; ++i, ++now_) {
    Tick();
    if (server_->Attempts().size() > begun.size()) begun.push_back(now_);
    if (i == 600) Restart();  // remembers
  }
  ASSERT_THAT(begun, SizeIs(5));  // 1 + spare attempts
  EXPECT_EQ(begun[1] - begun[0], 100u + 60);
  EXPECT_EQ(begun[2] - begun[1], 100u + 120);
  EXPECT_EQ(begun[3] - begun[2], 100u + 240);
  EXPECT_EQ(begun[4] - begun[3], 100u + 480);
}

// It was there when the attempt began, and trains.
TEST_F(GatheringTest, AMemberThatIsBusyIsWaitedFor) {
  Tick();
  const std::vector<uint64_t> invited = Invited();
  now_ += 5;
  server_->NotePresence(invited[2]);
  ASSERT_TRUE(Upload(invited[0]).ok());
  ASSERT_TRUE(Upload(invited[1]).ok());
  away_ = {0, 1, 2, 3, 4};
  TickAfter(94);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kCollecting);
  TickAfter(1);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
}

// A new process does not know who was there.
TEST_F(GatheringTest, AfterARestartTheDeadlineCounts) {
  Tick();
  const std::vector<uint64_t> invited = Invited();
  ASSERT_TRUE(Upload(invited[0]).ok());
  ASSERT_TRUE(Upload(invited[1]).ok());
  now_ += 1;
  Restart();
  away_ = {0, 1, 2, 3, 4};
  TickAfter(98);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kCollecting);
}

class GatheringOfAllTest : public GatheringTest {
 protected:
  GatheringOfAllTest()
      : GatheringTest([] {
          agreement::ManifestSpec spec = SmallAgreement();
          spec.sampling.cohort = 5;
          return spec;
        }()) {}
};

// 0.1 waited for its deadline.
TEST_F(GatheringOfAllTest, AnAbsentMemberDoesNotMakeTheRoundLastItsDeadline) {
  away_ = {2};
  Wait(70);
  ASSERT_TRUE(HasBegun());
  for (const uint64_t member : {0, 1, 3, 4}) ASSERT_TRUE(Upload(member).ok());
  const uint64_t begun = server_->Attempts().back().begun;
  now_ = begun + 59;
  Tick();
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kCollecting);  // it may still come
  now_ = begun + 60;
  Tick();
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  EXPECT_EQ(For(0).current->participants, 4u);
}

// Another attempt would need the same members: the uploads stay, and nobody is charged again.
TEST_F(GatheringOfAllTest, TooFewUploadsExtendTheAttempt) {
  Tick();
  const secagg::Attempt attempt = Current();
  ASSERT_TRUE(Upload(3).ok());
  away_ = {0, 1, 2, 4};
  for (int night = 0; night < 3; ++night) {
    Wait(86'400);
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kCollecting);
    EXPECT_THAT(Away(), ElementsAre(0, 1, 2, 4));
    Restart();
  }
  away_ = {};
  for (const uint64_t member : {0, 1, 2, 4}) ASSERT_TRUE(Upload(member).ok());
  Tick();
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  EXPECT_EQ(For(0).current->participants, 5u);
  EXPECT_EQ(Current(), attempt);
  EXPECT_EQ(server_->Status().attempts, 1u);
}

class GatheringCommitteeTest : public GatheringTest {
 protected:
  GatheringCommitteeTest()
      : GatheringTest(
            [] {
              agreement::ManifestSpec spec = SmallAgreement();
              spec.sampling.cohort = 8;
              spec.committee = {.seats = 4, .corrupt = 1};
              spec.committee_members = {0, 1, 2, 3};
              return spec;
            }(),
            8) {}
};

TEST_F(GatheringCommitteeTest, TheCommitteeMustBeAbleToDecrypt) {
  away_ = {0, 1};
  Wait(600);
  EXPECT_FALSE(HasBegun());
  EXPECT_GE(server_->Status().gathering->here, server_->Status().gathering->needed);
  EXPECT_EQ(server_->Status().gathering->seats_here, 2u);
  EXPECT_EQ(server_->Status().gathering->seats_needed, 3u);
  away_ = {0};
  Wait(70);
  EXPECT_TRUE(HasBegun());
}

TEST_F(RoundServerTest, AttemptsEndWithTheAgreement) {
  for (int i = 0; i < 5; ++i) {
    Tick();
    TickAfter(100);
  }
  Tick();
  EXPECT_TRUE(For(0).stopped);
  EXPECT_EQ(server_->Status().stopped, "round 0 failed in all its 5 attempts");
  EXPECT_EQ(server_->Status().failed, 5u);
}

TEST_F(RoundServerTest, NobodyElseUploads) {
  Tick();
  const std::vector<uint64_t> invited = Invited();
  for (uint64_t member = 0; member < 5; ++member) {
    if (std::ranges::find(invited, member) != invited.end()) continue;
    const absl::Status status = Upload(member);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(base::Message(status), HasSubstr("not one of its participants"));
  }
}

TEST_F(RoundServerTest, AnUploadCountsOnce) {
  Tick();
  const uint64_t member = Invited()[0];
  const base::Bytes upload = members_.Upload(member, Current());
  ASSERT_TRUE(Give(member, protocol::BulkKind::kUpload, upload).ok());
  EXPECT_TRUE(Give(member, protocol::BulkKind::kUpload, upload).ok());
  EXPECT_EQ(server_->Status().accepted, 1u);
  const absl::Status other = Upload(member);
  EXPECT_EQ(other.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(base::Message(other), HasSubstr("another upload of this member was accepted"));
  // Nor in another's name.
  const absl::Status replayed = Give(Invited()[1], protocol::BulkKind::kUpload, upload);
  EXPECT_EQ(replayed.code(), absl::StatusCode::kAlreadyExists) << replayed;
  EXPECT_EQ(server_->Status().accepted, 1u);
}

TEST_F(RoundServerTest, UploadsOfOtherAttemptsAreRefused) {
  Tick();
  const uint64_t member = Invited()[0];
  const secagg::Attempt current = Current();
  const auto refused = [&](auto change, std::string_view word) {
    secagg::Attempt other = current;
    change(other);
    const base::Bytes upload = members_.Upload(member, other);
    // Announced as what it is, and as what is wanted.
    const absl::Status honest =
        testing::TakePart(*server_, member, Part(protocol::BulkKind::kUpload, other, upload))
            .status();
    EXPECT_EQ(honest.code(), absl::StatusCode::kFailedPrecondition) << word;
    EXPECT_THAT(base::Message(honest), HasSubstr(word));
    const absl::Status lying = Give(member, protocol::BulkKind::kUpload, upload);
    EXPECT_EQ(lying.code(), absl::StatusCode::kFailedPrecondition) << word;
    EXPECT_THAT(base::Message(lying), HasSubstr(word));
  };
  refused([](secagg::Attempt& a) { ++a.number.round; }, "round");
  refused([](secagg::Attempt& a) { ++a.number.attempt; }, "attempt");
  refused([](secagg::Attempt& a) { ++a.number.epoch; }, "epoch");
  refused([](secagg::Attempt& a) { ++a.manifest_hash[0]; }, "manifest");
  refused([](secagg::Attempt& a) { ++a.model_digest[0]; }, "model");
  EXPECT_TRUE(Upload(member).ok());
}

TEST_F(RoundServerTest, ADamagedUploadIsForgottenAndCanBeSentAgain) {
  Tick();
  const uint64_t member = Invited()[0];
  const base::Bytes upload = members_.Upload(member, Current());
  base::Bytes damaged = upload;
  damaged[200] ^= 1;
  EXPECT_EQ(Give(member, protocol::BulkKind::kUpload, damaged).code(), absl::StatusCode::kDataLoss);
  protocol::PutPartRequest lying = Part(protocol::BulkKind::kUpload, Current(), upload);
  lying.part[200] ^= 1;
  EXPECT_EQ(testing::TakePart(*server_, member, lying).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_TRUE(Give(member, protocol::BulkKind::kUpload, upload).ok());
}

TEST_F(RoundServerTest, AnUploadGoesOnWhereItStopped) {
  Tick();
  const uint64_t member = Invited()[0];
  const base::Bytes upload = members_.Upload(member, Current());
  const auto put = [&](uint64_t offset, size_t size) {
    return testing::TakePart(*server_, member,
                             Part(protocol::BulkKind::kUpload, Current(), upload, offset, size));
  };
  EXPECT_EQ(*put(0, 0), 0u);
  EXPECT_EQ(*put(0, 50), 50u);
  Restart();
  EXPECT_EQ(*put(0, 0), 50u);  // an empty part asks
  EXPECT_EQ(put(49, 50).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(put(51, 50).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(*put(50, protocol::kMaxPartBytes), upload.size());
  EXPECT_EQ(server_->Status().accepted, 1u);
}

TEST_F(RoundServerTest, LengthsAreTheAgreedOnes) {
  Tick();
  base::Bytes upload = members_.Upload(Invited()[0], Current());
  upload.push_back(0);
  const absl::Status status = Give(Invited()[0], protocol::BulkKind::kUpload, upload);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(status), HasSubstr("the agreement says"));
  // Before anything is stored of it.
  protocol::PutPartRequest huge = Part(protocol::BulkKind::kUpload, Current(), upload);
  huge.total = ~uint64_t{0};
  EXPECT_EQ(testing::TakePart(*server_, Invited()[0], huge).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(RoundServerTest, ARestartChangesNothingAtAnyStep) {
  Tick();
  const std::vector<uint64_t> invited = Invited();
  const secagg::Attempt attempt = Current();
  for (const uint64_t member : invited) {
    ASSERT_TRUE(Upload(member).ok());
    Restart();
    EXPECT_EQ(Current(), attempt);
    EXPECT_EQ(Invited(), invited);
  }
  EXPECT_EQ(server_->Status().accepted, 3u);
  Tick();
  const base::Bytes closed = Fetch(protocol::BulkKind::kClosedRound, attempt);
  const base::Bytes roster = Fetch(protocol::BulkKind::kRoster, attempt);
  Restart();
  EXPECT_EQ(Fetch(protocol::BulkKind::kClosedRound, attempt), closed);
  EXPECT_EQ(Fetch(protocol::BulkKind::kRoster, attempt), roster);
  Seats seats;
  for (uint32_t seat = 0; seat < Quorum(); ++seat) {
    seats.push_back(members_.NewSeat(seat, attempt));
    ASSERT_TRUE(server_
                    ->Take(MemberOn(seat),
                           protocol::PutVoteRequest{attempt, seats.back()->Vote(closed, roster)})
                    .ok());
    Restart();
    EXPECT_THAT(ValueOf(server_->Listed(protocol::FetchVotesRequest{attempt})), SizeIs(seat + 1));
  }
  const std::vector<base::Bytes> votes =
      ValueOf(server_->Listed(protocol::FetchVotesRequest{attempt}));
  for (size_t seat = 0; seat < seats.size(); ++seat) {
    const base::Bytes share = seats[seat]->Unmask(votes);
    ASSERT_TRUE(Give(MemberOn(seat), protocol::BulkKind::kUnmaskShare, share).ok());
    Restart();
    EXPECT_EQ(Shares(attempt).at(seat), share);
  }
  // A refusal is remembered, too.
  ASSERT_TRUE(Refuse(4, attempt).ok());
  Restart();
  for (size_t seat = 0; seat < Confirmations(); ++seat) {
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
    ASSERT_TRUE(Confirm(seat, attempt).ok());
    Restart();
  }
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kPublished);
  EXPECT_EQ(ValueOf(Decrypt(0, attempt)).aggregate.participants, 3u);
  State(0, 1, 5);
  Restart();
  State(1, 1, 5);
  Restart();
  State(2, 1, 5);
  Tick();
  EXPECT_EQ(Current().number.round, 1u);
}

TEST_F(RoundServerTest, ARefusalIsCountedOnceAlsoAfterARestart) {
  const secagg::Attempt attempt = Collect();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Refuse(0, attempt).ok());
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
    Restart();
  }
  ASSERT_TRUE(Refuse(1, attempt).ok());
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  EXPECT_EQ(server_->Attempts().back().failure, "refused");
}

TEST_F(RoundServerTest, AConfirmationIsCountedOnceAlsoAfterARestart) {
  const secagg::Attempt attempt = Collect();
  Unmask(Quorum());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Confirm(0, attempt).ok());
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
    Restart();
  }
  ASSERT_TRUE(Confirm(1, attempt).ok());
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kPublished);
  // Seats that did not hear of it, or come later, confirm what is published; a refusal is too late.
  for (const size_t seat : {1, 2}) EXPECT_TRUE(Confirm(seat, attempt).ok());
  EXPECT_EQ(Refuse(3, attempt).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kPublished);
}

// Seats that are absent cost time: no new attempt, no new charge, and the uploads stay.
TEST_F(RoundServerTest, AsLongAsSeatsAreAwayTheDeadlineIsExtended) {
  const secagg::Attempt attempt = Collect();
  Vote(1);
  for (int i = 0; i < 5; ++i) {
    TickAfter(50);
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
    EXPECT_EQ(For(0).current->deadline, now_ + 50);
    Restart();
  }
  Publish();
  EXPECT_EQ(Current(), attempt);
  EXPECT_EQ(ValueOf(Decrypt(0, attempt)).aggregate.participants, 3u);
  EXPECT_EQ(server_->Status().attempts, 1u);
}

TEST_F(RoundServerTest, ASeatThatVotedAndIsGoneIsAwaitedToo) {
  const secagg::Attempt attempt = Collect();
  const Seats seats = Vote(5);
  const std::vector<base::Bytes> votes =
      ValueOf(server_->Listed(protocol::FetchVotesRequest{attempt}));
  ASSERT_TRUE(Give(MemberOn(2), protocol::BulkKind::kUnmaskShare, seats[2]->Unmask(votes)).ok());
  TickAfter(50);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
}

TEST_F(RoundServerTest, ACommitteeThatStaysAwayIsNotAwaitedForEver) {
  Collect();
  Vote(1);
  for (int i = 0; i < 18; ++i) {
    TickAfter(50);
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kUnmasking) << i;
  }
  TickAfter(100);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  EXPECT_EQ(server_->Attempts().back().failure, "not-decrypted");
  EXPECT_EQ(For(0).finished, 0u);
}

TEST_F(RoundServerTest, WhenAllHaveSpokenWithoutAQuorumAnAttemptFails) {
  const secagg::Attempt attempt = Collect();
  Vote(3);
  for (const size_t seat : {3, 4}) {
    const absl::Status taken =
        server_->Take(MemberOn(seat), protocol::PutVoteRequest{attempt, base::Bytes{1, 2, 3}});
    ASSERT_TRUE(taken.ok()) << taken;
  }
  TickAfter(49);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  TickAfter(1);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  EXPECT_EQ(server_->Attempts().back().failure, "not-decrypted");
}

// One seat's word does not publish, whatever it is: it may be the corrupt one. The others may have
// been lost before they could confirm: the attempt may have been decrypted, so it is not given up.
TEST_F(RoundServerTest, WithOneConfirmationAnAttemptIsExtended) {
  const secagg::Attempt attempt = Collect();
  Unmask(5);
  ASSERT_TRUE(Confirm(3, attempt).ok());
  away_ = {MemberOn(0), MemberOn(1)};
  now_ += 41;  // they were here 90 seconds ago
  for (int i = 0; i < 5; ++i) {
    TickAfter(50);
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
    EXPECT_EQ(For(0).current->deadline, now_ + 50);
    Restart();
  }
  ASSERT_TRUE(Confirm(4, attempt).ok());
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kPublished);
  EXPECT_EQ(server_->Status().attempts, 1u);
}

// A quorum that is here and has said what it can say had its time, for example where some seats
// keep their verdicts to themselves. With the deadline of collecting the attempt has three.
TEST_F(RoundServerTest, AQuorumThatDecidesNothingHasTwoDeadlines) {
  const secagg::Attempt attempt = Collect();
  Unmask(4);
  ASSERT_TRUE(Confirm(3, attempt).ok());
  TickAfter(50);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  TickAfter(49);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  TickAfter(1);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  EXPECT_EQ(server_->Attempts().back().failure, "not-decrypted");
}

// The deadline that passed in an earlier process counts.
TEST_F(RoundServerTest, AQuorumThatDecidesNothingHasTwoDeadlinesAcrossARestart) {
  const secagg::Attempt attempt = Collect();
  Unmask(4);
  ASSERT_TRUE(Confirm(3, attempt).ok());
  TickAfter(30);
  Restart();
  TickAfter(20);  // the first one
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  now_ += 200;  // no server runs
  Restart();
  TickAfter(49);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  TickAfter(50);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  EXPECT_EQ(server_->Attempts().back().failure, "not-decrypted");
}

// Seats that return after more than two deadlines, just before another one passes.
TEST_F(RoundServerTest, AQuorumThatAnswersLateHasOneDeadlineMore) {
  const secagg::Attempt attempt = Collect();
  away_ = {MemberOn(1), MemberOn(2)};
  Vote(3);
  for (int i = 0; i < 4; ++i) TickAfter(50);
  TickAfter(49);
  away_ = {};
  Unmask(5);
  ASSERT_TRUE(Confirm(3, attempt).ok());
  TickAfter(1);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  TickAfter(49);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  TickAfter(1);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  EXPECT_EQ(server_->Attempts().back().failure, "not-decrypted");
}

// All other seats gave shares just before the first deadline, and one of them has decrypted.
TEST_F(RoundServerTest, ASeatThatRefusesDoesNotEndWhatOthersConfirm) {
  const secagg::Attempt attempt = Collect();
  ASSERT_TRUE(Refuse(4, attempt).ok());
  TickAfter(49);
  Unmask(4);
  ASSERT_TRUE(Confirm(3, attempt).ok());
  TickAfter(1);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  ASSERT_TRUE(Confirm(2, attempt).ok());
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kPublished);
}

// One seat is absent, another one is connected and says nothing: the others are too few. Both are
// named, nothing is charged again, and the round is published when the one is back.
TEST_F(RoundServerTest, ASilentSeatIsNamedAndEndsNoAttempt) {
  const secagg::Attempt attempt = Collect();
  away_ = {MemberOn(3)};
  Vote(3);
  const auto awaited = [this] {
    std::vector<std::pair<uint64_t, bool>> named;
    for (const Absence& one : server_->Status().awaited) {
      named.emplace_back(one.member, one.silent);
    }
    return named;
  };
  using Named = std::vector<std::pair<uint64_t, bool>>;
  TickAfter(49);
  EXPECT_FALSE(server_->Status().extended);
  TickAfter(1);
  EXPECT_TRUE(server_->Status().extended);
  EXPECT_EQ(awaited(), (Named{{MemberOn(3), false}, {MemberOn(4), false}}));
  for (int i = 0; i < 9; ++i) {
    TickAfter(50);
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kUnmasking) << i;
    EXPECT_EQ(awaited(), (Named{{MemberOn(3), false}, {MemberOn(4), true}}));
  }
  away_ = {};
  Publish();
  EXPECT_EQ(Current(), attempt);
  EXPECT_EQ(server_->Status().attempts, 1u);
}

// Some seats gave shares that do not decrypt, and the others refuse: nothing can come any more.
TEST_F(RoundServerTest, SharesThatDoNotDecryptFailTheAttemptWhenTheirSeatsAreHere) {
  const secagg::Attempt attempt = Collect();
  Unmask(4);
  ASSERT_TRUE(Refuse(4, attempt).ok());
  away_ = {MemberOn(2)};
  TickAfter(kHereSeconds + 1);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);  // it may have been lost
  away_ = {};
  TickAfter(50);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  EXPECT_EQ(server_->Attempts().back().failure, "not-decrypted");
  EXPECT_EQ(Confirm(3, attempt).code(), absl::StatusCode::kFailedPrecondition);
}

// A seat that looked at the aggregate before it decides whether others see it could repeat a round
// until it likes the result.
TEST_F(RoundServerTest, ASeatGivesItsShareBeforeItGetsOthers) {
  const secagg::Attempt attempt = Collect();
  Unmask(4);
  EXPECT_TRUE(FetchAs(MemberOn(0), protocol::BulkKind::kUnmaskShare, attempt).ok());
  const absl::Status refused =
      FetchAs(MemberOn(4), protocol::BulkKind::kUnmaskShare, attempt).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(refused), HasSubstr("its own unmask share before"));
}

// Until a majority of members attests the model of a published round, seats continue unmasking it.
TEST_F(RoundServerTest, APublishedRoundIsWorkedOnUntilItIsFinal) {
  const secagg::Attempt attempt = Collect();
  Vote(1);
  for (size_t seat = 0; seat < Confirmations(); ++seat) {
    ASSERT_TRUE(Confirm(seat, attempt).ok());  // false ones
  }
  ASSERT_EQ(Phase(), protocol::AttemptPhase::kPublished);
  EXPECT_FALSE(Decrypt(0, attempt).ok());
  Restart();
  Unmask(Quorum());
  EXPECT_EQ(ValueOf(Decrypt(0, attempt)).aggregate.participants, 3u);
  Restart();
  EXPECT_EQ(ValueOf(Decrypt(0, attempt)).aggregate.participants, 3u);
  EXPECT_TRUE(FetchAs(0, protocol::BulkKind::kRoster, attempt).ok());
  for (const uint64_t member : {0, 1, 2}) State(member, 1, 7);
  EXPECT_THAT(base::Message(FetchAs(0, protocol::BulkKind::kRoster, attempt).status()),
              HasSubstr("is final"));
  Tick();
  EXPECT_EQ(Current().number.round, 1u);
}

TEST_F(RoundServerTest, VerdictsAreForTheAttemptThatIsUnmasking) {
  Tick();
  EXPECT_THAT(base::Message(Confirm(0, Current())), HasSubstr("is still collecting"));
  EXPECT_THAT(base::Message(Refuse(0, Current())), HasSubstr("is still collecting"));
  for (const uint64_t member : Invited()) ASSERT_TRUE(Upload(member).ok());
  Tick();
  secagg::Attempt other = Current();
  ++other.number.attempt;
  for (size_t seat = 0; seat < 5; ++seat) {
    EXPECT_EQ(Confirm(seat, other).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(Refuse(seat, other).code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
}

TEST_F(RoundServerTest, ALateUnmaskShareIsTakenAndServed) {
  const secagg::Attempt attempt = Collect();
  const auto last = members_.NewSeat(4, attempt);
  const base::Bytes vote = last->Vote(Fetch(protocol::BulkKind::kClosedRound, attempt),
                                      Fetch(protocol::BulkKind::kRoster, attempt));
  ASSERT_TRUE(server_->Take(MemberOn(4), protocol::PutVoteRequest{attempt, vote}).ok());
  Publish();
  const uint64_t revision = ValueOf(server_->AnnouncementFor(0, 0, true)).revision;
  const base::Bytes share =
      last->Unmask(ValueOf(server_->Listed(protocol::FetchVotesRequest{attempt})));
  ASSERT_TRUE(Give(MemberOn(4), protocol::BulkKind::kUnmaskShare, share).ok());
  EXPECT_TRUE(server_->IsNews({.known_revision = revision, .unmasking = true}));
  ASSERT_TRUE(Give(MemberOn(4), protocol::BulkKind::kUnmaskShare, share).ok());
  EXPECT_EQ(Shares(attempt).at(4), share);
  Restart();
  EXPECT_EQ(Shares(attempt).at(4), share);
  EXPECT_THAT(Shares(attempt), SizeIs(5));
  EXPECT_EQ(FetchAs(0, protocol::BulkKind::kUnmaskShare, attempt, 1).status().code(),
            absl::StatusCode::kOutOfRange);
  // Another one of the same seat is refused, and a seat outside the round's quorum changes nothing.
  base::Bytes other = share;
  other.back() ^= 1;
  EXPECT_EQ(Give(MemberOn(4), protocol::BulkKind::kUnmaskShare, other).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ValueOf(Decrypt(0, attempt)).aggregate.participants, 3u);
}

// Closed round, votes and unmask shares let late members decrypt; the roster is nobody's any more.
TEST_F(RoundServerTest, KeptRoundsCanBeDecryptedWithoutTheirRosters) {
  std::vector<secagg::Attempt> attempts;
  for (uint32_t round = 0; round < 3; ++round) {
    RunRound(round);
    attempts.push_back(Current());
  }
  Tick();
  for (int i = 0; i < 2; ++i) {
    for (const size_t round : {1, 2}) {
      EXPECT_EQ(ValueOf(Decrypt(0, attempts[round])).aggregate.participants, 3u) << round;
      EXPECT_EQ(FetchAs(0, protocol::BulkKind::kRoster, attempts[round]).status().code(),
                absl::StatusCode::kFailedPrecondition);
      const BlobKey roster{.name = {protocol::BulkKind::kRoster, attempts[round]}};
      EXPECT_EQ(blobs_.Open(roster).status().code(), absl::StatusCode::kNotFound);
    }
    EXPECT_FALSE(Decrypt(0, attempts[0]).ok());  // kept_rounds is 2
    for (const auto kind : {protocol::BulkKind::kClosedRound, protocol::BulkKind::kUnmaskShare}) {
      EXPECT_EQ(FetchAs(0, kind, attempts[0]).status().code(),
                absl::StatusCode::kFailedPrecondition);
    }
    EXPECT_EQ(server_->Listed(protocol::FetchVotesRequest{attempts[0]}).status().code(),
              absl::StatusCode::kFailedPrecondition);
    Restart();
    Tick();
  }
}

TEST_F(RoundServerTest, NothingIsFetchedWhileUploadsAreCollected) {
  Tick();
  for (const auto kind : {protocol::BulkKind::kClosedRound, protocol::BulkKind::kRoster,
                          protocol::BulkKind::kUnmaskShare}) {
    EXPECT_THAT(base::Message(FetchAs(MemberOn(0), kind, Current()).status()),
                HasSubstr("is still collecting"));
  }
  EXPECT_THAT(base::Message(server_->Listed(protocol::FetchVotesRequest{Current()}).status()),
              HasSubstr("is still collecting"));
}

// Nor does anybody else put another one in the server's place.
TEST_F(RoundServerTest, ClosedRoundsAndRostersAreTheServers) {
  Collect();
  for (const auto kind : {protocol::BulkKind::kClosedRound, protocol::BulkKind::kRoster}) {
    base::Bytes object = Fetch(kind, Current());
    EXPECT_TRUE(Give(MemberOn(0), kind, object).ok());  // the server has it
    object.back() ^= 1;
    const absl::Status given = Give(MemberOn(0), kind, object);
    EXPECT_EQ(given.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(base::Message(given), HasSubstr("is the server's to give"));
  }
}

// Whatever seats say that it was.
TEST_F(RoundServerTest, ALostClosedRoundIsTakenBackAsItWas) {
  const secagg::Attempt attempt = Collect();
  const base::Bytes closed = Fetch(protocol::BulkKind::kClosedRound, attempt);
  const base::Bytes roster = Fetch(protocol::BulkKind::kRoster, attempt);
  EXPECT_FALSE(For(0).recalls);
  ASSERT_TRUE(blobs_.KeepOnly({}).ok());
  TickAfter(5);
  EXPECT_TRUE(For(0).recalls);
  EXPECT_THAT(server_->Status().lost,
              ElementsAre(::testing::Pair(protocol::BulkKind::kClosedRound, 1u),
                          ::testing::Pair(protocol::BulkKind::kRoster, 1u)));
  for (const uint64_t liar : {uint64_t{0}, MemberOn(0)}) {
    auto lie = Part(protocol::BulkKind::kClosedRound, attempt, closed);
    lie.part.back() ^= 1;
    EXPECT_EQ(testing::TakePart(*server_, liar, lie).status().code(), absl::StatusCode::kDataLoss);
    lie = Part(protocol::BulkKind::kClosedRound, attempt, closed);
    lie.total += 1;
    EXPECT_THAT(base::Message(testing::TakePart(*server_, liar, lie).status()),
                HasSubstr("the agreement says"));
    // A half finished object is in nobody's way.
    lie = Part(protocol::BulkKind::kRoster, attempt, roster, 0, 3);
    lie.part[0] ^= 1;
    EXPECT_EQ(ValueOf(testing::TakePart(*server_, liar, lie)), 3u);
  }
  EXPECT_TRUE(Give(MemberOn(1), protocol::BulkKind::kClosedRound, closed).ok());
  EXPECT_TRUE(Give(MemberOn(2), protocol::BulkKind::kRoster, roster).ok());
  EXPECT_FALSE(For(0).recalls);
  EXPECT_TRUE(server_->Status().lost.empty());
  EXPECT_EQ(Fetch(protocol::BulkKind::kClosedRound, attempt), closed);
  Publish();
  EXPECT_TRUE(Decrypt(0, attempt).ok());
}

TEST_F(RoundServerTest, AnAttemptOfWhichNobodyHasTheClosedRoundFails) {
  const secagg::Attempt attempt = Collect();
  ASSERT_TRUE(blobs_.KeepOnly({}).ok());
  TickAfter(5);
  TickAfter(20);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  TickAfter(160);
  EXPECT_EQ(server_->Attempts()[0].failure, "object-lost");
  Tick();
  EXPECT_EQ(Current().number.attempt, attempt.number.attempt + 1);
  EXPECT_EQ(Invited().size(), 3u);
  EXPECT_TRUE(server_->Status().left_out.empty());
  EXPECT_TRUE(server_->Status().lost.empty());
}

// A refused sum puts members on trial, unless the server has lost what it would have checked.
TEST_F(RoundServerTest, NobodyPaysForARefusedSumWhoseCheckRowsAreLost) {
  const secagg::Attempt attempt = Collect();
  Unmask(Quorum());
  const base::Bytes row(secagg::CheckRowBytes(3));
  for (size_t seat = 0; seat < Quorum(); ++seat) {
    ASSERT_TRUE(Give(MemberOn(seat), protocol::BulkKind::kCheckRow, row).ok());
  }
  std::vector<BlobKey> kept{{.name = {protocol::BulkKind::kClosedRound, attempt}},
                            {.name = {protocol::BulkKind::kRoster, attempt}}};
  for (size_t seat = 0; seat < Quorum(); ++seat) {
    kept.push_back({.name = {protocol::BulkKind::kUnmaskShare, attempt}, .member = MemberOn(seat)});
  }
  ASSERT_TRUE(blobs_.KeepOnly(kept).ok());
  for (size_t seat = 0; seat < Confirmations(); ++seat) {
    ASSERT_TRUE(Refuse(seat, attempt).ok());
  }
  EXPECT_EQ(server_->Attempts()[0].failure, "object-lost");
}

TEST_F(RoundServerTest, ASeatVotesAndUnmasksOnce) {
  const secagg::Attempt attempt = Collect();
  Unmask(4);
  const std::vector<base::Bytes> votes =
      ValueOf(server_->Listed(protocol::FetchVotesRequest{attempt}));
  const base::Bytes share = Shares(attempt).front();
  EXPECT_TRUE(server_->Take(MemberOn(0), protocol::PutVoteRequest{attempt, votes[0]}).ok());
  EXPECT_TRUE(Give(MemberOn(0), protocol::BulkKind::kUnmaskShare, share).ok());
  EXPECT_EQ(server_->Take(MemberOn(0), protocol::PutVoteRequest{attempt, votes[1]}).code(),
            absl::StatusCode::kAlreadyExists);
  base::Bytes other = share;
  other.back() ^= 1;
  EXPECT_EQ(Give(MemberOn(0), protocol::BulkKind::kUnmaskShare, other).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ValueOf(server_->Listed(protocol::FetchVotesRequest{attempt})), votes);
  EXPECT_EQ(Shares(attempt).front(), share);
  other.push_back(0);
  const absl::Status longer = Give(MemberOn(4), protocol::BulkKind::kUnmaskShare, other);
  EXPECT_EQ(longer.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(longer), HasSubstr("the agreement says"));
}

TEST_F(RoundServerTest, SingleUploadsAreGoneWhenTheSumIsMade) {
  Tick();
  const uint64_t member = Invited()[0];
  const base::Bytes upload = members_.Upload(member, Current());
  ASSERT_TRUE(Give(member, protocol::BulkKind::kUpload, upload).ok());
  const BlobKey key{.name = {protocol::BulkKind::kUpload, Current()}, .member = member};
  EXPECT_TRUE(blobs_.Read(key, crypto::Sha256(upload)).ok());
  for (const uint64_t other : {member, MemberOn(0)}) {
    EXPECT_EQ(server_->OpenPart(other, {.name = key.name}).status().code(),
              absl::StatusCode::kPermissionDenied);
  }
  for (const uint64_t other : Invited()) {
    if (other == member) continue;
    ASSERT_TRUE(Upload(other).ok());
  }
  Tick();
  EXPECT_EQ(blobs_.Read(key, crypto::Sha256(upload)).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RoundServerTest, DrainingBeginsNothing) {
  Collect();
  server_->Obey(DrainAsked());
  EXPECT_FALSE(server_->Idle());
  Publish();
  EXPECT_TRUE(server_->Idle());
  for (const uint64_t member : {0, 1, 2}) State(member, 1, 1);
  Tick();
  EXPECT_EQ(Current().number.round, 0u);
  Restart();
  Tick();
  EXPECT_EQ(Current().number.round, 1u);
}

TEST_F(RoundServerTest, APauseLetsTheOpenAttemptEndAndBeginsNone) {
  Collect();
  server_->Obey(PauseAsked{.paused = true});
  EXPECT_TRUE(server_->Status().paused);
  Publish();
  EXPECT_FALSE(server_->Idle());
  for (const uint64_t member : {0, 1, 2}) State(member, 1, 1);
  Tick();
  EXPECT_EQ(Current().number.round, 0u);
  EXPECT_FALSE(server_->Status().waiting);  // nobody is to be fetched for it
  server_->Obey(PauseAsked{.paused = false});
  Tick();
  EXPECT_EQ(Current().number.round, 1u);
}

TEST_F(RoundServerTest, NewsAreToldOnce) {
  int news = 0;
  server_->OnNotification([&] { ++news; });
  const protocol::AwaitRequest nothing{.known_revision = For(0).revision};
  EXPECT_FALSE(server_->IsNews(nothing));
  Tick();
  EXPECT_EQ(news, 1);
  EXPECT_TRUE(server_->IsNews(nothing));
  const protocol::AwaitRequest begun{.known_revision = For(0).revision};
  ASSERT_TRUE(Upload(Invited()[0]).ok());
  EXPECT_EQ(news, 1);  // nobody waits for single uploads
  EXPECT_FALSE(server_->IsNews(begun));
}

TEST_F(RoundServerTest, VotesAndSharesAreNewsForTheCommittee) {
  Collect();
  const uint64_t revision = For(0).revision;
  const auto unmasking = [&] { return ValueOf(server_->AnnouncementFor(0, 0, true)).revision; };
  const auto expect_news_of = [&](auto act) {
    const uint64_t before = unmasking();
    act();
    EXPECT_FALSE(server_->IsNews({.known_revision = revision}));
    EXPECT_TRUE(server_->IsNews({.known_revision = before, .unmasking = true}));
    const uint64_t after = unmasking();
    act();  // the same again
    EXPECT_FALSE(server_->IsNews({.known_revision = after, .unmasking = true}));
  };
  const base::Bytes share(secagg::UnmaskShareBytes(members_.terms().aggregation().sharing()));
  expect_news_of([&] {
    ASSERT_TRUE(
        server_->Take(MemberOn(0), protocol::PutVoteRequest{Current(), base::Bytes(3)}).ok());
  });
  expect_news_of(
      [&] { ASSERT_TRUE(Give(MemberOn(0), protocol::BulkKind::kUnmaskShare, share).ok()); });
}

TEST_F(RoundServerTest, AnotherFederationsStoreIsRefused) {
  agreement::ManifestSpec other = SmallAgreement();
  other.federation = {8};
  const SmallFederation others(other);
  const auto created = RoundServer::Create(
      others.manifest(), {}, store_, blobs_, [this] { return now_; }, cohorts_);
  EXPECT_EQ(created.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RoundServerTest, ANewEpochGoesOnWithTheNextAttempt) {
  RunRound(0);
  Tick();
  ASSERT_EQ(Current().number.round, 1u);
  ASSERT_TRUE(Upload(Invited()[0]).ok());
  SmallFederation next(SmallAgreement(), 5, 1, members_.manifest().manifest().hash());
  const auto server = ValueOf(RoundServer::Create(
      next.manifest(), {}, store_, blobs_, [this] { return now_; }, cohorts_));
  for (uint64_t member = 0; member < 5; ++member) server->NotePresence(member);
  EXPECT_EQ(server->Attempts().back().failure, "epoch-ended");
  const protocol::Announcement before = ValueOf(server->AnnouncementFor(0, 0, false));
  EXPECT_EQ(before.current, std::nullopt);
  EXPECT_EQ(before.finished, 0u);  // nobody has said yet with which round the epoch begins
  EXPECT_EQ(server->Status().finished, 1u);
  EXPECT_EQ(server->Status().opening, 0u);
  EXPECT_THAT(before.kept, IsEmpty());
  ASSERT_TRUE(server->Tick().ok());  // nobody has said yet what the model is
  EXPECT_EQ(ValueOf(server->AnnouncementFor(0, 0, false)).current, std::nullopt);
  const auto say = [&](uint64_t member, protocol::OpeningWord word) {
    return server->Take(member, protocol::PutOpeningRequest{protocol::WriteOpeningStatement(
                                    {.word = word, .member = member, .state = {.round = 1}},
                                    next.manifest(), next.site(member).signing)});
  };
  const auto said = [&] { return ValueOf(server->Listed(protocol::FetchOpeningRequest{})).size(); };
  for (const uint64_t member : {1, 2, 3, 4}) {
    ASSERT_TRUE(say(member, protocol::OpeningWord::kHas).ok());
  }
  EXPECT_EQ(server->Take(2, protocol::PutAttestationRequest{next.Attestation(2, 1, {})}).code(),
            absl::StatusCode::kFailedPrecondition);
  // A seat that is here and says nothing is awaited for the grace period, before others vote.
  EXPECT_EQ(server->Status().opening, 4u);
  for (const uint64_t seconds : {0, 60, 1}) {
    now_ += seconds;
    for (uint64_t member = 0; member < 5; ++member) server->NotePresence(member);
    EXPECT_EQ(said(), 0u);
    ASSERT_TRUE(server->Tick().ok());
  }
  EXPECT_EQ(said(), 4u);
  for (const uint64_t member : {1, 2, 3}) {
    ASSERT_TRUE(say(member, protocol::OpeningWord::kVote).ok());
    ASSERT_TRUE(say(member, protocol::OpeningWord::kVote).ok());
    EXPECT_EQ(server->Status().opening, 4u);
  }
  EXPECT_EQ(said(), 7u);
  ASSERT_TRUE(say(4, protocol::OpeningWord::kVote).ok());
  EXPECT_EQ(said(), 4u);
  EXPECT_EQ(server->Status().opening, std::nullopt);
  for (const uint64_t member : {1, 2, 3}) {
    ASSERT_TRUE(
        server->Take(member, protocol::PutAttestationRequest{next.Attestation(member, 1, {})})
            .ok());
  }
  ASSERT_TRUE(server->Tick().ok());
  const protocol::Announcement after = ValueOf(server->AnnouncementFor(0, 0, false));
  EXPECT_EQ(after.finished, 1u);
  EXPECT_EQ(after.current->attempt.number.epoch, 1u);
  EXPECT_EQ(after.current->attempt.number.round, 1u);
  EXPECT_EQ(after.current->attempt.number.attempt, 0u);
  // The older manifest's server cannot continue any more.
  const auto older = RoundServer::Create(
      members_.manifest(), {}, store_, blobs_, [this] { return now_; }, cohorts_);
  EXPECT_EQ(older.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(older.status()), HasSubstr("has gone on to epoch 1"));
}

TEST_F(RoundServerTest, AttestationsAreTheSendersOwn) {
  RunRound(0);
  const auto code = [&](uint64_t member, const base::Bytes& attestation) {
    return server_->Take(member, protocol::PutAttestationRequest{attestation}).code();
  };
  EXPECT_EQ(code(3, members_.Attestation(2, 1, {})), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(3, members_.Attestation(3, 2, {})), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(0, members_.Attestation(0, 1, {})), absl::StatusCode::kAlreadyExists);
  base::Bytes forged = members_.Attestation(3, 1, {});
  forged[60] ^= 1;
  EXPECT_EQ(code(3, forged), absl::StatusCode::kPermissionDenied);
}

// Uploads from as many threads as members, while time passes.
TEST_F(RoundServerTest, IsThreadSafe) {
  Tick();
  std::vector<base::Bytes> uploads;
  const std::vector<uint64_t> invited = Invited();
  for (const uint64_t member : invited) uploads.push_back(members_.Upload(member, Current()));
  const secagg::Attempt attempt = Current();
  std::vector<std::thread> threads;
  for (size_t i = 0; i < invited.size(); ++i) {
    threads.emplace_back([&, i] {
      for (uint64_t offset = 0; offset < uploads[i].size(); offset += 64) {
        const auto taken =
            testing::TakePart(*server_, invited[i],
                              Part(protocol::BulkKind::kUpload, attempt, uploads[i], offset, 64));
        EXPECT_TRUE(taken.ok()) << taken.status();
        (void)server_->Tick();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Tick();
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  EXPECT_EQ(For(0).current->participants, 3u);
}

// Without its key packet no seat could unmask a member's upload.
TEST_F(RoundServerTest, TakesNoUploadBeforeItsKeyPacket) {
  MemoryServerStore store;
  MemoryBlobStore blobs;
  const auto begin = [&] {
    return ValueOf(RoundServer::Create(
        members_.manifest(), {}, store, blobs, [this] { return now_; }, cohorts_));
  };
  auto server = begin();
  testing::AttestInitialModel(*server, members_);
  for (uint64_t member = 0; member < 5; ++member) server->NotePresence(member);
  ASSERT_TRUE(server->Tick().ok());
  std::vector<uint64_t> invited;
  for (uint64_t member = 0; member < 5; ++member) {
    const auto told = ValueOf(server->AnnouncementFor(member, 0, false));
    if (told.current->invited == protocol::Invited::kYes) invited.push_back(member);
  }
  const uint64_t member = invited[0], other = invited[1];
  const secagg::Attempt attempt =
      ValueOf(server->AnnouncementFor(member, 0, false)).current->attempt;
  const base::Bytes upload = members_.Upload(member, attempt);
  const auto give_upload = [&] {
    return testing::TakePart(*server, member, Part(protocol::BulkKind::kUpload, attempt, upload))
        .status();
  };
  const auto give = [&](uint64_t from, const base::Bytes& packet) {
    return testing::GivePacket(*server, from, members_.manifest(), packet);
  };
  EXPECT_EQ(give_upload().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(give_upload()), HasSubstr("before this member's key packet"));
  // Another member's packet, a damaged one, one of another length and one for another epoch.
  const base::Bytes packet = members_.KeysWithSeats(member).packet;
  EXPECT_EQ(give(member, members_.KeysWithSeats(other).packet).code(),
            absl::StatusCode::kPermissionDenied);
  base::Bytes damaged = packet;
  damaged.back() ^= 1;
  EXPECT_EQ(give(member, damaged).code(), absl::StatusCode::kDataLoss);
  damaged.pop_back();
  EXPECT_EQ(give(member, damaged).code(), absl::StatusCode::kFailedPrecondition);
  SmallFederation later(SmallAgreement(), 5, 1, members_.manifest().manifest().hash());
  EXPECT_EQ(give(member, later.KeysWithSeats(member).packet).code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(give_upload().code(), absl::StatusCode::kFailedPrecondition);
  // The first one counts, also for another process.
  EXPECT_TRUE(give(member, packet).ok());
  EXPECT_TRUE(give(member, packet).ok());
  server.reset();
  server = begin();
  server->NotePresence(member);
  EXPECT_TRUE(give(member, packet).ok());
  EXPECT_EQ(give(member, later.KeysWithSeats(member).packet).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(give_upload().ok());
}

// Seats are given parts of a packet by their offsets in it.
TEST_F(RoundServerTest, ADatabaseWithAPacketOfAnotherLengthIsRefused) {
  const base::Bytes packet = members_.KeysWithSeats(0).packet;
  for (const size_t bytes : {size_t{0}, size_t{1}, packet.size() - 1, packet.size() + 1}) {
    MemoryServerStore store;
    MemoryBlobStore blobs;
    ASSERT_TRUE(store.Claim(members_.manifest().manifest().federation()).ok());
    base::Bytes kept = packet;
    kept.resize(bytes);
    ASSERT_TRUE(store.PutItem(OpeningNumber(0), {ItemKind::kKeyPacket, 0, kept}).ok());
    const absl::Status status =
        RoundServer::Create(
            members_.manifest(), {}, store, blobs, [this] { return now_; }, cohorts_)
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << bytes;
    EXPECT_THAT(base::Message(status), HasSubstr("it holds a key packet of member 0 of"));
    EXPECT_THAT(base::Message(status), HasSubstr("tacet federation rotate"));
  }
}

TEST_F(RoundServerTest, ADatabaseWithAPacketOfNoMemberIsRefused) {
  for (const uint64_t member : {uint64_t{5}, (uint64_t{1} << 63) - 1}) {
    MemoryServerStore store;
    MemoryBlobStore blobs;
    ASSERT_TRUE(store.Claim(members_.manifest().manifest().federation()).ok());
    const base::Bytes packet = members_.KeysWithSeats(0).packet;
    ASSERT_TRUE(store.PutItem(OpeningNumber(0), {ItemKind::kKeyPacket, member, packet}).ok());
    const absl::Status status =
        RoundServer::Create(
            members_.manifest(), {}, store, blobs, [this] { return now_; }, cohorts_)
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << member;
    EXPECT_THAT(base::Message(status), HasSubstr("tacet federation rotate"));
  }
}

// Seats get their own copies, of participants only.
TEST_F(RoundServerTest, GivesEachSeatItsCopiesOfTheRostersPackets) {
  const secagg::Attempt attempt = Collect();
  const secagg::Roster roster =
      ValueOf(secagg::ReadRoster(Fetch(protocol::BulkKind::kRoster, attempt), attempt, 5));
  std::vector<uint64_t> participants = roster.members;
  std::ranges::sort(participants);
  ASSERT_EQ(participants.size(), 3u);
  const size_t seats = members_.committee().size();
  const auto copies_from = [&](size_t first, uint32_t seat) {
    std::vector<base::Bytes> copies;
    for (size_t i = first; i < participants.size(); ++i) {
      copies.push_back(
          secagg::CopyForSeat(members_.KeysWithSeats(participants[i]).packet, seats, seat));
    }
    return copies;
  };
  const auto asked = [&](uint64_t member, uint64_t from) {
    return server_->Listed(PacketsForSeat{member, {.attempt = attempt, .from = from}});
  };
  for (uint32_t seat = 0; seat < seats; ++seat) {
    EXPECT_EQ(ValueOf(asked(MemberOn(seat), 0)), copies_from(0, seat));
    EXPECT_EQ(ValueOf(asked(MemberOn(seat), participants[1])), copies_from(1, seat));
    EXPECT_EQ(ValueOf(asked(MemberOn(seat), participants[2] + 1)), copies_from(3, seat));
  }
  secagg::Attempt other = attempt;
  other.number.attempt = 1;
  EXPECT_FALSE(server_->Listed(PacketsForSeat{MemberOn(0), {.attempt = other, .from = 0}}).ok());
  // They are read from the store, whose failure passes.
  store_.failure().After(0);
  EXPECT_EQ(asked(MemberOn(0), 0).status().code(), absl::StatusCode::kUnavailable);
  store_.failure().After(1);  // one call reads all of them
  EXPECT_EQ(ValueOf(asked(MemberOn(0), 0)), copies_from(0, 0));
  store_.failure().Heal();
  store_.Lose(ItemKind::kKeyPacket);
  EXPECT_EQ(asked(MemberOn(0), 0).status().code(), absl::StatusCode::kNotFound);
}

// Four of five members are on the committee; member 2 is not. Shares are longer than key packets.
class OutsideTheCommitteeTest : public RoundServerTest {
 protected:
  OutsideTheCommitteeTest() : RoundServerTest(WithoutPacking()) {}
  static agreement::ManifestSpec WithoutPacking() {
    agreement::ManifestSpec spec = protocol::testing::AgreementWith(1, {4, 0, 3, 1});
    spec.committee.packing = 1;
    return spec;
  }
  static constexpr uint64_t kOutside = 2;

  static void ExpectRefused(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(base::Message(status), HasSubstr("only members of the committee"));
  }
};

TEST_F(OutsideTheCommitteeTest, NobodyVotesUnmasksConfirmsOrSeesTheRoster) {
  const secagg::Attempt attempt = Collect();
  Unmask(3);
  const std::vector<base::Bytes> votes =
      ValueOf(server_->Listed(protocol::FetchVotesRequest{attempt}));
  const base::Bytes share = Shares(attempt).front();
  ExpectRefused(server_->Take(kOutside, protocol::PutVoteRequest{attempt, votes[0]}));
  ExpectRefused(Give(kOutside, protocol::BulkKind::kUnmaskShare, share));
  ExpectRefused(server_->Take(kOutside, protocol::PutVerdictRequest{attempt, true}));
  ExpectRefused(server_->Take(kOutside, protocol::PutVerdictRequest{attempt, false}));
  ExpectRefused(FetchAs(kOutside, protocol::BulkKind::kRoster, attempt).status());
  ExpectRefused(
      server_->Listed(PacketsForSeat{kOutside, {.attempt = attempt, .from = 0}}).status());
  // Neither its votes nor its verdicts counted, whatever it did.
  ASSERT_TRUE(Refuse(0, attempt).ok());
  ASSERT_TRUE(Confirm(1, attempt).ok());
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  EXPECT_EQ(ValueOf(server_->Listed(protocol::FetchVotesRequest{attempt})), votes);
  ASSERT_TRUE(Confirm(2, attempt).ok());
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kPublished);
  // Also not after the attempt's end.
  ExpectRefused(server_->Take(kOutside, protocol::PutVoteRequest{attempt, votes[0]}));
  ExpectRefused(Give(kOutside, protocol::BulkKind::kUnmaskShare, share));
  ExpectRefused(server_->Take(kOutside, protocol::PutVerdictRequest{attempt, true}));
  ExpectRefused(FetchAs(kOutside, protocol::BulkKind::kRoster, attempt).status());
}

// Nor does the server expect one of them.
TEST_F(OutsideTheCommitteeTest, NoUnmaskShareIsExpected) {
  Collect();
  Publish();
  const size_t share = secagg::UnmaskShareBytes(members_.terms().aggregation().sharing());
  const size_t packet = secagg::KeyPacketBytes(4, 4);
  ASSERT_GT(packet, protocol::EncryptedCheckpointBytes(members_.manifest().manifest().spec()));
  ASSERT_GT(share, packet);
  EXPECT_EQ(server_->LargestPart(kOutside), packet);
  for (size_t seat = 0; seat < 4; ++seat) EXPECT_EQ(server_->LargestPart(MemberOn(seat)), share);
}

TEST_F(OutsideTheCommitteeTest, EverybodyDecrypts) {
  const secagg::Attempt attempt = Collect();
  Publish();
  for (const uint64_t member : {kOutside, MemberOn(0), MemberOn(3)}) {
    EXPECT_EQ(ValueOf(Decrypt(member, attempt)).aggregate.participants, 3u);
  }
}

// As many checkpoints as there are seats are kept, from any members.
TEST_F(OutsideTheCommitteeTest, CheckpointsOfTheRoundThatComesNext) {
  RunRound(0);
  secagg::Attempt name{.manifest_hash = members_.manifest().manifest().hash(),
                       .number = {.round = 1}};
  name.model_digest.fill(10);
  const base::Bytes checkpoint(
      protocol::EncryptedCheckpointBytes(members_.manifest().manifest().spec()), 9);
  const auto put = [&](uint64_t member, const secagg::Attempt& attempt) {
    return testing::TakePart(*server_, member,
                             Part(protocol::BulkKind::kCheckpoint, attempt, checkpoint))
        .status();
  };
  EXPECT_TRUE(put(0, name).ok());
  EXPECT_TRUE(put(0, name).ok());
  for (const uint64_t member : {1, 2, 4}) EXPECT_TRUE(put(member, name).ok());
  EXPECT_EQ(put(3, name).code(), absl::StatusCode::kFailedPrecondition);
  Restart();
  EXPECT_EQ(Fetch(protocol::BulkKind::kCheckpoint, name, 3), checkpoint);
  // Three members attested. The one outside the committee may have been a participant.
  EXPECT_THAT(ValueOf(server_->Listed(protocol::FetchAttestationsRequest{1})), SizeIs(2));
  ++name.number.round;
  EXPECT_EQ(put(3, name).code(), absl::StatusCode::kFailedPrecondition);
  RunRound(1);
  --name.number.round;
  EXPECT_EQ(FetchAs(0, protocol::BulkKind::kCheckpoint, name).status().code(),
            absl::StatusCode::kNotFound);
}

struct CommitteeCase {
  uint32_t corrupt;                 // f
  std::vector<uint64_t> committee;  // n members
  size_t quorum;                    // v
  size_t refusals;                  // min(n - v, f) + 1
  size_t confirmations;             // f + 1
};

// Seven members with committees of several sizes.
class CommitteesTest : public testing::RoundServerFixture,
                       public ::testing::WithParamInterface<CommitteeCase> {
 protected:
  CommitteesTest()
      : RoundServerFixture(
            protocol::testing::AgreementWith(GetParam().corrupt, GetParam().committee), 7) {}
};

TEST_P(CommitteesTest, AQuorumDecryptsAndMoreThanFConfirmationsPublish) {
  EXPECT_EQ(Quorum(), GetParam().quorum);
  const secagg::Attempt attempt = Collect();
  Unmask(GetParam().quorum);
  for (size_t seat = 0; seat < GetParam().confirmations; ++seat) {
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
    ASSERT_TRUE(Confirm(seat, attempt).ok());
  }
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kPublished);
  for (uint64_t member = 0; member < 7; ++member) {
    EXPECT_EQ(ValueOf(Decrypt(member, attempt)).aggregate.participants, 3u);
  }
}

TEST_P(CommitteesTest, FewerRefusalsDoNotEndAnAttempt) {
  const secagg::Attempt attempt = Collect();
  const size_t seats = GetParam().committee.size();
  for (size_t refused = 1; refused < GetParam().refusals; ++refused) {
    ASSERT_TRUE(Refuse(seats - refused, attempt).ok());
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  }
  Publish();  // by the others
}

// Once there is a quorum of votes, f seats that refuse end nothing: neither seats that did not
// vote, nor seats that did.
TEST_P(CommitteesTest, FalseRefusalsEndNothingOnceAQuorumVoted) {
  const size_t corrupt = GetParam().corrupt;
  const size_t seats = GetParam().committee.size();
  for (const bool voted : {false, true}) {
    if (!voted && seats - corrupt < GetParam().quorum) continue;
    const secagg::Attempt attempt = Collect();
    Unmask(voted ? seats : seats - corrupt);
    for (size_t i = 1; i <= corrupt; ++i) {
      ASSERT_TRUE(Refuse(seats - i, attempt).ok());
      ASSERT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
    }
    for (size_t seat = 0; seat < GetParam().confirmations; ++seat) {
      ASSERT_TRUE(Confirm(seat, attempt).ok());
    }
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kPublished);
    for (uint64_t member = 0; member < 7; ++member) {
      State(member, attempt.number.round + 1, static_cast<uint8_t>(attempt.number.round + 10));
    }
  }
}

TEST_P(CommitteesTest, EnoughRefusalsFailTheAttempt) {
  const secagg::Attempt attempt = Collect();
  for (size_t seat = 0; seat < GetParam().refusals; ++seat) {
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
    ASSERT_TRUE(Refuse(seat, attempt).ok());
  }
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  EXPECT_EQ(server_->Attempts().back().failure, "refused");
  Tick();
  EXPECT_EQ(Current().number.attempt, attempt.number.attempt + 1);
}

INSTANTIATE_TEST_SUITE_P(Shapes, CommitteesTest,
                         ::testing::Values(CommitteeCase{0, {5, 1}, 2, 1, 1},
                                           CommitteeCase{1, {3, 6, 0, 2}, 3, 2, 2},
                                           CommitteeCase{1, {4, 2, 0, 6, 1}, 4, 2, 2},
                                           CommitteeCase{2, {4, 2, 0, 6, 1}, 4, 2, 3},
                                           CommitteeCase{1, {1, 3, 5, 0, 2, 4}, 4, 2, 2},
                                           CommitteeCase{2, {6, 5, 4, 3, 2, 1, 0}, 5, 3, 3}),
                         [](const auto& shape) {
                           return fmt::format("{}seats{}corrupt", shape.param.committee.size(),
                                              shape.param.corrupt);
                         });

// A sum that the committee refuses names no participant: smaller cohorts leave a bad one out.
class HalvingTest : public testing::RoundServerFixture {
 protected:
  HalvingTest()
      : RoundServerFixture(
            [] {
              agreement::ManifestSpec spec = SmallAgreement();
              spec.sampling.cohort = 8;
              spec.sampling.min_participants = 3;
              spec.spare_attempts = 20;
              return spec;
            }(),
            9) {}

  void RefuseSum() {
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
    const secagg::Attempt attempt = Current();
    for (const size_t seat : {0, 1}) ASSERT_TRUE(Refuse(seat, attempt).ok());
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  }
};

TEST_F(HalvingTest, ARefusedSumIsFollowedByHalfTheCohortDownToKMin) {
  for (const size_t size : {8, 4, 3, 3}) {
    Collect();
    Restart();  // it remembers
    EXPECT_EQ(For(0).current->participants, size);
    RefuseSum();
  }
  Collect();
  Publish();
  for (uint64_t member = 0; member < 9; ++member) State(member, 1, 5);
  Tick();
  EXPECT_EQ(Current().number.round, 1u);
  EXPECT_THAT(Invited(), SizeIs(8));  // the next round begins with all of it
}

TEST_F(HalvingTest, OtherFailuresHalveNothing) {
  Tick();
  TickAfter(100);
  ASSERT_EQ(server_->Attempts().back().failure, "too-few-uploads");
  Tick();
  EXPECT_THAT(Invited(), SizeIs(8));
}

// Drawn from all clients again: a half of the cohort before would not be independent of it.
TEST_F(HalvingTest, ASmallerCohortIsDrawnFromAllClients) {
  bool outside = false;
  for (int i = 0; i < 5; ++i) {
    Tick();
    const std::vector<uint64_t> before = Invited();
    for (const uint64_t member : before) ASSERT_TRUE(Upload(member).ok());
    Tick();
    RefuseSum();
    Tick();
    if (For(0).current->phase != protocol::AttemptPhase::kCollecting) break;
    for (const uint64_t member : Invited()) {
      outside = outside || !std::ranges::binary_search(before, member);
    }
  }
  EXPECT_TRUE(outside);
}

class CoinsTest : public RoundServerTest {
 protected:
  CoinsTest()
      : RoundServerTest([] {
          agreement::ManifestSpec spec = SmallAgreement();
          spec.sampling.method = accounting::Sampling::kPoisson;
          return spec;
        }()) {}
};

TEST_F(CoinsTest, MembersDecideAndTheDeadlineCloses) {
  Tick();
  EXPECT_EQ(For(2).current->invited, protocol::Invited::kOwnCoin);
  for (const uint64_t member : {0, 2, 3}) ASSERT_TRUE(Upload(member).ok());
  Tick();
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kCollecting);
  TickAfter(100);
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
  EXPECT_EQ(For(0).current->participants, 3u);
}

}  // namespace
}  // namespace tacet::server
