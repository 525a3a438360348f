// delta(epsilon) of composed sampled Gaussians by contour integration: a slow reference that shares
// no code with the accountants and transforms nothing. For theta > 0,
//   delta(epsilon) = 1/(2 pi i) integral over Re z = theta of e^{-z epsilon} M(z)^T / (z (z + 1))
//   dz, M(z) = E_P[e^{z L}] = integral of f_Q (f_P / f_Q)^{z + 1}.
#ifndef TACET_ACCOUNTING_CONTOUR_REFERENCE_FOR_TEST_H_
#define TACET_ACCOUNTING_CONTOUR_REFERENCE_FOR_TEST_H_

#include <optional>

namespace tacet::accounting {

enum class ReferencePair {
  kMixtureFirst,  // (1 - q) N(0, 1) + q N(c, 1) against N(0, 1)
  kNullFirst,     // the other way around
  kOpposite,      // (1 - q) N(0, 1) + q N(c, 1) against (1 - q) N(0, 1) + q N(-c, 1)
};

// delta(epsilon) after `rounds` rounds, relative error below 1e-6; in long double where the
// integrand is too much larger than its integral for double. No value where the integral would take
// too many points or where even those digits are too few.
std::optional<double> ContourDelta(ReferencePair pair, double q, double c, double rounds,
                                   double epsilon);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_CONTOUR_REFERENCE_FOR_TEST_H_
