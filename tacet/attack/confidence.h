// Confidence intervals of a probability that is estimated from few outcomes.
#ifndef TACET_ATTACK_CONFIDENCE_H_
#define TACET_ATTACK_CONFIDENCE_H_

#include <cstdint>

namespace tacet::attack {

struct Interval {
  double low = 0;
  double high = 1;
};

// Clopper and Pearson 1934: with probability at least `confidence` in (0, 1), whatever the
// probability of success is, the interval holds it; each side misses it with at most half of the
// rest. [0, 1] without trials. successes <= trials.
Interval ExactInterval(uint64_t successes, uint64_t trials, double confidence);

// For the area under a receiver operating characteristic, `area`, seen on that many `positives` and
// `negatives`: normal approximation with the standard error of Hanley and McNeil 1982, cut to
// [0, 1]. [0, 1] when one of the kinds is missing.
Interval AreaInterval(double area, uint64_t positives, uint64_t negatives, double confidence);

}  // namespace tacet::attack

#endif  // TACET_ATTACK_CONFIDENCE_H_
