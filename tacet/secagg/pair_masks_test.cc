#include "tacet/secagg/pair_masks.h"

#include <array>
#include <set>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/he/key_sharing.h"

namespace tacet::secagg {
namespace {

crypto::SecretBytes Secret(std::string_view label) {
  return crypto::InsecureSeededEntropy(1, label).Draw(32);
}

std::vector<uint16_t> Mask(const crypto::SecretBytes& key, const Attempt& attempt,
                           const SealNonce& nonce, size_t words = 2048) {
  std::vector<uint16_t> mask(words);
  ExpandMask(key.Expose(), attempt, nonce, mask);
  return mask;
}

TEST(PairMasksTest, EveryPairHasAKeyOfItsOwn) {
  std::set<std::string> keys;
  const auto add = [&](std::string_view agreed, std::string_view shared, std::string_view epoch_key,
                       const PairContext& context) {
    const crypto::SecretBytes one = Secret(agreed), two = Secret(shared), three = Secret(epoch_key);
    keys.insert(base::ToHex(
        DerivePairKey({.agreed = one, .shared = two, .epoch_key = three}, context).Expose()));
  };
  const PairContext context{.manifest_hash = {1}, .epoch = 2, .client = 3, .seat = 4, .list = {5}};
  add("a", "s", "e", context);
  add("b", "s", "e", context);
  add("a", "t", "e", context);
  add("a", "s", "f", context);
  add("s", "a", "e", context);
  PairContext other = context;
  other.manifest_hash[0] = 2;
  add("a", "s", "e", other);
  other = context;
  other.epoch = 3;
  add("a", "s", "e", other);
  other = context;
  other.client = 4;
  add("a", "s", "e", other);
  other = context;
  other.seat = 3;
  add("a", "s", "e", other);
  other = context;
  other.list[0] = 6;
  add("a", "s", "e", other);
  EXPECT_EQ(keys.size(), 10u);
}

TEST(PairMasksTest, WordsAreBelowThePrimeAndReproducible) {
  const Attempt attempt;
  const std::vector<uint16_t> mask = Mask(Secret("k"), attempt, {});
  for (const uint16_t word : mask) EXPECT_LT(word, he::kSharePrime);
  EXPECT_EQ(mask, Mask(Secret("k"), attempt, {}));
  // A shorter mask is a prefix: skipped words are those of the stream, in order.
  const std::vector<uint16_t> prefix = Mask(Secret("k"), attempt, {}, 100);
  EXPECT_TRUE(std::equal(prefix.begin(), prefix.end(), mask.begin()));
}

// The stream read word by word, as the format page describes it.
TEST(PairMasksTest, IsTheStreamWithoutTheWordsThatAreTooLarge) {
  const Attempt attempt;
  size_t skipped = 0;
  for (uint8_t k = 0; k < 20; ++k) {
    const SealNonce nonce = {k};
    base::ByteWriter info;
    info.Raw("tacet/1/mask");
    WriteAttempt(attempt, info);
    info.Raw(nonce);
    const crypto::SecretBytes key = crypto::HkdfSha256(Secret("k").Expose(), info.bytes(), 32);
    crypto::AesCtrStream stream(key.Expose(), std::array<uint8_t, 16>{});
    std::vector<uint16_t> expected;
    while (expected.size() < 2048) {
      std::array<uint8_t, 2> bytes;
      stream.Fill(bytes);
      const uint32_t word = bytes[0] + 256u * bytes[1];
      if (word < 65521) {
        expected.push_back(static_cast<uint16_t>(word));
      } else {
        ++skipped;
      }
    }
    EXPECT_EQ(Mask(Secret("k"), attempt, nonce), expected);
  }
  EXPECT_GT(skipped, 0u);  // 9.4 are expected; none has probability 1e-4, and the seed is fixed
}

TEST(PairMasksTest, NonceAttemptAndKeyGiveOtherMasks) {
  Attempt attempt;
  const std::vector<uint16_t> mask = Mask(Secret("k"), attempt, {});
  EXPECT_NE(mask, Mask(Secret("l"), attempt, {}));
  EXPECT_NE(mask, Mask(Secret("k"), attempt, {1}));
  attempt.number.attempt = 1;
  EXPECT_NE(mask, Mask(Secret("k"), attempt, {}));
}

TEST(PairMasksTest, TheAccumulatorAddsModuloThePrime) {
  const Attempt attempt;
  constexpr size_t kWords = 64;
  MaskAccumulator accumulator(attempt, kWords);
  std::vector<uint64_t> expected(kWords);
  for (uint32_t i = 0; i < 70000; ++i) {  // more than are added before a reduction
    SealNonce nonce{};
    nonce[0] = static_cast<uint8_t>(i % 7);
    accumulator.Add(Secret("k").Expose(), nonce);
  }
  for (uint8_t n = 0; n < 7; ++n) {
    const std::vector<uint16_t> mask = Mask(Secret("k"), attempt, {n}, kWords);
    for (size_t i = 0; i < kWords; ++i) expected[i] += 10000ull * mask[i];
  }
  const crypto::SecretVector<uint16_t> sums = accumulator.Finish();
  for (size_t i = 0; i < kWords; ++i) {
    EXPECT_EQ(sums.Expose()[i], expected[i] % he::kSharePrime);
  }
}

}  // namespace
}  // namespace tacet::secagg
