// Test statistics with thresholds that hold for a stated false-alarm probability. Tests only.
#ifndef TACET_DP_STATISTICS_FOR_TEST_H_
#define TACET_DP_STATISTICS_FOR_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace tacet::dp::testing {

// Every single comparison has at most this probability of failing on a correct sampler; a binary
// makes fewer than 100 of them, so it raises a false alarm with probability below 1e-9. (Seeds are
// fixed besides: an unlucky one would have shown when the test was written.)
inline constexpr double kFalseAlarm = 1e-11;
// P(|Z| > kNormalLimit) = 9.0e-12 for a standard normal Z.
inline constexpr double kNormalLimit = 6.82;

inline double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// Kolmogorov and Smirnov's distance between the sample (sorted in place) and `cdf`, times sqrt n.
template <typename Cdf>
double KolmogorovDistance(std::span<double> sample, const Cdf& cdf) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double distance = 0;
  for (size_t i = 0; i < sample.size(); ++i) {
    const double at = cdf(sample[i]);
    const double index = static_cast<double>(i);
    distance = std::max({distance, at - index / n, (index + 1) / n - at});
  }
  return distance * std::sqrt(n);
}
// P(sqrt n D > limit) <= 2 exp(-2 limit^2) for every n (Massart 1990).
inline double KolmogorovLimit() { return std::sqrt(std::log(2 / kFalseAlarm) / 2); }

// P(X > limit) <= kFalseAlarm for a chi-square with `degrees` degrees (Laurent and Massart 2000).
inline double ChiSquareLimit(double degrees) {
  const double level = -std::log(kFalseAlarm);
  return degrees + 2 * std::sqrt(degrees * level) + 2 * level;
}

struct ChiSquare {
  double statistic = 0;
  double degrees = 0;
  bool passes() const { return statistic <= ChiSquareLimit(degrees); }
};

// Pearson's statistic for counts `observed` against expected counts; neighbouring cells are merged
// until 50 are expected in each.
inline ChiSquare PearsonChiSquare(std::span<const double> observed,
                                  std::span<const double> expected) {
  ChiSquare result;
  double seen = 0;
  double hoped = 0;
  double rest = 0;
  for (const double value : expected) rest += value;
  for (size_t i = 0; i < observed.size(); ++i) {
    seen += observed[i];
    hoped += expected[i];
    rest -= expected[i];
    const bool last = i + 1 == observed.size();
    if (last || (hoped >= 50 && rest >= 50)) {
      result.statistic += (seen - hoped) * (seen - hoped) / hoped;
      result.degrees += 1;
      seen = 0;
      hoped = 0;
    }
  }
  result.degrees -= 1;
  return result;
}

// The two-sample statistic for equally large samples; cells with fewer than 50 merged alike.
inline ChiSquare TwoSampleChiSquare(std::span<const double> first, std::span<const double> second) {
  ChiSquare result;
  double a = 0;
  double b = 0;
  for (size_t i = 0; i < first.size(); ++i) {
    a += first[i];
    b += second[i];
    if (a + b >= 100) {
      result.statistic += (a - b) * (a - b) / (a + b);
      result.degrees += 1;
      a = 0;
      b = 0;
    }
  }
  result.degrees -= 1;
  return result;
}

// log P(Y = k), Y ~ Poisson(rate), in extended precision.
inline double PoissonLogPmf(uint64_t k, double rate) {
  const long double count = static_cast<long double>(k);
  const long double mean = rate;
  return static_cast<double>(count * std::log(mean) - mean - std::lgamma(count + 1));
}

// Cells of equal width that cover a Poisson law out to 6.5 standard deviations.
struct PoissonCells {
  uint64_t first = 0;
  uint64_t width = 1;
  size_t cells = 0;

  explicit PoissonCells(double rate) {
    const double spread = std::sqrt(rate);
    first = rate > 6.5 * spread ? static_cast<uint64_t>(rate - 6.5 * spread) : 0;
    width = std::max<uint64_t>(1, static_cast<uint64_t>(spread / 8));
    cells = static_cast<size_t>((rate + 6.5 * spread + 12 - static_cast<double>(first)) /
                                static_cast<double>(width)) +
            1;
  }
  // Values outside fall into the outermost cells.
  size_t CellOf(uint64_t k) const {
    if (k < first) return 0;
    return std::min(cells - 1, static_cast<size_t>((k - first) / width));
  }
  std::vector<double> Probabilities(double rate) const {
    std::vector<double> result(cells);
    for (size_t cell = 0; cell < cells; ++cell) {
      for (uint64_t k = 0; k < width; ++k) {
        result[cell] += std::exp(PoissonLogPmf(first + cell * width + k, rate));
      }
    }
    return result;
  }
};

}  // namespace tacet::dp::testing

#endif  // TACET_DP_STATISTICS_FOR_TEST_H_
