// Benchmark of the privacy mechanism alone, on one core.
#ifndef TACET_LAB_BENCH_BENCH_DP_H_
#define TACET_LAB_BENCH_BENCH_DP_H_

#include <cstdint>

#include "absl/status/statusor.h"

#include "lab/bench/machine_rates.h"

namespace tacet::app::bench {

struct BenchDpSpec {
  uint64_t dimension = 486654;  // d
  double rate = 26277;          // mean of the Poisson rates; their deviation is 7 %
  uint32_t repetitions = 21;    // 1 to 1001
};

// Medians.
struct BenchDpResult {
  double clip_s = 0;                // norm, scaling and clamping of a whole update
  double gaussian_s = 0;            // a value of the default sampler, in double
  double poisson_s = 0;             // a value
  double noise_and_quantise_s = 0;  // a whole update at the published setting
  // Least resources that each needs (of an update or a value, as above).
  Demand clip, gaussian, poisson, noise_and_quantise;
};

// InvalidArgument when something is out of its range.
absl::StatusOr<BenchDpResult> BenchDp(const BenchDpSpec& spec);

// For one value, in slots of the multiply-add units; a division counts as 32 of them, a square root
// as 48 (24 in single precision): so long do they hold one of two units.
//
// Gaussian: one word; a logarithm, a square root, sine and cosine for two values, together 70 sums
// and products, one division and one root.
inline constexpr Demand kGaussianDemand = {.memory_bytes = 0, .aes_bytes = 8, .fmas = 75};
// Poisson, large rates: 1.016 trials of a normal draw and half a word each. The first test is 16
// sums and products and a root in single precision, two to a slot, and 10 in double; one in forty
// continues to a second one of 60 and three divisions in single precision.
inline constexpr Demand kPoissonDemand = {.memory_bytes = 0, .aes_bytes = 12.2, .fmas = 107};

}  // namespace tacet::app::bench

#endif  // TACET_LAB_BENCH_BENCH_DP_H_
