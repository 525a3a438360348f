// Every instruction set computes what the scalar oracle computes.
#include "tacet/he/sum_kernels.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/base/kernel_versions_for_test.h"
#include "tacet/crypto/random.h"

namespace tacet::he {
namespace {

base::Bytes SomeBytes(size_t count, uint64_t seed) {
  base::Bytes bytes(count);
  crypto::InsecureSeededEntropy(seed, "sum_kernels_test").Fill(bytes);
  return bytes;
}

TEST(WordSumsTest, OfThreeWords) {
  const base::Bytes bytes = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1};
  const WordSums sums = ScalarSumKernels().sum_words(bytes.data(), 3);
  EXPECT_EQ(sums.sum, 1u + 0x100 + 0x1000000);
  EXPECT_EQ(sums.weighted, 3u * 1 + 2 * 0x100 + 0x1000000);
}

TEST(WordSumsTest, PartsMakeTheWhole) {
  const base::Bytes bytes = SomeBytes(400, 1);
  const SumKernels& kernels = ScalarSumKernels();
  const WordSums whole = kernels.sum_words(bytes.data(), 100);
  for (size_t cut = 0; cut <= 100; ++cut) {
    const WordSums first = kernels.sum_words(bytes.data(), cut);
    const WordSums second = kernels.sum_words(bytes.data() + 4 * cut, 100 - cut);
    EXPECT_EQ(Concatenate(first, second, 100 - cut), whole);
    EXPECT_EQ(WithoutFirst(whole, first, 100 - cut), second);
  }
}

constexpr base::Target kTargets[] = {base::Target::kNeon, base::Target::kAvx2,
                                     base::Target::kAvx512};
constexpr size_t kSizes[] = {0, 1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 4095, 4096};

class SumKernelsTest : public base::KernelVersionTest<SumKernels, AvailableSumKernels> {
 protected:
  const SumKernels& oracle() const { return ScalarSumKernels(); }
};

TEST(SumKernelSetsTest, EveryVersionOfTheProcessorIsItsOwn) {
  const auto available = AvailableSumKernels();
  base::ExpectVersions(available, {std::begin(kTargets), std::end(kTargets)});
  EXPECT_EQ(available.front(), &ScalarSumKernels());
  EXPECT_THAT(available, testing::Contains(&ActiveSumKernels()));
  for (const SumKernels* kernels : available) {
    for (const SumKernels* other : available) {
      if (other == kernels) continue;
      EXPECT_NE(other->add_words, kernels->add_words);
      EXPECT_NE(other->sum_words, kernels->sum_words);
      EXPECT_NE(other->largest_word, kernels->largest_word);
      EXPECT_NE(other->limb_products, kernels->limb_products);
    }
  }
}

// Reads odd addresses, too: an upload lies where the network put it.
TEST_P(SumKernelsTest, AddsAndSumsEveryLengthAndNumberOfSources) {
  for (const size_t words : kSizes) {
    for (size_t count = 1; count <= kAddedAtOnce; ++count) {
      std::vector<base::Bytes> sources;
      std::vector<const uint8_t*> places;
      for (size_t u = 0; u < count; ++u) sources.push_back(SomeBytes(4 * words + 3, words + u));
      for (size_t u = 0; u < count; ++u) places.push_back(sources[u].data() + u % 4);
      std::vector<uint64_t> expected(words, std::numeric_limits<uint64_t>::max() - 5);
      std::vector<uint64_t> sums = expected;
      std::vector<WordSums> expected_of(count), of(count);
      oracle().add_words(places.data(), count, words, expected.data(), expected_of.data());
      Tested().add_words(places.data(), count, words, sums.data(), of.data());
      EXPECT_EQ(sums, expected) << words << " " << count;
      EXPECT_EQ(of, expected_of) << words << " " << count;
      EXPECT_EQ(Tested().sum_words(places[0], words), expected_of[0]) << words;
      EXPECT_EQ(Tested().largest_word(places[0], words), oracle().largest_word(places[0], words));
    }
  }
}

TEST_P(SumKernelsTest, TheLargestWordIsFoundInEveryPlace) {
  for (size_t place = 0; place < 40; ++place) {
    std::vector<uint32_t> words(40, 0x7fffffff);
    words[place] = 0xfffffffe;
    EXPECT_EQ(Tested().largest_word(reinterpret_cast<const uint8_t*>(words.data()), 40),
              0xfffffffe);
  }
}

// With the largest limbs and counts, too: the lanes must not overflow.
TEST_P(SumKernelsTest, LimbProductsAreExact) {
  constexpr size_t kStride = 4096;
  for (const bool largest : {false, true}) {
    std::vector<uint32_t> limbs(kLimbs * kStride);
    std::vector<uint32_t> counts(kRowsAtOnce * kStride);
    const base::Bytes random = SomeBytes(4 * (limbs.size() + counts.size()), 9);
    std::memcpy(limbs.data(), random.data(), 4 * limbs.size());
    std::memcpy(counts.data(), random.data() + 4 * limbs.size(), 4 * counts.size());
    for (uint32_t& limb : limbs) limb = (largest ? ~0u : limb) & ((1u << kLimbBits) - 1);
    if (largest) std::ranges::fill(counts, ~0u);
    const uint32_t* rows[kRowsAtOnce];
    for (size_t r = 0; r < kRowsAtOnce; ++r) rows[r] = counts.data() + r * kStride;
    for (const size_t size : kSizes) {
      for (size_t count = 1; count <= kRowsAtOnce; ++count) {
        std::vector<LimbProducts> expected(count), products(count);
        oracle().limb_products(limbs.data(), kStride, rows, count, size, expected.data());
        Tested().limb_products(limbs.data(), kStride, rows, count, size, products.data());
        EXPECT_TRUE(products == expected) << size << " " << count;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EverySet, SumKernelsTest, ::testing::ValuesIn(kTargets),
                         base::NameOfTarget);

}  // namespace
}  // namespace tacet::he
