// Encoding of a histogram as noised linear measurements, and the estimates that follow from them.
#ifndef TACET_STATISTICS_PREFIX_STRATEGY_H_
#define TACET_STATISTICS_PREFIX_STRATEGY_H_

#include <cstddef>
#include <span>
#include <vector>

namespace tacet::statistics {

enum class Measured {
  kCells,     // single cells: y = a x
  kSuffixes,  // sums of all cells from one on: y = a B x with B B x = those sums
};

// Measurements y = A x + z of m cells x, with A upper triangular and Toeplitz:
//   y_i = sum over j >= i of t_{j-i} x_j.
//
// For sums of suffixes S_i = x_i + ... + x_{m-1} the taps t are those of (1 - w)^{-1/2}, that is
// t_l = a C(2l, l) / 4^l, the square root of the matrix of all ones above the diagonal. Noise of
// deviation s in y then gives S_0 a deviation of s (sum t_l^2) / a^2 = O(s log m), where single
// cells would give s sqrt(m) / a (Fichtenberger, Henzinger, Upadhyay, "Constant matters", 2023).
//
// Taps are multiples of `grid`, so that the integer sums of a site are exact in floats. The taps
// used here are the rounded ones: estimates have no bias.
class PrefixStrategy {
 public:
  // m >= 1 cells, a > 0 the first tap before rounding (down, towards zero), grid > 0, grid <= a.
  PrefixStrategy(Measured measured, size_t cells, double amplitude, double grid);

  size_t cells() const { return cells_; }
  const std::vector<double>& taps() const { return taps_; }
  // Whether every measurement is one cell, scaled.
  bool measures_cells() const { return taps_.size() == 1; }
  // Largest Euclidean norm of a column of A, which the last one has. All entries are at least 0, so
  // two columns, or a column and zero in another block, are at most sqrt(2) times as far apart.
  double norm() const { return norm_; }
  double largest_entry() const { return taps_.front(); }

  // y += A x; both have m values.
  void AddMeasurements(std::span<const double> x, std::span<double> y) const;

  // Unbiased estimates from y: x = A^{-1} y, and S_i for i = 0..m-1.
  std::vector<double> Cells(std::span<const double> y) const;
  std::vector<double> Suffixes(std::span<const double> y) const;
  // S_0 alone.
  double Total(std::span<const double> y) const;
  // Their standard deviations where every y has noise of deviation 1.
  double CellDeviation(size_t cell) const;
  double SuffixDeviation(size_t cell) const;
  // For the noise of two suffixes; 0 where one is cells(), the empty suffix.
  double SuffixCovariance(size_t a, size_t b) const;

 private:
  static std::vector<double> Apply(std::span<const double> taps, std::span<const double> y);

  size_t cells_;
  std::vector<double> taps_;          // t, without the zeros at its end
  std::vector<double> inverse_;       // of A
  std::vector<double> suffix_;        // of A times the inverse of the matrix of suffixes
  std::vector<double> suffix_norms_;  // of the first 1, 2, ... taps of suffix_
  double norm_;
};

// The norm that the columns of such a matrix have at amplitude 1, without rounding.
double UnitNorm(Measured measured, size_t cells);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_PREFIX_STRATEGY_H_
