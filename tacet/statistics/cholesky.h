// Cholesky factors of small symmetric matrices, as estimators need them.
#ifndef TACET_STATISTICS_CHOLESKY_H_
#define TACET_STATISTICS_CHOLESKY_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace tacet::statistics {

// Factor L of the symmetric matrix A = L L'.
class Cholesky {
 public:
  // `matrix` has size^2 values, row by row, of which the lower triangle is read. Absent unless
  // A - shift I is positive definite.
  static std::optional<Cholesky> Of(const std::vector<double>& matrix, size_t size,
                                    double shift = 0) {
    Cholesky result(size);
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double rest = matrix[i * size + j] - (i == j ? shift : 0);
        for (size_t k = 0; k < j; ++k) rest -= result.At(i, k) * result.At(j, k);
        if (i != j) {
          result.At(i, j) = rest / result.At(j, j);
        } else if (rest > 0) {
          result.At(i, i) = std::sqrt(rest);
        } else {
          return std::nullopt;
        }
      }
    }
    return result;
  }
  // A^-1 x
  std::vector<double> Solve(std::vector<double> x) const {
    for (size_t i = 0; i < size_; ++i) {
      for (size_t k = 0; k < i; ++k) x[i] -= At(i, k) * x[k];
      x[i] /= At(i, i);
    }
    for (size_t i = size_; i-- > 0;) {
      for (size_t k = i + 1; k < size_; ++k) x[i] -= At(k, i) * x[k];
      x[i] /= At(i, i);
    }
    return x;
  }

 private:
  explicit Cholesky(size_t size) : size_(size), factor_(size * size) {}
  double& At(size_t i, size_t j) { return factor_[i * size_ + j]; }
  double At(size_t i, size_t j) const { return factor_[i * size_ + j]; }

  size_t size_;
  std::vector<double> factor_;
};

// Least eigenvalue of a symmetric matrix of size >= 1, to 2^-60 of its bracket.
inline double LeastEigenvalue(const std::vector<double>& matrix, size_t size) {
  double above = matrix[0], below = 0;
  for (size_t i = 0; i < size; ++i) {
    double row = 0;
    for (size_t j = 0; j < size; ++j) row += std::abs(matrix[i * size + j]);
    below = std::min(below, -row);
    above = std::min(above, matrix[i * size + i]);
  }
  for (int step = 0; step < 60; ++step) {
    const double middle = (below + above) / 2;
    (Cholesky::Of(matrix, size, middle).has_value() ? below : above) = middle;
  }
  return below;
}

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_CHOLESKY_H_
