// Errors of estimates by simulation: the release's noise is known, so it can be drawn again.
#ifndef TACET_STATISTICS_REPLICAS_H_
#define TACET_STATISTICS_REPLICAS_H_

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "tacet/statistics/query.h"
#include "tacet/statistics/released_noise.h"

namespace tacet::statistics {

// Non-increasing, non-negative sums of suffixes from the measurements of a histogram.
//   suffixes  isotonic regression by pool adjacent violators, weights 1 / deviation^2, then 0 in
//             place of negative values
//   cells     cells, none below 0, with the measured total: the nearest point of a simplex, whose
//             errors are smaller where each cell has noise of its own
std::vector<double> MonotoneSuffixes(const PrefixStrategy& strategy,
                                     std::span<const double> measurements);

// S_0 - S_1, ..., S_{m-1}.
std::vector<double> CellsOfSuffixes(std::span<const double> suffixes);

// Numbers that follow from the measurements of a question; not a number where undefined.
using Statistic = std::function<std::vector<double>(std::span<const double> measurements)>;

struct Errors {
  // Root mean squares of the distance from the numbers that the fitted histograms have without
  // noise: the estimators' bias, which curves have where counts are small, is part of them.
  std::vector<double> noise;  // of the noise alone
  std::vector<double> total;  // with counts drawn again (Poisson)
  // Covariances of the noise for the first `covariances` numbers, row by row.
  std::vector<double> noise_covariance;
};

// Parametric bootstrap: histograms that MonotoneSuffixes gives are measured again kReplicas times
// with noise of the law of `noise`. It reads the release only and costs no privacy. The draws
// are a function of the measurements, so the same release gives the same errors.
inline constexpr int kReplicas = 300;
Errors BootstrapErrors(const QuestionPlan& plan, std::span<const double> measurements,
                       const ReleasedNoise& noise, const Statistic& statistic,
                       size_t covariances = 0);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_REPLICAS_H_
