// Bound of the distance between a sum of quantised, noised updates and its known offset.
#ifndef TACET_DP_SUM_BOUND_H_
#define TACET_DP_SUM_BOUND_H_

namespace tacet::dp {

// D = Sum Y - K' m for K' <= `cohort` participants: s D = Sum u + G + s (P - L), where |Sum u| <=
// K b, G is the sum of the noises and P ~ Poisson(L), L = (Sum u + G)/s + K' m.
struct SumBoundSpec {
  double cohort = 0;            // K
  double coordinate_bound = 0;  // b
  double sum_stddev = 0;        // sqrt(sigma^2 K/K_min): K noises of standard deviation sigma_k
  double offset = 0;            // |mu|
  double scale = 0;             // s
};

// log of a bound on P(|s D| >= distance), for one coordinate of one sum. Chernoff's method: for
// theta > 0 and h = (e^{theta s} - 1)/s,
//   E exp(theta s D) = E exp(h (Sum u + G) + K' |mu| (h - theta))
//                   <= exp(h K b + h^2 sum_stddev^2 / 2 + K |mu| (h - theta)),
// since a symmetric noise that is nowhere larger than the normal one it is made from is
// sub-Gaussian with the same variance; and the lower tail, with -theta, is lighter. The bound is
// log 2 - theta distance + that exponent, at the best theta. No step is an approximation: the
// Poisson part, whose upper tail is heavier than a normal one, is exact.
double LogSumTail(const SumBoundSpec& spec, double distance);

// The smallest distance (up to 1e-9, upwards) at which LogSumTail is at most `log_probability` < 0.
double SumTailQuantile(const SumBoundSpec& spec, double log_probability);

// The least v with E exp(t (s D - Sum u)) <= exp(v t^2 / 2) that the bound above gives for all
// |t| <= theta, theta > 0: 2/theta^2 times its exponent less theta K b. sum_stddev^2 + s K (|mu| +
// b) times a factor that tends to 1 with theta s. Infinite where it exceeds the range of double.
double SumVarianceProxy(const SumBoundSpec& spec, double theta);

}  // namespace tacet::dp

#endif  // TACET_DP_SUM_BOUND_H_
