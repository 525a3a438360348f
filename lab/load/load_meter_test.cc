#include "lab/load/load_meter.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/base/stopwatch.h"

namespace tacet::app::load {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Three members and two rounds, by a clock that the test sets.
class LoadMeterTest : public ::testing::Test {
 protected:
  void At(int seconds) {
    now_ = std::chrono::steady_clock::time_point(std::chrono::seconds(seconds));
  }
  void AllApply(uint32_t round) {
    for (int member = 0; member < 3; ++member) meter_.Applied(round);
  }
  LoadResult Result() { return meter_.Result().value(); }

  std::chrono::steady_clock::time_point now_;
  std::vector<LoadRound> heard_;
  LoadMeter meter_{{.members = 3,
                    .rounds = 2,
                    .on_round = [this](const LoadRound& round) { heard_.push_back(round); },
                    .clock = [this] { return now_; }}};
};

TEST_F(LoadMeterTest, ConnectingEndsWithTheLastMembersAnswer) {
  At(10);
  meter_.Connects();
  At(11);
  meter_.Connects();
  meter_.Connects();
  meter_.IsConnected();
  meter_.IsConnected();
  EXPECT_EQ(Result().connecting_seconds, 0);
  At(17);
  meter_.IsConnected();
  EXPECT_EQ(Result().connecting_seconds, 7);
}

TEST_F(LoadMeterTest, ARoundLastsUntilTheNextBegins) {
  At(3);
  meter_.Begun(0);
  At(4);
  meter_.Begun(0);  // another member hears of it
  for (int member = 0; member < 2; ++member) {
    meter_.Sealed(0, 1.5);
    meter_.Uploaded(0, 0.25, 1000);
  }
  At(7);
  meter_.Published(1);
  AllApply(0);
  EXPECT_THAT(heard_, IsEmpty());
  At(9);
  meter_.Begun(1);
  ASSERT_THAT(heard_, SizeIs(1));
  EXPECT_EQ(heard_[0].round, 0u);
  EXPECT_EQ(heard_[0].participants, 2u);
  EXPECT_EQ(heard_[0].seconds, 6);
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  EXPECT_DOUBLE_EQ(heard_[0].sealing_seconds, 3 / cores);
}

// The others have nothing to do until its upload has come, and the next round begins after that.
TEST_F(LoadMeterTest, AStragglerOfARoundIsBookedOnThatRound) {
  At(0);
  meter_.Begun(0);
  At(1);
  meter_.Uploaded(0, 1, 10);
  meter_.Uploaded(0, 1, 10);
  At(20);
  meter_.Uploaded(0, 1, 10);  // the straggler
  At(21);
  meter_.Begun(1);
  meter_.Applied(0);
  meter_.Applied(0);
  At(22);
  meter_.Uploaded(1, 1, 10);
  meter_.Uploaded(1, 1, 10);
  At(23);
  meter_.Applied(0);  // it applies late, too: the others are in the next round
  At(24);
  meter_.Uploaded(1, 1, 10);
  At(25);
  meter_.Published(2);
  At(40);
  AllApply(1);
  ASSERT_THAT(heard_, SizeIs(2));
  EXPECT_EQ(heard_[0].seconds, 21);
  EXPECT_EQ(heard_[0].participants, 3u);
  EXPECT_EQ(heard_[1].seconds, 4);
  EXPECT_EQ(heard_[1].participants, 3u);
}

TEST_F(LoadMeterTest, MembersApplyARoundAfterTheNextHasBegun) {
  meter_.Begun(0);
  At(5);
  meter_.Begun(1);
  At(8);
  meter_.Published(1);  // of a member that hears of the past
  meter_.Published(2);
  EXPECT_THAT(heard_, IsEmpty());
  AllApply(1);
  EXPECT_THAT(heard_, IsEmpty());
  AllApply(0);
  ASSERT_THAT(heard_, SizeIs(2));
  EXPECT_EQ(heard_[0].seconds, 5);
  EXPECT_EQ(heard_[1].seconds, 3);
}

TEST_F(LoadMeterTest, UploadsAndSumsAreMeasuredOneByOne) {
  for (uint32_t round = 0; round < 2; ++round) {
    meter_.Uploaded(round, 1 + round, 10);
    meter_.Fetched(10 + round);
  }
  EXPECT_THAT(Result().upload_seconds, ElementsAre(1, 2));
  EXPECT_THAT(Result().fetch_seconds, ElementsAre(10, 11));
  EXPECT_EQ(Result().upload_bytes, 10u);
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
