// Integer noise of the literature, whose sums need no quantisation of their own.
#ifndef TACET_LAB_BASELINES_INTEGER_NOISE_H_
#define TACET_LAB_BASELINES_INTEGER_NOISE_H_

#include <cstdint>
#include <span>

#include "tacet/crypto/random.h"

namespace tacet::app::baselines {

// noise[i] ~ N_Z(0, stddev^2): P(k) proportional to exp(-k^2 / (2 stddev^2)). Rejection from a
// discrete Laplace law (Canonne, Kamath, Steinke 2020, algorithm 3), in double. stddev in
// [0.1, 2^24].
void FillDiscreteGaussian(double stddev, crypto::Random& random, std::span<int64_t> noise);

// noise[i] ~ Skellam: the difference of two Poisson draws of rate variance / 2. A sum of such draws
// is Skellam again, of the sum of the variances. variance in (0, 2^31).
void FillSkellam(double variance, crypto::Random& random, std::span<int64_t> noise);

// noise[i] = Binomial(trials, 1/2) - trials / 2, of variance trials / 4. trials is even, from 2 to
// 2^30. Up to 2^12 trials are the bits of random words; beyond, the standard library draws.
void FillCentredBinomial(uint32_t trials, crypto::Random& random, std::span<int64_t> noise);

// rounded[i] = floor(x[i] / scale) or one more, with the mean x[i] / scale. Drawn again until the
// norm of all is at most `norm_bound` (Kairouz, Liu, Steinke 2021, algorithm 1). Returns the number
// of draws, at most 1000: after these the vector becomes zeros.
uint32_t RoundConditionally(std::span<const float> x, double scale, double norm_bound,
                            crypto::Random& random, std::span<int64_t> rounded);

}  // namespace tacet::app::baselines

#endif  // TACET_LAB_BASELINES_INTEGER_NOISE_H_
