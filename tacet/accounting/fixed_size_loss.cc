#include "tacet/accounting/fixed_size_loss.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "tacet/accounting/log_math.h"

namespace tacet::accounting {
namespace {

// Beyond this many deviations a normal has less than 1e-25.
constexpr double kReach = 10.5;
// Step of the trapezoidal rule: at most the first over the steepness of the edge, and the second
// over its bend, the difference of the slopes of the two exponentials along it.
constexpr double kWidestStep = 0.75;
constexpr double kStepTimesBend = 0.5;
// The most that the lines that are left out may add to a mass, relative to it.
constexpr double kCut = 1e-13;
// For the edge on a line, in deviations.
constexpr double kEdgeError = 1e-11;

class CornerHalf : public RoundLoss {
 public:
  // x runs along the bisector, y orthogonal to it; u is the origin, w at (rest_x_, rest_y_) and v
  // at (moved_x_, -moved_y_).
  CornerHalf(double q, const Corner& corner) : q_(q) {
    const double along = std::sqrt(0.5 * (1 + corner.cosine));  // cosine of half the angle
    const double across = std::sqrt(std::max(0.0, 0.5 * (1 - corner.cosine)));
    rest_x_ = corner.rest * along;
    rest_y_ = corner.rest * across;
    moved_x_ = corner.moved * along;
    moved_y_ = corner.moved * across;
    if (rest_y_ == 0 && moved_y_ == 0) {
      nodes_.push_back({.y = 0, .weight = 1, .rest_weight = 1, .moved_weight = 1});
      return;
    }
    const double low = -kReach - moved_y_;
    const double high = kReach + rest_y_;
    // Each exponential's own edge has this slope, the one falling and the other rising with y.
    const double slope = across / along;
    double bend = 0;
    for (const double edge : {-slope, slope}) {
      bend = std::max(bend, std::abs(rest_y_ + moved_y_ + (rest_x_ - moved_x_) * edge));
    }
    const double wanted = std::min(kWidestStep * along, kStepTimesBend / std::max(bend, 1e-3));
    const auto count = static_cast<size_t>(std::ceil((high - low) / wanted));
    const double step = (high - low) / static_cast<double>(count);
    const double scale = step / std::sqrt(2 * std::numbers::pi);
    for (size_t i = 0; i <= count; ++i) {
      const double y = low + static_cast<double>(i) * step;
      nodes_.push_back({.y = y,
                        .weight = scale * std::exp(-0.5 * y * y),
                        .rest_weight = scale * std::exp(-0.5 * (y - rest_y_) * (y - rest_y_)),
                        .moved_weight = scale * std::exp(-0.5 * (y + moved_y_) * (y + moved_y_))});
    }
  }

  LossSides At(double t) const override {
    // P > e^t Q where 1 > alpha phi_w / phi_u + e^t phi_v / phi_u.
    const Threshold at = {
        .t = t, .log_alpha = q_ < 1 ? LogExpm1(t) + std::log1p(-q_) - std::log(q_) : -kInfinity};
    Masses sum;
    const auto middle = static_cast<ptrdiff_t>(nodes_.size()) / 2;
    const Edges above = AddLines(at, middle, 1, {}, sum);
    AddLines(at, middle - 1, -1, above, sum);
    const double unit = std::min(sum.unit, 1.0);
    const double rest = std::min(sum.rest, 1.0);
    const double moved = std::min(sum.moved, 1.0);
    return {.p_below = (1 - q_) * (1 - rest) + q_ * (1 - unit),
            .p_above = (1 - q_) * rest + q_ * unit,
            .q_below = (1 - q_) * (1 - rest) + q_ * (1 - moved),
            .q_above = (1 - q_) * rest + q_ * moved};
  }

 private:
  struct Node {
    double y = 0;
    double weight = 0;  // step times the density of y at u, at w and at v
    double rest_weight = 0;
    double moved_weight = 0;
  };

  struct Threshold {
    double t = 0;
    double log_alpha = 0;
  };

  // For losses above the threshold, at u, at w and at v.
  struct Masses {
    double unit = 0;
    double rest = 0;
    double moved = 0;
  };

  // On the nearest three lines that are known.
  struct Edges {
    double near = kInfinity;
    double far = kInfinity;
    double farther = kInfinity;

    // For the next line: on the parabola through them, or the straight line through two.
    double Next() const {
      const double straight = 2 * near - far;
      const double curved = straight + (near - far) - (far - farther);
      return std::isfinite(curved) ? curved : straight;
    }
  };

  // Whether the lines beyond the one with mass `here` add less than kCut of `sum`. A mass is a
  // log-concave function of y: where it falls, its next ratio is at most here / before, and where
  // it is 0 after it was not, it stays 0.
  static bool HardlyMore(double before, double here, double sum) {
    if (here == 0) return sum > 0;
    return here < before && here * here <= kCut * sum * (before - here);
  }

  // Adds the lines from `first` on, upwards (turn = 1) or downwards, as far as they count. The edge
  // bends little from line to line. Returns the first three edges.
  Edges AddLines(const Threshold& at, ptrdiff_t first, ptrdiff_t turn, Edges known,
                 Masses& sum) const {
    Edges begin = known;
    Masses before;
    for (ptrdiff_t i = first; i >= 0 && i < static_cast<ptrdiff_t>(nodes_.size()); i += turn) {
      const Node& node = nodes_[static_cast<size_t>(i)];
      const double x = Edge(node.y, at, known.Next());
      if (i == first) begin.near = x;
      if (i == first + turn) begin.far = x;
      if (i == first + 2 * turn) begin.farther = x;
      known = {.near = x, .far = known.near, .farther = known.far};
      const Masses here = {.unit = node.weight * NormalTail(-x),
                           .rest = node.rest_weight * NormalTail(rest_x_ - x),
                           .moved = node.moved_weight * NormalTail(moved_x_ - x)};
      sum.unit += here.unit;
      sum.rest += here.rest;
      sum.moved += here.moved;
      if (HardlyMore(before.unit, here.unit, sum.unit) &&
          HardlyMore(before.rest, here.rest, sum.rest) &&
          HardlyMore(before.moved, here.moved, sum.moved)) {
        break;
      }
      before = here;
    }
    return begin;
  }

  // The x below which P > e^t Q on the line at y: the root of
  //   f(x) = log(e^{a + rest_x x} + e^{b + moved_x x}) = 0,
  // convex and increasing, by Halley's method from `guess`, if that is finite.
  double Edge(double y, const Threshold& at, double guess) const {
    const double b = at.t - moved_y_ * y - 0.5 * (moved_x_ * moved_x_ + moved_y_ * moved_y_);
    double x = -b / moved_x_;
    if (at.log_alpha == -kInfinity) return x;
    const double a = at.log_alpha + rest_y_ * y - 0.5 * (rest_x_ * rest_x_ + rest_y_ * rest_y_);
    if (rest_x_ > 0) {
      x = std::min(x, -a / rest_x_);
    } else if (a >= 0) {
      return -kInfinity;
    }
    // Each term alone is an upper bound of the root.
    if (std::isfinite(guess) && guess < x) x = guess;
    const double turned = std::abs(rest_x_ - moved_x_);
    for (int turn = 0; turn < 60; ++turn) {
      const double first = a + rest_x_ * x;
      const double second = b + moved_x_ * x;
      const double ratio = std::exp(-std::abs(first - second));
      const double value = std::max(first, second) + std::log1p(ratio);
      const double larger = 1 / (1 + ratio);
      const double share = first > second ? larger : 1 - larger;
      const double slope = share * rest_x_ + (1 - share) * moved_x_;
      const double newton = value / slope;
      const double bend = larger * (1 - larger) * turned * turned / slope;  // f2 / f1
      // Far from the root Newton's step is the safe one.
      const double quotient = 1 - 0.5 * newton * bend;
      const double move = quotient > 0.5 && quotient < 1.5 ? newton / quotient : newton;
      x -= move;
      // With the derivatives f1, f2, f3 the error is (f2^2 / 4 f1^2 - f3 / 6 f1) move^3, and
      // |f3| <= turned f2. Along so short a move f2 grows by less than two thirds.
      const double error = std::abs(move * move * move) * bend * (bend / 4 + turned / 6);
      if (!(std::abs(move) * turned > 0.5 || error > kEdgeError)) break;
    }
    return x;
  }

  double q_;
  double rest_x_ = 0;
  double rest_y_ = 0;
  double moved_x_ = 0;
  double moved_y_ = 0;
  std::vector<Node> nodes_;
};

class StraightCorner : public RoundLoss {
 public:
  StraightCorner(double q, double c) : q_(q), c_(c) {}

  LossSides At(double t) const override {
    // On the line, u at 0, w at -c, v at c, z = e^{c x}, k = e^{-c^2/2}: P > e^t Q where
    //   alpha k / z + e^t k z < 1,
    // between the roots of e^t k z^2 - z + alpha k = 0.
    const double log_k = -0.5 * c_ * c_;
    double low = -kInfinity;
    double root = 1;  // of the discriminant
    if (q_ < 1 && t > 0) {
      const double log_alpha = LogExpm1(t) + std::log1p(-q_) - std::log(q_);
      const double product = std::exp(std::numbers::ln2 * 2 + log_alpha + t + 2 * log_k);
      if (!(product < 1)) return Sides(0, 0, 0);
      root = std::sqrt(1 - product);
      low = (std::numbers::ln2 + log_alpha + log_k - std::log1p(root)) / c_;
    }
    const double high = (std::log1p(root) - std::numbers::ln2 - t - log_k) / c_;
    const auto between = [&](double mean) {
      return std::exp(LogNormalInterval(low - mean, high - mean));
    };
    return Sides(between(0), between(-c_), between(c_));
  }

 private:
  LossSides Sides(double unit, double rest, double moved) const {
    return {.p_below = (1 - q_) * (1 - rest) + q_ * (1 - unit),
            .p_above = (1 - q_) * rest + q_ * unit,
            .q_below = (1 - q_) * (1 - rest) + q_ * (1 - moved),
            .q_above = (1 - q_) * rest + q_ * moved};
  }

  double q_;
  double c_;
};

class TwoHalves : public RoundLoss {
 public:
  TwoHalves(std::shared_ptr<const RoundLoss> above, std::shared_ptr<const RoundLoss> below)
      : above_(std::move(above)),
        below_(std::move(below)),
        above_zero_(above_->At(0)),
        below_zero_(below_->At(0)) {}

  LossSides At(double t) const override {
    if (t >= 0) {
      const LossSides far = above_->At(t);
      return {.p_below = below_zero_.q_above + Near(above_zero_, far).p,
              .p_above = far.p_above,
              .q_below = below_zero_.p_above + Near(above_zero_, far).q,
              .q_above = far.q_above};
    }
    const LossSides far = below_->At(-t);
    return {.p_below = far.q_above,
            .p_above = above_zero_.p_above + Near(below_zero_, far).q,
            .q_below = far.p_above,
            .q_above = above_zero_.q_above + Near(below_zero_, far).p};
  }

  double AtomAtZero() const override {
    return std::max(0.0, 1 - above_zero_.p_above - below_zero_.q_above);
  }

 private:
  struct Mass {
    double p = 0;
    double q = 0;
  };
  // Mass between two losses, from whichever side is smaller.
  static double Between(double above_near, double above_far, double below_near, double below_far) {
    return std::max(0.0, above_near < below_far ? above_near - above_far : below_far - below_near);
  }
  static Mass Near(const LossSides& zero, const LossSides& far) {
    return {Between(zero.p_above, far.p_above, zero.p_below, far.p_below),
            Between(zero.q_above, far.q_above, zero.q_below, far.q_below)};
  }

  std::shared_ptr<const RoundLoss> above_;
  std::shared_ptr<const RoundLoss> below_;
  LossSides above_zero_;
  LossSides below_zero_;
};

}  // namespace

std::unique_ptr<RoundLoss> CornerLoss(double q, const Corner& corner) {
  // Without w everything lies on a line.
  if (q >= 1) return std::make_unique<CornerHalf>(q, Corner{.moved = corner.moved});
  return std::make_unique<CornerHalf>(q, corner);
}

std::unique_ptr<RoundLoss> StraightCornerLoss(double q, double c) {
  return std::make_unique<StraightCorner>(q, c);
}

std::unique_ptr<RoundLoss> TwoHalvesLoss(std::shared_ptr<const RoundLoss> above,
                                         std::shared_ptr<const RoundLoss> below) {
  return std::make_unique<TwoHalves>(std::move(above), std::move(below));
}

std::unique_ptr<RoundLoss> FixedSizeReplaceLoss(double q, double c) {
  const std::shared_ptr<const RoundLoss> half = SampledGaussianLoss(q, c, true);
  return TwoHalvesLoss(half, half);
}

std::unique_ptr<RoundLoss> FixedSizeZeroOutLoss(double q, double c) {
  const std::shared_ptr<const RoundLoss> half =
      CornerLoss(q, {.rest = 2 * c, .moved = c, .cosine = 1});
  return TwoHalvesLoss(half, half);
}

std::unique_ptr<RoundLoss> OpposedZeroOutLoss(double q, double c, bool present_first) {
  std::shared_ptr<const RoundLoss> at_unit =
      CornerLoss(q, {.rest = 2 * c, .moved = c, .cosine = 1});
  std::shared_ptr<const RoundLoss> at_zero = StraightCornerLoss(q, c);
  return present_first ? TwoHalvesLoss(at_unit, at_zero) : TwoHalvesLoss(at_zero, at_unit);
}

}  // namespace tacet::accounting
