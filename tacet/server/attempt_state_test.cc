#include "tacet/server/attempt_state.h"

#include <functional>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/testing/small_federation.h"
#include "tacet/server/testing/memory_server_store.h"

namespace tacet::server {
namespace {

using protocol::testing::SmallAgreement;
using protocol::testing::SmallFederation;
using protocol::testing::ValueOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint32_t kKeptRounds = 2;

AttemptRecord Beginning(const secagg::Attempt& attempt) {
  AttemptRecord record;
  record.attempt = attempt;
  return record;
}

class AttemptStateTest : public ::testing::Test {
 protected:
  AttemptStateTest() { Load(); }

  // What an object over the same store finds.
  std::unique_ptr<AttemptState> Another() {
    return ValueOf(AttemptState::Load(members_.manifest(), kKeptRounds, store_, blobs_));
  }
  void Load() { state_ = Another(); }

  secagg::Attempt AttemptOf(uint32_t round, uint32_t attempt = 0) const {
    return {.manifest_hash = members_.manifest().manifest().hash(),
            .number = {.round = round, .attempt = attempt}};
  }
  void Begin(const secagg::Attempt& attempt) {
    const absl::Status begun = state_->Begin(Beginning(attempt), {0, 2, 3});
    ASSERT_TRUE(begun.ok()) << begun;
  }
  void Give(ItemKind kind, uint64_t member, const base::Bytes& bytes) {
    const absl::Status put = state_->Put(kind, member, bytes);
    ASSERT_TRUE(put.ok()) << put;
  }
  // A large object: in the blob store first.
  BlobKey Stored(protocol::BulkKind kind, const secagg::Attempt& attempt, uint64_t member) {
    const BlobKey key = BlobKeyOf({kind, attempt}, member);
    EXPECT_TRUE(blobs_.Append(key, kDigest, 0, kObject).ok());
    EXPECT_TRUE(blobs_.Complete(key, kDigest).ok());
    return key;
  }
  BlobKey GiveObject(ItemKind kind, protocol::BulkKind bulk, uint64_t member) {
    const BlobKey key = Stored(bulk, state_->Open()->attempt, member);
    Give(kind, member, {kDigest.begin(), kDigest.end()});
    return key;
  }
  bool Holds(const BlobKey& key) const { return blobs_.Read(key, kDigest).ok(); }
  void Sweep() {
    const absl::Status swept = state_->Sweep({});
    ASSERT_TRUE(swept.ok()) << swept;
  }

  // One that is published with the votes and unmask shares of members 1 and 2.
  void RunRound(uint32_t round) {
    Begin(AttemptOf(round));
    ASSERT_TRUE(state_->Close(kClosed, kShares, 3, 90).ok());
    for (const uint64_t member : {1, 2}) {
      Give(ItemKind::kVote, member, {8});
      GiveObject(ItemKind::kUnmaskShare, protocol::BulkKind::kUnmaskShare, member);
    }
    ASSERT_TRUE(state_->Finish(protocol::AttemptPhase::kPublished, "").ok());
  }

  const base::Bytes kObject = base::Bytes(50, 7);
  const crypto::Digest kDigest = crypto::Sha256(kObject);
  const secagg::Aggregator::Closed kClosed{.closed_round = kObject, .roster = kObject};
  const base::Bytes kShares = kObject;

  SmallFederation members_;
  MemoryServerStore store_;
  MemoryBlobStore blobs_;
  std::unique_ptr<AttemptState> state_;
};

std::vector<uint64_t> MembersOf(const Submissions& submissions) {
  std::vector<uint64_t> members;
  for (const Submission& submission : submissions) members.push_back(submission.member);
  return members;
}

void ExpectSame(const AttemptState& state, const AttemptState& other) {
  EXPECT_EQ(state.attempts(), other.attempts());
  EXPECT_EQ(state.cohort(), other.cohort());
  for (int number = 1; number <= 12; ++number) {
    const auto kind = static_cast<ItemKind>(number);
    EXPECT_EQ(MembersOf(state.SubmissionsOf(kind)), MembersOf(other.SubmissionsOf(kind))) << number;
  }
  ASSERT_EQ(state.kept().size(), other.kept().size());
  for (size_t i = 0; i < state.kept().size(); ++i) {
    EXPECT_EQ(state.kept()[i].attempt, other.kept()[i].attempt);
    EXPECT_EQ(MembersOf(state.kept()[i].votes), MembersOf(other.kept()[i].votes));
    EXPECT_EQ(MembersOf(state.kept()[i].unmask_shares), MembersOf(other.kept()[i].unmask_shares));
  }
}

TEST_F(AttemptStateTest, SaysWhatTheStoreHoldsAfterEveryChange) {
  const auto check = [&] { ExpectSame(*state_, *Another()); };
  check();
  EXPECT_EQ(state_->Open(), nullptr);
  Begin(AttemptOf(0));
  check();
  EXPECT_THAT(state_->cohort(), ElementsAre(0, 2, 3));
  Give(ItemKind::kAccepted, 2, {1});
  Give(ItemKind::kAccepted, 0, {2});
  check();
  Give(ItemKind::kLeftOut, 2, {});
  ASSERT_TRUE(state_->Finish(protocol::AttemptPhase::kFailed, "wrong-shares").ok());
  check();
  EXPECT_THAT(MembersOf(state_->SubmissionsOf(ItemKind::kLeftOut)), ElementsAre(2));
  EXPECT_THAT(state_->SubmissionsOf(ItemKind::kAccepted), IsEmpty());
  EXPECT_THAT(state_->cohort(), IsEmpty());
  Begin(AttemptOf(0, 1));
  ASSERT_TRUE(state_->Close(kClosed, kShares, 3, 90).ok());
  check();
  EXPECT_EQ(state_->Open()->phase, protocol::AttemptPhase::kUnmasking);
  EXPECT_EQ(state_->Open()->participants, 3u);
  EXPECT_EQ(state_->Open()->deadline, 90u);
  EXPECT_THAT(state_->SubmissionsOf(ItemKind::kRoster), SizeIs(1));
  EXPECT_THAT(state_->SubmissionsOf(ItemKind::kShares), SizeIs(1));
  EXPECT_THAT(MembersOf(state_->SubmissionsOf(ItemKind::kLeftOut)), ElementsAre(2));
  Give(ItemKind::kVote, 4, {3});
  Give(ItemKind::kRefusal, 1, {});
  Give(ItemKind::kConfirmation, 4, {});
  GiveObject(ItemKind::kUnmaskShare, protocol::BulkKind::kUnmaskShare, 4);
  GiveObject(ItemKind::kCheckRow, protocol::BulkKind::kCheckRow, 4);
  check();
  ASSERT_TRUE(state_->Finish(protocol::AttemptPhase::kPublished, "").ok());
  check();
  EXPECT_THAT(state_->SubmissionsOf(ItemKind::kLeftOut), IsEmpty());  // another round comes next
  EXPECT_EQ(state_->finished(), 1u);
  EXPECT_THAT(MembersOf(state_->kept().front().votes), ElementsAre(4));
  EXPECT_THAT(MembersOf(state_->kept().front().unmask_shares), ElementsAre(4));
  Give(ItemKind::kAttestation, 3, {4});
  Give(ItemKind::kCheckpoint, 3, {5});
  check();
  Begin(AttemptOf(1));
  check();
  EXPECT_EQ(state_->Find(ItemKind::kAttestation, 3)->bytes, base::Bytes{4});
  EXPECT_EQ(state_->Find(ItemKind::kAttestation, 2), nullptr);
}

TEST_F(AttemptStateTest, AChangeThatFailsMakesItStale) {
  const std::vector<std::function<absl::Status(AttemptState&)>> changes = {
      [&](AttemptState& state) { return state.Put(ItemKind::kVote, 1, kObject); },
      [&](AttemptState& state) { return state.Close(kClosed, kShares, 3, 90); },
      [](AttemptState& state) { return state.Finish(protocol::AttemptPhase::kFailed, "refused"); },
      [&](AttemptState& state) { return state.Begin(Beginning(AttemptOf(0, 1)), {}); },
  };
  Begin(AttemptOf(0));
  for (const auto& change : changes) {
    const std::unique_ptr<AttemptState> before = Another();
    store_.failure().After(0, InjectedFailure::When::kAfter);
    EXPECT_EQ(change(*state_).code(), absl::StatusCode::kUnavailable);
    store_.failure().Heal();
    ExpectSame(*state_, *before);  // knows nothing of it
    EXPECT_EQ(state_->CheckFresh().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(change(*state_).code(), absl::StatusCode::kUnavailable);
    Load();
    EXPECT_TRUE(state_->CheckFresh().ok());
  }
  EXPECT_EQ(state_->Open()->attempt, AttemptOf(0, 1));  // they all happened
}

TEST_F(AttemptStateTest, AClosedRoundOrRosterThatCannotBeKeptMakesItStale) {
  Begin(AttemptOf(0));
  uint64_t calls = 0;
  for (;; ++calls) {
    blobs_.failure().After(calls);
    const absl::Status closed = state_->Close(kClosed, kShares, 3, 90);
    blobs_.failure().Heal();
    if (closed.ok()) break;
    EXPECT_EQ(closed.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(state_->CheckFresh().code(), absl::StatusCode::kUnavailable);
    Load();
    EXPECT_EQ(state_->Open()->phase, protocol::AttemptPhase::kCollecting);
  }
  EXPECT_EQ(calls, 12u);  // four calls for each of them and the shares
}

TEST_F(AttemptStateTest, AnotherSubmissionIsRefusedAndChangesNothing) {
  Begin(AttemptOf(0));
  Give(ItemKind::kVote, 1, {1});
  Give(ItemKind::kVote, 1, {1});
  EXPECT_EQ(state_->Put(ItemKind::kVote, 1, base::Bytes{2}).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(state_->CheckFresh().ok());
  EXPECT_THAT(state_->SubmissionsOf(ItemKind::kVote), SizeIs(1));
  EXPECT_EQ(state_->Find(ItemKind::kVote, 1)->bytes, base::Bytes{1});
}

TEST_F(AttemptStateTest, TheLastRoundsAreKept) {
  for (uint32_t round = 0; round < 3; ++round) RunRound(round);
  ASSERT_THAT(state_->kept(), SizeIs(kKeptRounds));
  EXPECT_EQ(state_->kept()[0].attempt, AttemptOf(1));
  EXPECT_EQ(state_->kept()[1].attempt, AttemptOf(2));
  EXPECT_THAT(MembersOf(state_->kept()[0].votes), ElementsAre(1, 2));
  ExpectSame(*state_, *Another());
  Sweep();
  EXPECT_FALSE(Holds(BlobKeyOf({protocol::BulkKind::kClosedRound, AttemptOf(0)}, 0)));
  EXPECT_FALSE(Holds(BlobKeyOf({protocol::BulkKind::kUnmaskShare, AttemptOf(0)}, 1)));
  EXPECT_TRUE(Holds(BlobKeyOf({protocol::BulkKind::kClosedRound, AttemptOf(1)}, 0)));
  EXPECT_TRUE(Holds(BlobKeyOf({protocol::BulkKind::kUnmaskShare, AttemptOf(1)}, 1)));
}

TEST_F(AttemptStateTest, AnUnmaskShareMayComeLate) {
  EXPECT_FALSE(state_->IsPublishedLast(AttemptOf(0)));
  RunRound(0);
  EXPECT_TRUE(state_->IsPublishedLast(AttemptOf(0)));
  EXPECT_FALSE(state_->IsPublishedLast(AttemptOf(1)));
  const BlobKey late = Stored(protocol::BulkKind::kUnmaskShare, AttemptOf(0), 4);
  ASSERT_TRUE(state_->PutLate(ItemKind::kUnmaskShare, 4, kDigest).ok());
  EXPECT_THAT(MembersOf(state_->kept().front().unmask_shares), ElementsAre(1, 2, 4));
  ExpectSame(*state_, *Another());
  Sweep();
  EXPECT_TRUE(Holds(late));
  Begin(AttemptOf(1));
  EXPECT_FALSE(state_->IsPublishedLast(AttemptOf(0)));
}

TEST_F(AttemptStateTest, SweepsWhatNothingRefersTo) {
  Sweep();
  Begin(AttemptOf(0));
  EXPECT_FALSE(state_->sweep_is_due());
  const BlobKey upload = GiveObject(ItemKind::kAccepted, protocol::BulkKind::kUpload, 2);
  ASSERT_TRUE(state_->Close(kClosed, kShares, 3, 90).ok());
  EXPECT_TRUE(state_->sweep_is_due());
  const BlobKey closed = BlobKeyOf({protocol::BulkKind::kClosedRound, AttemptOf(0)}, 0);
  const BlobKey roster = BlobKeyOf({protocol::BulkKind::kRoster, AttemptOf(0)}, 0);
  const BlobKey share = GiveObject(ItemKind::kUnmaskShare, protocol::BulkKind::kUnmaskShare, 1);
  const BlobKey shares = BlobKeyOf({protocol::BulkKind::kShares, AttemptOf(0)}, 0);
  const BlobKey row = GiveObject(ItemKind::kCheckRow, protocol::BulkKind::kCheckRow, 1);
  const BlobKey arriving = Stored(protocol::BulkKind::kUnmaskShare, AttemptOf(0), 4);
  ASSERT_TRUE(state_->Sweep({&arriving, 1}).ok());
  EXPECT_FALSE(state_->sweep_is_due());
  EXPECT_FALSE(Holds(upload));
  EXPECT_TRUE(Holds(closed));
  EXPECT_TRUE(Holds(roster));
  EXPECT_TRUE(Holds(share));
  EXPECT_TRUE(Holds(shares));
  EXPECT_TRUE(Holds(row));
  EXPECT_TRUE(Holds(arriving));

  ASSERT_TRUE(state_->Finish(protocol::AttemptPhase::kPublished, "").ok());
  const BlobKey checkpoint = Stored(protocol::BulkKind::kCheckpoint, AttemptOf(1), 3);
  Give(ItemKind::kCheckpoint, 3, {kDigest.begin(), kDigest.end()});
  Sweep();
  EXPECT_TRUE(Holds(closed));
  EXPECT_FALSE(Holds(roster));  // who took part is forgotten with the attempt's end
  EXPECT_FALSE(Holds(shares));
  EXPECT_FALSE(Holds(row));
  EXPECT_FALSE(Holds(arriving));
  EXPECT_TRUE(Holds(share));
  EXPECT_TRUE(Holds(checkpoint));
}

TEST_F(AttemptStateTest, NothingOfAFailedAttemptIsKept) {
  Begin(AttemptOf(0));
  ASSERT_TRUE(state_->Close(kClosed, kShares, 3, 90).ok());
  Give(ItemKind::kVote, 1, {8});
  const BlobKey share = GiveObject(ItemKind::kUnmaskShare, protocol::BulkKind::kUnmaskShare, 1);
  ASSERT_TRUE(state_->Finish(protocol::AttemptPhase::kFailed, "refused").ok());
  Sweep();
  EXPECT_FALSE(Holds(BlobKeyOf({protocol::BulkKind::kClosedRound, AttemptOf(0)}, 0)));
  EXPECT_FALSE(Holds(BlobKeyOf({protocol::BulkKind::kRoster, AttemptOf(0)}, 0)));
  EXPECT_FALSE(Holds(BlobKeyOf({protocol::BulkKind::kShares, AttemptOf(0)}, 0)));
  EXPECT_FALSE(Holds(share));
  EXPECT_THAT(ValueOf(store_.Items({.epoch = 0, .round = 0, .attempt = 0})), IsEmpty());
}

TEST_F(AttemptStateTest, ASweepIsDueUntilItSucceeds) {
  RunRound(0);
  blobs_.failure().After(0);
  EXPECT_EQ(state_->Sweep({}).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(state_->sweep_is_due());
  EXPECT_TRUE(state_->CheckFresh().ok());  // nothing is known less well
  blobs_.failure().Heal();
  Sweep();
  EXPECT_FALSE(state_->sweep_is_due());
  Load();
  EXPECT_TRUE(state_->sweep_is_due());  // an earlier process may have left something
}

TEST_F(AttemptStateTest, WhatAnEarlierEpochLeftOpenHasFailed) {
  RunRound(0);
  Begin(AttemptOf(1));
  const SmallFederation next(SmallAgreement(), 5, 1, members_.manifest().manifest().hash());
  const auto state = ValueOf(AttemptState::Load(next.manifest(), kKeptRounds, store_, blobs_));
  EXPECT_EQ(state->Open(), nullptr);
  EXPECT_EQ(state->attempts().back().failure, "epoch-ended");
  EXPECT_THAT(state->kept(), IsEmpty());
  EXPECT_FALSE(state->is_opened());
  EXPECT_EQ(state->last_published(), 1u);
  ASSERT_TRUE(state->OpenAt(1).ok());
  EXPECT_TRUE(state->is_opened());
  EXPECT_EQ(state->finished(), 1u);
  EXPECT_EQ(state->Beginning(), (secagg::AttemptNumber{.epoch = 1, .round = 1, .attempt = 0}));
}

TEST_F(AttemptStateTest, AnotherManifestsStoreIsRefused) {
  secagg::Attempt attempt = AttemptOf(0);
  const auto expect_refused = [&](std::string_view words) {
    MemoryServerStore store;
    ASSERT_TRUE(store.Begin(Beginning(attempt), {}).ok());
    const auto state = AttemptState::Load(members_.manifest(), kKeptRounds, store, blobs_);
    EXPECT_EQ(state.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(base::Message(state.status()), HasSubstr(std::string(words)));
  };
  attempt.number.epoch = 1;
  expect_refused("has gone on to epoch 1, its manifest is of epoch 0");
  attempt.number.epoch = 0;
  ++attempt.manifest_hash[0];
  expect_refused("attempts of epoch 0 under another manifest than the server's");
}

}  // namespace
}  // namespace tacet::server
