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

#include "tacet/base/cpu.h"
#include "tacet/crypto/random.h"

namespace tacet::dp {

// Number of values beyond the requested ones that the vectors of the Poisson kernels may touch.
inline constexpr size_t kPoissonPadding = 8;

// One round of transformed rejection as arrays (poisson_trial.h), each followed by kPoissonPadding
// values that may be read and overwritten.
struct PoissonCandidates {
  double* rates = nullptr;
  uint64_t* indexes = nullptr;  // where the count goes
  uint64_t* words = nullptr;    // the first words of the trials
};

struct PoissonProposed {
  size_t undecided = 0;  // trials that need the acceptance test
  size_t small = 0;      // rates below kPoissonRejectionRate (or NaN): left alone
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

  // The first half of `size` trials, one word each: writes the candidates that are taken at once to
  // `counts` (padded; other places are left undefined) and appends the other trials to `undecided`.
  PoissonProposed (*poisson_propose)(const double* rates, const uint64_t* indexes,
                                     const uint64_t* words, size_t size, uint32_t* counts,
                                     const PoissonCandidates& undecided) = nullptr;
  // The second half, one more word each: writes the candidates that are taken to counts[index] and
  // appends the trials that are rejected to `rejected` (rates and indexes). Returns how many.
  size_t (*poisson_decide)(const PoissonCandidates& undecided, const uint64_t* words, size_t size,
                           crypto::Random& random, uint32_t* counts,
                           const PoissonCandidates& rejected) = nullptr;
};

// Choice at run time (base/kernel_sets.h): the widest version that may be used, and every version
// of this processor.
const Kernels& ActiveKernels();
std::span<const Kernels* const> AvailableKernels();

// The versions themselves.
const Kernels& ScalarKernels();
const Kernels& Avx2Kernels();
const Kernels& Avx512Kernels();

}  // namespace tacet::dp

#endif  // TACET_DP_KERNELS_H_
