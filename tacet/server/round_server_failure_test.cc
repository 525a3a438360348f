// Tests of a server whose store or blob store fails.
#include <functional>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/server/round_server_for_test.h"

namespace tacet::server {
namespace {

using protocol::testing::ValueOf;
using ::testing::SizeIs;

// A round during which one call of the store or the blob store fails, before or after it has
// happened: the caller asks again.
class FailingStoreTest : public testing::RoundServerFixture {
 protected:
  using When = InjectedFailure::When;

  // Again from the beginning, to fail after so many calls.
  void Begin(bool blobs, uint64_t calls, When when) {
    store_.emplace();
    blobs_.emplace();
    failure_ = blobs ? &blobs_->failure() : &store_->failure();
    server_ = ValueOf(RoundServer::Create(
        members_.manifest(), {}, *store_, *blobs_, [this] { return now_; }, cohorts_));
    for (uint64_t member = 0; member < members_.manifest().members().size(); ++member) {
      server_->NotePresence(member);
    }
    failure_->After(calls, when);
    failed_ = false;
  }

  void Insist(const std::function<absl::Status()>& ask) {
    absl::Status status = ask();
    if (status.code() == absl::StatusCode::kUnavailable) {
      failed_ = true;
      failure_->Heal();
      const absl::Status ticked = server_->Tick();
      ASSERT_TRUE(ticked.ok()) << ticked;
      status = ask();
    }
    ASSERT_TRUE(status.ok()) << status;
  }

  void InsistOnPart(uint64_t member, protocol::BulkKind kind, const base::Bytes& whole) {
    const secagg::Attempt attempt = Current();
    Insist(
        [&] { return testing::TakePart(*server_, member, Part(kind, attempt, whole)).status(); });
  }

  void InsistOnInitialModel() {
    for (uint64_t member = 0; member < members_.manifest().members().size(); ++member) {
      Insist([&] {
        return testing::GivePacket(*server_, member, members_.manifest(),
                                   members_.KeysWithSeats(member).packet);
      });
    }
    for (const secagg::CommitteeSeat& seat : members_.committee()) {
      Insist([&] {
        return server_->Take(seat.member, protocol::PutAttestationRequest{members_.Attestation(
                                              seat.member, 0, testing::kInitialModel)});
      });
    }
  }

  void RunRound() {
    const auto tick = [this] { return server_->Tick(); };
    InsistOnInitialModel();
    Insist(tick);
    for (const uint64_t member : Invited()) {
      InsistOnPart(member, protocol::BulkKind::kUpload, members_.Upload(member, Current()));
    }
    Insist(tick);
    const secagg::Attempt attempt = Current();
    EXPECT_EQ(For(0).current->participants, 3u);
    const auto fetch = [&](protocol::BulkKind kind) {
      base::Bytes object;
      Insist([&] {
        absl::StatusOr<base::Bytes> part = FetchAs(MemberOn(0), kind, attempt);
        if (part.ok()) object = *std::move(part);
        return part.status();
      });
      return object;
    };
    const base::Bytes closed = fetch(protocol::BulkKind::kClosedRound);
    const base::Bytes roster = fetch(protocol::BulkKind::kRoster);
    const uint32_t all = 5;
    Seats seats;
    for (uint32_t seat = 0; seat < all; ++seat) {
      seats.push_back(members_.NewSeat(seat, attempt));
      const base::Bytes vote = seats.back()->Vote(closed, roster);
      Insist([&] {
        return server_->Take(MemberOn(seat), protocol::PutVoteRequest{attempt, vote});
      });
    }
    const std::vector<base::Bytes> votes =
        ValueOf(server_->Listed(protocol::FetchVotesRequest{attempt}));
    EXPECT_THAT(votes, SizeIs(all));
    for (uint32_t seat = 0; seat < all; ++seat) {
      const base::Bytes share = seats[seat]->Unmask(votes);
      // The last one comes late.
      if (seat == all - 1) {
        for (size_t first = 0; first < Confirmations(); ++first) {
          Insist([&] { return Confirm(first, attempt); });
        }
        EXPECT_EQ(Phase(), protocol::AttemptPhase::kPublished);
      }
      Insist([&] {
        return testing::TakePart(*server_, MemberOn(seat),
                                 Part(protocol::BulkKind::kUnmaskShare, attempt, share))
            .status();
      });
    }
    Insist([&] {
      const auto decrypted = Decrypt(0, attempt);
      if (decrypted.ok()) {
        EXPECT_EQ(decrypted->aggregate.participants, 3u);
      }
      return decrypted.status();
    });
    for (const uint64_t member : {0, 1, 2}) {
      Insist([&] {
        return server_->Take(member,
                             protocol::PutAttestationRequest{members_.Attestation(member, 1, {})});
      });
    }
    Insist(tick);
    Insist(tick);
  }

  std::optional<MemoryServerStore> store_;
  std::optional<MemoryBlobStore> blobs_;
  InjectedFailure* failure_ = nullptr;
  bool failed_ = false;
};

TEST_F(FailingStoreTest, LosesNothingWhicheverCallFails) {
  for (const bool blobs : {false, true}) {
    for (const When when : {When::kBefore, When::kAfter}) {
      uint64_t calls = 0;
      do {
        SCOPED_TRACE(fmt::format("{} call {} {}", blobs ? "blobs" : "store", calls,
                                 when == When::kBefore ? "before" : "after"));
        Begin(blobs, calls, when);
        RunRound();
        if (HasFatalFailure()) return;
        // Every attempt was begun once, and round 1 has begun.
        EXPECT_EQ(server_->Attempts().size(), 2u);
        EXPECT_EQ(Current().number.round, 1u);
        ++calls;
      } while (failed_);
      EXPECT_GT(calls, blobs ? 10u : 15u);
    }
  }
}

// A member takes any other code for an answer, and would drop its vote.
TEST_F(FailingStoreTest, WhatTheStoreSaysIsNotTheMembersFault) {
  for (const absl::StatusCode code : {absl::StatusCode::kInternal, absl::StatusCode::kDataLoss,
                                      absl::StatusCode::kFailedPrecondition}) {
    Begin(false, 1000, When::kBefore);
    InsistOnInitialModel();
    Insist([this] { return server_->Tick(); });
    for (const uint64_t member : Invited()) {
      InsistOnPart(member, protocol::BulkKind::kUpload, members_.Upload(member, Current()));
    }
    Insist([this] { return server_->Tick(); });
    const secagg::Attempt attempt = Current();
    const base::Bytes vote = members_.NewSeat(0, attempt)
                                 ->Vote(Fetch(protocol::BulkKind::kClosedRound, attempt),
                                        Fetch(protocol::BulkKind::kRoster, attempt));
    failure_->FailWith(code);
    failure_->After(0);
    const absl::Status taken = server_->Take(MemberOn(0), protocol::PutVoteRequest{attempt, vote});
    EXPECT_EQ(taken.code(), absl::StatusCode::kUnavailable) << taken;
    failure_->Heal();
    ASSERT_TRUE(server_->Tick().ok());
    EXPECT_TRUE(server_->Take(MemberOn(0), protocol::PutVoteRequest{attempt, vote}).ok());
    EXPECT_THAT(ValueOf(server_->Listed(protocol::FetchVotesRequest{attempt})), SizeIs(1));
  }
}

using ConfirmedAttemptTest = testing::RoundServerFixture;

// A server that ends between the last confirmation and the publication. No seat has a reason to
// confirm once more. Until 0.3 the attempt was failed at its deadline: four seats gave shares, the
// fifth refused, and all were here.
TEST_F(ConfirmedAttemptTest, IsPublishedAlsoByTheNextProcess) {
  const secagg::Attempt attempt = Collect();
  Unmask(4);
  ASSERT_TRUE(Refuse(4, attempt).ok());
  for (size_t seat = 0; seat + 1 < Confirmations(); ++seat) {
    ASSERT_TRUE(Confirm(seat, attempt).ok());
  }
  store_.failure().After(1);
  EXPECT_EQ(Confirm(Confirmations() - 1, attempt).code(), absl::StatusCode::kUnavailable);
  store_.failure().Heal();
  Restart();
  for (int i = 0; i < 3; ++i) {
    TickAfter(50);
  }
  ASSERT_FALSE(server_->Attempts().empty());
  EXPECT_EQ(server_->Attempts().front().phase, protocol::AttemptPhase::kPublished);
  EXPECT_EQ(server_->Attempts().front().failure, "");
}

}  // namespace
}  // namespace tacet::server
