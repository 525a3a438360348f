// A server that is down while an attempt collects: its members pay for it with nothing.
#include <cstdint>

#include <gtest/gtest.h>

#include "tests/live/live_members_for_test.h"

namespace tacet::live::testing {
namespace {

using protocol::AttemptPhase;

constexpr uint32_t kSixRounds = 6;
constexpr int kRestarts = 5;

// Cohorts of three among five, drawn by the server, and one attempt to spare.
agreement::ManifestSpec SixRounds() {
  agreement::ManifestSpec spec = ExactAgreement();
  spec.rounds = kSixRounds;
  spec.spare_attempts = 1;
  return spec;
}

// Moment at which the server ends.
enum class Ends : uint8_t { kBeforeAnybodyWasTold, kAfterOneUpload, kAtTheDeadline };

class ServerDowntimeTest : public ::testing::TestWithParam<Ends> {
 protected:
  ServerDowntimeTest() : live_(SixRounds()) {}

  uint64_t Deadline() const { return live_.server->Attempts().back().deadline; }

  // For an attempt that has just begun.
  void PassTime() {
    if (GetParam() == Ends::kBeforeAnybodyWasTold) return;
    for (const auto& site : live_.sites) {
      if (live_.server->Status().accepted == 0) site->last = site->session->Step().status();
    }
    ASSERT_EQ(live_.server->Status().accepted, 1u);
    // Nobody else comes, as when the network fails before the server does.
    while (GetParam() == Ends::kAtTheDeadline && live_.now + 2 < Deadline()) live_.Tick(1);
  }

  LiveFederation live_;
};

TEST_P(ServerDowntimeTest, FiveRestartsJustPastADeadlineCostNoAttempt) {
  for (int restart = 0; restart < kRestarts; ++restart) {
    live_.RunUntil([this] { return live_.IsAt(AttemptPhase::kCollecting); });
    PassTime();
    live_.now = Deadline() + 1;
    live_.RestartServer();
    live_.Tick(1);
    ASSERT_TRUE(live_.IsAt(AttemptPhase::kCollecting)) << restart;
    live_.RunUntil([this] { return live_.IsAt(AttemptPhase::kPublished); });
  }
  live_.RunWithoutFault(kSixRounds, {0, 1, 2, 3, 4});
  EXPECT_EQ(live_.server->Status().finished, kSixRounds);
  EXPECT_EQ(live_.server->Status().attempts, kSixRounds);
  for (const auto& site : live_.sites) {
    EXPECT_EQ(site->ledger->ChargesOf(live_.members.manifest().manifest().federation(), 0),
              kSixRounds);
  }
}

INSTANTIATE_TEST_SUITE_P(Moments, ServerDowntimeTest,
                         ::testing::Values(Ends::kBeforeAnybodyWasTold, Ends::kAfterOneUpload,
                                           Ends::kAtTheDeadline));

}  // namespace
}  // namespace tacet::live::testing
