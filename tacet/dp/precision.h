// Cost of finite precision in epsilon: rounding of every draw, and noise that ends at a bound.
#ifndef TACET_DP_PRECISION_H_
#define TACET_DP_PRECISION_H_

namespace tacet::dp {

// The probability given to the event that the rounding of all draws adds up to more than eps_1.
inline constexpr double kPrecisionDelta = 1e-30;

// rho: how far rounding moves log P of one draw (noise, quantised) when the largest Poisson rate is
// `max_rate`: 18 2^-53 sqrt(max_rate) + 1e-14. A relative error e of a rate L moves log P(k) by
// (k - L) e, hence the square root; e is a few 2^-53 from u + noise, the division and the
// logarithm. Measured against 113 bits in precision_test.cc; 4.7e-13 at the published setting.
double RoundingOfDraw(double max_rate);

// eps_1 = rho sqrt(2 N ln(1/delta_1)) + N rho^2 / 2 for N = `draws`: except with probability
// delta_1, the log-likelihood ratio between the computed and the ideal outputs stays below eps_1.
// The errors' conditional means are at most rho^2/2 (a Kullback-Leibler divergence), the rest is a
// martingale with differences bounded by rho: Azuma and Hoeffding.
double PrecisionEpsilon(double rho, double draws, double delta1);

// Loss in delta of an (epsilon, delta) guarantee of the ideal mechanism: the computed one is
// (epsilon + 2 eps_1, e^{eps_1} delta + (1 + e^{epsilon + eps_1}) delta_1); returns the second less
// `delta`.
double PrecisionDelta(double epsilon1, double epsilon, double delta, double delta1);

// Noise that ends at z standard deviations: N 2 Phi(-z) (1 + e^epsilon) in delta.
double TruncationTerm(double draws, double z, double epsilon);

}  // namespace tacet::dp

#endif  // TACET_DP_PRECISION_H_
