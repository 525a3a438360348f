// The samplers of gaussian.h as maps from uniform words to values; tests reach their extremes here.
#ifndef TACET_DP_GAUSSIAN_FORMS_H_
#define TACET_DP_GAUSSIAN_FORMS_H_

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tacet/dp/elementary.h"

namespace tacet::dp {

struct GaussianPair {
  double first = 0;
  double second = 0;
};

// Cartesian Box-Muller: sqrt(-2 log U) (cos, sin)(angle), U in (0, 1].
inline GaussianPair BoxMuller(double unit, uint64_t angle_word) {
  const double radius = std::sqrt(-2.0 * Log(unit));
  const CirclePoint point = Circle(angle_word);
  return {radius * point.cosine, radius * point.sine};
}

// A coordinate of the polar form: (w + 1/2)/2^63 in (-1, 1) for a signed 64-bit w, the 2^64 odd
// multiples of 2^-64; smallest magnitude 2^-64, so the smallest squared radius is 2^-127.
inline double PolarCoordinate(uint64_t word) {
  return (static_cast<double>(static_cast<int64_t>(word)) + 0.5) * 0x1p-63;
}

// Polar Box-Muller (Knuth, vol. 2, 3.4.1, algorithm P): false when the point lies outside the unit
// disc and another is to be drawn.
inline bool Polar(double u, double v, GaussianPair& pair) {
  const double square = u * u + v * v;
  if (square >= 1.0) return false;
  const double factor = std::sqrt(-2.0 * Log(square) / square);
  pair = {u * factor, v * factor};
  return true;
}

// 256 regions of equal area v that cover exp(-x^2/2), x >= 0: region i >= 1 is the rectangle
// [0, x_i] x [y_i, y_{i+1}], y_i = exp(-x_i^2/2); region 0 is [0, r] x [0, y_1] with the tail
// beyond r = x_1, drawn as a rectangle of width x_0 = v/y_1. x_256 = 0, y_256 = 1.
struct ZigguratTable {
  static constexpr size_t kRegions = 256;
  std::array<double, kRegions + 1> x{};
  std::array<double, kRegions + 1> y{};
  double tail = 0;  // r

  // Solved once, in extended precision: r is the root of y_255 + v/x_255 = 1.
  static const ZigguratTable& Get();
};

// Tail beyond r: x = -log(U_1)/r is taken when -2 log U_2 > x^2, giving r + x. U_1 is a 64-bit
// fixed-point uniform, which bounds the value; U_2 has 53 significant bits also near 0, else the
// acceptance would end at 9.42 instead of 15.8 - r.
inline bool ZigguratTail(double tail, double unit1, double unit2, double& value) {
  const double x = -Log(unit1) / tail;
  value = tail + x;
  return -2.0 * Log(unit2) > x * x;
}

}  // namespace tacet::dp

#endif  // TACET_DP_GAUSSIAN_FORMS_H_
