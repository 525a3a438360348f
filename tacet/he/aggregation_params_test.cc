#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/attempt_for_test.h"
#include "tacet/he/compact.h"
#include "tacet/he/paper.h"
#include "tacet/ring/sampling.h"

namespace tacet::he {
namespace {

using testing::AllOf;
using testing::HasSubstr;

AggregationSpec Spec(uint32_t participants, uint64_t sum_bound) {
  return {.scheme = Scheme::kCompact,
          .dimension = 486654,
          .max_participants = participants,
          .offset = 40000,
          .sum_bound = sum_bound};
}

uint64_t BoundOfBits(uint32_t bits) { return (uint64_t{1} << (bits - 1)) - 1; }

void ExpectRefused(const AggregationSpec& spec, const testing::Matcher<std::string>& message) {
  const auto params = AggregationParams::Create(spec);
  ASSERT_FALSE(params.ok());
  EXPECT_EQ(params.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(base::Message(params.status()), message);
}

TEST(CompactPlanTest, LargestParticipantsOfEveryScale) {
  const std::vector<uint32_t> expected = {18, 73, 293, 1175, 4704, 18820, 75288, 301163, 1204672};
  for (uint32_t scale_bits = kMinScaleBits; scale_bits <= kMaxScaleBits; ++scale_bits) {
    const uint32_t participants = MaxParticipantsAtScale(scale_bits);
    EXPECT_EQ(participants, expected[scale_bits - kMinScaleBits]);
    // The bound holds there and fails one further.
    const auto bound = [](double k) {
      return std::sqrt(2 * 81 * std::log(2.0)) * std::sqrt(k * CompactNoiseVariance()) + 0.5;
    };
    EXPECT_LT(bound(participants), std::ldexp(1.0, static_cast<int>(scale_bits) - 1));
    EXPECT_GE(bound(participants + 1.0), std::ldexp(1.0, static_cast<int>(scale_bits) - 1));
  }
}

TEST(CompactPlanTest, ScaleIsTheSmallestThatHoldsTheNoise) {
  EXPECT_EQ(MustCreate(Spec(1, 1000)).scale_bits(), 9u);
  EXPECT_EQ(MustCreate(Spec(18, 1000)).scale_bits(), 9u);
  EXPECT_EQ(MustCreate(Spec(19, 1000)).scale_bits(), 10u);
  EXPECT_EQ(MustCreate(Spec(1000, 1000)).scale_bits(), 12u);
  EXPECT_EQ(MustCreate(Spec(1175, 1000)).scale_bits(), 12u);
  EXPECT_EQ(MustCreate(Spec(1176, 1000)).scale_bits(), 13u);
  EXPECT_EQ(MustCreate(Spec(900000, 1000)).scale_bits(), 17u);
}

TEST(CompactPlanTest, SlotsOfTheUsualSettings) {
  struct Row {
    uint32_t participants, first_bits, last_bits, slots;
  };
  const Row rows[] = {{1000, 16, 17, 5},   {1000, 18, 22, 4},   {1000, 23, 29, 3},
                      {5000, 16, 17, 5},   {5000, 18, 21, 4},   {5000, 22, 28, 3},
                      {900000, 16, 16, 5}, {900000, 17, 20, 4}, {900000, 21, 27, 3}};
  for (const Row& row : rows) {
    for (uint32_t bits = row.first_bits; bits <= row.last_bits; ++bits) {
      // A little below the largest bound, which kappa + w L = 100 does not allow.
      const AggregationParams params =
          MustCreate(Spec(row.participants, BoundOfBits(bits) / 1000 * 999));
      EXPECT_EQ(params.plaintext_bits(), bits);
      EXPECT_EQ(params.slots(), row.slots) << row.participants << " participants, " << bits;
    }
  }
}

// kappa + w L = 100 leaves room for 0.9994 of the slots' range: at K = 1000 and w = 22 the bound
// 2,096,127 is the last with four slots.
TEST(CompactPlanTest, AHundredBitsHoldSlightlyLess) {
  EXPECT_EQ(MustCreate(Spec(1000, 2096127)).slots(), 4u);
  EXPECT_EQ(MustCreate(Spec(1000, 2096127)).plaintext_bits(), 22u);
  EXPECT_EQ(MustCreate(Spec(1000, 2096128)).slots(), 3u);
  EXPECT_EQ(MustCreate(Spec(1000, 2096128)).plaintext_bits(), 22u);
  for (uint32_t bits = 8; bits <= 49; ++bits) {
    for (uint32_t scale_bits = kMinScaleBits; scale_bits <= kMaxScaleBits; ++scale_bits) {
      const uint32_t slots = (100 - scale_bits) / bits;
      if (slots == 0) continue;
      EXPECT_FALSE(SlotsFit(slots + 1, bits, scale_bits, 1));
      EXPECT_FALSE(SlotsFit(1, bits, scale_bits, BoundOfBits(bits) + 1));
      const bool exactly = scale_bits + bits * slots == 100;
      // Narrow slots lose more than 0.0006 of their range to the one value that is missing anyway.
      EXPECT_EQ(SlotsFit(slots, bits, scale_bits, BoundOfBits(bits)), !exactly || bits < 12);
      const auto largest =
          static_cast<uint64_t>(0.9994 * std::ldexp(1.0, static_cast<int>(bits) - 1));
      EXPECT_TRUE(SlotsFit(slots, bits, scale_bits, largest)) << bits << " " << scale_bits;
    }
  }
}

TEST(CompactPlanTest, BytesOfTheUsualSetting) {
  const AggregationParams params = MustCreate(Spec(1000, 2000000));
  EXPECT_EQ(params.plaintext_bits(), 22u);
  EXPECT_EQ(params.slots(), 4u);
  EXPECT_EQ(params.ring_degree(), 4096u);
  EXPECT_EQ(params.used_coefficients(), 121664u);
  EXPECT_EQ(params.polynomials(), 30u);
  EXPECT_EQ(params.share_bytes(), 12336u);
  EXPECT_EQ(params.ciphertext_bytes(), 121664u * 12 + 36 + 12336);
  EXPECT_EQ(params.aggregated_ciphertext_bytes(), 16u * (121664 + 3) + 12336);
  EXPECT_DOUBLE_EQ(params.noise_variance_per_upload(), 31.75);
}

TEST(CompactPlanTest, LargestSumIsThatOfTheWidestSlot) {
  AggregationSpec spec = Spec(1000, 2000000);
  spec.offset = 26276;
  EXPECT_EQ(MustCreate(spec).LargestSum(1000), 26276000u + 2097152);
  EXPECT_EQ(MustCreate(spec).LargestSum(1), 26276u + 2097152);
}

TEST(CompactPlanTest, AskedBitsMakeSlotsWiderButNotTheBound) {
  AggregationSpec spec = Spec(1000, 1000);
  EXPECT_EQ(MustCreate(spec).plaintext_bits(), 11u);
  EXPECT_EQ(MustCreate(spec).slots(), 8u);
  spec.plaintext_bits = 22;
  EXPECT_EQ(MustCreate(spec).plaintext_bits(), 22u);
  EXPECT_EQ(MustCreate(spec).slots(), 4u);
  EXPECT_EQ(MustCreate(spec).sum_bound(), 1000u);
  spec.sum_bound = 1;
  spec.plaintext_bits = 0;
  EXPECT_EQ(MustCreate(spec).plaintext_bits(), 8u);
}

TEST(PaperPlanTest, HasThePublishedSize) {
  AggregationSpec spec = Spec(1000, BoundOfBits(26));
  spec.scheme = Scheme::kPaperPublicKey;
  const AggregationParams public_key = MustCreate(spec);
  EXPECT_EQ(public_key.ring_degree(), 8192u);
  EXPECT_EQ(public_key.polynomials(), 60u);
  EXPECT_EQ(public_key.slots(), 1u);
  EXPECT_EQ(public_key.plaintext_bits(), 26u);
  EXPECT_EQ(public_key.ciphertext_bytes(), 8u * (486654 + 60 * 8192) + 24);
  EXPECT_EQ(public_key.aggregated_ciphertext_bytes(), 8u * (486654 + 60 * 8192) + 24);
  spec.scheme = Scheme::kPaperSecretKey;
  const AggregationParams secret_key = MustCreate(spec);
  EXPECT_EQ(secret_key.ciphertext_bytes(), 8u * 486654 + 32 + 24);
  EXPECT_EQ(secret_key.aggregated_ciphertext_bytes(), public_key.aggregated_ciphertext_bytes());
  EXPECT_DOUBLE_EQ(secret_key.noise_variance_per_upload(), 10.5);
  EXPECT_NEAR(public_key.noise_variance_per_upload(), 10.5 * (1 + 4 * 8192 / 3.0), 1e-6);
}

TEST(PaperPlanTest, ScaleDividesTheModulusLessOne) {
  for (uint32_t bits = 1; bits <= kMaxPaperBits; ++bits) {
    EXPECT_EQ(PaperDelta(bits) << bits, ring::kPrime0 - 1);
  }
}

TEST(CompactPlanTest, RefusesMoreParticipantsThanSharesHold) {
  AggregationSpec spec = Spec(910244, 2000000);
  EXPECT_EQ(MustCreate(spec).max_participants(), 910244u);
  spec.max_participants = 910245;
  ExpectRefused(spec, AllOf(HasSubstr("`max_participants` is too large: 910245"),
                            HasSubstr("at most 910244 one-time keys")));
}

TEST(CompactPlanTest, RefusesACommitteeThatCannotWork) {
  AggregationSpec spec = Spec(1000, 2000000);
  spec.committee = {.seats = 3, .corrupt = 3};
  ExpectRefused(spec, HasSubstr("a committee of 3 seats cannot tolerate 3 corrupt ones"));
}

TEST(PlanRefusalTest, NamesTheFieldThatIsOutOfRange) {
  for (const Scheme scheme : kAllSchemes) {
    AggregationSpec valid = Spec(1000, 2000000);
    valid.scheme = scheme;
    AggregationSpec spec = valid;
    spec.dimension = 0;
    ExpectRefused(spec, HasSubstr("`dimension` is 0"));
    spec = valid;
    spec.dimension = (uint64_t{1} << 32) + 1;
    ExpectRefused(spec, HasSubstr("`dimension` is 4294967297"));
    spec = valid;
    spec.max_participants = 0;
    ExpectRefused(spec, HasSubstr("`max_participants` is 0"));
    spec = valid;
    spec.max_participants = 1048576;
    ExpectRefused(spec, HasSubstr("`max_participants` is too large: 1048576"));
    spec = valid;
    spec.offset = uint64_t{1} << 32;
    ExpectRefused(spec, HasSubstr("`offset` is too large: 4294967296"));
    spec = valid;
    spec.sum_bound = 0;
    ExpectRefused(spec, HasSubstr("`sum_bound` is 0"));
    spec = valid;
    spec.plaintext_bits = 21;
    ExpectRefused(spec,
                  HasSubstr("`plaintext_bits` is too small: 21, `sum_bound` 2000000 needs 22"));
    spec = valid;
    spec.plaintext_bits = 50;
    ExpectRefused(spec, HasSubstr("`plaintext_bits` is too large: 50"));
  }
  AggregationSpec spec = Spec(1000, 1000);
  spec.scheme = static_cast<Scheme>(4);
  ExpectRefused(spec, HasSubstr("`scheme` 4 is unknown"));
}

TEST(PlanRefusalTest, CompactNamesTheQuantityThatIsTooLarge) {
  ExpectRefused(Spec(1000, BoundOfBits(49) + 1),
                AllOf(HasSubstr("`sum_bound` is too large: 281474976710656"),
                      HasSubstr("at most 281474976710655")));
  EXPECT_EQ(MustCreate(Spec(910244, BoundOfBits(49))).slots(), 1u);
}

TEST(PlanRefusalTest, PaperNamesTheQuantityThatIsTooLarge) {
  AggregationSpec spec = Spec(1000, BoundOfBits(38) + 1);
  spec.scheme = Scheme::kPaperSecretKey;
  ExpectRefused(spec, HasSubstr("`sum_bound` is too large: 137438953472"));
  // Public-key noise leaves 31 bits at K = 1000, 26 at the most participants.
  spec.scheme = Scheme::kPaperPublicKey;
  spec.sum_bound = BoundOfBits(31);
  EXPECT_EQ(MustCreate(spec).plaintext_bits(), 31u);
  EXPECT_FALSE(PaperErrorFits(spec.scheme, 1000, 32));
  spec.sum_bound = BoundOfBits(32);
  ExpectRefused(spec,
                AllOf(HasSubstr("`sum_bound` is too large: 2147483647"),
                      HasSubstr("at most 1073741823 (31 bits a value) with 1000 participants")));
  spec.sum_bound = 1;
  spec.plaintext_bits = 32;
  ExpectRefused(spec,
                HasSubstr("`plaintext_bits` is too large: 32, scheme paper holds at most 31"));
  spec.plaintext_bits = 0;
  spec.max_participants = 1048575;
  spec.sum_bound = BoundOfBits(26);
  EXPECT_EQ(MustCreate(spec).plaintext_bits(), 26u);
  spec.sum_bound = BoundOfBits(27);
  ExpectRefused(spec, HasSubstr("`sum_bound` is too large"));
}

}  // namespace
}  // namespace tacet::he
