// Hockey-stick profiles of triples of points by integration in the plane: a slow reference that
// shares no code with the accountants but the tail of the normal law.
#ifndef TACET_ACCOUNTING_PLANAR_REFERENCE_FOR_TEST_H_
#define TACET_ACCOUNTING_PLANAR_REFERENCE_FOR_TEST_H_

namespace tacet::accounting {

struct PlanePoint {
  double x = 0;
  double y = 0;
};

// The centres of three normal laws with identity covariance, in units of sigma
// (docs/security/fixed-size-accounting.md):
//   P = (1 - q) phi_w + q phi_u,   Q = (1 - q) phi_w + q phi_v.
struct PlaneTriple {
  PlanePoint u;  // the unit's contribution in the first world
  PlanePoint w;  // that of the client in its place
  PlanePoint v;  // the unit's contribution in the second world, u' in the proofs
};

// H_a(P||Q), the integral of the positive part of P - a Q, for a > 0 and 0 < q <= 1; absolute error
// below 1e-10 for distances up to 8. Lines in one direction cut the set {P > a Q} in intervals,
// over which the integral is a difference of error functions; the other direction is integrated
// adaptively.
double PlanarProfile(double q, const PlaneTriple& triple, double a);

// The triple with |u - w| = `to_w`, |u - v| = `to_v` and <w - u, v - u> = `covariance`, which is at
// most to_w to_v in absolute value; u lies at 0.
PlaneTriple TripleAt(double to_w, double to_v, double covariance);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_PLANAR_REFERENCE_FOR_TEST_H_
