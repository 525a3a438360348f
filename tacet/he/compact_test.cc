// Tests of scheme compact alone: slots at their edges, the bytes of its ciphertexts.
#include "tacet/he/compact.h"

#include <algorithm>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/hash.h"
#include "tacet/he/attempt_for_test.h"
#include "tacet/he/tag_polynomial.h"

namespace tacet::he {
namespace {

struct Edge {
  uint32_t max_participants;
  uint32_t bits;
  uint32_t slots;
  uint64_t sum_bound;
};

// The largest bound that still has that many slots.
uint64_t LargestBound(uint32_t max_participants, uint32_t bits, uint32_t slots) {
  uint32_t scale_bits = kMinScaleBits;
  while (MaxParticipantsAtScale(scale_bits) < max_participants) ++scale_bits;
  uint64_t low = 0;
  uint64_t high = uint64_t{1} << (bits - 1);
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (SlotsFit(slots, bits, scale_bits, middle) ? low : high) = middle;
  }
  return low;
}

std::vector<Edge> Edges() {
  std::vector<Edge> edges;
  // 18 participants: kappa = 9, the most slots; kappa + w L = 100 for w = 13, w = 18 and 30, w
  // = 22.
  for (const uint32_t max_participants : {18u, 73u, 1000u}) {
    for (const uint32_t bits :
         {8u, 9u, 10u, 11u, 12u, 13u, 14u, 16u, 18u, 20u, 22u, 24u, 30u, 32u}) {
      const uint32_t slots = MustCreate({.dimension = 1,
                                         .max_participants = max_participants,
                                         .sum_bound = 1,
                                         .plaintext_bits = bits})
                                 .slots();
      edges.push_back({max_participants, bits, slots, LargestBound(max_participants, bits, slots)});
    }
  }
  return edges;
}

// Sums K' offset + centred[i] from two uploads.
std::vector<uint64_t> DecryptSumOf(const Edge& edge, const std::vector<int64_t>& centred,
                                   std::vector<uint64_t>& expected) {
  const uint32_t offset = 2200000000;
  TestAttempt attempt(MustCreate({.dimension = centred.size(),
                                  .max_participants = edge.max_participants,
                                  .offset = offset,
                                  .sum_bound = edge.sum_bound,
                                  .plaintext_bits = edge.bits}));
  EXPECT_EQ(attempt.params().slots(), edge.slots);
  std::vector<uint32_t> first(centred.size());
  std::vector<uint32_t> second(centred.size());
  expected.resize(centred.size());
  for (size_t i = 0; i < centred.size(); ++i) {
    first[i] = static_cast<uint32_t>(offset + centred[i] / 2);
    second[i] = static_cast<uint32_t>(offset + centred[i] - centred[i] / 2);
    expected[i] = uint64_t{first[i]} + second[i];
  }
  attempt.EncryptAndAdd(first);
  attempt.EncryptAndAdd(second);
  return attempt.Decrypt();
}

TEST(CompactSlotsTest, EveryNumberOfSlotsUpToElevenOccurs) {
  std::vector<uint32_t> slots;
  for (const Edge& edge : Edges()) slots.push_back(edge.slots);
  for (uint32_t l = 2; l <= 11; ++l) {
    EXPECT_NE(std::find(slots.begin(), slots.end(), l), slots.end()) << l << " slots";
  }
}

// Every coefficient saturated: all slots at B, all at -B, alternating, one slot alone.
TEST(CompactSlotsTest, SumsAreExactAtTheBoundInEverySlot) {
  for (const Edge& edge : Edges()) {
    const auto bound = static_cast<int64_t>(edge.sum_bound);
    const size_t dimension = 40 * edge.slots + 1;
    std::vector<int64_t> centred(dimension);
    for (size_t i = 0; i < dimension; ++i) {
      const size_t coefficient = i / edge.slots;
      const size_t slot = i % edge.slots;
      if (coefficient < 10) {
        centred[i] = bound;
      } else if (coefficient < 20) {
        centred[i] = -bound;
      } else if (coefficient < 25) {
        centred[i] = slot % 2 == coefficient % 2 ? bound : -bound;
      } else if (slot == coefficient % edge.slots) {
        centred[i] = coefficient % 2 == 0 ? bound : -bound;
      }
    }
    std::vector<uint64_t> expected;
    EXPECT_EQ(DecryptSumOf(edge, centred, expected), expected)
        << edge.bits << " bits, " << edge.slots << " slots";
  }
}

TEST(CompactSlotsTest, OnePastTheBoundIsWrongWhereTheCapacityIsUsedUp) {
  size_t limited_by_modulus = 0;
  for (const Edge& edge : Edges()) {
    const auto past = static_cast<int64_t>(edge.sum_bound) + 1;
    limited_by_modulus += past < (int64_t{1} << (edge.bits - 1)) ? 1 : 0;
    for (const int64_t value : {past, -past}) {
      // -2^(w-1) still fits a slot where the modulus has room.
      if (value == -(int64_t{1} << (edge.bits - 1))) continue;
      const std::vector<int64_t> centred(4 * edge.slots, value);
      std::vector<uint64_t> expected;
      EXPECT_NE(DecryptSumOf(edge, centred, expected), expected)
          << value << ", " << edge.bits << " bits, " << edge.slots << " slots";
    }
  }
  EXPECT_GE(limited_by_modulus, 4u);
}

TEST(CompactSlotsTest, OneSlotTakesTheWidestSums) {
  const AggregationSpec spec = {.dimension = 5000,
                                .max_participants = 18,
                                .offset = 2147483648,
                                .sum_bound = uint64_t{1} << 35,
                                .plaintext_bits = 49};
  EXPECT_EQ(MustCreate(spec).slots(), 1u);
  ExpectExactSum(spec, 2, 2147483647);
}

// Kept or expanded at each use: a round has one set of polynomials.
TEST(PayloadPolynomialsTest, AreTheSameForModelsOfEverySize) {
  const crypto::Digest seed = crypto::Sha256({});
  const PayloadPolynomials kept(seed, PayloadPolynomials::kMaxKept);
  const PayloadPolynomials expanded(seed, PayloadPolynomials::kMaxKept + 1);
  ring::AlignedWords unused, buffer;
  for (const uint64_t j : {uint64_t{0}, uint64_t{1}, PayloadPolynomials::kMaxKept - 1}) {
    const std::span<const uint64_t> expected = kept.At(j, unused);
    EXPECT_EQ(expected.size(), 2 * ring::kCompactDegree);
    EXPECT_TRUE(std::ranges::equal(expanded.At(j, buffer), expected)) << j;
  }
  EXPECT_TRUE(unused.empty());
  EXPECT_FALSE(buffer.empty());
}

TEST(PayloadPolynomialsTest, ThoseOfTheLastRoundAreExpandedOnce) {
  const crypto::Digest seed = crypto::Sha256({}), other = crypto::Sha256(seed);
  const auto expect_right = [](const PayloadPolynomials& shared, const crypto::Digest& of,
                               uint64_t polynomials) {
    ring::AlignedWords unused;
    const PayloadPolynomials own(of, polynomials);
    for (uint64_t j = 0; j < polynomials; ++j) {
      EXPECT_TRUE(std::ranges::equal(shared.At(j, unused), own.At(j, unused))) << j;
    }
  };
  const auto first = SharedPayloadPolynomials(seed, 3);
  EXPECT_EQ(SharedPayloadPolynomials(seed, 3), first);
  const auto of_other_size = SharedPayloadPolynomials(seed, 2);
  const auto of_other_seed = SharedPayloadPolynomials(other, 2);
  expect_right(*first, seed, 3);  // those who have the earlier ones keep them
  expect_right(*of_other_size, seed, 2);
  expect_right(*of_other_seed, other, 2);
  EXPECT_NE(SharedPayloadPolynomials(seed, kMaxSharedPolynomials + 1),
            SharedPayloadPolynomials(seed, kMaxSharedPolynomials + 1));
  std::vector<std::jthread> threads;
  for (const crypto::Digest& of : {seed, other, seed, other}) {
    threads.emplace_back([&expect_right, of] {
      for (int i = 0; i < 20; ++i) expect_right(*SharedPayloadPolynomials(of, 1), of, 1);
    });
  }
}

// The bytes of docs/formats/ciphertext.md, frozen, as a second implementation computed them from
// that page: anything that changes them breaks the peers.
TEST(CompactFormatTest, CiphertextAndSumBytesAreFrozen) {
  TestAttempt attempt(MustCreate(
      {.dimension = 20000, .max_participants = 1000, .offset = 40000, .sum_bound = 2000000}));
  std::vector<uint32_t> counts(20000);
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<uint32_t>(39000 + i % 2001);
  const base::Bytes ciphertext = attempt.Encrypt(counts);
  EXPECT_EQ(base::ToHex(crypto::Sha256(ciphertext)),
            "041933c678efdf3ae909f7f4ef1cb273110350c469466bb97b2c5aba459dba64");
  ASSERT_TRUE(attempt.adder().Add(ciphertext).ok());
  EXPECT_EQ(base::ToHex(crypto::Sha256(attempt.adder().Close())),
            "2629cac9240f15c675495bd9e41ce2c0b0c5b41461dfc5e84827569c0a2b48a0");
  // For the counts and the shares alone.
  base::Bytes rest = ciphertext;
  const auto shares = rest.end() - static_cast<ptrdiff_t>(attempt.params().share_bytes());
  const auto tag = shares - static_cast<ptrdiff_t>(kTagPlaneBytes);
  EXPECT_EQ(base::ToHex(base::Bytes(tag, shares)),
            "c85e7655c375859a91fa13104e049e78502c46ba7a68868464c3e9ee96af095de4093df8");
  rest.erase(tag, shares);
  EXPECT_EQ(base::ToHex(crypto::Sha256(rest)),
            "e09759620890ed60d2ab7ae79782bc7a639a3cbefbfdb9971468413610f8c220");
}

}  // namespace
}  // namespace tacet::he
