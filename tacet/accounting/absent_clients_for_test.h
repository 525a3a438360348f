// Lower bounds for rounds in which clients are absent: the largest guess that an observer makes
// right where always the same number of clients is here. Without a line of the accountants' code.
//
// The unit's contribution is +S where the others' is -S, and in the other world -S (replace-one) or
// 0 (zero-out). With k drawn of m here the released sum has noise of k shares, and the unit is
// among those drawn with probability k / m. Outcomes are merged in intervals, and the loss of each
// interval is rounded down to a lattice; both can only lower delta(epsilon). The sum of the rounds'
// losses is a convolution, by a transform written here.
#ifndef TACET_ACCOUNTING_ABSENT_CLIENTS_FOR_TEST_H_
#define TACET_ACCOUNTING_ABSENT_CLIENTS_FOR_TEST_H_

#include <cstdint>

namespace tacet::accounting {

struct AbsentClients {
  double clients = 0;      // M, of whom a cohort is drawn
  double cohort = 0;       // K; by coins of probability K / M, or exactly
  bool coins = true;       // false: exactly K are drawn of all M, here or not
  double least = 1;        // fewer uploads are not released
  double share_noise = 1;  // noise that each brings, in units of S
  double here = 0;         // m
  bool replace_one = true;
  uint64_t rounds = 1;
};

// At most the delta(epsilon) that is attained, epsilon >= 0. For one round it is exact to 1e-9; for
// more it is low by what steps of 1e-3 of epsilon cost. Absolute errors of the transform, 1e-13,
// are taken off.
double AbsentDelta(const AbsentClients& setting, double epsilon);

// At most the epsilon that is attained at `delta` >= 1e-11; 0 where delta(0) <= delta.
double AbsentEpsilon(const AbsentClients& setting, double delta);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_ABSENT_CLIENTS_FOR_TEST_H_
