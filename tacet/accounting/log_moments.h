// Log-moments of the privacy loss of one sampled Gaussian release: alpha(l) of the moments
// accountant. With c = shift / sigma and x in units of sigma,
//   f1 = N(0, 1),  f2 = (1 - q) N(0, 1) + q N(c, 1).
#ifndef TACET_ACCOUNTING_LOG_MOMENTS_H_
#define TACET_ACCOUNTING_LOG_MOMENTS_H_

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

// log E2 = log integral f2 (f2/f1)^l for an integer order l >= 1: the binomial sum
//   E2 - 1 = sum_{k=2}^{l+1} C(l+1, k) (1-q)^{l+1-k} q^k expm1(k (k-1) c^2 / 2),
// every term positive, added by logarithms: relative error below 1e-12, also for tiny q.
// Range: l <= 100000, q in [0, 1], c >= 0; infinity for c = infinity.
double LogMomentMixtureFirst(int order, double q, double c);

// log E1 = log integral f1 (f1/f2)^l for a real order l > 0, by trapezoidal quadrature (the
// integrand is analytic: the error falls exponentially in the number of points). Never above
// LogMomentMixtureFirst (Mironov, Talwar, Zhang 2019, section 3). Infinity where the quadrature
// does not converge; the value without sampling for c > 2000.
double LogMomentNullFirst(double order, double q, double c);

// log integral g+ (g+/g-)^l with g+- = (1 - q) N(0, 1) + q N(+-c, 1): Poisson sampling, the unit's
// contribution replaced by its opposite. Real order l > 0, quadrature; infinity where that fails;
// the value without sampling, 2 l (l + 1) c^2, where (2 l + 1) c > 2000.
double LogMomentOpposite(double order, double q, double c);

// log integral f2 (f2/f1)^l for a real order l > 0, by quadrature; agrees with
// LogMomentMixtureFirst at integers. Infinity where the quadrature does not converge; the value
// without sampling where (l + 1) c > 2000.
double LogMomentMixtureFirstReal(double order, double q, double c);

// log-moment, of real order l > 0, of the symmetrised envelope of fixed-size sampling with
// c = 2 S / sigma (FixedSizeReplaceLoss): with r = f2 / f1,
//   E - 1 = integral over x > c / 2 of f1 (r^l - 1) (r - r^-l),
// an upper bound for every pair of neighbouring data sets. Quadrature; infinity where that fails;
// the value without sampling where (l + 1) c > 2000.
double LogMomentEnvelope(double order, double q, double c);

// alpha(l), l >= 1, of the paper's accountant: the larger log-moment over both orders of the
// neighbours. An upper bound for every pair of neighbouring data sets but for fixed-size sampling,
// where that is not proved.
//   none                       l (l + 1) c^2 / 2
//   fixed-size                 max(E1, E2) with c = 2 S / sigma
//   Poisson, zero-out          max(E1, E2) with c = S / sigma
//   Poisson, replace-one       the opposite pair with c = S / sigma
double LogMoment(const SamplingEvent& event, int order);

// An upper bound for every pair of neighbouring data sets, for a real order l > 0, by quadrature.
// Poisson: E2 >= E1 holds for every real order (Mironov, Talwar, Zhang 2019, theorem 5), so only
// the larger is computed. Fixed-size: the envelope, also for zero-out, since zero is one of the
// values that data can be replaced by. With a pool: the largest over the numbers of clients here.
double LogMomentReal(const SamplingEvent& event, double order);

// epsilon at delta of a stream whose log-moments of order l > 0 add up to `log_moment` (the
// conversion that rdp_accountant.h names). May be below 0; infinity where it is not a number.
double EpsilonOfLogMoment(double log_moment, double l, double log_delta);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_LOG_MOMENTS_H_
