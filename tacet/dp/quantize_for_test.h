// Quantisation of values that are all there.
#ifndef TACET_DP_QUANTIZE_FOR_TEST_H_
#define TACET_DP_QUANTIZE_FOR_TEST_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tacet/crypto/random.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/poisson_quantizer.h"

namespace tacet::dp {

// Draws counts[i] ~ Poisson(x[i]/s + m).
inline void Quantize(const PoissonQuantizer& quantizer, std::vector<double> x,
                     crypto::Random& random, std::span<uint32_t> counts) {
  PoissonSampler sampler(random);
  quantizer.QuantizeInPlace(x, sampler, counts);
}

}  // namespace tacet::dp

#endif  // TACET_DP_QUANTIZE_FOR_TEST_H_
