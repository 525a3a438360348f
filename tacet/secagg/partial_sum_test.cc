#include "tacet/secagg/partial_sum.h"

#include <functional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/small_round_for_test.h"

namespace tacet::secagg {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT: tacet::secagg::testing

class PartialSumTest : public ::testing::TestWithParam<he::Scheme> {
 protected:
  Aggregator NewAggregator(uint32_t min_participants = 0) const {
    return Aggregator(round_.params(), round_.attempt(), min_participants);
  }
  base::Bytes PartialOf(const std::vector<size_t>& participants) const {
    Aggregator aggregator = NewAggregator();
    for (const size_t k : participants) {
      EXPECT_TRUE(aggregator.Submit(k, uploads_[k]).ok());
    }
    return ValueOf(aggregator.ClosePartial());
  }
  // The message after `change` was done to it.
  base::Bytes Rewritten(const base::Bytes& message,
                        const std::function<void(PartialSum&)>& change) const {
    PartialSum sum = ValueOf(ReadPartialSum(message, round_.attempt(), round_.params()));
    change(sum);
    return WritePartialSum(sum, round_.params());
  }

  SmallRound round_{SmallTerms(50, 5, GetParam())};
  std::vector<base::Bytes> uploads_ = round_.Uploads();
  base::Bytes closed_ = round_.Close(uploads_).closed_round;
};

// However uploads are spread over aggregators, and in whatever order their sums come together.
TEST_P(PartialSumTest, ClosesToTheBytesOfOneAggregator) {
  const std::vector<std::vector<std::vector<size_t>>> splits = {
      {{0, 1, 2}, {3, 4}}, {{4}, {2, 0}, {3}, {1}}, {{0, 1, 2, 3, 4}, {}}, {{}, {4, 3, 2, 1, 0}}};
  for (const auto& split : splits) {
    Aggregator closing = NewAggregator(5);
    for (const size_t k : split[0]) ASSERT_TRUE(closing.Submit(k, uploads_[k]).ok());
    for (size_t part = split.size() - 1; part > 0; --part) {
      const absl::Status merged = closing.Merge(PartialOf(split[part]));
      ASSERT_TRUE(merged.ok()) << merged;
    }
    EXPECT_EQ(closing.count(), 5u);
    EXPECT_EQ(round_.CloseOf(closing).closed_round, closed_);
  }
}

TEST_P(PartialSumTest, SumsOfSumsAreSumsToo) {
  Aggregator middle = NewAggregator();
  ASSERT_TRUE(middle.Merge(PartialOf({1, 3})).ok());
  ASSERT_TRUE(middle.Submit(0, uploads_[0]).ok());
  ASSERT_TRUE(middle.Merge(PartialOf({2})).ok());
  Aggregator closing = NewAggregator(5);
  ASSERT_TRUE(closing.Merge(ValueOf(middle.ClosePartial())).ok());
  ASSERT_TRUE(closing.Submit(4, uploads_[4]).ok());
  EXPECT_EQ(round_.CloseOf(closing).closed_round, closed_);
}

TEST_P(PartialSumTest, NobodyIsAddedTwice) {
  Aggregator closing = NewAggregator(5);
  ASSERT_TRUE(closing.Submit(0, uploads_[0]).ok());
  ASSERT_TRUE(closing.Merge(PartialOf({1, 2})).ok());
  const absl::Status participant = closing.Merge(PartialOf({2, 3}));
  EXPECT_EQ(participant.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(base::Message(participant), HasSubstr("of a participant that is in the sum already"));
  // The same seal under two names, in two sums and in one.
  const absl::Status nonce = closing.Merge(
      Rewritten(PartialOf({1}), [](PartialSum& sum) { sum.uploads[0].participant = 9; }));
  EXPECT_EQ(nonce.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(base::Message(nonce), HasSubstr("nonce that another upload used"));
  const absl::Status twice = closing.Merge(Rewritten(
      PartialOf({3, 4}), [](PartialSum& sum) { sum.uploads[0].nonce = sum.uploads[1].nonce; }));
  EXPECT_EQ(twice.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(base::Message(twice), HasSubstr("the same in two uploads"));
  // Its own upload after its part of a sum, the same or another.
  EXPECT_EQ(closing.Submit(1, uploads_[1]).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(closing.Submit(1, uploads_[3]).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(closing.count(), 3u);
  ASSERT_TRUE(closing.Merge(PartialOf({3, 4})).ok());
  EXPECT_EQ(round_.CloseOf(closing).closed_round, closed_);
}

TEST_P(PartialSumTest, MoreThanPlannedAreRefused) {
  const base::Bytes sixth = round_.Upload(5);
  Aggregator more = NewAggregator();
  ASSERT_TRUE(more.Submit(5, sixth).ok());
  ASSERT_TRUE(more.Submit(4, uploads_[4]).ok());
  Aggregator closing = NewAggregator(5);
  for (size_t k = 0; k < 4; ++k) ASSERT_TRUE(closing.Submit(k, uploads_[k]).ok());
  const absl::Status refused = closing.Merge(ValueOf(more.ClosePartial()));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(base::Message(refused), HasSubstr("would have 6 uploads with this partial sum"));
  ASSERT_TRUE(closing.Merge(PartialOf({4})).ok());
  EXPECT_EQ(closing.Submit(5, sixth).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(round_.CloseOf(closing).closed_round, closed_);
}

TEST_P(PartialSumTest, NothingIsAddedAfterClosing) {
  Aggregator aggregator = NewAggregator();
  ASSERT_TRUE(aggregator.ClosePartial().ok());
  EXPECT_THAT(base::Message(aggregator.Submit(0, uploads_[0])), HasSubstr("is closed"));
  EXPECT_THAT(base::Message(aggregator.Merge(PartialOf({1}))), HasSubstr("is closed"));
  EXPECT_THAT(base::Message(aggregator.ClosePartial().status()), HasSubstr("is closed"));
}

TEST_P(PartialSumTest, DamageIsNoticedAndChangesNothing) {
  Aggregator closing = NewAggregator(5);
  const auto refusal = [&](const base::Bytes& message) {
    const absl::Status refused = closing.Merge(message);
    EXPECT_FALSE(refused.ok());
    return base::Message(refused);
  };
  const base::Bytes good = PartialOf({0, 1});
  for (size_t length = 0; length < 200; ++length) {
    EXPECT_THAT(refusal({good.begin(), good.begin() + static_cast<ptrdiff_t>(length)}),
                HasSubstr("partial sum"));
  }
  EXPECT_THAT(refusal({good.begin(), good.end() - 1}), HasSubstr("aggregated ciphertext"));
  base::Bytes longer = good;
  longer.push_back(0);
  EXPECT_THAT(refusal(longer), HasSubstr("partial sum: "));
  const auto with = [&](size_t at, uint8_t value) {
    base::Bytes message = good;
    message[at] = value;
    return refusal(message);
  };
  EXPECT_THAT(with(0, 'X'), HasSubstr("magic"));
  EXPECT_THAT(with(4, 1), HasSubstr("field `version` is 1, this program reads version 2"));
  EXPECT_THAT(with(kUploadRound, 13), HasSubstr("partial sum is for round 13"));
  EXPECT_THAT(with(kUploadScheme, 7), HasSubstr("is for scheme 7"));
  EXPECT_THAT(with(kUploadScheme + 1, 1), HasSubstr("reserved"));
  EXPECT_THAT(with(kUploadDimension, 51), HasSubstr("has dimension 51, the manifest says 50"));
  EXPECT_THAT(with(kUploadDimension + 8, 6), HasSubstr("has 6 uploads, at most 5 are allowed"));
  base::Bytes largest = good;
  largest[good.size() - 1] = largest[good.size() - 2] = 0xff;
  EXPECT_THAT(refusal(largest), HasSubstr("is not canonical"));
  EXPECT_THAT(
      refusal(Rewritten(good, [](PartialSum& sum) { std::swap(sum.uploads[0], sum.uploads[1]); })),
      HasSubstr("field `uploads` is not strictly increasing at entry 1"));
  EXPECT_EQ(closing.count(), 0u);
  ASSERT_TRUE(closing.Merge(good).ok());
  ASSERT_TRUE(closing.Merge(PartialOf({2, 3, 4})).ok());
  EXPECT_EQ(round_.CloseOf(closing).closed_round, closed_);
}

TEST_P(PartialSumTest, IsNeverLongerThanItMayBe) {
  EXPECT_EQ(PartialOf({0, 1, 2, 3, 4}).size(), MaxPartialSumBytes(round_.params()));
}

INSTANTIATE_TEST_SUITE_P(Schemes, PartialSumTest,
                         ::testing::Values(he::Scheme::kCompact, he::Scheme::kPaperPublicKey,
                                           he::Scheme::kPaperSecretKey));

}  // namespace
}  // namespace tacet::secagg
