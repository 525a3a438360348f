// Discrete Laplace noise in shares: integers that a few participants add to a sum, each its own.
#ifndef TACET_DP_DISCRETE_LAPLACE_H_
#define TACET_DP_DISCRETE_LAPLACE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/crypto/random.h"

namespace tacet::dp {

// The discrete Laplace law on the integers, P(k) = (1 - p) / (1 + p) p^|k|, p = e^-rate: the
// two-sided geometric mechanism of Ghosh, Roughgarden and Sundararajan (2009). A sum that one unit
// moves by D keeps that unit (D rate, 0)-private, D in L1.
double DiscreteLaplaceStddev(double rate);
// The rate with this standard deviation > 0; its inverse.
double DiscreteLaplaceRate(double stddev);

// The least distance (up to 1e-9, upwards) that the sum of independent shares exceeds in absolute
// value with probability at most e^log_probability, log_probability < 0. `laws` is the number of
// shares over that of a whole law. Chernoff's method with
//   log E e^(theta Z) = laws log((1 - p)^2 / ((1 - p e^theta) (1 - p e^-theta))), 0 < theta < rate.
double DiscreteLaplaceTail(double rate, double laws, double log_probability);

// A share: X - X' with independent X, X' of the negative binomial law of shape r = 1 / `shares`,
//   f(k) = Gamma(k + r) / (k! Gamma(r)) (1 - p)^r p^k.
// Generating functions multiply: ((1 - p) / (1 - p z))^r to the power of `shares` is that of the
// geometric law, and the difference of two geometric variables is discrete Laplace. So any `shares`
// of the shares that are independent add to that law, exactly.
//
// X is drawn by inversion of a table of 128-bit probabilities. Immutable and cheap to copy.
class DiscreteLaplaceShares {
 public:
  // Largest table, in entries: 2^22.
  static constexpr double kLeastRate = 2.2e-5;

  // InvalidArgument names the value and its range: kLeastRate <= rate <= 50, shares >= 1.
  static absl::StatusOr<DiscreteLaplaceShares> Create(double rate, uint32_t shares);

  // L: no share is larger in absolute value.
  uint32_t bound() const { return bound_; }
  // At most so much of each X's law lies elsewhere: beyond L, or below the steps of the table.
  // Below 2^-100.
  double truncation() const { return truncation_; }
  // Within a factor e^+-rounding() the table has the ideal probabilities of X.
  double rounding() const { return rounding_; }

  // P(X <= k) for k = 0..bound() in units of 2^-128, the last one 2^128 - 1: what is drawn.
  std::span<const unsigned __int128> cumulative() const {
    return std::span(*table_).first(bound_ + 1);
  }

  // Independent shares. Of each two X are drawn, whose search takes the same steps for every value.
  void Fill(crypto::Random& random, std::span<int32_t> shares) const;

 private:
  DiscreteLaplaceShares() = default;
  uint32_t Find(unsigned __int128 uniform) const;

  // cumulative(), filled up to a power of two with the largest number.
  std::shared_ptr<const std::vector<unsigned __int128>> table_;
  uint32_t bound_ = 0;
  double truncation_ = 0;
  double rounding_ = 0;
};

}  // namespace tacet::dp

#endif  // TACET_DP_DISCRETE_LAPLACE_H_
