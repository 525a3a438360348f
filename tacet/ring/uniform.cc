#include "tacet/ring/uniform.h"

#include <algorithm>
#include <array>

#include "tacet/crypto/random.h"
#include "tacet/ring/kernels.h"
#include "tacet/ring/words.h"

namespace tacet::ring {

void ExpandUniform(std::span<const uint8_t> seed, const UniformStream& stream,
                   std::span<uint64_t> values_ntt) {
  std::array<uint8_t, 16> iv{};
  StoreWord32(stream.polynomial, iv.data());
  iv[4] = stream.prime;
  iv[5] = static_cast<uint8_t>(stream.use);
  crypto::AesCtrStream words(seed, iv);

  const Kernels& kernels = ActiveKernels();
  const uint64_t prime = kPrimes[stream.prime];
  // One block of words at a time, while the first-level cache holds it. `selected` is larger by
  // what a kernel may write beyond the values.
  std::array<uint64_t, 512> block;
  std::array<uint64_t, 512 + 8> selected;
  while (!values_ntt.empty()) {
    words.Fill({reinterpret_cast<uint8_t*>(block.data()), sizeof(block)});
    const size_t found =
        kernels.select_below(prime, block.data(), block.size(),
                             std::min(values_ntt.size(), block.size()), selected.data());
    std::copy_n(selected.begin(), found, values_ntt.begin());
    values_ntt = values_ntt.subspan(found);
  }
}

}  // namespace tacet::ring
