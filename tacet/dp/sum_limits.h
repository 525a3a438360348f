// Limits of an honest sum, with which every member refuses what clipping does not allow, and what
// they leave to one participant that does not clip.
#ifndef TACET_DP_SUM_LIMITS_H_
#define TACET_DP_SUM_LIMITS_H_

#include <cstdint>

#include "tacet/dp/mechanism_plan.h"

namespace tacet::dp {

// Limits on x = s (Sum Y - K' m) over K' participants: accepted if |x_i| <= coordinate for all i
// and |x| <= norm. Lengths in units of the update.
//
// Let N be `updates_norm`, u the sum of the clipped updates with |u| <= N and |u_i| <= U, U the
// smaller of K' b and N, and x = u + Z. With L = ln(attempts) + 42 ln 2,
//   coordinate = the distance that |x_i| exceeds with probability e^-L / d (SumTailQuantile),
//   norm^2 = N^2 + v (d + 2 sqrt((d + 2 N^2 / v) L) + 2 L),  at most d coordinate^2,
// where v bounds the variance of a coordinate of Z (SumVarianceProxy). While |u| <= N, all honest
// sums of the attempts are accepted, except with probability 2^-41. Proof:
// docs/security/committee.md. Under discrete Laplace noise the distance is that of its tail
// (Chernoff's bound on the sum of the shares), and norm = sqrt(d) coordinate.
struct SumLimits {
  double updates_norm = 0;  // N; infinite where contributions are not clipped, or not counted
  double coordinate = 0;
  double norm = 0;
};

SumLimits SumLimitsOf(const MechanismPlan& plan, uint32_t participants);

// The largest |u + a| that one of `participants` >= 2 participants can reach with an upload a of
// its choice, without noise, so that the limits accept the sum with probability 1/2. u are the
// others' updates. They bring the noise of K' - 1 shares: their part of |x|^2 is d w, w its
// variance without updates. So the reach is sqrt(norm^2 - d w), at most sqrt(d) coordinate.
double ReachOfOne(const MechanismPlan& plan, uint32_t participants);

// Most units that independent coins draw, of `expected` > 0 on average: expected + 10
// sqrt(expected) + 30. More are drawn with probability below e^-45 < 2^-64
// (docs/security/committee.md).
double MostDrawn(double expected);

}  // namespace tacet::dp

#endif  // TACET_DP_SUM_LIMITS_H_
