#include "tacet/secagg/checksum.h"

#include <array>
#include <cstring>

#include "tacet/he/word_sums.h"

namespace tacet::secagg {

std::array<uint64_t, 2> Checksum(std::span<const uint8_t> bytes) {
  size_t words = bytes.size() / 4;
  he::WordSums sums = he::SumWords(bytes.first(4 * words));
  if (const size_t rest = bytes.size() % 4; rest != 0) {
    std::array<uint8_t, 4> last{};
    std::memcpy(last.data(), bytes.data() + 4 * words, rest);
    sums = he::Concatenate(sums, he::SumWords(last), 1);
    ++words;
  }
  return {sums.sum + words, sums.weighted};
}

}  // namespace tacet::secagg
