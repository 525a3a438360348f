#include "tacet/ring/sampling.h"

#include <algorithm>

#include "tacet/crypto/secret.h"
#include "tacet/ring/kernels.h"

namespace tacet::ring {
namespace {

// coefficients[i] = map(word i of the stream).
void FillFromWords(crypto::Random& random, std::span<int8_t> coefficients,
                   void (*map)(const uint64_t* words, size_t size, int8_t* values)) {
  crypto::SecretVector<uint64_t> buffer(std::min<size_t>(coefficients.size(), 1024));
  while (!coefficients.empty()) {
    const size_t count = std::min(coefficients.size(), buffer.size());
    const auto words = buffer.Expose().first(count);
    random.FillU64(words);
    map(words.data(), count, coefficients.data());
    coefficients = coefficients.subspan(count);
  }
}

}  // namespace

void SampleTernary(crypto::Random& random, std::span<int8_t> coefficients) {
  FillFromWords(random, coefficients, ActiveKernels().ternary);
}

void SampleError(crypto::Random& random, std::span<int8_t> coefficients) {
  FillFromWords(random, coefficients, ActiveKernels().error);
}

}  // namespace tacet::ring
