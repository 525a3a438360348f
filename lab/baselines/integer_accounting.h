// Published bounds for integer noise: Renyi divergences, amplification by cohorts of a fixed size,
// and the bound of the binomial mechanism.
#ifndef TACET_LAB_BASELINES_INTEGER_ACCOUNTING_H_
#define TACET_LAB_BASELINES_INTEGER_ACCOUNTING_H_

#include <cstdint>
#include <functional>

namespace tacet::app::baselines {

// Distances of two neighbouring integer sums in units of the scale.
struct Sensitivity {
  double l1 = 0;
  double l2 = 0;
  double max = 0;  // of a coordinate
};

// Norm bound of a vector of norm `norm` (in steps) after rounding at random, for a rejection rate
// below 1 - beta with beta = exp(-1/2) (Kairouz, Liu, Steinke 2021, equation 1):
// sqrt(min((norm + sqrt d)^2, norm^2 + d/4 + sqrt(2 log(1/beta)) (norm + sqrt d / 2))).
double RoundedNormBound(double norm, double dimension);

// Replace-one: two vectors of norm at most `bound` and coordinates at most `max` differ.
// The distance in L1 is at most min(sqrt d, l2) l2, since it is one of integer vectors.
Sensitivity ReplaceOne(double bound, double max, double dimension);

// Renyi divergence of order alpha > 1 between neighbouring outputs of one round.
//   Gaussian of variance `variance`: alpha l2^2 / (2 variance).
double GaussianRdp(double alpha, double l2, double variance);
//   Skellam (Agarwal, Kairouz, Liu 2021, corollary 3.6): alpha l2^2 / (2 mu) +
//   min(((2 alpha - 1) l2^2 + 6 l1) / (4 mu^2), 3 l1 / (2 mu)), mu = variance of the sum.
double SkellamRdp(double alpha, const Sensitivity& sensitivity, double variance);
//   Sum of `participants` discrete Gaussians of deviation `own_stddev` >= 1/2 each (Kairouz, Liu,
//   Steinke 2021, theorem 1): alpha e^2 / 2 with e the least of three terms in
//   tau = 10 sum_{k < K} exp(-2 pi^2 own_stddev^2 k / (k + 1)). Infinity below 1/2.
double DiscreteGaussianRdp(double alpha, const Sensitivity& sensitivity, double own_stddev,
                           uint32_t participants, double dimension);

// Renyi divergence of a round with a uniform cohort of rate q, for a mechanism of divergence
// rdp(order) without one and an integer alpha >= 2 (Wang, Balle, Kasiviswanathan 2019, theorem 9,
// replace-one neighbours, unbounded loss).
double AmplifiedRdp(uint32_t alpha, double rate, const std::function<double(double)>& rdp);

// Least epsilon at delta of `rounds` rounds over integer orders to 256 (Canonne, Kamath, Steinke
// 2020, proposition 12). rate = 1: without amplification.
double EpsilonOfRdp(const std::function<double(double)>& rdp, double rate, uint32_t rounds,
                    double delta);

// epsilon at delta of `rounds` rounds of the binomial mechanism with `trials` fair trials a
// coordinate in the sum (Agarwal et al. 2018, theorem 1, p = 1/2), amplified by the rate and
// composed by advanced composition (Dwork, Rothblum, Vadhan 2010); the least over splits of delta.
// Infinity where the theorem needs more trials.
double BinomialEpsilon(const Sensitivity& sensitivity, double trials, double dimension, double rate,
                       uint32_t rounds, double delta);

}  // namespace tacet::app::baselines

#endif  // TACET_LAB_BASELINES_INTEGER_ACCOUNTING_H_
