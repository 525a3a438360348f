#include "tacet/ring/uniform.h"

#include <array>

#include "tacet/base/random.h"
#include "tacet/ring/words.h"

namespace tacet::ring {

void ExpandUniform(std::span<const uint8_t> seed, const UniformStream& stream,
                   std::span<uint64_t> values_ntt) {
  std::array<uint8_t, 16> iv{};
  StoreWord32(stream.polynomial, iv.data());
  iv[4] = stream.prime;
  iv[5] = static_cast<uint8_t>(stream.use);
  base::AesCtrStream words(seed, iv);

  constexpr uint64_t kMask = (uint64_t{1} << kPrimeBits) - 1;
  const uint64_t prime = kPrimes[stream.prime];
  std::array<uint8_t, 4096> buffer;
  size_t filled = 0;
  while (filled < values_ntt.size()) {
    words.Fill(buffer);
    for (size_t i = 0; i < buffer.size() && filled < values_ntt.size(); i += 8) {
      const uint64_t word = LoadWord64(&buffer[i]) & kMask;
      values_ntt[filled] = word;  // a rejected word is overwritten by the next
      filled += word < prime ? 1 : 0;
    }
  }
}

}  // namespace tacet::ring
