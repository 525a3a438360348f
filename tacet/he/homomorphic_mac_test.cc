#include "tacet/he/homomorphic_mac.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"

namespace tacet::he {
namespace {

using testing::HasSubstr;
using Uint128 = unsigned __int128;

crypto::SecretBytes Key(uint64_t seed) {
  crypto::InsecureSeededEntropy entropy(seed, "tag key");
  return entropy.Draw(32);
}

TagNonce Nonce(uint8_t number) { return {'n', 'o', 'n', 'c', 'e', number}; }

HomomorphicMacKey KeyFor(uint64_t seed, uint64_t dimension) {
  return HomomorphicMacKey(Key(seed), dimension, std::vector<uint8_t>{'c'});
}

std::vector<uint32_t> RandomCounts(uint64_t seed, size_t dimension) {
  crypto::InsecureSeededEntropy entropy(seed, "counts");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<uint32_t> counts(dimension);
  for (uint32_t& count : counts) count = static_cast<uint32_t>(random.NextU64());
  return counts;
}

// The tag of the vector that is 1 at `index`.
Tag UnitTag(const HomomorphicMacKey& key, size_t dimension, size_t index) {
  std::vector<uint64_t> unit(dimension);
  unit[index] = 1;
  return key.OfSum(unit);
}

uint64_t MultiplyModPrime(uint64_t a, uint64_t b) {
  return static_cast<uint64_t>(static_cast<Uint128>(a) * b % kTagPrime);
}

TEST(HomomorphicMacTest, TagsOfSeveralVectorsAddUpToTheTagOfTheirSum) {
  for (const size_t dimension : {1u, 2u, 4095u, 4096u, 4097u, 10000u}) {
    const HomomorphicMacKey key = KeyFor(1, dimension);
    Tag sum_of_tags;
    Tag masks;
    std::vector<uint64_t> sums(dimension);
    for (uint8_t k = 0; k < 20; ++k) {
      const std::vector<uint32_t> counts = RandomCounts(k, dimension);
      for (size_t i = 0; i < dimension; ++i) sums[i] += counts[i];
      sum_of_tags = AddTags(sum_of_tags, key.Compute(counts, Nonce(k)));
      masks = AddTags(masks, key.Mask(Nonce(k)));
    }
    EXPECT_TRUE(TagsEqual(sum_of_tags, AddTags(key.OfSum(sums), masks)));
    // Any other sum has another tag.
    for (const size_t i : {size_t{0}, dimension / 2, dimension - 1}) {
      ++sums[i];
      EXPECT_FALSE(TagsEqual(sum_of_tags, AddTags(key.OfSum(sums), masks))) << i;
      --sums[i];
    }
  }
}

// Σ_i Y_i tag(e_i) by the compiler's own division, at the largest counts.
TEST(HomomorphicMacTest, IsTheFieldsLinearCombination) {
  const size_t dimension = 4100;
  const HomomorphicMacKey key = KeyFor(2, dimension);
  for (const uint64_t value : {uint64_t{1}, uint64_t{4294967295}, ~uint64_t{0}, kTagPrime}) {
    std::array<uint64_t, kTagWords> expected{};
    for (size_t i = 0; i < dimension; i += 50) {
      const Tag unit = UnitTag(key, dimension, i);
      for (size_t word = 0; word < kTagWords; ++word) {
        expected[word] =
            (expected[word] + MultiplyModPrime(value % kTagPrime, unit.words[word])) % kTagPrime;
      }
    }
    std::vector<uint64_t> sums(dimension);
    for (size_t i = 0; i < dimension; i += 50) sums[i] = value;
    EXPECT_EQ(key.OfSum(sums).words, expected) << value;
  }
}

TEST(HomomorphicMacTest, LargestCountsEverywhereDoNotOverflow) {
  const size_t dimension = 8192;
  const HomomorphicMacKey key = KeyFor(3, dimension);
  const std::vector<uint32_t> counts(dimension, 4294967295);
  const std::vector<uint64_t> ones(dimension, 1);
  const Tag of_ones = key.OfSum(ones);
  const Tag of_counts = key.Compute(counts, Nonce(0));
  const Tag of_words = key.OfSum(std::vector<uint64_t>(dimension, ~uint64_t{0}));
  const Tag mask = key.Mask(Nonce(0));
  for (size_t word = 0; word < kTagWords; ++word) {
    EXPECT_EQ(of_counts.words[word],
              (MultiplyModPrime(4294967295, of_ones.words[word]) + mask.words[word]) % kTagPrime);
    EXPECT_EQ(of_words.words[word],
              MultiplyModPrime(~uint64_t{0} % kTagPrime, of_ones.words[word]));
  }
}

// Coefficient (a, b) is r_a v_b: 2 x 2 determinants across rows of 4096 vanish.
TEST(HomomorphicMacTest, CoefficientsAreProductsOfRowAndColumn) {
  const size_t dimension = 3 * kTagBlock;
  const HomomorphicMacKey key = KeyFor(4, dimension);
  const Tag a = UnitTag(key, dimension, 7);
  const Tag b = UnitTag(key, dimension, 4000);
  const Tag c = UnitTag(key, dimension, 2 * kTagBlock + 7);
  const Tag d = UnitTag(key, dimension, 2 * kTagBlock + 4000);
  for (size_t word = 0; word < kTagWords; ++word) {
    EXPECT_EQ(MultiplyModPrime(a.words[word], d.words[word]),
              MultiplyModPrime(b.words[word], c.words[word]));
  }
  EXPECT_NE(a.words[0], a.words[1]);
  EXPECT_NE(a.words[0], c.words[0]);
}

TEST(HomomorphicMacTest, PartsOfASumMakeItsTag) {
  const uint64_t dimension = 2 * kTagBlock + 5;
  crypto::InsecureSeededEntropy entropy(3, "parts");
  const HomomorphicMacKey key(entropy.Draw(32), dimension, {});
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<uint64_t> sums(dimension);
  random.FillU64(sums);
  const auto of_parts = [&](uint64_t largest) {
    Tag tag;
    key.AccumulateSum(2 * kTagBlock, std::span(sums).last(5), largest, tag);
    key.AccumulateSum(0, std::span(sums).first(kTagBlock), largest, tag);
    key.AccumulateSum(kTagBlock, std::span(sums).subspan(kTagBlock, kTagBlock), largest, tag);
    return tag;
  };
  EXPECT_EQ(of_parts(~uint64_t{0}).words, key.OfSum(sums).words);
  for (uint64_t& sum : sums) sum >>= 32;
  EXPECT_EQ(of_parts(0xffffffff).words, key.OfSum(sums).words);
  EXPECT_EQ(of_parts(0x100000000).words, key.OfSum(sums).words);
}

TEST(HomomorphicMacTest, MasksDifferByLabelAndKey) {
  const HomomorphicMacKey key = KeyFor(5, 10);
  const HomomorphicMacKey other = KeyFor(6, 10);
  EXPECT_TRUE(TagsEqual(key.Mask(Nonce(1)), key.Mask(Nonce(1))));
  EXPECT_FALSE(TagsEqual(key.Mask(Nonce(1)), key.Mask(Nonce(2))));
  EXPECT_FALSE(TagsEqual(key.Mask(Nonce(1)), other.Mask(Nonce(1))));
  EXPECT_TRUE(TagsEqual(key.Mask(Nonce(1)), key.Compute(std::vector<uint32_t>(10), Nonce(1))));
  EXPECT_TRUE(TagsEqual(key.OfSum(std::vector<uint64_t>(10)), Tag()));
}

TEST(HomomorphicMacTest, MasksAddUpAndDependOnTheContext) {
  const HomomorphicMacKey key = KeyFor(5, 10);
  const std::vector<TagNonce> nonces = {Nonce(1), Nonce(2), Nonce(200)};
  Tag sum;
  for (const TagNonce& nonce : nonces) sum = AddTags(sum, key.Mask(nonce));
  EXPECT_TRUE(TagsEqual(key.SumOfMasks(nonces), sum));
  EXPECT_TRUE(TagsEqual(key.SumOfMasks({}), Tag()));
  const HomomorphicMacKey elsewhere(Key(5), 10, std::vector<uint8_t>{'d'});
  EXPECT_FALSE(TagsEqual(key.Mask(Nonce(1)), elsewhere.Mask(Nonce(1))));
  EXPECT_TRUE(TagsEqual(key.OfSum(std::vector<uint64_t>(10, 3)),
                        elsewhere.OfSum(std::vector<uint64_t>(10, 3))));
  EXPECT_NE(key.Mask(Nonce(1)).words[0], key.Mask(Nonce(1)).words[1]);
}

TEST(HomomorphicMacTest, AddingStaysCanonical) {
  const Tag largest{{kTagPrime - 1, kTagPrime - 1, kTagPrime - 1}};
  EXPECT_EQ(AddTags(largest, Tag{{1, kTagPrime - 1, 2}}).words,
            (std::array<uint64_t, kTagWords>{0, kTagPrime - 2, 1}));
  EXPECT_EQ(AddTags(largest, Tag()).words, largest.words);
}

TEST(HomomorphicMacTest, ComparisonSeesEveryWord) {
  const Tag tag{{5, 6, 7}};
  EXPECT_TRUE(TagsEqual(tag, Tag{{5, 6, 7}}));
  for (size_t word = 0; word < kTagWords; ++word) {
    Tag other = tag;
    other.words[word] ^= uint64_t{1} << (20 * word);
    EXPECT_FALSE(TagsEqual(tag, other));
  }
}

TEST(HomomorphicMacTest, BytesAreThreeLittleEndianWords) {
  const Tag tag{{0x0002030405060708, kTagPrime - 1, 0}};
  const std::array<uint8_t, kTagBytes> bytes = EncodeTag(tag);
  EXPECT_EQ(base::ToHex(bytes),
            "0807060504030200"
            "00000000c0ff0300"
            "0000000000000000");
  EXPECT_TRUE(TagsEqual(DecodeTag(bytes, "sum").value(), tag));
}

TEST(HomomorphicMacTest, DecoderRefusesLengthsAndWordsFromThePrimeOn) {
  for (const size_t size : {0u, 23u, 25u}) {
    const absl::Status status = DecodeTag(std::vector<uint8_t>(size), "sum").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(base::Message(status),
                HasSubstr("sum: field `tag` has " + std::to_string(size) + " bytes"));
  }
  for (size_t word = 0; word < kTagWords; ++word) {
    Tag tag;
    tag.words[word] = kTagPrime;
    const absl::Status status = DecodeTag(EncodeTag(tag), "sum").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(base::Message(status), HasSubstr("word " + std::to_string(word) + " is not below"));
  }
}

// docs/formats/mac.md, frozen, as a second implementation computed it from that page.
TEST(HomomorphicMacTest, KnownAnswer) {
  crypto::SecretBytes tag_key(32);
  for (size_t i = 0; i < 32; ++i) tag_key.Expose()[i] = static_cast<uint8_t>(i);
  const HomomorphicMacKey key(tag_key, 5000, std::vector<uint8_t>{'c', 't', 'x'});
  std::vector<uint32_t> counts(5000);
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<uint32_t>(i * i);
  EXPECT_EQ(base::ToHex(EncodeTag(key.Compute(counts, Nonce('!')))),
            "4e30a4fa8c940300a7e479a377f9030097082d108dc30200");
}

TEST(HomomorphicMacDeathTest, WrongSizesAreProgrammingErrors) {
  const HomomorphicMacKey key = KeyFor(1, 10);
  EXPECT_DEATH(key.Compute(std::vector<uint32_t>(9), Nonce(0)), "number of counts");
  EXPECT_DEATH(key.OfSum(std::vector<uint64_t>(11)), "number of sums");
  EXPECT_DEATH(HomomorphicMacKey(crypto::SecretBytes(16), 10, {}), "32 bytes");
}

}  // namespace
}  // namespace tacet::he
