#include "lab/load/load_meter.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"

namespace tacet::app::load {
namespace {

using ::testing::ElementsAre;

class LoadMeterTest : public ::testing::Test {
 protected:
  std::vector<LoadRound> heard_;
  LoadMeter meter_{3, [this](const LoadRound& round) { heard_.push_back(round); }};
};

TEST_F(LoadMeterTest, ARoundEndsWithTheLastMember) {
  meter_.Begun(0);
  for (int member = 0; member < 2; ++member) {
    meter_.Sealed(0, 1.5);
    meter_.Uploaded(0, 0.25, 1000);
  }
  meter_.Applied(0);
  meter_.Applied(0);
  EXPECT_TRUE(heard_.empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  meter_.Applied(0);
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].round, 0u);
  EXPECT_EQ(heard_[0].participants, 2u);
  EXPECT_GE(heard_[0].seconds, 0.02);
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  EXPECT_DOUBLE_EQ(heard_[0].sealing_seconds, 3 / cores);
}

// A member that begins the next round does not begin the last one again.
TEST_F(LoadMeterTest, RoundsAreMeasuredApart) {
  for (uint32_t round = 0; round < 2; ++round) {
    meter_.Begun(round);
    meter_.Uploaded(round, 1 + round, 10);
    meter_.Begun(round);
    meter_.Fetched(10 + round);
  }
  for (uint32_t round = 0; round < 2; ++round) {
    for (int member = 0; member < 3; ++member) meter_.Applied(round);
  }
  const auto result = meter_.Result();
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->rounds.size(), 2u);
  EXPECT_EQ(result->rounds[1].round, 1u);
  EXPECT_EQ(result->rounds[1].participants, 1u);
  EXPECT_THAT(result->upload_seconds, ElementsAre(1, 2));
  EXPECT_THAT(result->fetch_seconds, ElementsAre(10, 11));
  EXPECT_EQ(result->upload_bytes, 10u);
}

// Members that were fast begin a round while others still apply the one before.
TEST_F(LoadMeterTest, RoundsThatOverlapAreNotCountedTwice) {
  const base::Stopwatch watch;
  meter_.Begun(0);
  meter_.Begun(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  for (uint32_t round = 0; round < 2; ++round) {
    for (int member = 0; member < 3; ++member) meter_.Applied(round);
  }
  EXPECT_GE(heard_[0].seconds, 0.02);
  EXPECT_LE(heard_[0].seconds + heard_[1].seconds, watch.Seconds());
}

TEST_F(LoadMeterTest, AFailureEndsEveryWait) {
  EXPECT_TRUE(meter_.Wait(0));
  const base::Stopwatch watch;
  std::jthread waits([this] { EXPECT_FALSE(meter_.Wait(60)); });
  meter_.Fail(base::FailedPrecondition("client-7 lost its key"));
  meter_.Fail(absl::CancelledError("the member was asked to stop"));
  waits.join();
  EXPECT_LT(watch.Seconds(), 30);
  EXPECT_FALSE(meter_.Wait(60));
  EXPECT_EQ(base::Message(meter_.Result().status()), "client-7 lost its key");
}

}  // namespace
}  // namespace tacet::app::load
