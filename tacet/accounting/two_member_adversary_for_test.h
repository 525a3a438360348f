// Adaptive adversaries against fixed-size cohorts: lower bounds of delta(epsilon) by backward
// induction. Slow, and without a line of the accountants' code.
//
// The adversary chooses in each round, knowing the losses so far, one of a few pairs ("members").
// For accumulated losses l and L = log dP/dQ of the member chosen,
//   V_0(l) = (1 - e^-l)^+,   V_{t+1}(l) = max over members of E_P[V_t(l + L)],
//   delta(epsilon) >= V_T(-epsilon)
// (docs/security/fixed-size-accounting.md). Every pair is replaced by a post-processing of itself
// whose losses are lattice points, so V stays below that of the pairs, but for rounding errors of
// the order of 1e-13 of delta.
#ifndef TACET_ACCOUNTING_TWO_MEMBER_ADVERSARY_FOR_TEST_H_
#define TACET_ACCOUNTING_TWO_MEMBER_ADVERSARY_FOR_TEST_H_

#include <vector>

namespace tacet::accounting {

// P = (1 - q) phi_w + q phi_u, Q = (1 - q) phi_w + q phi_v on a line, in units of sigma; distances
// up to 20.
struct LinePair {
  double q = 1;
  double u = 0;
  double w = 0;
  double v = 0;
};

struct WeightedLinePair {
  double probability = 1;
  LinePair pair;
};

// One way to play a round. The observer learns which of the pairs it was; their probabilities add
// to 1.
using AdversaryMember = std::vector<WeightedLinePair>;

// Replace-one with c = 2 S / sigma: (1 - q) phi_0 + q phi_c against phi_0, and its exchange.
std::vector<AdversaryMember> ReplaceOneMembers(double q, double c);
// Zero-out with c = S / sigma: (1 - q) phi_-c + q phi_c against (1 - q) phi_-c + q phi_0.
std::vector<AdversaryMember> ZeroOutMembers(double q, double c);
// Replace-one with clients who join by coins of probability cohort / clients, where K' is public
// and divides the sum: given K' the rate is K' / clients, and the noise sigma sqrt(K' /
// min_participants), sigma in units of S. A few neighbouring K' are taken together, with the rate
// of the least and the noise of the most. Rounds with fewer than min_participants are not released.
std::vector<AdversaryMember> PublicSizeMembers(double clients, double cohort,
                                               double min_participants, double sigma);

struct AdversarySetting {
  std::vector<AdversaryMember> members;
  int rounds = 1;
  // Lattice steps in one standard deviation of a round's loss, at least: a step is also at most
  // q / 6. What the bound loses falls with the square of it, time grows with it. At 40 and T = 100
  // about 1e-4 of epsilon, in a second. Rates below 0.01 would need more points than are taken; the
  // bound then is valid, but weak.
  double resolution = 40;
};

// At most the adversary's delta(epsilon), epsilon >= 0.
double AdversaryDelta(const AdversarySetting& setting, double epsilon);

// At most the adversary's epsilon at `delta`; 0 where delta(0) <= delta.
double AdversaryEpsilon(const AdversarySetting& setting, double delta);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_TWO_MEMBER_ADVERSARY_FOR_TEST_H_
