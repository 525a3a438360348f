#include "tacet/host/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tacet::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ReadinessTest, NeedsListeningAStoreAndARecentTick) {
  std::chrono::steady_clock::time_point now{};
  Readiness readiness([&now] { return now; });
  EXPECT_THAT(readiness.Problems(),
              ElementsAre(HasSubstr("does not listen"), HasSubstr("has not begun")));
  readiness.SetListening(true);
  readiness.NoteTick(true);
  EXPECT_THAT(readiness.Problems(), IsEmpty());
  readiness.NoteTick(false);
  EXPECT_THAT(readiness.Problems(), ElementsAre(HasSubstr("store does not work")));
  readiness.NoteTick(true);
  now += Readiness::kMaxTickAge;
  EXPECT_THAT(readiness.Problems(), IsEmpty());
  now += std::chrono::seconds(1);
  EXPECT_THAT(readiness.Problems(), ElementsAre(HasSubstr("stood still for 16 s")));
  readiness.NoteTick(true);
  readiness.SetDraining();
  EXPECT_THAT(readiness.Problems(), ElementsAre(HasSubstr("about to end")));
}

}  // namespace
}  // namespace tacet::host
