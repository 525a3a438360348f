#include "tacet/he/tag_polynomial.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/test_size_for_test.h"
#include "tacet/he/attempt_for_test.h"
#include "tacet/he/compact.h"
#include "tacet/he/derived_random.h"
#include "tacet/ring/polynomial.h"
#include "tacet/ring/sampling.h"
#include "tacet/ring/uniform.h"

namespace tacet::he {
namespace {

constexpr size_t kDegree = ring::kCompactDegree;

std::vector<uint8_t> Seed(uint8_t first) {
  std::vector<uint8_t> seed(ring::kSeedBytes, 7);
  seed[0] = first;
  return seed;
}

// Inner products are what the transform computes, also where a key has its largest coefficients.
TEST(TagPolynomialTest, CoefficientsAreThoseOfTheProductInTheRing) {
  for (const uint64_t index : {uint64_t{0}, uint64_t{30}}) {
    ring::AlignedWords a_ntt(2 * kDegree);
    ExpandPayload(Seed(1), index, a_ntt);
    const TagPolynomial tag_polynomial(Seed(1), index);
    for (const int32_t largest : {21, 32760, 21 * 1048575, 2147483647}) {
      std::vector<int32_t> key(kDegree);
      crypto::InsecureSeededEntropy entropy(static_cast<uint64_t>(largest), "key");
      crypto::Random random = crypto::Random::FromEntropy(entropy);
      for (int32_t& coefficient : key) {
        const uint64_t drawn = random.Below(2 * static_cast<uint64_t>(largest) + 1);
        coefficient = static_cast<int32_t>(static_cast<int64_t>(drawn) - largest);
      }
      std::fill(key.begin() + 100, key.begin() + 200, largest);
      std::fill(key.end() - 100, key.end(), -largest);
      const TagProducts products = tag_polynomial.Times(std::span<const int32_t>(key));
      for (size_t r = 0; r < 2; ++r) {
        const ring::Multiplier factor(std::span<const int32_t>(key), ring::CompactNtt(r));
        std::vector<uint64_t> expected(kDegree);
        factor.Multiply(std::span(a_ntt).subspan(r * kDegree, kDegree), expected);
        for (size_t i = 0; i < kTagWords; ++i) {
          EXPECT_EQ(products.Expose()[r * kTagWords + i], expected[i]) << largest << " " << i;
        }
      }
    }
  }
}

// Words of `ciphertexts` uploads, each `copies` times in one sum: all errors and truncations add up
// with one sign, as far from a sum of independent ones as can be.
class TagSum {
 public:
  TagSum(uint64_t seed, uint32_t ciphertexts)
      : entropy_(seed, "tag sum"),
        random_(crypto::Random::FromEntropy(entropy_)),
        seed_(Seed(static_cast<uint8_t>(seed))),
        polynomial_(seed_, 0),
        sums_(kTagWords),
        key_sum_(kDegree) {
    for (uint32_t k = 0; k < ciphertexts; ++k) Add();
  }

  uint32_t participants() const { return participants_; }
  const std::array<uint64_t, kTagWords>& expected() const { return expected_.words; }

  void Double() {
    sums_.Merge(PlaneSums(sums_));
    for (int32_t& coefficient : key_sum_) coefficient *= 2;
    expected_ = AddTags(expected_, expected_);
    participants_ *= 2;
  }
  void Add() {
    Tag tag;
    for (uint64_t& word : tag.words) word = random_.Below(kTagPrime);
    expected_ = AddTags(expected_, tag);
    std::vector<int8_t> key(kDegree);
    ring::SampleError(random_, key);
    std::vector<uint8_t> planes(kTagPlaneBytes);
    EncryptTag(tag, polynomial_.Times(std::span<const int8_t>(key)), random_, planes.data());
    const uint8_t* source = planes.data();
    WordSums unused;
    sums_.Add({&source, 1}, {&unused, 1});
    for (size_t i = 0; i < kDegree; ++i) key_sum_[i] += key[i];
    ++participants_;
  }
  std::array<uint64_t, kTagWords> Decrypt() const {
    std::vector<uint8_t> residues(16 * kTagWords);
    sums_.WriteResidues(residues);
    return DecryptTag({residues.data(), residues.data() + 8 * kTagWords},
                      polynomial_.Times(std::span<const int32_t>(key_sum_)), participants_)
        .words;
  }

 private:
  crypto::InsecureSeededEntropy entropy_;
  crypto::Random random_;
  std::vector<uint8_t> seed_;
  TagPolynomial polynomial_;
  PlaneSums sums_;
  std::vector<int32_t> key_sum_;
  Tag expected_;
  uint32_t participants_ = 0;
};

TEST(TagPolynomialTest, SumOfWordsIsExactUpToTheMostParticipants) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    TagSum sum(seed, 1 + static_cast<uint32_t>(seed));
    while (true) {
      ASSERT_EQ(sum.Decrypt(), sum.expected()) << sum.participants();
      if (2 * sum.participants() > KeySharing::MaxParticipants()) break;
      sum.Double();
      sum.Add();
    }
  }
}

// The same with independent uploads, as many as there is time for.
TEST(TagPolynomialTest, SumOfIndependentWordsIsExact) {
  const int kUploads = base::TestSize("TACET_TAGS", 2000);
  TagSum sum(100, 1);
  for (int k = 1; k < kUploads; ++k) {
    sum.Add();
    if ((k & (k + 1)) == 0) {
      ASSERT_EQ(sum.Decrypt(), sum.expected()) << k;
    }
  }
  EXPECT_EQ(sum.Decrypt(), sum.expected());
}

// Errors at their largest and truncations at either end: the sum of the words comes out as long as
// they stay below p1 / 2, a hundred million times further than a plan goes.
TEST(TagPolynomialTest, WordsSurviveErrorsUpToHalfThePrime) {
  const TagProducts none(2 * kTagWords);
  const uint64_t largest = (ring::kPrime1 - 1) / 2;
  const Tag words{{0, 1, kTagPrime - 1}};
  for (const int64_t error : {int64_t{0}, int64_t{29} * 1048575, static_cast<int64_t>(largest)}) {
    for (const int64_t signed_error : {error, -error}) {
      std::array<std::array<uint64_t, kTagWords>, 2> residues;
      for (size_t i = 0; i < kTagWords; ++i) {
        residues[1][i] = ring::kModulus1.FromSigned(signed_error);
        residues[0][i] =
            ring::kModulus0.Add(ring::kModulus0.Multiply(words.words[i], ring::kPrime1),
                                ring::kModulus0.FromSigned(signed_error));
      }
      const std::array<const uint8_t*, 2> bytes = {
          reinterpret_cast<const uint8_t*>(residues[0].data()),
          reinterpret_cast<const uint8_t*>(residues[1].data())};
      EXPECT_EQ(DecryptTag(bytes, none, 0).words, words.words) << signed_error;
    }
  }
}

}  // namespace
}  // namespace tacet::he
