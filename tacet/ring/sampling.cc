#include "tacet/ring/sampling.h"

#include <algorithm>

#include "tacet/base/secret.h"
#include "tacet/ring/modulus.h"

namespace tacet::ring {
namespace {

// Bits set in x by partial sums: the compiler's own may look them up in a table, at an address
// that depends on the secret.
constexpr int PopCount(uint64_t x) {
  x -= (x >> 1) & 0x5555555555555555;
  x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<int>((x * 0x0101010101010101) >> 56);
}

// coefficients[i] = map(word i of the stream).
template <typename Map>
void FillFromWords(base::Random& random, std::span<int8_t> coefficients, Map map) {
  base::SecretVector<uint64_t> buffer(std::min<size_t>(coefficients.size(), 1024));
  while (!coefficients.empty()) {
    const size_t count = std::min(coefficients.size(), buffer.size());
    const auto words = buffer.Expose().first(count);
    random.FillU64(words);
    for (size_t i = 0; i < count; ++i) coefficients[i] = static_cast<int8_t>(map(words[i]));
    coefficients = coefficients.subspan(count);
  }
}

}  // namespace

void SampleTernary(base::Random& random, std::span<int8_t> coefficients) {
  FillFromWords(random, coefficients,
                [](uint64_t word) { return static_cast<int>(MultiplyHigh(word, 3)) - 1; });
}

void SampleError(base::Random& random, std::span<int8_t> coefficients) {
  constexpr uint64_t kMask = (uint64_t{1} << (2 * kErrorBound)) - 1;
  FillFromWords(random, coefficients,
                [](uint64_t word) { return PopCount(word & kMask) - kErrorBound; });
}

}  // namespace tacet::ring
