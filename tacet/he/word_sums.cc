#include "tacet/he/word_sums.h"

#include "tacet/he/sum_kernels.h"

namespace tacet::he {

WordSums SumWords(std::span<const uint8_t> bytes) {
  return ActiveSumKernels().sum_words(bytes.data(), bytes.size() / 4);
}

}  // namespace tacet::he
