#include "tacet/secagg/aggregator.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/secagg/small_round_for_test.h"

namespace tacet::secagg {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT: tacet::secagg::testing

class AggregatorTest : public ::testing::Test {
 protected:
  SmallRound round_{SmallTerms(50, 3)};
  std::vector<base::Bytes> uploads_ = round_.Uploads();
  Aggregator aggregator_{round_.params(), round_.attempt(), 3};
};

TEST_F(AggregatorTest, OrderDoesNotMatter) {
  Aggregator backwards(round_.params(), round_.attempt(), 3);
  for (size_t k = 0; k < 3; ++k) {
    ASSERT_TRUE(aggregator_.Submit(k, uploads_[k]).ok());
    ASSERT_TRUE(backwards.Submit(2 - k, uploads_[2 - k]).ok());
  }
  EXPECT_EQ(round_.CloseOf(aggregator_).closed_round, round_.CloseOf(backwards).closed_round);
}

TEST_F(AggregatorTest, TheSameUploadTwiceCountsOnce) {
  ASSERT_TRUE(aggregator_.Submit(0, uploads_[0]).ok());
  EXPECT_TRUE(aggregator_.Submit(0, uploads_[0]).ok());
  EXPECT_EQ(aggregator_.count(), 1u);
}

TEST_F(AggregatorTest, ASecondDifferentUploadIsRefused) {
  ASSERT_TRUE(aggregator_.Submit(0, uploads_[0]).ok());
  const absl::Status second = aggregator_.Submit(0, uploads_[1]);
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(base::Message(second), HasSubstr("already sent another upload for round 12"));
  EXPECT_EQ(aggregator_.count(), 1u);
}

TEST_F(AggregatorTest, ACopiedUploadIsRefused) {
  ASSERT_TRUE(aggregator_.Submit(0, uploads_[0]).ok());
  const absl::Status copied = aggregator_.Submit(1, uploads_[0]);
  EXPECT_EQ(copied.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(base::Message(copied), HasSubstr("field `nonce`"));
}

TEST_F(AggregatorTest, BadUploadsLeaveTheSumAsItWas) {
  ASSERT_TRUE(aggregator_.Submit(0, uploads_[0]).ok());
  base::Bytes bad = uploads_[1];
  bad[kUploadCiphertext + 9] ^= 1;
  EXPECT_EQ(aggregator_.Submit(1, bad).code(), absl::StatusCode::kDataLoss);
  bad.pop_back();
  EXPECT_EQ(aggregator_.Submit(1, bad).code(), absl::StatusCode::kDataLoss);
  Attempt other = round_.attempt();
  other.number.round = 13;
  EXPECT_EQ(aggregator_.Submit(1, round_.UploadFor(1, other)).code(),
            absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(aggregator_.Submit(1, uploads_[1]).ok());
  ASSERT_TRUE(aggregator_.Submit(2, uploads_[2]).ok());
  EXPECT_EQ(round_.CloseOf(aggregator_).closed_round, round_.Close(uploads_).closed_round);
}

TEST_F(AggregatorTest, TooFewNeverClose) {
  ASSERT_TRUE(aggregator_.Submit(0, uploads_[0]).ok());
  const auto closed =
      aggregator_.Close(round_.entropy(), [](uint64_t) { return crypto::Digest{}; });
  EXPECT_EQ(closed.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(closed.status()), HasSubstr("has 1 uploads, 3 are needed"));
}

TEST_F(AggregatorTest, RefusesMoreThanPlannedAndAfterClosing) {
  for (size_t k = 0; k < 3; ++k) ASSERT_TRUE(aggregator_.Submit(k, uploads_[k]).ok());
  EXPECT_THAT(base::Message(aggregator_.Submit(3, round_.Upload(3))),
              HasSubstr("already has its 3 uploads"));
  round_.CloseOf(aggregator_);
  EXPECT_THAT(base::Message(aggregator_.Submit(4, round_.Upload(4))), HasSubstr("is closed"));
}

// One call with everything that may go wrong in it does what one call each does.
TEST_F(AggregatorTest, SubmitEachIsSubmittingInTurn) {
  base::Bytes damaged = uploads_[1];
  damaged[kUploadCiphertext + 9] ^= 1;
  base::Bytes short_one = uploads_[1];
  short_one.pop_back();
  const base::Bytes more = round_.Upload(3);
  const std::vector<Submission> submissions = {
      {0, uploads_[0]}, {1, damaged},     {0, uploads_[0]}, {0, uploads_[1]}, {1, uploads_[0]},
      {1, short_one},   {1, uploads_[1]}, {1, damaged},     {2, uploads_[2]}, {3, more}};
  Aggregator one_by_one(round_.params(), round_.attempt(), 3);
  std::vector<absl::Status> expected;
  for (const Submission& submission : submissions) {
    expected.push_back(one_by_one.Submit(submission.participant, submission.upload));
  }
  EXPECT_EQ(aggregator_.SubmitEach(submissions), expected);
  EXPECT_EQ(round_.CloseOf(aggregator_).closed_round, round_.Close(uploads_).closed_round);
  EXPECT_EQ(round_.CloseOf(one_by_one).closed_round, round_.Close(uploads_).closed_round);

  const auto code = [&](size_t i) { return expected[i].code(); };
  for (const size_t accepted : {0, 2, 6, 8}) EXPECT_TRUE(expected[accepted].ok()) << accepted;
  for (const size_t bad : {1, 5, 7}) EXPECT_EQ(code(bad), absl::StatusCode::kDataLoss) << bad;
  for (const size_t second : {3, 4}) EXPECT_EQ(code(second), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(code(9), absl::StatusCode::kFailedPrecondition);
}

TEST_F(AggregatorTest, ThreadsChangeNothing) {
  SmallRound large(SmallTerms(100000, 5));  // several polynomials
  const std::vector<base::Bytes> uploads = large.Uploads();
  std::vector<Submission> submissions;
  for (size_t k = 0; k < uploads.size(); ++k) submissions.push_back({k, uploads[k]});
  for (const size_t tasks : {1, 2, 3, 100}) {
    Aggregator aggregator(large.params(), large.attempt(), 3, tasks, base::RunOnThreads);
    for (const absl::Status& status : aggregator.SubmitEach(submissions)) EXPECT_TRUE(status.ok());
    EXPECT_EQ(large.CloseOf(aggregator).closed_round, large.Close(uploads).closed_round) << tasks;
  }
}

}  // namespace
}  // namespace tacet::secagg
