// Sampling variances of models that noise may hide.
#ifndef TACET_STATISTICS_ROBUST_VARIANCE_H_
#define TACET_STATISTICS_ROBUST_VARIANCE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "tacet/statistics/cholesky.h"

namespace tacet::statistics {

// A sandwich's variance with errors of equal variance is `equal`, which it is supposed to be near:
// within `equal` itself. Part of a noised one, of the variance `unclear`, that counts.
inline double KeptPart(double unclear, double equal) {
  return equal > 0 ? equal * equal / (equal * equal + unclear) : 0;
}

// The noised `value` is drawn towards `equal`. What is left open is allowed for: half a deviation
// of it is added, and the result is at least half of `equal`.
inline double RobustVariance(double value, double unclear, double equal) {
  constexpr double kAllowance = 0.5;
  constexpr double kLeast = 0.5;
  if (!(equal > 0)) return 0;
  const double kept = KeptPart(unclear, equal);
  return std::max(equal + kept * (value - equal) + kAllowance * equal * std::sqrt(1 - kept),
                  kLeast * equal);
}

// Sampling covariances of several numbers, row by row. Their `variances` are RobustVariance of
// each; their correlations are those of the sandwich `values` and of `equal` in the parts `kept`
// and 1 - kept, or of `equal` alone where noise left no covariances. `equal` is positive definite.
inline std::vector<double> RobustCovariance(const std::vector<double>& variances,
                                            const std::vector<double>& values, double kept,
                                            std::vector<double> equal) {
  const size_t size = variances.size();
  std::vector<double> mixed = equal;
  for (size_t i = 0; i < mixed.size(); ++i) mixed[i] += kept * (values[i] - equal[i]);
  if (Cholesky::Of(mixed, size).has_value()) equal = std::move(mixed);
  std::vector<double> scales;
  for (size_t i = 0; i < size; ++i) {
    scales.push_back(std::sqrt(variances[i] / equal[i * size + i]));
  }
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) equal[i * size + j] *= scales[i] * scales[j];
  }
  return equal;
}

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_ROBUST_VARIANCE_H_
