// The noise of a released sum, as estimates need it.
#ifndef TACET_STATISTICS_RELEASED_NOISE_H_
#define TACET_STATISTICS_RELEASED_NOISE_H_

#include <cstddef>

#include "tacet/dp/noise_law.h"

namespace tacet::statistics {

// Each value of the sum has noise of its own, of this law.
struct ReleasedNoise {
  dp::NoiseLaw law = dp::NoiseLaw::kGaussian;
  double stddev = 0;  // >= 0, in units of a value
  // Discrete Laplace: multiples of `step` > 0, `laws` > 0 independent laws of `rate` > 0 a step
  // together. K uploads of which n add to the law are K / n of them.
  double step = 0;
  double rate = 0;
  double laws = 1;

  // The smallest h with P(|sum of `values` noises| <= h) >= confidence; confidence in (0, 1). The
  // probabilities of discrete Laplace noise are exact to 1e-9.
  double Quantile(double confidence, size_t values = 1) const;
  // The half width, in deviations, of an interval around a sum of several values with any weights:
  // the larger one of a single value's and of the normal law's, which such sums come near.
  double Deviate(double confidence) const;
};

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_RELEASED_NOISE_H_
