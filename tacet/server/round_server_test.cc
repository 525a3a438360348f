#include "tacet/server/round_server.h"

#include <algorithm>
#include <optional>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/secagg/result_collector.h"
#include "tacet/server/testing/round_server_fixture.h"

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
  Collect();
  const secagg::Attempt attempt = Current();
  EXPECT_EQ(attempt.model_digest, SmallAgreement().initial_model);
  EXPECT_EQ(For(4).current->participants, 3u);
  Open(2);

  ASSERT_EQ(Phase(), protocol::AttemptPhase::kPublished);
  EXPECT_EQ(For(0).finished, 1u);
  EXPECT_THAT(For(0).kept, ElementsAre(attempt));
  std::vector<secagg::OpenerIdentity> openers;
  for (const uint64_t member : members_.OpenersOf(attempt)) {
    openers.push_back(members_.manifest().manifest().Identity(member));
  }
  const secagg::AttemptKeys keys = members_.KeysOf(attempt);
  secagg::ResultCollector collector(members_.manifest().manifest().terms().aggregation(), attempt,
                                    openers, keys.result_key);
  ASSERT_TRUE(collector.Offer(Fetch(protocol::BulkKind::kOpenedSum, attempt, 0)).ok());
  ASSERT_TRUE(collector.Offer(Fetch(protocol::BulkKind::kOpenedSum, attempt, 1)).ok());
  ASSERT_TRUE(collector.agreed().has_value());
  EXPECT_EQ(collector.agreed()->participants, 3u);
}

TEST_F(RoundServerTest, TheNextRoundStartsFromTheModelThatIsStated) {
  RunRound(0);
  Tick();
  crypto::Digest stated;
  stated.fill(10);
  EXPECT_EQ(Current().number.round, 1u);
  EXPECT_EQ(Current().model_digest, stated);
}

TEST_F(RoundServerTest, OneStatementIsNotEnough) {
  Collect();
  Open(2);
  State(0, 1, 7);
  Tick();
  EXPECT_EQ(Current().number.round, 0u);
  State(1, 1, 8);  // another model
  Tick();
  EXPECT_EQ(Current().number.round, 0u);
  State(2, 1, 8);
  Tick();
  EXPECT_EQ(Current().number.round, 1u);
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

TEST_F(RoundServerTest, CohortsAreDrawnAnewAndKnownToNobodyElse) {
  std::set<std::vector<uint64_t>> cohorts;
  for (int i = 0; i < 3; ++i) {
    Tick();
    const std::vector<uint64_t> invited = Invited();
    EXPECT_THAT(invited, SizeIs(3));
    cohorts.insert(invited);
    now_ += 100;
    Tick();  // nothing has arrived
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
    EXPECT_THAT(Invited(), IsEmpty());
    EXPECT_THAT(ValueOf(store_.Cohort()), IsEmpty());
  }
  EXPECT_GT(cohorts.size(), 1u);
}

TEST_F(RoundServerTest, TooFewUploadsFailTheAttempt) {
  Tick();
  ASSERT_TRUE(Upload(Invited()[0]).ok());
  now_ += 99;
  Tick();
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kCollecting);
  now_ += 1;
  Tick();
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
    now_ += 86'400;
    Tick();
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

TEST_F(RoundServerTest, EnoughUploadsAtTheDeadlineAreASum) {
  Tick();
  const std::vector<uint64_t> invited = Invited();
  ASSERT_TRUE(Upload(invited[0]).ok());
  ASSERT_TRUE(Upload(invited[2]).ok());
  now_ += 100;
  Tick();
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kOpening);
  EXPECT_EQ(For(0).current->participants, 2u);
  EXPECT_THAT(base::Message(Upload(invited[1])), HasSubstr("round 0 attempt 0 is closed"));
}

TEST_F(RoundServerTest, AttemptsEndWithTheAgreement) {
  for (int i = 0; i < 3; ++i) {
    Tick();
    now_ += 100;
    Tick();
  }
  Tick();
  EXPECT_TRUE(For(0).stopped);
  EXPECT_EQ(server_->Status().stopped, "round 0 failed in all its 3 attempts");
  EXPECT_EQ(server_->Status().failed, 3u);
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
  const base::Bytes upload = members_.Upload(Current());
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
    const base::Bytes upload = members_.Upload(other);
    // Announced as what it is, and as what is wanted.
    const absl::Status honest =
        server_->TakePart(member, Part(protocol::BulkKind::kUpload, other, upload)).status();
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
  const base::Bytes upload = members_.Upload(Current());
  base::Bytes damaged = upload;
  damaged[200] ^= 1;
  EXPECT_EQ(Give(member, protocol::BulkKind::kUpload, damaged).code(), absl::StatusCode::kDataLoss);
  protocol::PutPartRequest lying = Part(protocol::BulkKind::kUpload, Current(), upload);
  lying.part[200] ^= 1;
  EXPECT_EQ(server_->TakePart(member, lying).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(Give(member, protocol::BulkKind::kUpload, upload).ok());
}

TEST_F(RoundServerTest, AnUploadGoesOnWhereItStopped) {
  Tick();
  const uint64_t member = Invited()[0];
  const base::Bytes upload = members_.Upload(Current());
  const auto put = [&](uint64_t offset, size_t size) {
    return server_->TakePart(member,
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
  base::Bytes upload = members_.Upload(Current());
  upload.push_back(0);
  const absl::Status status = Give(Invited()[0], protocol::BulkKind::kUpload, upload);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(status), HasSubstr("the agreement says"));
  // Before anything is stored of it.
  protocol::PutPartRequest huge = Part(protocol::BulkKind::kUpload, Current(), upload);
  huge.total = ~uint64_t{0};
  EXPECT_EQ(server_->TakePart(Invited()[0], huge).status().code(),
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
  Restart();
  EXPECT_EQ(Fetch(protocol::BulkKind::kClosedRound, attempt), closed);
  const auto seats = Vote(2);
  Restart();
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kOpening);
  const std::vector<base::Bytes> votes = ValueOf(server_->Votes(attempt));
  EXPECT_THAT(votes, SizeIs(2));
  for (size_t i = 0; i < seats.size(); ++i) {
    const base::Bytes sum = ValueOf(seats[i]->Open(votes));
    ASSERT_TRUE(Give(members_.OpenersOf(attempt)[i], protocol::BulkKind::kOpenedSum, sum).ok());
    Restart();
    EXPECT_EQ(Phase(),
              i == 0 ? protocol::AttemptPhase::kOpening : protocol::AttemptPhase::kPublished);
  }
  EXPECT_TRUE(
      server_->PartOf({.name = {protocol::BulkKind::kOpenedSum, attempt}, .index = 1}).ok());
  State(0, 1, 5);
  Restart();
  State(1, 1, 5);
  Tick();
  EXPECT_EQ(Current().number.round, 1u);
}

TEST_F(RoundServerTest, TwoRefusalsFailTheAttempt) {
  Collect();
  const secagg::Attempt attempt = Current();
  ASSERT_TRUE(server_->TakeRefusal(0, attempt).ok());
  ASSERT_TRUE(server_->TakeRefusal(0, attempt).ok());
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kOpening);
  ASSERT_TRUE(server_->TakeRefusal(1, attempt).ok());
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  EXPECT_EQ(server_->Attempts().back().failure, "refused");
}

TEST_F(RoundServerTest, WithoutOpenersAnAttemptFails) {
  Collect();
  Vote(1);
  now_ += 50;
  Tick();
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kFailed);
  EXPECT_EQ(server_->Attempts().back().failure, "not-opened");
  EXPECT_EQ(For(0).finished, 0u);
}

TEST_F(RoundServerTest, TheThirdOpenersSumIsTakenLate) {
  Collect();
  const secagg::Attempt attempt = Current();
  const base::Bytes closed = Fetch(protocol::BulkKind::kClosedRound, attempt);
  const std::vector<uint64_t> openers = members_.OpenersOf(attempt);
  const auto third = members_.NewOpener(openers[2], attempt);
  const base::Bytes vote = ValueOf(third->Review(closed));
  const std::vector<base::Bytes> votes = {
      vote, ValueOf(members_.NewOpener(openers[0], attempt)->Review(closed))};
  Open(2);
  ASSERT_EQ(Phase(), protocol::AttemptPhase::kPublished);
  const base::Bytes sum = ValueOf(third->Open(votes));
  ASSERT_TRUE(Give(openers[2], protocol::BulkKind::kOpenedSum, sum).ok());
  ASSERT_TRUE(Give(openers[2], protocol::BulkKind::kOpenedSum, sum).ok());
  EXPECT_EQ(Fetch(protocol::BulkKind::kOpenedSum, attempt, 2), sum);
  Restart();
  EXPECT_EQ(Fetch(protocol::BulkKind::kOpenedSum, attempt, 2), sum);
  EXPECT_EQ(server_->PartOf({.name = {protocol::BulkKind::kOpenedSum, attempt}, .index = 3})
                .status()
                .code(),
            absl::StatusCode::kOutOfRange);
}

TEST_F(RoundServerTest, SingleUploadsAreGoneWhenTheSumIsMade) {
  Tick();
  const uint64_t member = Invited()[0];
  const base::Bytes upload = members_.Upload(Current());
  ASSERT_TRUE(Give(member, protocol::BulkKind::kUpload, upload).ok());
  const BlobKey key{.name = {protocol::BulkKind::kUpload, Current()}, .member = member};
  EXPECT_TRUE(spool_.Read(key, crypto::Sha256(upload)).ok());
  EXPECT_EQ(server_->PartOf({.name = key.name}).status().code(),
            absl::StatusCode::kPermissionDenied);
  for (const uint64_t other : Invited()) {
    if (other == member) continue;
    ASSERT_TRUE(Upload(other).ok());
  }
  Tick();
  EXPECT_EQ(spool_.Read(key, crypto::Sha256(upload)).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RoundServerTest, CheckpointsOfTheRoundThatComesNext) {
  RunRound(0);
  secagg::Attempt name{.manifest_hash = members_.manifest().manifest().hash(),
                       .number = {.round = 1}};
  name.model_digest.fill(10);
  const base::Bytes checkpoint(protocol::EncryptedCheckpointBytes(kSmallDimension), 9);
  const auto put = [&](uint64_t member, const secagg::Attempt& attempt) {
    return server_->TakePart(member, Part(protocol::BulkKind::kCheckpoint, attempt, checkpoint))
        .status();
  };
  EXPECT_TRUE(put(0, name).ok());
  EXPECT_TRUE(put(0, name).ok());
  EXPECT_TRUE(put(1, name).ok());
  EXPECT_TRUE(put(2, name).ok());
  EXPECT_EQ(put(3, name).code(), absl::StatusCode::kFailedPrecondition);
  Restart();
  EXPECT_EQ(Fetch(protocol::BulkKind::kCheckpoint, name, 2), checkpoint);
  EXPECT_THAT(ValueOf(server_->Statements(1)), SizeIs(2));
  ++name.number.round;
  EXPECT_EQ(put(3, name).code(), absl::StatusCode::kFailedPrecondition);
  RunRound(1);
  --name.number.round;
  EXPECT_EQ(server_->PartOf({.name = {protocol::BulkKind::kCheckpoint, name}}).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(RoundServerTest, DrainingBeginsNothing) {
  Collect();
  server_->Drain();
  EXPECT_FALSE(server_->Idle());
  Open(2);
  EXPECT_TRUE(server_->Idle());
  State(0, 1, 1);
  State(1, 1, 1);
  Tick();
  EXPECT_EQ(Current().number.round, 0u);
  Restart();
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

TEST_F(RoundServerTest, VotesAreNewsForThoseWhoOpen) {
  Collect();
  const uint64_t revision = For(0).revision;
  const uint64_t opening = ValueOf(server_->AnnouncementFor(0, 0, true)).revision;
  ASSERT_TRUE(server_->TakeVote(0, Current(), base::Bytes(3)).ok());
  EXPECT_FALSE(server_->IsNews({.known_revision = revision}));
  EXPECT_TRUE(server_->IsNews({.known_revision = opening, .opening = true}));
}

TEST_F(RoundServerTest, AnotherFederationsStoreIsRefused) {
  agreement::ManifestSpec other = SmallAgreement();
  other.rounds = 4;
  const SmallFederation others(other);
  const auto created = RoundServer::Create(
      others.manifest(), {}, store_, spool_, [this] { return now_; }, cohorts_);
  EXPECT_EQ(created.status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RoundServerTest, ANewEpochGoesOnWithTheNextAttempt) {
  RunRound(0);
  Tick();
  ASSERT_EQ(Current().number.round, 1u);
  ASSERT_TRUE(Upload(Invited()[0]).ok());
  SmallFederation next(SmallAgreement(), 5, 1);
  const auto server = ValueOf(RoundServer::Create(
      next.manifest(), {}, store_, spool_, [this] { return now_; }, cohorts_));
  EXPECT_EQ(server->Attempts().back().failure, "epoch-ended");
  const protocol::Announcement before = ValueOf(server->AnnouncementFor(0, 0, false));
  EXPECT_EQ(before.current, std::nullopt);
  EXPECT_EQ(before.finished, 1u);
  EXPECT_THAT(before.kept, IsEmpty());
  ASSERT_TRUE(server->Tick().ok());  // nobody has said yet what the model is
  EXPECT_EQ(ValueOf(server->AnnouncementFor(0, 0, false)).current, std::nullopt);
  for (const uint64_t member : {3, 4}) {
    ASSERT_TRUE(server->TakeAttestation(member, next.Statement(member, 1, {})).ok());
  }
  ASSERT_TRUE(server->Tick().ok());
  const protocol::Announcement after = ValueOf(server->AnnouncementFor(0, 0, false));
  EXPECT_EQ(after.current->attempt.number.epoch, 1u);
  EXPECT_EQ(after.current->attempt.number.round, 1u);
  EXPECT_EQ(after.current->attempt.number.attempt, 0u);
  // The older manifest's server cannot go on any more.
  const auto older = RoundServer::Create(
      members_.manifest(), {}, store_, spool_, [this] { return now_; }, cohorts_);
  EXPECT_EQ(older.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(older.status()), HasSubstr("has gone on to epoch 1"));
}

TEST_F(RoundServerTest, StatementsAreTheSendersOwn) {
  RunRound(0);
  const auto code = [&](uint64_t member, const base::Bytes& statement) {
    return server_->TakeAttestation(member, statement).code();
  };
  EXPECT_EQ(code(3, members_.Statement(2, 1, {})), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(3, members_.Statement(3, 2, {})), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code(0, members_.Statement(0, 1, {})), absl::StatusCode::kAlreadyExists);
  base::Bytes forged = members_.Statement(3, 1, {});
  forged[60] ^= 1;
  EXPECT_EQ(code(3, forged), absl::StatusCode::kPermissionDenied);
}

// Uploads from as many threads as members, while time passes.
TEST_F(RoundServerTest, IsThreadSafe) {
  Tick();
  std::vector<base::Bytes> uploads;
  const std::vector<uint64_t> invited = Invited();
  for (size_t i = 0; i < invited.size(); ++i) uploads.push_back(members_.Upload(Current()));
  const secagg::Attempt attempt = Current();
  std::vector<std::thread> threads;
  for (size_t i = 0; i < invited.size(); ++i) {
    threads.emplace_back([&, i] {
      for (uint64_t offset = 0; offset < uploads[i].size(); offset += 64) {
        const auto taken = server_->TakePart(
            invited[i], Part(protocol::BulkKind::kUpload, attempt, uploads[i], offset, 64));
        EXPECT_TRUE(taken.ok()) << taken.status();
        (void)server_->Tick();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Tick();
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kOpening);
  EXPECT_EQ(For(0).current->participants, 3u);
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
  now_ += 100;
  Tick();
  EXPECT_EQ(Phase(), protocol::AttemptPhase::kOpening);
  EXPECT_EQ(For(0).current->participants, 3u);
}

}  // namespace
}  // namespace tacet::server
