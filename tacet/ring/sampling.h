// Secret and error polynomials, in time that does not depend on what is drawn.
#ifndef TACET_RING_SAMPLING_H_
#define TACET_RING_SAMPLING_H_

#include <cstdint>
#include <span>

#include "tacet/base/random.h"

namespace tacet::ring {

// Uniform on {-1, 0, 1}: floor(3 x / 2^64) - 1 of one 64-bit word x each, taken in order from the
// generator's stream (the group's secret is expanded by several parties). The bias is below 2^-63.
inline constexpr double kTernaryVariance = 2.0 / 3;
void SampleTernary(base::Random& random, std::span<int8_t> coefficients);

// The centred binomial distribution CBD(21), the sum of 21 differences of two fair bits: popcount
// of 42 bits less 21. Values in [-21, 21], variance 10.5, standard deviation 3.24; sub-Gaussian
// with its own variance.
inline constexpr int kErrorBound = 21;
inline constexpr double kErrorVariance = kErrorBound / 2.0;
void SampleError(base::Random& random, std::span<int8_t> coefficients);

}  // namespace tacet::ring

#endif  // TACET_RING_SAMPLING_H_
