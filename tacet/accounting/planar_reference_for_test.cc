#include "tacet/accounting/planar_reference_for_test.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include <boost/math/quadrature/gauss.hpp>

#include "tacet/accounting/log_math.h"

namespace tacet::accounting {
namespace {

// Beyond this distance from u, phi_u has less than 1e-32.
constexpr double kPlaneReach = 12;
constexpr double kTolerance = 1e-13;  // of one panel
constexpr int kPanels = 12;
constexpr int kMaxDepth = 24;

PlanePoint Minus(PlanePoint a, PlanePoint b) { return {a.x - b.x, a.y - b.y}; }
double Dot(PlanePoint a, PlanePoint b) { return a.x * b.x + a.y * b.y; }
double Length(PlanePoint a) { return std::hypot(a.x, a.y); }
PlanePoint Times(double s, PlanePoint a) { return {s * a.x, s * a.y}; }
PlanePoint UnitVector(PlanePoint a) {
  const double length = Length(a);
  return length > 0 ? Times(1 / length, a) : PlanePoint{};
}

double NormalDensity(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }

// F(s) = log(e^{c1 + k1 s} + e^{c2 + k2 s}), convex; c1 may be -infinity.
struct LogSum {
  double c1, k1, c2, k2;

  double At(double s) const {
    const double first = c1 + k1 * s;
    const double second = c2 + k2 * s;
    const double larger = std::max(first, second);
    return larger + std::log(std::exp(first - larger) + std::exp(second - larger));
  }
  double Slope(double s) const {
    const double share = 1 / (1 + std::exp(c1 + k1 * s - c2 - k2 * s));  // of the second
    return k1 + share * (k2 - k1);
  }
};

// The root of F between a point where it is >= 0 and one where it is below 0: Newton's steps from
// outside never pass the root of a convex function. The integrand vanishes at the ends of the
// interval, so they are needed to half of the digits.
double Root(const LogSum& f, double outside) {
  double s = outside;
  for (int turn = 0; turn < 100; ++turn) {
    const double move = f.At(s) / f.Slope(s);
    s -= move;
    if (std::abs(move) < 1e-9) break;
  }
  return s;
}

struct Interval {
  double low = 0;
  double high = 0;
};

// Where F < 0, within the reach.
Interval Negative(const LogSum& f) {
  double low = -kPlaneReach;
  double high = kPlaneReach;
  double least = f.k1 >= 0 && f.k2 >= 0 ? low : high;
  if ((f.k1 < 0) != (f.k2 < 0)) {
    for (int turn = 0; turn < 60; ++turn) {
      least = 0.5 * (low + high);
      (f.Slope(least) < 0 ? low : high) = least;
    }
  }
  if (f.At(least) >= 0) return {};
  return {.low = f.At(-kPlaneReach) < 0 ? -kPlaneReach : Root(f, -kPlaneReach),
          .high = f.At(kPlaneReach) < 0 ? kPlaneReach : Root(f, kPlaneReach)};
}

double GaussRule(const std::function<double(double)>& f, double low, double high) {
  return boost::math::quadrature::gauss<double, 10>::integrate(f, low, high);
}

double Adaptive(const std::function<double(double)>& f, double low, double high, double whole,
                int depth) {
  const double middle = 0.5 * (low + high);
  const double left = GaussRule(f, low, middle);
  const double right = GaussRule(f, middle, high);
  if (depth == 0 || std::abs(left + right - whole) < kTolerance) return left + right;
  return Adaptive(f, low, middle, left, depth - 1) + Adaptive(f, middle, high, right, depth - 1);
}

// a >= 1: the integral of (q phi_u - (a - 1) (1 - q) phi_w - a q phi_v)^+.
double UpperHalf(double q, const PlaneTriple& triple, double a) {
  const PlanePoint w = Minus(triple.w, triple.u);
  const PlanePoint v = Minus(triple.v, triple.u);
  // Along the bisector of the angle at u both ratios to phi_u grow, so the set is a ray. Where the
  // angle is nearly pi they hardly grow; there the lines run towards v.
  PlanePoint along = {UnitVector(w).x + UnitVector(v).x, UnitVector(w).y + UnitVector(v).y};
  if (Length(along) < 0.2) along = v;
  along = UnitVector(along);
  const PlanePoint across = {-along.y, along.x};
  const double rest = (a - 1) * (1 - q);
  const double log_w = rest > 0 ? std::log(rest / q) : -std::numeric_limits<double>::infinity();
  const auto line = [&](double y) {
    const LogSum ratio{.c1 = log_w + y * Dot(w, across) - Dot(w, w) / 2,
                       .k1 = Dot(w, along),
                       .c2 = std::log(a) + y * Dot(v, across) - Dot(v, v) / 2,
                       .k2 = Dot(v, along)};
    const Interval set = Negative(ratio);
    if (!(set.low < set.high)) return 0.0;
    const auto mass = [&](PlanePoint m) {
      return NormalDensity(y - Dot(m, across)) *
             (NormalTail(set.low - Dot(m, along)) - NormalTail(set.high - Dot(m, along)));
    };
    return q * mass({}) - rest * mass(w) - a * q * mass(v);
  };
  double total = 0;
  const double width = 2 * kPlaneReach / kPanels;
  for (int i = 0; i < kPanels; ++i) {
    const double low = -kPlaneReach + i * width;
    total += Adaptive(line, low, low + width, GaussRule(line, low, low + width), kMaxDepth);
  }
  return std::max(0.0, total);
}

}  // namespace

double PlanarProfile(double q, const PlaneTriple& triple, double a) {
  if (a >= 1) return UpperHalf(q, triple, a);
  const PlaneTriple exchanged{.u = triple.v, .w = triple.w, .v = triple.u};
  return 1 - a + a * UpperHalf(q, exchanged, 1 / a);
}

PlaneTriple TripleAt(double to_w, double to_v, double covariance) {
  if (to_w == 0 || to_v == 0) return {.u = {}, .w = {to_w, 0}, .v = {to_v, 0}};
  const double cosine = std::clamp(covariance / (to_w * to_v), -1.0, 1.0);
  return {
      .u = {}, .w = {to_w * cosine, to_w * std::sqrt((1 - cosine) * (1 + cosine))}, .v = {to_v, 0}};
}

}  // namespace tacet::accounting
