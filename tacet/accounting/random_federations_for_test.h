// Random federations: the smallest guaranteed epsilon of every observer against lower bounds that
// share no code with the accountants.
#ifndef TACET_ACCOUNTING_RANDOM_FEDERATIONS_FOR_TEST_H_
#define TACET_ACCOUNTING_RANDOM_FEDERATIONS_FOR_TEST_H_

#include <string>
#include <vector>

namespace tacet::accounting {

struct SlowObserver {
  double cpu_seconds = 0;  // of all accountants together
  std::string setting;
};

struct FederationsChecked {
  int observers = 0;
  int compared = 0;                     // with a lower bound of more than one round
  int adversaries = 0;                  // with the two-member adversary
  double cpu_seconds = 0;               // of all answers
  std::vector<SlowObserver> slow = {};  // the slowest five, slowest first
};

// Draws `count` federations (clients 2-1e6, rate 1e-6-1, sigma 0.3-100 in units of the clip norm,
// rounds 1-1e6, delta 1e-15-0.5, log-uniform; fixed-size and Poisson cohorts, with and without
// dummy uploads, both neighbours, units client and record, colluders, limits of participations) and
// checks of every guaranteed observer that
//   its epsilon is finite whenever every round leaves noise that the observer does not know,
//   it is at most that of the same rounds without sampling,
//   no accountant's epsilon_lower is above it,
//   no lower bound of the true delta at it is above delta. The bounds: closed forms of one round,
//   of any number of rounds without sampling, the contour integral for pairs that a data set
//   attains in every round, and the two-member adversary where that takes a fraction of a second.
// Without `every_observer` one observer of each federation is taken.
FederationsChecked CheckRandomFederations(int count, int seed, bool every_observer);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_RANDOM_FEDERATIONS_FOR_TEST_H_
