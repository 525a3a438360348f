// Cost of finite precision in epsilon: rounding of every draw, and noise that ends at a bound.
#ifndef TACET_DP_PRECISION_H_
#define TACET_DP_PRECISION_H_

namespace tacet::dp {

// The probability given to the event that the rounding of all draws adds up to more than eps_1.
inline constexpr double kPrecisionDelta = 1e-30;

// The Poisson rates of a plan on which rounding depends.
struct DrawRates {
  double largest = 0;  // (b + z sigma_k - mu)/s
  double bound = 0;    // b/s
  double least = 1;    // of the least update with noise of -5 deviations, max(1, (z - 5) sigma_k/s)
};

// rho: how far rounding moves log P of one draw (noise, quantised), at most
//   2^-53 max(18 sqrt(largest), 20 bound / sqrt(least)) + 1e-14.
// An error e of a rate L moves log P(k) by (k - L) e/L, so by e/sqrt(L) at one deviation. e is a
// few 2^-53 of the rate from noise, division and logarithm. An update near -b meets a small rate,
// but its own product and sum round at the size of b/s. Measured against extended precision in
// precision_test.cc; 4.7e-13 at the published setting.
double RoundingOfDraw(const DrawRates& rates);

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
