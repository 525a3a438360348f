#include "tacet/secagg/opened_sum.h"

#include <span>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/secagg/result_collector.h"
#include "tacet/secagg/testing/small_round.h"

namespace tacet::secagg {
namespace {

using ::testing::HasSubstr;
using namespace testing;  // NOLINT: tacet::secagg::testing

TEST(PackCentredTest, RoundTripAtEveryWidthAndAtTheEdges) {
  for (uint32_t bits = 2; bits <= 40; ++bits) {
    const uint64_t centre = uint64_t{1} << 45;
    const uint64_t half = uint64_t{1} << (bits - 1);
    const std::vector<uint64_t> sums = {centre,     centre + half - 1, centre - half,
                                        centre + 1, centre - 1,        centre};
    const base::Bytes packed = PackCentred(sums, centre, bits);
    EXPECT_EQ(packed.size(), (sums.size() * bits + 7) / 8);
    EXPECT_EQ(ValueOf(UnpackCentred(packed, sums.size(), centre, bits)), sums) << bits;
  }
}

TEST(PackCentredTest, RefusesWrongLengthsNegativeSumsAndSpareBits) {
  const base::Bytes packed = PackCentred(std::vector<uint64_t>{5, 6, 7}, 5, 5);
  EXPECT_THAT(base::Message(UnpackCentred(packed, 4, 5, 5).status()),
              HasSubstr("field `sums` has 2 bytes, 4 values of 5 bits need 3"));
  base::Bytes spare = packed;
  spare.back() |= 0x80;
  EXPECT_THAT(base::Message(UnpackCentred(spare, 3, 5, 5).status()), HasSubstr("after its end"));
  const base::Bytes negative = PackCentred(std::vector<uint64_t>{4}, 10, 5);
  EXPECT_THAT(base::Message(UnpackCentred(negative, 1, 5, 5).status()), HasSubstr("negative"));
}

TEST(PackCentredTest, BlocksAreTheWhole) {
  const std::vector<uint64_t> sums = {1000, 1001, 999, 1015, 984, 1000, 1007};
  for (uint32_t bits = 5; bits <= 33; bits += 7) {
    CentredPacker packer(sums.size(), 1000, bits);
    packer.Append(std::span(sums).first(3));
    packer.Append({});
    packer.Append(std::span(sums).subspan(3, 1));
    packer.Append(std::span(sums).subspan(4));
    EXPECT_EQ(packer.Finish(), PackCentred(sums, 1000, bits)) << bits;
  }
}

class OpenedSumTest : public ::testing::Test {
 protected:
  SmallRound round_{SmallTerms(64, 3)};
  crypto::SecretBytes result_key_ = round_.entropy().Draw(32);
  crypto::Digest hash_ = crypto::Sha256({});

  base::Bytes Message(uint64_t opener, const crypto::Digest& hash, uint64_t extra = 0) {
    OpenedSum sum{.participants = 3, .sums = round_.TrueSums()};
    sum.sums[5] += extra;
    return WriteOpenedSum(sum, round_.attempt(), round_.params(), hash, opener, result_key_,
                          round_.signing_key(opener), round_.entropy());
  }
  absl::StatusOr<OpenedSumMessage> Read(const base::Bytes& message) {
    return ReadOpenedSum(message, round_.attempt(), round_.params(), round_.openers(), result_key_);
  }
};

TEST_F(OpenedSumTest, RoundTrip) {
  const OpenedSumMessage read = ValueOf(Read(Message(1, hash_)));
  EXPECT_EQ(read.opener, 1u);
  EXPECT_EQ(read.round_hash, hash_);
  EXPECT_EQ(read.opened.participants, 3u);
  EXPECT_EQ(read.opened.sums, round_.TrueSums());
}

TEST_F(OpenedSumTest, RefusesEveryFlippedByteAndEveryLength) {
  const base::Bytes message = Message(0, hash_);
  for (size_t i = 0; i < message.size(); ++i) {
    base::Bytes flipped = message;
    flipped[i] ^= 1;
    EXPECT_FALSE(Read(flipped).ok()) << i;
  }
  for (size_t size = 0; size < message.size(); size += 7) {
    EXPECT_FALSE(Read(base::Bytes(message.begin(), message.begin() + size)).ok());
  }
}

TEST_F(OpenedSumTest, HasOneLength) {
  EXPECT_EQ(Message(1, hash_).size(), OpenedSumBytes(round_.params()));
}

TEST_F(OpenedSumTest, RefusesStrangers) {
  EXPECT_THAT(base::Message(Read(Message(4, hash_)).status()),
              HasSubstr("field `opener` names no opener"));
}

TEST_F(OpenedSumTest, CollectorWaitsForAMajorityThatAgrees) {
  ResultCollector collector(round_.params(), round_.attempt(), round_.openers(), result_key_);
  ASSERT_TRUE(collector.Offer(Message(0, hash_)).ok());
  EXPECT_FALSE(collector.agreed().has_value());
  ASSERT_TRUE(collector.Offer(Message(0, hash_)).ok());  // again: no second voice
  EXPECT_FALSE(collector.agreed().has_value());
  ASSERT_TRUE(collector.Offer(Message(1, hash_, 1)).ok());  // another sum
  EXPECT_FALSE(collector.agreed().has_value());
  ASSERT_TRUE(collector.Offer(Message(2, hash_)).ok());
  ASSERT_TRUE(collector.agreed().has_value());
  EXPECT_EQ(collector.agreed()->sums, round_.TrueSums());
}

TEST_F(OpenedSumTest, CollectorRefusesASecondAnswerOfOneOpener) {
  ResultCollector collector(round_.params(), round_.attempt(), round_.openers(), result_key_);
  ASSERT_TRUE(collector.Offer(Message(0, hash_)).ok());
  const absl::Status second = collector.Offer(Message(0, hash_, 1));
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(base::Message(second), HasSubstr("two different sums"));
}

TEST_F(OpenedSumTest, CollectorDoesNotMixDifferentClosedRounds) {
  ResultCollector collector(round_.params(), round_.attempt(), round_.openers(), result_key_);
  crypto::Digest other = hash_;
  other[0] ^= 1;
  ASSERT_TRUE(collector.Offer(Message(0, hash_)).ok());
  ASSERT_TRUE(collector.Offer(Message(1, other)).ok());
  EXPECT_FALSE(collector.agreed().has_value());
}

}  // namespace
}  // namespace tacet::secagg
