#include "tacet/member/seat_anchor.h"

#include "gtest/gtest.h"

#include "tacet/base/status_for_test.h"

namespace tacet::member {
namespace {

AnchoredWords SampleAnchor() {
  AnchoredWords anchored{.words = {.attempt = {.number = {.epoch = 2, .round = 7, .attempt = 1}},
                                   .progress = SeatProgress::kUnmasked}};
  anchored.start.fill(1);
  anchored.words.attempt.manifest_hash.fill(3);
  anchored.words.attempt.model_digest.fill(4);
  anchored.words.vote.fill(5);
  anchored.words.share.fill(6);
  return anchored;
}

TEST(SeatAnchorTest, IsReadAsItWasWritten) {
  for (const SeatProgress progress : {SeatProgress::kNothing, SeatProgress::kSilent,
                                      SeatProgress::kVoted, SeatProgress::kUnmasked}) {
    AnchoredWords anchored = SampleAnchor();
    anchored.words.progress = progress;
    ASSERT_OK_AND_ASSIGN(const auto read, ReadSeatAnchor(WriteSeatAnchor(anchored)));
    EXPECT_EQ(read, anchored);
  }
}

TEST(SeatAnchorTest, DamageIsNoticed) {
  const base::Bytes whole = WriteSeatAnchor(SampleAnchor());
  for (size_t i = 0; i < whole.size(); ++i) {
    base::Bytes bytes = whole;
    bytes[i] ^= 1;
    EXPECT_EQ(ReadSeatAnchor(bytes).status().code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_FALSE(ReadSeatAnchor(std::span(whole).first(i)).ok()) << i;
  }
  base::Bytes longer = whole;
  longer.push_back(0);
  EXPECT_FALSE(ReadSeatAnchor(longer).ok());
}

}  // namespace
}  // namespace tacet::member
