#include "tacet/secagg/checksum.h"

#include <cstring>

#include "tacet/base/bytes.h"

namespace tacet::secagg {

std::array<uint64_t, 2> Checksum(std::span<const uint8_t> bytes) {
  const size_t whole_words = bytes.size() / 4;
  uint64_t sum = 0;
  uint64_t weighted = 0;
  const auto add = [&](uint32_t word) {
    sum += word;
    weighted += sum;  // a word that came i-th is counted n - i times
  };
  for (size_t i = 0; i < whole_words; ++i) add(base::LoadU32(bytes.data() + 4 * i));
  size_t words = whole_words;
  if (const size_t rest = bytes.size() % 4; rest != 0) {
    uint8_t last[4] = {};
    std::memcpy(last, bytes.data() + 4 * whole_words, rest);
    add(base::LoadU32(last));
    ++words;
  }
  return {sum + words, weighted};
}

}  // namespace tacet::secagg
