// Work of a round server outside its lock: verification of attestations and notification.
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/server/round_server_for_test.h"

namespace {
std::atomic<int> verified = 0;  // signatures, in this process
}  // namespace

// The linker gives this test calls of libsodium's function (CMakeLists.txt).
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" {
int __real_crypto_sign_verify_detached(const unsigned char* signature, const unsigned char* message,
                                       unsigned long long size, const unsigned char* public_key);
int __wrap_crypto_sign_verify_detached(const unsigned char* signature, const unsigned char* message,
                                       unsigned long long size, const unsigned char* public_key) {
  ++verified;
  return __real_crypto_sign_verify_detached(signature, message, size, public_key);
}
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

namespace tacet::server {
namespace {

using protocol::AttemptPhase;

class RoundServerLocksTest : public testing::RoundServerFixture {
 protected:
  // A round is published, and nobody has stated a model.
  void RunToTheEnd() {
    Collect();
    Publish();
  }
  void TickOften() {
    for (int i = 0; i < 50; ++i) Tick();
  }
};

TEST_F(RoundServerLocksTest, AnAttestationIsVerifiedOnceHoweverLongTheServerWaits) {
  RunToTheEnd();
  const int before = verified;
  State(0, 1, 1);
  EXPECT_EQ(verified, before + 1);
  TickOften();
  EXPECT_EQ(verified, before + 1);
  State(1, 1, 1);
  TickOften();
  EXPECT_EQ(verified, before + 2);
  EXPECT_EQ(Current().number.round, 0u);
  State(2, 1, 1);
  Tick();
  EXPECT_EQ(verified, before + 3);
  EXPECT_EQ(Current().number.round, 1u);
}

TEST_F(RoundServerLocksTest, StoredAttestationsAreVerifiedOnceAfterARestart) {
  RunToTheEnd();
  State(0, 1, 1);
  State(1, 1, 1);
  const int before = verified;
  // The threads of a new process remember no signature that held.
  std::thread([this] {
    Restart();
    TickOften();
  }).join();
  EXPECT_EQ(verified, before + 2);
  EXPECT_EQ(Current().number.round, 0u);
  State(2, 1, 1);
  Tick();
  EXPECT_EQ(Current().number.round, 1u);
}

TEST_F(RoundServerLocksTest, AttestationsOfOneRoundDoNotBeginTheNextButOne) {
  RunRound(0);
  RunToTheEnd();
  TickOften();
  EXPECT_EQ(Current().number.round, 1u);
  EXPECT_EQ(Phase(), AttemptPhase::kPublished);
}

TEST_F(RoundServerLocksTest, ARefusedAttestationDoesNotCount) {
  RunToTheEnd();
  State(0, 1, 1);
  crypto::Digest digest;
  digest.fill(1);
  base::Bytes forged = members_.Attestation(1, 1, digest);
  forged.back() ^= 1;
  EXPECT_FALSE(server_->Take(1, protocol::PutAttestationRequest{forged}).ok());
  digest.fill(2);
  EXPECT_FALSE(server_->Take(0, protocol::PutAttestationRequest{members_.Attestation(0, 1, digest)})
                   .ok());  // another one
  State(1, 1, 2);
  State(2, 1, 1);
  TickOften();
  EXPECT_EQ(Current().number.round, 0u);
  State(3, 1, 1);
  Tick();
  EXPECT_EQ(Current().number.round, 1u);
  digest.fill(1);
  EXPECT_EQ(Current().model_digest, digest);
}

TEST_F(RoundServerLocksTest, AListenerThatWasRemovedIsNotCalledAnyMore) {
  std::promise<void> begun, may_end;
  std::atomic<bool> ended = false;
  server_->OnNotification([&] {
    begun.set_value();
    may_end.get_future().wait();
    ended = true;
  });
  std::thread ticking([&] { Tick(); });
  begun.get_future().wait();
  std::atomic<bool> removed = false;
  std::thread removing([&] {
    server_->OnNotification(nullptr);
    EXPECT_TRUE(ended);
    removed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(removed);
  may_end.set_value();
  removing.join();
  ticking.join();
  for (const uint64_t member : Invited()) ASSERT_TRUE(Upload(member).ok());
  Tick();  // news that nobody listens to
  EXPECT_EQ(Phase(), AttemptPhase::kUnmasking);
}

TEST_F(RoundServerLocksTest, AListenerMayAskTheServer) {
  uint64_t revision = 0;
  server_->OnNotification([&] { revision = For(0).revision; });
  Tick();
  EXPECT_EQ(revision, For(0).revision);
  EXPECT_FALSE(server_->Idle());
}

// For ThreadSanitizer: setting a listener races with the calls to it.
TEST_F(RoundServerLocksTest, ListenersCanBeSetAtAnyTime) {
  const secagg::Attempt attempt = Collect();
  std::atomic<int> told = 0;
  std::thread voting([&] {
    for (uint64_t member = 0; member < 5; ++member) {
      EXPECT_TRUE(server_->Take(member, protocol::PutVoteRequest{attempt, base::Bytes(3)}).ok());
    }
  });
  for (int i = 0; i < 100; ++i) server_->OnNotification([&told] { ++told; });
  voting.join();
  EXPECT_LE(told, 5);
}

}  // namespace
}  // namespace tacet::server
