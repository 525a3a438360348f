// The inner loops of the mechanism, once for every instruction set. All sets write the same bytes.
//
// The scalar loops (kernels_scalar.cc) are the oracle; kernels_simd.cc repeats them with vectors,
// operation by operation: only +, -, *, / and sqrt in double or float, integer arithmetic and exact
// or correctly rounded conversions, which IEEE 754 fixes. No product is fused with a sum.
#ifndef TACET_DP_KERNELS_H_
#define TACET_DP_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/base/target.h"
#include "tacet/crypto/random.h"
#include "tacet/dp/active_kernels.h"

namespace tacet::dp {

// Trials of a Poisson draw as arrays of `size` values (poisson_trial.h). Rates that are below
// kPoissonRejectionRate, or NaN, are tried like that one, those of 2^31 or more like the largest
// double below it.
struct PoissonTrials {
  const double* rates = nullptr;
  const double* normals = nullptr;
  const uint32_t* chances = nullptr;
  size_t size = 0;
};

struct Kernels {
  base::Target target = base::Target::kScalar;

  // block[2j], block[2j + 1] hold two uniform words as bit patterns, radius and angle; they become
  // a pair of Box and Muller's. `wide` extends radius words below kWholeWord by random.NextU64(),
  // in the order of j.
  void (*box_muller)(bool wide, crypto::Random& random, double* block, size_t pairs) = nullptr;
  // block[i] = update[i] + factor block[i].
  void (*add_noise)(const float* update, double factor, double* block, size_t size) = nullptr;
  // block[i] = block[i] factor + shift.
  void (*scale_and_shift)(double factor, double shift, double* block, size_t size) = nullptr;
  // Sum of squares in double: 32 running sums, coordinate i to sum i mod 32, folded in halves.
  double (*sum_of_squares)(const float* update, size_t size) = nullptr;
  // out[i] = min(max(float(update[i] factor), -bound), bound), the product in double.
  void (*scale_and_clamp)(const float* update, double factor, float bound, float* out,
                          size_t size) = nullptr;

  // The first test. Writes every candidate to `counts` (a negative one as anything) and sets bit
  // i % 8 of open[i / 8] when candidate i is not taken yet. `open` begins as zeros and has a
  // multiple of 16 bits. True when a rate is below kPoissonRejectionRate.
  bool (*poisson_first)(const PoissonTrials& trials, uint32_t* counts, uint8_t* open) = nullptr;
  // The other tests: the same bits for the candidates that are rejected. Exact tests draw a word
  // each, in the order of the trials.
  void (*poisson_second)(const PoissonTrials& trials, crypto::Random& random,
                         uint8_t* rejected) = nullptr;
};

// Every version of this processor.
std::span<const Kernels* const> AvailableKernels();

// The versions themselves, those on vectors from the narrowest to the widest.
const Kernels& ScalarKernels();
std::span<const Kernels* const> VectorKernels();

}  // namespace tacet::dp

#endif  // TACET_DP_KERNELS_H_
