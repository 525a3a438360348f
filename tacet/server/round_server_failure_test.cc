// Tests of a server whose store or blob store fails.
#include <functional>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/server/testing/round_server_fixture.h"

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
  void Begin(bool spool, uint64_t calls, When when) {
    store_.emplace();
    spool_.emplace();
    failure_ = spool ? &spool_->failure() : &store_->failure();
    server_ = ValueOf(RoundServer::Create(
        members_.manifest(), {}, *store_, *spool_, [this] { return now_; }, cohorts_));
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
    Insist([&] { return server_->TakePart(member, Part(kind, attempt, whole)).status(); });
  }

  void RunRound() {
    const auto tick = [this] { return server_->Tick(); };
    Insist(tick);
    for (const uint64_t member : Invited()) {
      InsistOnPart(member, protocol::BulkKind::kUpload, members_.Upload(Current()));
    }
    Insist(tick);
    const secagg::Attempt attempt = Current();
    EXPECT_EQ(For(0).current->participants, 3u);
    base::Bytes closed;
    Insist([&] {
      const auto part = server_->PartOf({.name = {protocol::BulkKind::kClosedRound, attempt}});
      if (part.ok()) closed = part->part;
      return part.status();
    });
    const std::vector<uint64_t> openers = members_.OpenersOf(attempt);
    std::vector<std::unique_ptr<secagg::Opener>> seats;
    for (const uint64_t opener : openers) {
      seats.push_back(members_.NewOpener(opener, attempt));
      const base::Bytes vote = ValueOf(seats.back()->Review(closed));
      Insist([&] { return server_->TakeVote(opener, attempt, vote); });
    }
    const std::vector<base::Bytes> votes = ValueOf(server_->Votes(attempt));
    EXPECT_THAT(votes, SizeIs(3));
    for (size_t i = 0; i < openers.size(); ++i) {
      const base::Bytes sum = ValueOf(seats[i]->Open(votes));
      Insist([&] {
        return server_->TakePart(openers[i], Part(protocol::BulkKind::kOpenedSum, attempt, sum))
            .status();
      });
    }
    for (const uint64_t member : {0, 1}) {
      Insist([&] { return server_->TakeAttestation(member, members_.Statement(member, 1, {})); });
    }
    Insist(tick);
    Insist(tick);
  }

  std::optional<MemoryServerStore> store_;
  std::optional<MemoryBlobStore> spool_;
  InjectedFailure* failure_ = nullptr;
  bool failed_ = false;
};

TEST_F(FailingStoreTest, LosesNothingWhicheverCallFails) {
  for (const bool spool : {false, true}) {
    for (const When when : {When::kBefore, When::kAfter}) {
      uint64_t calls = 0;
      do {
        SCOPED_TRACE(fmt::format("{} call {} {}", spool ? "spool" : "store", calls,
                                 when == When::kBefore ? "before" : "after"));
        Begin(spool, calls, when);
        RunRound();
        if (HasFatalFailure()) return;
        // Every attempt was begun once, and round 1 has begun.
        EXPECT_EQ(server_->Attempts().size(), 2u);
        EXPECT_EQ(Current().number.round, 1u);
        ++calls;
      } while (failed_);
      EXPECT_GT(calls, spool ? 10u : 15u);
    }
  }
}

}  // namespace
}  // namespace tacet::server
