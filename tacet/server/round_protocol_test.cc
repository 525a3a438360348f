// The rounds' protocol under random sequences of events: the invariants I1 to I19 of
// docs/design/round-states.md.
#include "tacet/server/round_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/test_size_for_test.h"
#include "tacet/server/random_rounds_for_test.h"

namespace tacet::server {
namespace {

using testing::RandomRounds;

// Seeds from `first` on, over all shapes in turn.
RandomRounds::Coverage RunSequences(uint64_t first, int sequences) {
  const std::vector<testing::RoundsShape> shapes = testing::RoundsShapes();
  RandomRounds::Coverage all;
  for (int i = 0; i < sequences; ++i) {
    const auto& shape = shapes[static_cast<size_t>(i) % shapes.size()];
    RandomRounds rounds(shape, first + static_cast<uint64_t>(i));
    if (!rounds.Run(20 + i % 80)) break;
    all.Add(rounds.coverage());
  }
  return all;
}

TEST(RoundProtocolTest, FewSequencesKeepTheInvariants) {
  EXPECT_GT(RunSequences(1, 600).published, 50u);
}

TEST(RoundProtocolTest, ManySequencesKeepTheInvariants) {
  const RandomRounds::Coverage all =
      RunSequences(1'000'000, base::TestSize("TACET_ROUND_SEQUENCES", 8'000));
  // They reach every state and every end.
  EXPECT_GT(all.published, 1000u);
  EXPECT_GT(all.failed, 1000u);
  EXPECT_GT(all.wrong_shares, 100u);
  EXPECT_GT(all.opened, 100u);
  EXPECT_GT(all.stopped, 100u);
  EXPECT_GT(all.crashes, 1000u);
  EXPECT_GT(all.disputed_shares, 100u);
  EXPECT_GT(all.late, 100u);
  EXPECT_GT(all.lost, 100u);
  EXPECT_GT(all.trials, 100u);
  EXPECT_GT(all.resumed, 100u);
  EXPECT_GT(all.objects_lost, 1000u);
  EXPECT_GT(all.given_back, 100u);
  EXPECT_THAT(all.failures, ::testing::IsSupersetOf({"refused", "too-few-uploads", "too-few-givers",
                                                     "not-decrypted", "wrong-shares",
                                                     "disputed-shares", "object-lost"}));
}

}  // namespace
}  // namespace tacet::server
