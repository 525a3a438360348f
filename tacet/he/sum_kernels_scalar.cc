#include <algorithm>

#include "tacet/he/sum_kernels.h"
#include "tacet/ring/words.h"

namespace tacet::he {
namespace {

WordSums SumWords(const uint8_t* bytes, size_t words) {
  WordSums sums;
  for (size_t i = 0; i < words; ++i) {
    sums.sum += ring::LoadWord32(bytes + 4 * i);
    sums.weighted += sums.sum;  // a word that came i-th is counted n - i times
  }
  return sums;
}

void AddWords(const uint8_t* const* sources, size_t count, size_t words, uint64_t* sums,
              WordSums* of_sources) {
  for (size_t u = 0; u < count; ++u) {
    for (size_t i = 0; i < words; ++i) sums[i] += ring::LoadWord32(sources[u] + 4 * i);
    of_sources[u] = SumWords(sources[u], words);
  }
}

uint32_t LargestWord(const uint8_t* bytes, size_t words) {
  uint32_t largest = 0;
  for (size_t i = 0; i < words; ++i) largest = std::max(largest, ring::LoadWord32(bytes + 4 * i));
  return largest;
}

void MultiplyRows(const uint32_t* limbs, size_t stride, const uint32_t* const* rows, size_t count,
                  size_t size, LimbProducts* products) {
  for (size_t r = 0; r < count; ++r) {
    for (size_t limb = 0; limb < kLimbs; ++limb) {
      products[r][limb] = 0;
      for (size_t b = 0; b < size; ++b) {
        products[r][limb] += static_cast<uint64_t>(limbs[limb * stride + b]) * rows[r][b];
      }
    }
  }
}

constexpr SumKernels kKernels = {.target = base::Target::kScalar,
                                 .add_words = AddWords,
                                 .sum_words = SumWords,
                                 .largest_word = LargestWord,
                                 .limb_products = MultiplyRows};

}  // namespace

const SumKernels& ScalarSumKernels() { return kKernels; }

}  // namespace tacet::he
