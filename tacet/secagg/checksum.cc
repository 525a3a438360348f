#include "tacet/secagg/checksum.h"

#include <array>
#include <cstring>

#include "tacet/base/cpu.h"
#include "tacet/he/sum_kernels.h"

namespace tacet::secagg {

he::WordSums SumWords(std::span<const uint8_t> bytes) {
  return he::SumKernelsFor(base::ActiveSimd()).sum_words(bytes.data(), bytes.size() / 4);
}

std::array<uint64_t, 2> Checksum(std::span<const uint8_t> bytes) {
  size_t words = bytes.size() / 4;
  he::WordSums sums = SumWords(bytes.first(4 * words));
  if (const size_t rest = bytes.size() % 4; rest != 0) {
    std::array<uint8_t, 4> last{};
    std::memcpy(last.data(), bytes.data() + 4 * words, rest);
    sums = he::Concatenate(sums, SumWords(last), 1);
    ++words;
  }
  return {sums.sum + words, sums.weighted};
}

}  // namespace tacet::secagg
