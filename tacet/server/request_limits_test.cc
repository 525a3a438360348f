#include "tacet/server/request_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"

namespace tacet::server {
namespace {

using ::testing::HasSubstr;

class RequestLimitsTest : public ::testing::Test {
 protected:
  double now_ = 1000;
  RequestLimits limits_{
      {.requests_a_second = 2, .burst = 3, .bytes_a_second = 100, .burst_bytes = 1000}, 2, [this] {
        return now_;
      }};
};

TEST_F(RequestLimitsTest, RequestsComeBackWithTime) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limits_.Admit(0, 0).ok());
  EXPECT_THAT(base::Message(limits_.Admit(0, 0)), HasSubstr("again in 0.5 s"));
  now_ += 0.5;
  EXPECT_TRUE(limits_.Admit(0, 0).ok());
  EXPECT_EQ(limits_.Admit(0, 0).code(), absl::StatusCode::kResourceExhausted);
  now_ += 1e6;  // never more than a burst
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limits_.Admit(0, 0).ok());
  EXPECT_FALSE(limits_.Admit(0, 0).ok());
}

TEST_F(RequestLimitsTest, BytesCountBothWays) {
  EXPECT_TRUE(limits_.Admit(0, 400).ok());
  limits_.Charge(0, 800);
  EXPECT_THAT(base::Message(limits_.Admit(0, 100)), HasSubstr("again in 3.0 s"));
  now_ += 3;
  EXPECT_TRUE(limits_.Admit(0, 100).ok());
}

TEST_F(RequestLimitsTest, MembersDoNotShare) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limits_.Admit(0, 0).ok());
  EXPECT_FALSE(limits_.Admit(0, 0).ok());
  EXPECT_TRUE(limits_.Admit(1, 0).ok());
}

TEST_F(RequestLimitsTest, AClockThatJumpsBackGivesNothing) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limits_.Admit(0, 0).ok());
  now_ -= 500;
  EXPECT_FALSE(limits_.Admit(0, 0).ok());
  now_ += 1;
  EXPECT_TRUE(limits_.Admit(0, 0).ok());
}

}  // namespace
}  // namespace tacet::server
