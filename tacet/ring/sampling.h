// Secret and error polynomials, in time that does not depend on what is drawn.
#ifndef TACET_RING_SAMPLING_H_
#define TACET_RING_SAMPLING_H_

#include <cstdint>
#include <span>

#include "tacet/crypto/random.h"
#include "tacet/ring/modulus.h"

namespace tacet::ring {

// Uniform on {-1, 0, 1}: floor(3 x / 2^64) - 1 of one 64-bit word x each, taken in order from the
// generator's stream (the group's secret is expanded by several parties). The bias is below 2^-63.
inline constexpr double kTernaryVariance = 2.0 / 3;
void SampleTernary(crypto::Random& random, std::span<int8_t> coefficients);

// The centred binomial distribution CBD(21), the sum of 21 differences of two fair bits: popcount
// of 42 bits less 21. Values in [-21, 21], variance 10.5, standard deviation 3.24; sub-Gaussian
// with its own variance.
inline constexpr int kErrorBound = 21;
inline constexpr double kErrorVariance = kErrorBound / 2.0;
void SampleError(crypto::Random& random, std::span<int8_t> coefficients);

// The values that one word makes. Bits are counted by partial sums: the compiler's own way may look
// them up in a table, at an address that depends on the secret.
inline constexpr uint64_t kErrorMask = (uint64_t{1} << (2 * kErrorBound)) - 1;
constexpr int ErrorOf(uint64_t word) {
  uint64_t x = word & kErrorMask;
  x -= (x >> 1) & 0x5555555555555555;
  x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<int>((x * 0x0101010101010101) >> 56) - kErrorBound;
}
constexpr int TernaryOf(uint64_t word) { return static_cast<int>(MultiplyHigh(word, 3)) - 1; }

}  // namespace tacet::ring

#endif  // TACET_RING_SAMPLING_H_
