// Sampling variances of models that noise may hide.
#ifndef TACET_STATISTICS_ROBUST_VARIANCE_H_
#define TACET_STATISTICS_ROBUST_VARIANCE_H_

#include <algorithm>
#include <cmath>

namespace tacet::statistics {

// A sandwich's variance with errors of equal variance is `equal`, which it is supposed to be near:
// within `equal` itself. So the noised `value`, of the variance `unclear`, is drawn towards it.
// What is left open is allowed for: half a deviation of it is added, and the result is at least
// half of `equal`.
inline double RobustVariance(double value, double unclear, double equal) {
  constexpr double kAllowance = 0.5;
  constexpr double kLeast = 0.5;
  if (!(equal > 0)) return 0;
  const double kept = equal * equal / (equal * equal + unclear);
  return std::max(equal + kept * (value - equal) + kAllowance * equal * std::sqrt(1 - kept),
                  kLeast * equal);
}

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_ROBUST_VARIANCE_H_
