#include "tacet/host/request_watch.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tacet/base/status.h"
#include "tacet/host/log_for_test.h"

namespace tacet::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RequestWatchTest : public ::testing::Test {
 protected:
  LogForTest log_;
  ServerMetrics metrics_;
  std::chrono::steady_clock::time_point now_{};
  StoreHealth health_;
  RequestWatch watch_{*log_.log, metrics_, health_, [this] { return now_; }};
};

TEST_F(RequestWatchTest, WhatIsAnsweredIsCountedAndNotLogged) {
  watch_.OnRequest("put-part", absl::OkStatus(), 1000, 8);
  watch_.OnRequest("fetch-part", base::NotFound("round 3: its sums are not kept"), 200, 0);
  EXPECT_THAT(log_.Events(), IsEmpty());
  const std::string metrics = metrics_.Text(0);
  EXPECT_THAT(metrics, HasSubstr("tacet_requests_total{kind=\"put-part\",status=\"ok\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("tacet_received_bytes_total 1200"));
  EXPECT_THAT(metrics, HasSubstr("tacet_sent_bytes_total 8"));
}

// The refused member, and so the invited one, is named nowhere.
TEST_F(RequestWatchTest, ARefusalIsLoggedWithoutItsMember) {
  watch_.OnRequest("put-part", base::PermissionDenied("member 17 is not one of its participants"),
                   1000, 0);
  EXPECT_THAT(
      log_.Events(),
      ElementsAre(R"(warning request-refused {"kind":"put-part","reason":"permission_denied"})"));
  EXPECT_THAT(metrics_.Text(0),
              HasSubstr("tacet_uploads_refused_total{reason=\"permission_denied\"} 1"));
}

TEST_F(RequestWatchTest, AFailedAuthenticationIsLoggedWithItsNames) {
  watch_.OnRequest(
      "unreadable",
      base::PermissionDenied("request: signed by north, sent under the certificate of west"), 300,
      0);
  EXPECT_THAT(log_.Events(), ElementsAre(HasSubstr("under the certificate of west")));
  watch_.OnRequest("unreadable", absl::ResourceExhaustedError("member 3: too many at once"), 300,
                   0);
  EXPECT_THAT(log_.Events().back(), ::testing::Not(HasSubstr("member 3")));
}

// A site that checks its path asks for this refusal. No clock is wrong.
TEST_F(RequestWatchTest, ACheckIsNoRefusal) {
  watch_.OnRequest("unreadable",
                   absl::AbortedError("request: made at 0 by the sender's clock, it is 1755000000 "
                                      "here (seconds since 1970): the two may differ by 600 s"),
                   300, 0);
  EXPECT_THAT(log_.Events(), ElementsAre("info site-checked {}"));
  watch_.OnRequest("unreadable", absl::AbortedError("request: made at 01 by the sender's clock"),
                   300, 0);
  EXPECT_THAT(log_.Events().back(), HasSubstr("request-refused"));
}

TEST_F(RequestWatchTest, AFloodOfRefusalsIsALineAMinute) {
  for (int i = 0; i < 100'000; ++i) watch_.OnRequest("unreadable", base::DataLoss("cut"), 10, 0);
  EXPECT_EQ(log_.Events().size(), RequestWatch::kLoggedAMinute);
  now_ += std::chrono::seconds(59);
  watch_.Flush();
  EXPECT_EQ(log_.Events().size(), RequestWatch::kLoggedAMinute);
  now_ += std::chrono::seconds(1);
  watch_.Flush();
  watch_.Flush();
  EXPECT_EQ(log_.Events().size(), RequestWatch::kLoggedAMinute + 1);
  EXPECT_EQ(log_.Events().back(),
            R"(warning requests-refused {"kind":"unreadable","reason":"data_loss","more":99990})");
  watch_.OnRequest("unreadable", base::DataLoss("cut"), 10, 0);
  EXPECT_EQ(log_.Events().size(), RequestWatch::kLoggedAMinute + 2);
}

TEST_F(RequestWatchTest, AStoreThatFailsUnderARequestIsAStoreError) {
  watch_.OnRequest("put-vote", base::Unavailable("cannot write"), 100, 0);
  EXPECT_EQ(metrics_.store_errors(), 1u);
}

}  // namespace
}  // namespace tacet::host
