#include "tacet/statistics/symmetric_moments.h"

#include <algorithm>
#include <cmath>

namespace tacet::statistics {
namespace {

// Amplitudes of the third and fourth moments, with the roots of m that keep their share of the
// charge alike for all m.
constexpr double kHigher = 0.3;

// Squares of the amplitudes of moments 1, 2, 3 and 4; 0 is not used.
std::array<double, 5> Squares(double m) {
  return {0, 1, 1, kHigher * kHigher / m, kHigher * kHigher / (m * m)};
}

// n over k.
constexpr size_t Choose(size_t n, size_t k) {
  if (n < k) return 0;
  size_t result = 1;
  for (size_t i = 0; i < k; ++i) result = result * (n - i) / (i + 1);
  return result;
}

}  // namespace

SymmetricMoments::SymmetricMoments(size_t values) : values_(values) {
  products_.resize(Choose(values + 4, 4));
  for (size_t d = 0; d <= values; ++d) {
    for (size_t c = 0; c <= d; ++c) {
      for (size_t b = 0; b <= c; ++b) {
        for (size_t a = 0; a <= b; ++a) products_[PlaceOf({a, b, c, d})] = {a, b, c, d};
      }
    }
  }
}

size_t SymmetricMoments::PlaceOf(Product product) {
  std::ranges::sort(product);
  // Increasing sets of four, counted by their largest member, then the next.
  return Choose(product[0], 1) + Choose(product[1] + 1, 2) + Choose(product[2] + 2, 3) +
         Choose(product[3] + 3, 4);
}

std::vector<double> SymmetricMoments::Scales(double norm_square) const {
  const std::array<double, 5> squares = Squares(norm_square);
  std::vector<double> scales = {ReachOfMoments(norm_square).count};
  for (size_t place = 1; place < products_.size(); ++place) {
    const Product& product = products_[place];
    // Its number of places in its tensor: k! over the factorials of how often each value is in it.
    size_t degree = 0, same = 0, often = 1;
    for (size_t i = 0; i < product.size(); ++i) {
      if (product[i] == 0) continue;
      same = i > 0 && product[i] == product[i - 1] ? same + 1 : 1;
      often = often * ++degree / same;
    }
    scales.push_back(std::sqrt(squares[degree] * static_cast<double>(often)));
  }
  return scales;
}

MomentReach ReachOfMoments(double norm_square) {
  const std::array<double, 5> squares = Squares(norm_square);
  double norm = 0;
  for (size_t k = 1; k <= 4; ++k) {
    norm += squares[k] * std::pow(norm_square, static_cast<double>(k));
  }
  const double even = squares[2] - squares[3] * squares[3] / (4 * squares[4]);
  const double distance = 2 * norm + squares[1] * squares[1] / (2 * even);
  // count^2 + norm is distance^2 less what rows that are left out have free.
  return {.distance = std::sqrt(distance),
          .norm = std::sqrt(distance / 2 + norm),
          .count = std::sqrt(distance / 2)};
}

}  // namespace tacet::statistics
