// Test fixture: a server over a store in memory, and all messages that its members would send.
#ifndef TACET_SERVER_ROUND_SERVER_FOR_TEST_H_
#define TACET_SERVER_ROUND_SERVER_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/small_federation_for_test.h"
#include "tacet/secagg/round_decryption.h"
#include "tacet/server/initial_attestations_for_test.h"
#include "tacet/server/memory_server_store_for_test.h"
#include "tacet/server/round_server.h"
#include "tacet/server/whole_parts_for_test.h"

namespace tacet::server::testing {

class RoundServerFixture : public ::testing::Test {
 protected:
  explicit RoundServerFixture(
      agreement::ManifestSpec agreement = protocol::testing::SmallAgreement(), int members = 5)
      : members_(std::move(agreement), members) {
    Restart();
  }

  // A new object over what the last one stored.
  void Restart() {
    server_.reset();
    server_ = protocol::testing::ValueOf(RoundServer::Create(
        members_.manifest(),
        {.collecting_seconds = 100,
         .unmasking_seconds = 50,
         .abandon_seconds = 1000,
         .kept_rounds = 2,
         .grace_seconds = grace_seconds_,
         .retry_seconds = retry_seconds_},
        store_, blobs_, [this] { return now_; }, cohorts_));
    GivePackets(*server_, members_);
    if (server_->Status().finished == 0) AttestInitialModel(*server_, members_);
  }

  protocol::Announcement For(uint64_t member, uint64_t listed_from = 0) {
    return protocol::testing::ValueOf(server_->AnnouncementFor(member, listed_from, false));
  }
  secagg::Attempt Current() { return For(0).current->attempt; }
  protocol::AttemptPhase Phase() { return For(0).current->phase; }

  // The members that are not away have just sent a request.
  void Tick() {
    for (uint64_t member = 0; member < members_.manifest().members().size(); ++member) {
      if (!away_.contains(member)) server_->NotePresence(member);
    }
    const absl::Status status = server_->Tick();
    ASSERT_TRUE(status.ok()) << status;
  }
  void TickAfter(uint64_t seconds) {
    now_ += seconds;
    Tick();
  }

  std::vector<uint64_t> Invited() {
    std::vector<uint64_t> invited;
    for (uint64_t member = 0; member < members_.manifest().members().size(); ++member) {
      if (For(member).current->invited == protocol::Invited::kYes) invited.push_back(member);
    }
    return invited;
  }

  static protocol::PutPartRequest Part(protocol::BulkKind kind, const secagg::Attempt& attempt,
                                       const base::Bytes& whole, uint64_t offset = 0,
                                       size_t size = protocol::kMaxPartBytes) {
    const auto part = std::span(whole).subspan(offset, std::min(size, whole.size() - offset));
    return {.name = {.kind = kind, .attempt = attempt},
            .total = whole.size(),
            .digest = crypto::Sha256(whole),
            .offset = offset,
            .part = base::Bytes(part.begin(), part.end())};
  }
  absl::Status Give(uint64_t member, protocol::BulkKind kind, const base::Bytes& whole) {
    return TakePart(*server_, member, Part(kind, Current(), whole)).status();
  }
  absl::Status Upload(uint64_t member) {
    return Give(member, protocol::BulkKind::kUpload, members_.Upload(member, Current()));
  }

  absl::StatusOr<base::Bytes> FetchAs(uint64_t member, protocol::BulkKind kind,
                                      const secagg::Attempt& attempt, uint32_t index = 0) {
    return PartOf(*server_, member, {.name = {.kind = kind, .attempt = attempt}, .index = index});
  }
  // For a member on the committee.
  base::Bytes Fetch(protocol::BulkKind kind, const secagg::Attempt& attempt, uint32_t index = 0) {
    return protocol::testing::ValueOf(FetchAs(MemberOn(0), kind, attempt, index));
  }

  // The unmask shares that have arrived, which come together.
  absl::StatusOr<std::vector<base::Bytes>> SharesAs(uint64_t member,
                                                    const secagg::Attempt& attempt) {
    TACET_ASSIGN_OR_RETURN(const base::Bytes all,
                           FetchAs(member, protocol::BulkKind::kUnmaskShare, attempt));
    const auto each =
        static_cast<ptrdiff_t>(secagg::UnmaskShareBytes(members_.terms().aggregation().sharing()));
    std::vector<base::Bytes> shares;
    for (auto share = all.begin(); share < all.end(); share += each) {
      shares.emplace_back(share, share + each);
    }
    return shares;
  }
  std::vector<base::Bytes> Shares(const secagg::Attempt& attempt) {
    return protocol::testing::ValueOf(SharesAs(MemberOn(0), attempt));
  }

  uint64_t MemberOn(size_t seat) const { return members_.committee()[seat].member; }
  // v, and the seats whose confirmations publish an aggregate.
  size_t Quorum() const { return members_.terms().aggregation().sharing().votes(); }
  size_t Confirmations() const {
    return members_.manifest().manifest().spec().committee.corrupt + size_t{1};
  }

  // An attempt with the uploads of all its cohort.
  secagg::Attempt Collect() {
    Tick();
    for (const uint64_t member : Invited()) EXPECT_TRUE(Upload(member).ok());
    Tick();
    EXPECT_EQ(Phase(), protocol::AttemptPhase::kUnmasking);
    return Current();
  }

  using Seats = std::vector<std::unique_ptr<protocol::testing::SmallFederation::Seat>>;
  // The first `count` seats vote for the closed round.
  Seats Vote(size_t count) {
    const secagg::Attempt attempt = Current();
    const base::Bytes closed = Fetch(protocol::BulkKind::kClosedRound, attempt);
    const base::Bytes roster = Fetch(protocol::BulkKind::kRoster, attempt);
    Seats seats;
    for (uint32_t seat = 0; seat < count; ++seat) {
      seats.push_back(members_.NewSeat(seat, attempt));
      const absl::Status taken = server_->Take(
          MemberOn(seat), protocol::PutVoteRequest{attempt, seats.back()->Vote(closed, roster)});
      EXPECT_TRUE(taken.ok()) << taken;
    }
    return seats;
  }
  // And give their unmask shares, when they are a quorum.
  void Unmask(size_t count) {
    const secagg::Attempt attempt = Current();
    const Seats seats = Vote(count);
    const std::vector<base::Bytes> votes =
        protocol::testing::ValueOf(server_->Listed(protocol::FetchVotesRequest{attempt}));
    for (size_t seat = 0; seat < count; ++seat) {
      const absl::Status given =
          Give(MemberOn(seat), protocol::BulkKind::kUnmaskShare, seats[seat]->Unmask(votes));
      ASSERT_TRUE(given.ok()) << given;
    }
  }
  absl::Status Confirm(size_t seat, const secagg::Attempt& attempt) {
    return server_->Take(MemberOn(seat), protocol::PutVerdictRequest{attempt, true});
  }
  absl::Status Refuse(size_t seat, const secagg::Attempt& attempt) {
    return server_->Take(MemberOn(seat), protocol::PutVerdictRequest{attempt, false});
  }
  // As few seats as can publish the aggregate do so.
  void Publish() {
    const secagg::Attempt attempt = Current();
    Unmask(Quorum());
    for (size_t seat = 0; seat < Confirmations(); ++seat) {
      const absl::Status confirmed = Confirm(seat, attempt);
      ASSERT_TRUE(confirmed.ok()) << confirmed;
    }
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kPublished);
  }
  // The aggregate of a published attempt, from what the server gives to `member`.
  absl::StatusOr<secagg::DecryptedRound> Decrypt(uint64_t member, const secagg::Attempt& attempt) {
    TACET_ASSIGN_OR_RETURN(const base::Bytes closed,
                           FetchAs(member, protocol::BulkKind::kClosedRound, attempt));
    TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> votes,
                           server_->Listed(protocol::FetchVotesRequest{attempt}));
    TACET_ASSIGN_OR_RETURN(const std::vector<base::Bytes> shares, SharesAs(member, attempt));
    return secagg::DecryptRound(members_.terms(), members_.committee(), attempt,
                                members_.KeysOf(attempt),
                                {.closed_round = closed, .votes = votes, .unmask_shares = shares});
  }

  void State(uint64_t member, uint32_t round, uint8_t model) {
    crypto::Digest digest;
    digest.fill(model);
    const absl::Status taken = server_->Take(
        member, protocol::PutAttestationRequest{members_.Attestation(member, round, digest)});
    ASSERT_TRUE(taken.ok()) << taken;
  }

  // More than half of the committee's size.
  size_t Attestations() const { return members_.committee().size() / 2 + 1; }

  // A whole round, after which as many members as are needed state the model that it gave.
  void RunRound(uint32_t round) {
    Collect();
    ASSERT_EQ(Current().number.round, round);
    Publish();
    for (uint64_t member = 0; member < Attestations(); ++member) {
      State(member, round + 1, static_cast<uint8_t>(round + 10));
    }
  }

  std::set<uint64_t> away_;
  uint64_t grace_seconds_ = 0, retry_seconds_ = 0;
  protocol::testing::SmallFederation members_;
  MemoryServerStore store_;
  MemoryBlobStore blobs_;
  uint64_t now_ = 1'755'000'000;
  crypto::InsecureSeededEntropy cohorts_{3, "cohorts"};
  std::unique_ptr<RoundServer> server_;
};

}  // namespace tacet::server::testing

#endif  // TACET_SERVER_ROUND_SERVER_FOR_TEST_H_
