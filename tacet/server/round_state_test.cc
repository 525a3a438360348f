#include "tacet/server/round_state.h"

#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/server/memory_server_store_for_test.h"
#include "tacet/server/round_protocol.h"
#include "tacet/server/round_steps.h"
#include "tacet/server/round_store.h"

namespace tacet::server {
namespace {

using protocol::testing::SmallAgreement;
using protocol::testing::SmallFederation;
using protocol::testing::ValueOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr uint32_t kKeptRounds = 2;

AttemptRecord Beginning(const secagg::Attempt& attempt) {
  AttemptRecord record;
  record.attempt = attempt;
  return record;
}

// A state and its store: each change is made in both.
class StoredState {
 public:
  static absl::StatusOr<std::unique_ptr<StoredState>> Load(
      const agreement::SignedManifest& manifest, MemoryServerStore& store, MemoryBlobStore& blobs) {
    std::unique_ptr<StoredState> stored(new StoredState(manifest, store, blobs));
    TACET_ASSIGN_OR_RETURN(const StoredRounds read, stored->store_.Read());
    Replace(stored->state, read, ReadStatements(manifest, read.of_beginning, read.opening_votes));
    return stored;
  }

  absl::Status Make(const Change& change) {
    TACET_RETURN_IF_ERROR(store_.Make(change));
    Apply(state, change);
    return absl::OkStatus();
  }
  absl::Status Begin(const AttemptRecord& record, std::vector<uint64_t> cohort) {
    return Make(BeginAttempt{.record = record, .cohort = std::move(cohort)});
  }
  absl::Status Put(ItemKind kind, uint64_t member, const base::Bytes& bytes) {
    const bool of_beginning = kind == ItemKind::kAttestation || kind == ItemKind::kCheckpoint;
    const secagg::AttemptNumber at =
        of_beginning ? server::Beginning(state) : state.attempts->back().attempt.number;
    return Make(PutItem{.at = at, .item = {.kind = kind, .member = member, .bytes = bytes}});
  }
  // With the same closed round, roster and shares.
  absl::Status Close(const base::Bytes& object, uint32_t participants, uint64_t deadline) {
    AttemptRecord record = *OpenAttempt(state);
    std::vector<Item> items;
    for (const auto& [kind, bulk] :
         {std::pair(ItemKind::kClosedRound, protocol::BulkKind::kClosedRound),
          std::pair(ItemKind::kRoster, protocol::BulkKind::kRoster),
          std::pair(ItemKind::kShares, protocol::BulkKind::kShares)}) {
      TACET_ASSIGN_OR_RETURN(const crypto::Digest digest,
                             store_.PutObject({bulk, record.attempt}, object));
      items.push_back({.kind = kind, .member = 0, .bytes = {digest.begin(), digest.end()}});
    }
    record.phase = protocol::AttemptPhase::kUnmasking;
    record.participants = participants;
    record.deadline = deadline;
    return Make(UpdateAttempt{.record = record, .items = std::move(items)});
  }
  absl::Status Finish(protocol::AttemptPhase phase, std::string_view failure) {
    AttemptRecord record = state.attempts->back();
    record.phase = phase;
    record.failure = failure;
    return Make(EndAttempt{.record = record});
  }
  absl::Status Sweep(std::span<const BlobKey> arriving) {
    TACET_RETURN_IF_ERROR(store_.Clean(SweepOf(state), arriving));
    state.sweep_is_due = false;
    return absl::OkStatus();
  }
  absl::Status CheckFresh() const { return store_.CheckFresh(); }

  RoundState state;

 private:
  StoredState(const agreement::SignedManifest& manifest, MemoryServerStore& store,
              MemoryBlobStore& blobs)
      : state{.rules = std::make_shared<const RoundRules>(
                  manifest, RoundServerOptions{.kept_rounds = kKeptRounds})},
        store_(manifest, kKeptRounds, store, blobs) {}

  RoundStore store_;
};

class RoundStateTest : public ::testing::Test {
 protected:
  RoundStateTest() { Load(); }

  // The state that an object over the same store finds.
  std::unique_ptr<StoredState> Another() {
    return ValueOf(StoredState::Load(members_.manifest(), store_, blobs_));
  }
  void Load() { state_ = Another(); }
  const RoundState& state() const { return state_->state; }
  const AttemptRecord& open() const { return *OpenAttempt(state()); }

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
    const BlobKey key = Stored(bulk, state().attempts->back().attempt, member);
    Give(kind, member, {kDigest.begin(), kDigest.end()});
    return key;
  }
  bool Holds(const BlobKey& key) const { return base::ValueOf(blobs_.Holds(key, kDigest)); }
  void Sweep() {
    const absl::Status swept = state_->Sweep({});
    ASSERT_TRUE(swept.ok()) << swept;
  }

  // One that is published with the votes and unmask shares of members 1 and 2.
  void RunRound(uint32_t round) {
    Begin(AttemptOf(round));
    ASSERT_TRUE(state_->Close(kObject, 3, 90).ok());
    for (const uint64_t member : {1, 2}) {
      Give(ItemKind::kVote, member, {8});
      GiveObject(ItemKind::kUnmaskShare, protocol::BulkKind::kUnmaskShare, member);
    }
    ASSERT_TRUE(state_->Finish(protocol::AttemptPhase::kPublished, "").ok());
  }

  const base::Bytes kObject = base::Bytes(50, 7);
  const crypto::Digest kDigest = crypto::Sha256(kObject);
  SmallFederation members_;
  MemoryServerStore store_;
  MemoryBlobStore blobs_;
  std::unique_ptr<StoredState> state_;
};

std::vector<uint64_t> MembersOf(const Submissions& submissions) {
  std::vector<uint64_t> members;
  for (const Submission& submission : submissions) members.push_back(submission.member);
  return members;
}

void ExpectSame(const RoundState& state, const RoundState& other) {
  EXPECT_EQ(*state.attempts, *other.attempts);
  EXPECT_EQ(CohortOf(state), CohortOf(other));
  for (int number = 1; number <= 12; ++number) {
    const auto kind = static_cast<ItemKind>(number);
    EXPECT_EQ(SubmissionsOf(state, kind), SubmissionsOf(other, kind)) << number;
  }
  ASSERT_EQ(state.kept.size(), other.kept.size());
  for (size_t i = 0; i < state.kept.size(); ++i) {
    EXPECT_EQ(state.kept[i].attempt, other.kept[i].attempt);
    EXPECT_EQ(state.kept[i].votes, other.kept[i].votes);
    EXPECT_EQ(state.kept[i].unmask_shares, other.kept[i].unmask_shares);
  }
}

// A state is copied at every step, and there may be as many packets as members.
TEST_F(RoundStateTest, HoldsTheDigestsOfKeyPacketsOnly) {
  const size_t seats = members_.committee().size();
  for (const uint64_t member : {3, 0, 2}) {
    const base::Bytes& packet = members_.KeysWithSeats(member).packet;
    ASSERT_EQ(packet.size(), secagg::KeyPacketBytes(seats, seats));
    ASSERT_TRUE(state_
                    ->Make(PutItem{
                        .at = OpeningNumber(0),
                        .item = {.kind = ItemKind::kKeyPacket, .member = member, .bytes = packet}})
                    .ok());
  }
  const std::unique_ptr<StoredState> another = Another();
  for (const RoundState* one :
       std::initializer_list<const RoundState*>{&state(), &another->state}) {
    EXPECT_THAT(MembersOf(one->key_packets), UnorderedElementsAre(0, 2, 3));
    for (const Submission& packet : one->key_packets) {
      EXPECT_EQ(packet.bytes().size(), 64u);
      const base::Bytes& whole = members_.KeysWithSeats(packet.member).packet;
      EXPECT_THAT(PacketDigestIn(packet), ElementsAreArray(crypto::Sha256(whole)));
      EXPECT_EQ(ListDigestIn(packet), secagg::ListDigest(whole, seats));
    }
  }
}

TEST_F(RoundStateTest, AKeyPacketOfAnotherLengthIsADamagedStore) {
  ASSERT_TRUE(store_.PutItem(OpeningNumber(0), {ItemKind::kKeyPacket, 1, base::Bytes(300)}).ok());
  const absl::Status read = StoredState::Load(members_.manifest(), store_, blobs_).status();
  EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss) << read;
  EXPECT_THAT(base::Message(read), HasSubstr("of 300 bytes"));
}

TEST_F(RoundStateTest, SaysWhatTheStoreHoldsAfterEveryChange) {
  const auto check = [&] { ExpectSame(state(), Another()->state); };
  check();
  EXPECT_EQ(OpenAttempt(state()), nullptr);
  Begin(AttemptOf(0));
  check();
  EXPECT_THAT(CohortOf(state()), ElementsAre(0, 2, 3));
  Give(ItemKind::kAccepted, 2, {1});
  Give(ItemKind::kAccepted, 0, {2});
  check();
  ASSERT_TRUE(state_->Close(kObject, 2, 80).ok());
  Give(ItemKind::kLeftOut, 2, {});
  check();
  EXPECT_THAT(SubmissionsOf(state(), ItemKind::kLeftOut), IsEmpty());  // the attempt is open
  ASSERT_TRUE(state_->Finish(protocol::AttemptPhase::kFailed, "wrong-shares").ok());
  check();
  EXPECT_THAT(MembersOf(SubmissionsOf(state(), ItemKind::kLeftOut)), ElementsAre(2));
  EXPECT_THAT(SubmissionsOf(state(), ItemKind::kAccepted), IsEmpty());
  EXPECT_THAT(CohortOf(state()), IsEmpty());
  Begin(AttemptOf(0, 1));
  ASSERT_TRUE(state_->Close(kObject, 3, 90).ok());
  check();
  EXPECT_EQ(open().phase, protocol::AttemptPhase::kUnmasking);
  EXPECT_EQ(open().participants, 3u);
  EXPECT_EQ(open().deadline, 90u);
  EXPECT_THAT(SubmissionsOf(state(), ItemKind::kRoster), SizeIs(1));
  EXPECT_THAT(SubmissionsOf(state(), ItemKind::kShares), SizeIs(1));
  EXPECT_THAT(MembersOf(SubmissionsOf(state(), ItemKind::kLeftOut)), ElementsAre(2));
  Give(ItemKind::kVote, 4, {3});
  Give(ItemKind::kRefusal, 1, {});
  Give(ItemKind::kConfirmation, 4, {});
  GiveObject(ItemKind::kUnmaskShare, protocol::BulkKind::kUnmaskShare, 4);
  GiveObject(ItemKind::kCheckRow, protocol::BulkKind::kCheckRow, 4);
  check();
  ASSERT_TRUE(state_->Finish(protocol::AttemptPhase::kPublished, "").ok());
  check();
  EXPECT_THAT(SubmissionsOf(state(), ItemKind::kLeftOut), IsEmpty());  // another round comes next
  EXPECT_EQ(FinishedRounds(state()), 1u);
  EXPECT_THAT(MembersOf(state().kept.front().votes), ElementsAre(4));
  EXPECT_THAT(MembersOf(state().kept.front().unmask_shares), ElementsAre(4));
  Give(ItemKind::kAttestation, 3, {4});
  Give(ItemKind::kCheckpoint, 3, {5});
  check();
  Begin(AttemptOf(1));
  check();
  EXPECT_EQ(Find(state(), ItemKind::kAttestation, 3)->bytes(), base::Bytes{4});
  EXPECT_EQ(Find(state(), ItemKind::kAttestation, 2), nullptr);
}

TEST_F(RoundStateTest, AChangeThatFailsMakesItStale) {
  const std::vector<std::function<absl::Status(StoredState&)>> changes = {
      [&](StoredState& state) { return state.Put(ItemKind::kAccepted, 2, kObject); },
      [&](StoredState& state) { return state.Close(kObject, 3, 90); },
      [](StoredState& state) { return state.Finish(protocol::AttemptPhase::kFailed, "refused"); },
      [&](StoredState& state) { return state.Begin(Beginning(AttemptOf(0, 1)), {}); },
  };
  Begin(AttemptOf(0));
  for (const auto& change : changes) {
    const std::unique_ptr<StoredState> before = Another();
    store_.failure().After(0, InjectedFailure::When::kAfter);
    EXPECT_EQ(change(*state_).code(), absl::StatusCode::kUnavailable);
    store_.failure().Heal();
    ExpectSame(state(), before->state);  // knows nothing of it
    EXPECT_EQ(state_->CheckFresh().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(change(*state_).code(), absl::StatusCode::kUnavailable);
    Load();
    EXPECT_TRUE(state_->CheckFresh().ok());
  }
  EXPECT_EQ(open().attempt, AttemptOf(0, 1));  // they all happened
}

TEST_F(RoundStateTest, AClosedRoundOrRosterThatCannotBeKeptMakesItStale) {
  Begin(AttemptOf(0));
  uint64_t calls = 0;
  for (;; ++calls) {
    blobs_.failure().After(calls);
    const absl::Status closed = state_->Close(kObject, 3, 90);
    blobs_.failure().Heal();
    if (closed.ok()) break;
    EXPECT_EQ(closed.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(state_->CheckFresh().code(), absl::StatusCode::kUnavailable);
    Load();
    EXPECT_EQ(open().phase, protocol::AttemptPhase::kCollecting);
  }
  EXPECT_EQ(calls, 12u);  // four calls for each of them and the shares
}

TEST_F(RoundStateTest, AnotherSubmissionIsRefusedAndChangesNothing) {
  Begin(AttemptOf(0));
  ASSERT_TRUE(state_->Close(kObject, 3, 90).ok());
  const Attendance attendance(5, 0);
  const auto vote = [&](const base::Bytes& bytes) {
    return Next(state(), {.now = 50, .attendance = attendance},
                VoteGiven{.member = 1, .attempt = AttemptOf(0), .vote = bytes});
  };
  Give(ItemKind::kVote, 1, {1});
  EXPECT_THAT(ValueOf(vote({1})).actions, IsEmpty());
  EXPECT_EQ(vote({2}).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(state_->CheckFresh().ok());
  EXPECT_THAT(SubmissionsOf(state(), ItemKind::kVote), SizeIs(1));
  EXPECT_EQ(Find(state(), ItemKind::kVote, 1)->bytes(), base::Bytes{1});
}

// The state refuses it first, so a store that has another one holds something else than the state.
TEST_F(RoundStateTest, AStoreThatHasAnotherSubmissionIsReadAgain) {
  Begin(AttemptOf(0));
  Give(ItemKind::kAccepted, 2, {1});
  EXPECT_EQ(state_->Put(ItemKind::kAccepted, 2, {2}).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(state_->CheckFresh().code(), absl::StatusCode::kUnavailable);
}

TEST_F(RoundStateTest, TheLastRoundsAreKept) {
  for (uint32_t round = 0; round < 3; ++round) RunRound(round);
  ASSERT_THAT(state().kept, SizeIs(kKeptRounds));
  EXPECT_EQ(state().kept[0].attempt, AttemptOf(1));
  EXPECT_EQ(state().kept[1].attempt, AttemptOf(2));
  EXPECT_THAT(MembersOf(state().kept[0].votes), ElementsAre(1, 2));
  ExpectSame(state(), Another()->state);
  Sweep();
  EXPECT_FALSE(Holds(BlobKeyOf({protocol::BulkKind::kClosedRound, AttemptOf(0)}, 0)));
  EXPECT_FALSE(Holds(BlobKeyOf({protocol::BulkKind::kUnmaskShare, AttemptOf(0)}, 1)));
  EXPECT_TRUE(Holds(BlobKeyOf({protocol::BulkKind::kClosedRound, AttemptOf(1)}, 0)));
  EXPECT_TRUE(Holds(BlobKeyOf({protocol::BulkKind::kUnmaskShare, AttemptOf(1)}, 1)));
}

TEST_F(RoundStateTest, AnUnmaskShareMayComeLate) {
  EXPECT_FALSE(IsPublishedLast(state(), AttemptOf(0)));
  RunRound(0);
  EXPECT_TRUE(IsPublishedLast(state(), AttemptOf(0)));
  EXPECT_FALSE(IsPublishedLast(state(), AttemptOf(1)));
  const BlobKey late = Stored(protocol::BulkKind::kUnmaskShare, AttemptOf(0), 4);
  ASSERT_TRUE(state_->Put(ItemKind::kUnmaskShare, 4, {kDigest.begin(), kDigest.end()}).ok());
  EXPECT_THAT(MembersOf(state().kept.front().unmask_shares), ElementsAre(1, 2, 4));
  ExpectSame(state(), Another()->state);
  Sweep();
  EXPECT_TRUE(Holds(late));
  Begin(AttemptOf(1));
  EXPECT_FALSE(IsPublishedLast(state(), AttemptOf(0)));
}

TEST_F(RoundStateTest, SweepsWhatNothingRefersTo) {
  Sweep();
  Begin(AttemptOf(0));
  EXPECT_FALSE(state().sweep_is_due);
  const BlobKey upload = GiveObject(ItemKind::kAccepted, protocol::BulkKind::kUpload, 2);
  ASSERT_TRUE(state_->Close(kObject, 3, 90).ok());
  EXPECT_TRUE(state().sweep_is_due);
  const BlobKey closed = BlobKeyOf({protocol::BulkKind::kClosedRound, AttemptOf(0)}, 0);
  const BlobKey roster = BlobKeyOf({protocol::BulkKind::kRoster, AttemptOf(0)}, 0);
  const BlobKey share = GiveObject(ItemKind::kUnmaskShare, protocol::BulkKind::kUnmaskShare, 1);
  const BlobKey shares = BlobKeyOf({protocol::BulkKind::kShares, AttemptOf(0)}, 0);
  const BlobKey row = GiveObject(ItemKind::kCheckRow, protocol::BulkKind::kCheckRow, 1);
  const BlobKey arriving = Stored(protocol::BulkKind::kUnmaskShare, AttemptOf(0), 4);
  ASSERT_TRUE(state_->Sweep({&arriving, 1}).ok());
  EXPECT_FALSE(state().sweep_is_due);
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
  EXPECT_TRUE(Holds(roster));  // the round is not final
  std::get<OpenedEpoch>(state_->state.epoch).attested = {{0, {9}}, {1, {9}}, {2, {9}}};
  Sweep();
  EXPECT_TRUE(Holds(closed));
  EXPECT_FALSE(Holds(roster));  // who took part is forgotten with the round's end
  EXPECT_FALSE(Holds(shares));
  EXPECT_FALSE(Holds(row));
  EXPECT_FALSE(Holds(arriving));
  EXPECT_TRUE(Holds(share));
  EXPECT_TRUE(Holds(checkpoint));
}

TEST_F(RoundStateTest, NothingOfAFailedAttemptIsKept) {
  Begin(AttemptOf(0));
  ASSERT_TRUE(state_->Close(kObject, 3, 90).ok());
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

TEST_F(RoundStateTest, ASweepIsDueUntilItSucceeds) {
  RunRound(0);
  blobs_.failure().After(0);
  EXPECT_EQ(state_->Sweep({}).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(state().sweep_is_due);
  EXPECT_TRUE(state_->CheckFresh().ok());  // nothing is known less well
  blobs_.failure().Heal();
  Sweep();
  EXPECT_FALSE(state().sweep_is_due);
  Load();
  EXPECT_TRUE(state().sweep_is_due);  // an earlier process may have left something
}

TEST_F(RoundStateTest, WhatAnEarlierEpochLeftOpenHasFailed) {
  RunRound(0);
  Begin(AttemptOf(1));
  const SmallFederation next(SmallAgreement(), 5, 1, members_.manifest().manifest().hash());
  const auto state = ValueOf(StoredState::Load(next.manifest(), store_, blobs_));
  EXPECT_EQ(OpenAttempt(state->state), nullptr);
  EXPECT_EQ(state->state.attempts->back().failure, "epoch-ended");
  EXPECT_THAT(state->state.kept, IsEmpty());
  EXPECT_EQ(Opened(state->state), nullptr);
  EXPECT_EQ(LastPublished(state->state), 1u);
  OpenAt(state->state, 1, {}, {});
  EXPECT_NE(Opened(state->state), nullptr);
  EXPECT_EQ(FinishedRounds(state->state), 1u);
  EXPECT_EQ(server::Beginning(state->state),
            (secagg::AttemptNumber{.epoch = 1, .round = 1, .attempt = 0}));
}

TEST_F(RoundStateTest, AnotherManifestsStoreIsRefused) {
  secagg::Attempt attempt = AttemptOf(0);
  const auto expect_refused = [&](std::string_view words) {
    MemoryServerStore store;
    ASSERT_TRUE(store.Begin(Beginning(attempt), {}).ok());
    const auto state = StoredState::Load(members_.manifest(), store, blobs_);
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
