#include "tacet/host/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tacet::host {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

TEST(ReadinessTest, NeedsListeningAndARecentTick) {
  std::chrono::steady_clock::time_point now{};
  const uint64_t unix = 1000;
  Readiness readiness([&now] { return now; });
  const auto is = [](ProblemCode code) { return Field(&Problem::code, code); };
  EXPECT_THAT(readiness.Problems(),
              ElementsAre(is(ProblemCode::kNotListening), is(ProblemCode::kNotStarted)));
  readiness.SetListening(true);
  readiness.NoteTick(unix);
  EXPECT_THAT(readiness.Problems(), IsEmpty());
  now += Readiness::kMaxTickAge;
  EXPECT_THAT(readiness.Problems(), IsEmpty());
  now += std::chrono::seconds(1);
  ASSERT_THAT(readiness.Problems(), ElementsAre(is(ProblemCode::kStandstill)));
  EXPECT_EQ(readiness.Problems()[0].detail, "for 16 s");
  readiness.NoteTick(unix);
  readiness.SetDraining();
  EXPECT_THAT(readiness.Problems(), ElementsAre(is(ProblemCode::kEnding)));
}

// Nobody is absent because this machine's clock was set, or slept.
TEST(ReadinessTest, IsUnsettledUntilMembersHadTimeToCall) {
  std::chrono::steady_clock::time_point now{};
  uint64_t unix = 1000;
  Readiness readiness([&now] { return now; });
  const auto pass = [&](uint64_t seconds, int64_t set) {
    now += std::chrono::seconds(seconds);
    unix += seconds + static_cast<uint64_t>(set);
    const bool before = readiness.IsUnsettled(unix);
    readiness.NoteTick(unix);
    EXPECT_EQ(readiness.IsUnsettled(unix), before);
    return before;
  };
  EXPECT_FALSE(pass(0, 0));
  EXPECT_FALSE(pass(1, 2));  // a clock that is corrected
  for (const int64_t set : {1200, -1200}) {
    EXPECT_TRUE(pass(1, set));
    for (int second = 1; second < 90; ++second) ASSERT_TRUE(pass(1, 0));
    EXPECT_FALSE(pass(1, 0));
  }
  EXPECT_TRUE(pass(16, 0));  // it stood still
}

}  // namespace
}  // namespace tacet::host
