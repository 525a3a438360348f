#include "tacet/member/backoff.h"

#include <vector>

#include "gtest/gtest.h"

#include "tacet/protocol/wire.h"

namespace tacet::member {
namespace {

TEST(BackoffTest, DoublesUpToItsBoundAndIsSpread) {
  crypto::InsecureSeededEntropy entropy(1, "backoff");
  Backoff backoff({.first_seconds = 1, .most_seconds = 8}, entropy);
  for (const double span : {1.0, 2.0, 4.0, 8.0, 8.0, 8.0}) {
    const double seconds = backoff.NextSeconds();
    EXPECT_GE(seconds, span / 2);
    EXPECT_LE(seconds, span);
  }
  backoff.Reset();
  EXPECT_LE(backoff.NextSeconds(), 1);
  Backoff other({.first_seconds = 1, .most_seconds = 8}, entropy), first = [&] {
    crypto::InsecureSeededEntropy again(1, "backoff");
    return Backoff({.first_seconds = 1, .most_seconds = 8}, again);
  }();
  EXPECT_NE(other.NextSeconds(), first.NextSeconds());
}

class RetryPolicyTest : public ::testing::Test {
 protected:
  crypto::InsecureSeededEntropy entropy_{1, "retry policy"};
  std::vector<double> waits_;
  int troubles_ = 0;
  bool goes_on_ = true;
  RetryPolicy retry_policy_{{.first_seconds = 0.5, .most_seconds = 30},
                            entropy_,
                            [this](double seconds) {
                              waits_.push_back(seconds);
                              return goes_on_;
                            },
                            [this](const absl::Status&) { ++troubles_; }};
};

TEST_F(RetryPolicyTest, WaitsLongerAndLongerAndEnds) {
  const absl::Status cut = absl::UnavailableError("cut");
  for (int failures = 1; failures <= RetryPolicy::kMaxFailures; ++failures) {
    EXPECT_TRUE(retry_policy_(cut, failures)) << failures;
  }
  EXPECT_FALSE(retry_policy_(cut, RetryPolicy::kMaxFailures + 1));
  EXPECT_EQ(waits_.size(), 8u);
  EXPECT_GT(waits_.back(), 14);
  EXPECT_EQ(troubles_, 1);
  EXPECT_TRUE(retry_policy_(cut, 1));  // another call
  EXPECT_LE(waits_.back(), 0.5);
  EXPECT_EQ(troubles_, 2);
}

TEST_F(RetryPolicyTest, OverItsLimitsItComesBackSoonAndSaysNothing) {
  for (int failures = 1; failures <= 8; ++failures) {
    EXPECT_TRUE(retry_policy_(absl::ResourceExhaustedError("too many"), failures));
    EXPECT_LE(waits_.back(), 0.5);
  }
  EXPECT_EQ(troubles_, 0);
}

TEST_F(RetryPolicyTest, WhatLastsIsTriedNowAndThen) {
  for (int failures = 1; failures <= 8; ++failures) {
    EXPECT_TRUE(retry_policy_(protocol::Lasting("the server's clock is wrong"), failures));
    EXPECT_GE(waits_.back(), 15);
  }
  EXPECT_EQ(troubles_, 1);
}

TEST_F(RetryPolicyTest, EndsWhenEverythingDoes) {
  goes_on_ = false;
  EXPECT_FALSE(retry_policy_(absl::UnavailableError("cut"), 1));
}

}  // namespace
}  // namespace tacet::member
