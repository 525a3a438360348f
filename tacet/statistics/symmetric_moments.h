// Moments up to the fourth of several bounded values: layout, scales and reach of a row's part.
#ifndef TACET_STATISTICS_SYMMETRIC_MOMENTS_H_
#define TACET_STATISTICS_SYMMETRIC_MOMENTS_H_

#include <array>
#include <cstddef>
#include <vector>

namespace tacet::statistics {

// Products of four of the values 1, u_1, ..., u_q, each set of four once. Place 0 is the constant
// 1111, whose sum is the number of rows. A product of fewer than four values has the constant in
// place of the others.
//
// With |u|^2 <= m the part of a row is
//   count, and for k = 1, 2, 3, 4 the distinct entries of amplitude_k u^(k), u^(k) the symmetric
//   tensor of products of k values, each times the root of how often it is in the tensor.
// So distances are those of tensors, |u^(k) - v^(k)|^2 = |u|^2k + |v|^2k - 2 (u.v)^k. The
// amplitudes, and proofs of the reach, are in docs/security/statistics.md, "Linear model".
class SymmetricMoments {
 public:
  using Product = std::array<size_t, 4>;  // increasing; 0 is the constant

  explicit SymmetricMoments(size_t values);

  size_t values() const { return values_; }
  size_t size() const { return products_.size(); }
  const std::vector<Product>& products() const { return products_; }
  // Place of a product of four, whatever their order.
  static size_t PlaceOf(Product product);
  // Scale of each place where the squared norm of u is at most `norm_square`, at amplitude 1 of the
  // second moments.
  std::vector<double> Scales(double norm_square) const;

 private:
  size_t values_;
  std::vector<Product> products_;
};

// At amplitude 1, of rows whose values have a squared norm of at most `norm_square` >= 1.
struct MomentReach {
  double distance = 0;  // of two rows, or a row and none
  double norm = 0;
  double count = 0;  // scale of the constant, the largest value of a row
};
MomentReach ReachOfMoments(double norm_square);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_SYMMETRIC_MOMENTS_H_
