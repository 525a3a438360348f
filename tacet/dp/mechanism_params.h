// Parameters of the mechanism clip -> noise -> quantise. They are declared once: configuration,
// agreement, accountants and plan hold this struct.
#ifndef TACET_DP_MECHANISM_PARAMS_H_
#define TACET_DP_MECHANISM_PARAMS_H_

#include "tacet/dp/gaussian.h"
#include "tacet/dp/noise_law.h"

namespace tacet::dp {

// Lengths are in units of the update.
struct MechanismParams {
  NoiseLaw noise_law = NoiseLaw::kGaussian;
  // S > 0: norm that one contribution is clipped to, L2, and L1 under discrete Laplace noise.
  // Ignored when without_clipping.
  double clip_norm = 1;
  // b > 0: largest absolute value of a coordinate. Above S it counts as S, unless a participant
  // sends a sum of clipped contributions.
  double coordinate_bound = 1;
  // sigma >= 0: standard deviation of the noise in the sum, of the least number of honest noise
  // shares. 0 with without_noise, or until a target epsilon has chosen it.
  double noise_stddev = 0;
  // s > 0: step of the quantisation, or of the noise.
  double scale = 1e-4;
  // Algorithm that draws the noise; its bound is part of the implementation terms.
  GaussianSampler sampler = GaussianSampler::kDefault;
  // Labelled runs, which guarantee nothing. Without noise noise_stddev counts as 0; without
  // clipping only the clamp to b is applied.
  bool without_noise = false;
  bool without_clipping = false;

  bool makes_guarantee() const { return !without_noise && !without_clipping; }

  friend bool operator==(const MechanismParams&, const MechanismParams&) = default;
};

}  // namespace tacet::dp

#endif  // TACET_DP_MECHANISM_PARAMS_H_
