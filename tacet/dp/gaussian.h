// Standard normal draws whose absolute value has a bound known beforehand.
#ifndef TACET_DP_GAUSSIAN_H_
#define TACET_DP_GAUSSIAN_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/crypto/random.h"
#include "tacet/dp/active_kernels.h"

namespace tacet::dp {

// Algorithm that turns uniform words into normal values. Frozen values: they are part of a
// manifest. The last three are the forms of Grivet Sebert et al., appendix on sampler bounds, on
// 64-bit uniforms.
//
//   name        bound z                                       source
//   default     sqrt(2 * 128 ln 2)                = 13.32     Box-Muller, U a 128-bit fraction
//   box-muller  sqrt(2 * 64 ln 2)                 =  9.42     Box and Muller 1958
//   polar       sqrt(2 * 127 ln 2)                = 13.27     Marsaglia's polar form
//   ziggurat    r + 64 ln 2 / r, r = 3.654        = 15.79     Marsaglia and Tsang 2000, 255 boxes
enum class GaussianSampler : uint8_t {
  kDefault = 0,
  kBoxMuller = 1,
  kPolar = 2,
  kZiggurat = 3,
};

// "default", "box-muller", "polar" or "ziggurat"; "unknown" for any other value.
std::string_view GaussianSamplerName(GaussianSampler sampler);

// The inverse of GaussianSamplerName; InvalidArgument names the text and what is accepted.
absl::StatusOr<GaussianSampler> ParseGaussianSampler(std::string_view name);

// z: no draw of the sampler is larger in absolute value. Rounded up by 2^-44 so that the rounding
// of a draw cannot pass it.
double GaussianBound(GaussianSampler sampler);

// An upper bound on the probability that a draw falls where the grid of the sampler's uniform
// words is coarse enough to show (below the bound z, hence not part of the truncation): the
// outermost cell 2^-64 of `box-muller`, the inner 2^-120 of the radius of `default` and `polar`,
// |x| > 13.9 for `ziggurat`. docs/security/precision.md derives them.
double GaussianCoarseTail(GaussianSampler sampler);

// Fills `out` with independent standard normal draws, |out[i]| <= GaussianBound(sampler). All
// arithmetic in double, in an order that does not depend on the processor: one key gives one
// result everywhere. Uniforms have at least 53 significant bits also near 0, but for U_1 of
// `box-muller` (the paper's fixed-point form). Running time depends on the values drawn.
//
// `default` and `box-muller` run on vectors; every version of their kernels draws the same values,
// which tests compare.
void FillGaussian(GaussianSampler sampler, crypto::Random& random, std::span<double> out,
                  const Kernels& kernels = ActiveKernels());

}  // namespace tacet::dp

#endif  // TACET_DP_GAUSSIAN_H_
