// Test fixture: a server over a store in memory, and all messages that its members would send.
#ifndef TACET_SERVER_TESTING_ROUND_SERVER_FIXTURE_H_
#define TACET_SERVER_TESTING_ROUND_SERVER_FIXTURE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/hash.h"
#include "tacet/protocol/testing/small_federation.h"
#include "tacet/server/round_server.h"
#include "tacet/server/testing/memory_server_store.h"

namespace tacet::server::testing {

class RoundServerFixture : public ::testing::Test {
 protected:
  explicit RoundServerFixture(
      agreement::ManifestSpec agreement = protocol::testing::SmallAgreement())
      : members_(std::move(agreement)) {
    Restart();
  }

  // A new object over what the last one stored.
  void Restart() {
    server_.reset();
    server_ = protocol::testing::ValueOf(RoundServer::Create(
        members_.manifest(), {.collecting_seconds = 100, .opening_seconds = 50, .kept_rounds = 2},
        store_, spool_, [this] { return now_; }, cohorts_));
  }

  protocol::Announcement For(uint64_t member, uint64_t listed_from = 0) {
    return protocol::testing::ValueOf(server_->AnnouncementFor(member, listed_from, false));
  }
  secagg::Attempt Current() { return For(0).current->attempt; }
  protocol::AttemptPhase Phase() { return For(0).current->phase; }

  void Tick() {
    const absl::Status status = server_->Tick();
    ASSERT_TRUE(status.ok()) << status;
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
    return server_->TakePart(member, Part(kind, Current(), whole)).status();
  }
  absl::Status Upload(uint64_t member) {
    return Give(member, protocol::BulkKind::kUpload, members_.Upload(Current()));
  }

  base::Bytes Fetch(protocol::BulkKind kind, const secagg::Attempt& attempt, uint32_t index = 0) {
    return protocol::testing::ValueOf(
               server_->PartOf({.name = {.kind = kind, .attempt = attempt}, .index = index}))
        .part;
  }

  void Collect() {
    Tick();
    for (const uint64_t member : Invited()) ASSERT_TRUE(Upload(member).ok());
    Tick();
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kOpening);
  }

  // The first `count` openers sign the closed round.
  std::vector<std::unique_ptr<secagg::Opener>> Vote(size_t count) {
    const secagg::Attempt attempt = Current();
    const base::Bytes closed = Fetch(protocol::BulkKind::kClosedRound, attempt);
    const std::vector<uint64_t> openers = members_.OpenersOf(attempt);
    std::vector<std::unique_ptr<secagg::Opener>> seats;
    for (size_t i = 0; i < count; ++i) {
      seats.push_back(members_.NewOpener(openers[i], attempt));
      const absl::Status taken = server_->TakeVote(
          openers[i], attempt, protocol::testing::ValueOf(seats.back()->Review(closed)));
      EXPECT_TRUE(taken.ok()) << taken;
    }
    return seats;
  }
  // And, when they are a majority, return the sum.
  void Open(size_t count) {
    const secagg::Attempt attempt = Current();
    const auto seats = Vote(count);
    const std::vector<base::Bytes> votes = protocol::testing::ValueOf(server_->Votes(attempt));
    for (size_t i = 0; i < count; ++i) {
      const base::Bytes sum = protocol::testing::ValueOf(seats[i]->Open(votes));
      const absl::Status given =
          Give(members_.OpenersOf(attempt)[i], protocol::BulkKind::kOpenedSum, sum);
      ASSERT_TRUE(given.ok()) << given;
    }
  }

  void State(uint64_t member, uint32_t round, uint8_t model) {
    crypto::Digest digest;
    digest.fill(model);
    const absl::Status taken =
        server_->TakeAttestation(member, members_.Statement(member, round, digest));
    ASSERT_TRUE(taken.ok()) << taken;
  }

  // A whole round, after which two members state the model that it gave.
  void RunRound(uint32_t round) {
    Collect();
    ASSERT_EQ(Current().number.round, round);
    Open(2);
    ASSERT_EQ(Phase(), protocol::AttemptPhase::kPublished);
    State(0, round + 1, static_cast<uint8_t>(round + 10));
    State(1, round + 1, static_cast<uint8_t>(round + 10));
  }

  protocol::testing::SmallFederation members_;
  MemoryServerStore store_;
  MemoryBlobStore spool_;
  uint64_t now_ = 1'755'000'000;
  crypto::InsecureSeededEntropy cohorts_{3, "cohorts"};
  std::unique_ptr<RoundServer> server_;
};

}  // namespace tacet::server::testing

#endif  // TACET_SERVER_TESTING_ROUND_SERVER_FIXTURE_H_
