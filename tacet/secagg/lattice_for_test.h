// Small solutions of linear equations mod a prime, by lattice reduction: what a coalition that
// holds the MAC's key does with a MAC that it can read.
#ifndef TACET_SECAGG_LATTICE_FOR_TEST_H_
#define TACET_SECAGG_LATTICE_FOR_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tacet::secagg::testing {

// Equations A y = b mod p in d unknowns, for many b. Solutions are y0 + the lattice
// {y : A y = 0 mod p}, whose basis is reduced once (Lenstra, Lenstra, Lovasz 1982); Babai's nearest
// plane (1986) finds the one close to zero. It finds every y whose norm is well below p^(m/d).
class SmallSolver {
 public:
  using Integer = __int128;

  // coefficients[m][i] < prime: one row an equation. Rows are independent mod p.
  SmallSolver(uint64_t prime, std::vector<std::vector<uint64_t>> coefficients)
      : prime_(static_cast<Integer>(prime)),
        unknowns_(coefficients.front().size()),
        coefficients_(std::move(coefficients)) {
    // Gaussian elimination: the first `pivots_` unknowns from the others and b.
    pivots_ = std::min(coefficients_.size(), unknowns_);
    std::vector<std::vector<Integer>> rows(pivots_, std::vector<Integer>(unknowns_ + pivots_));
    for (size_t m = 0; m < pivots_; ++m) {
      for (size_t i = 0; i < unknowns_; ++i) rows[m][i] = Mod(coefficients_[m][i]);
      rows[m][unknowns_ + m] = 1;
    }
    for (size_t c = 0; c < pivots_; ++c) {
      const Integer inverse = Inverse(rows[c][c]);
      for (Integer& entry : rows[c]) entry = Multiply(entry, inverse);
      for (size_t m = 0; m < pivots_; ++m) {
        if (m == c) continue;
        const Integer factor = rows[m][c];
        for (size_t i = 0; i < rows[m].size(); ++i) {
          rows[m][i] = Mod(rows[m][i] - Multiply(factor, rows[c][i]));
        }
      }
    }
    for (const auto& row : rows) {
      inverse_.emplace_back(row.begin() + static_cast<ptrdiff_t>(unknowns_), row.end());
    }
    for (size_t i = 0; i < unknowns_; ++i) {
      std::vector<Integer>& vector = basis_.emplace_back(unknowns_);
      vector[i] = i < pivots_ ? prime_ : 1;
      for (size_t m = 0; i >= pivots_ && m < pivots_; ++m) vector[m] = Mod(-rows[m][i]);
    }
    Reduce();
  }

  // The solution with every |y_i| <= bound, if Babai's plane finds one.
  std::optional<std::vector<int64_t>> Solve(const std::vector<uint64_t>& values,
                                            int64_t bound) const {
    std::vector<Integer> y(unknowns_);
    for (size_t m = 0; m < pivots_; ++m) {
      for (size_t k = 0; k < pivots_; ++k) y[m] += Multiply(inverse_[m][k], Mod(values[k]));
      y[m] = Mod(y[m]);
    }
    for (size_t i = unknowns_; i-- > 0;) {
      const Integer factor = Nearest(Dot(y, orthogonal_[i]) / square_[i]);
      for (size_t c = 0; c < unknowns_; ++c) y[c] -= factor * basis_[i][c];
    }
    std::vector<int64_t> small(y.begin(), y.end());
    for (size_t c = 0; c < unknowns_; ++c) {
      if (y[c] > bound || y[c] < -bound) return std::nullopt;
    }
    for (size_t m = pivots_; m < coefficients_.size(); ++m) {  // equations beyond the unknowns
      Integer sum = 0;
      for (size_t c = 0; c < unknowns_; ++c) sum += Multiply(Mod(coefficients_[m][c]), Mod(y[c]));
      if (Mod(sum - static_cast<Integer>(values[m])) != 0) return std::nullopt;
    }
    return small;
  }

 private:
  using Real = long double;

  Integer Mod(Integer x) const {
    const Integer rest = x % prime_;
    return rest < 0 ? rest + prime_ : rest;
  }
  Integer Multiply(Integer a, Integer b) const { return Mod(Mod(a) * Mod(b)); }
  Integer Inverse(Integer x) const {
    Integer result = 1;
    for (Integer exponent = prime_ - 2; exponent > 0; exponent >>= 1) {
      if ((exponent & 1) != 0) result = Multiply(result, x);
      x = Multiply(x, x);
    }
    return result;
  }
  static Integer Nearest(Real x) { return static_cast<Integer>(std::floor(x + 0.5L)); }
  static Real Dot(const std::vector<Integer>& a, const std::vector<Real>& b) {
    Real sum = 0;
    for (size_t c = 0; c < a.size(); ++c) sum += static_cast<Real>(a[c]) * b[c];
    return sum;
  }
  // Makes vector k's part that is orthogonal to those before it.
  void Orthogonalise(size_t k) {
    orthogonal_[k].assign(basis_[k].begin(), basis_[k].end());
    for (size_t j = 0; j < k; ++j) {
      const Real mu = Dot(basis_[k], orthogonal_[j]) / square_[j];
      for (size_t c = 0; c < unknowns_; ++c) orthogonal_[k][c] -= mu * orthogonal_[j][c];
    }
    square_[k] = 0;
    for (const Real entry : orthogonal_[k]) square_[k] += entry * entry;
  }
  void Reduce() {
    orthogonal_.resize(unknowns_);
    square_.resize(unknowns_);
    Orthogonalise(0);
    for (size_t k = 1; k < unknowns_;) {
      for (size_t j = k; j-- > 0;) {
        const Integer factor = Nearest(Dot(basis_[k], orthogonal_[j]) / square_[j]);
        for (size_t c = 0; c < unknowns_; ++c) basis_[k][c] -= factor * basis_[j][c];
      }
      Orthogonalise(k);
      const Real mu = Dot(basis_[k], orthogonal_[k - 1]) / square_[k - 1];
      if (square_[k] >= (0.99L - mu * mu) * square_[k - 1]) {
        ++k;
        continue;
      }
      std::swap(basis_[k], basis_[k - 1]);
      Orthogonalise(k - 1);
      if (k > 1) {
        --k;
      } else {
        Orthogonalise(k);
      }
    }
  }

  Integer prime_;
  size_t unknowns_;
  size_t pivots_ = 0;
  std::vector<std::vector<uint64_t>> coefficients_;
  std::vector<std::vector<Integer>> inverse_;  // of the first unknowns' coefficients
  std::vector<std::vector<Integer>> basis_;
  std::vector<std::vector<Real>> orthogonal_;
  std::vector<Real> square_;
};

}  // namespace tacet::secagg::testing

#endif  // TACET_SECAGG_LATTICE_FOR_TEST_H_
