#include "tacet/accounting/loss_lattice.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tacet::accounting {
namespace {

constexpr double kMaxSteps = 1024;
// Least distance from a cell's inner boundary to its lattice point, in steps.
constexpr double kMinShare = 0.3;

struct CellMass {
  double p = 0;
  double q = 0;
};

// Mass of a cell from the sides at its ends, by whichever side is smaller. Without the atom.
CellMass Between(const LossSides& a, const LossSides& b) {
  return {std::max(0.0, a.p_above < b.p_below ? a.p_above - b.p_above : b.p_below - a.p_below),
          std::max(0.0, a.q_above < b.q_below ? a.q_above - b.q_above : b.q_below - a.q_below)};
}

// A boundary between cells and the masses on its sides.
struct Boundary {
  double t = 0;
  LossSides sides;
};

// p - e^g q of a cell: positive when its merged loss is above g. Negative where q cannot be told: a
// bound from below takes such a cell for one of less loss.
double Surplus(const Boundary& left, const Boundary& right, double g) {
  const CellMass cell = Between(left.sides, right.sides);
  return cell.q < kLeastMass ? -cell.p : cell.p - cell.q * std::exp(g);
}

// The outer boundary of the next cell outwards from `inner`, whose merged loss is to be g: on the
// far side of g, at most one step away. `outwards` is 1 to the right and -1 to the left. Of the
// last bracket the end is taken at which the merged loss is not below g.
Boundary NextBoundary(const RoundLoss& loss, const Boundary& inner, double g, double step,
                      double outwards) {
  const auto at = [&](double w) { return Boundary{g + outwards * w, loss.At(g + outwards * w)}; };
  // Grows with w from at most 0 at w = 0, nearly as w^2.
  const auto value_of = [&](const Boundary& outer) {
    return outwards > 0 ? Surplus(inner, outer, g) : -Surplus(outer, inner, g);
  };
  const double width = std::abs(g - inner.t);
  double low = 0;
  double high = step;
  Boundary low_end = at(low);
  Boundary high_end = at(high);
  double low_value = value_of(low_end);
  double high_value = value_of(high_end);
  while (high_value <= 0) {  // a falling density needs more of what lies beyond
    if (high >= kMaxSteps * step) {
      return high_end;
    }
    low = high;
    low_end = high_end;
    low_value = high_value;
    high *= 2;
    high_end = at(high);
    high_value = value_of(high_end);
  }
  double guess = width;  // the answer where the density is constant
  for (int turn = 0; turn < 40 && high - low > 2e-5 * step; ++turn) {
    if (!(guess > low && guess < high)) {
      guess = 0.5 * (low + high);
    }
    const Boundary middle = at(guess);
    const double value = value_of(middle);
    const bool is_low = value <= 0;
    (is_low ? low : high) = guess;
    (is_low ? low_end : high_end) = middle;
    (is_low ? low_value : high_value) = value;
    // Interpolates in w^2 and goes a little too far, so that the bracket closes from both ends.
    const double share = low_value < 0 ? -low_value / (high_value - low_value) : 0;
    guess =
        std::sqrt(low * low + share * (high * high - low * low)) + (is_low ? 1e-5 : -1e-5) * step;
  }
  return outwards > 0 ? high_end : low_end;
}

}  // namespace

LossRange FindLossRange(const RoundLoss& loss, double above, double below) {
  above = std::max(above, loss.At(kBeyondAnyLoss).p_above);
  below = std::max(below, loss.At(-kBeyondAnyLoss).p_below);
  const auto find = [](const auto& small_enough) {
    double reach = 1e-12;
    while (!small_enough(reach)) {
      reach *= 2;
    }
    double low = reach / 2;
    for (int turn = 0; turn < 10; ++turn) {
      const double middle = 0.5 * (low + reach);
      (small_enough(middle) ? reach : low) = middle;
    }
    return reach;
  };
  const double high = find([&](double t) { return loss.At(t).p_above <= above; });
  const double low = find([&](double t) { return loss.At(-t).p_below <= below; });
  return {.low = -low, .high = high};
}

LossLattice PessimisticLattice(const RoundLoss& loss, const LossRange& range, double step) {
  const auto first = static_cast<int64_t>(std::floor(range.low / step));
  const auto last = static_cast<int64_t>(std::ceil(range.high / step));
  LossLattice lattice{.step = step, .origin = static_cast<double>(first) * step};
  lattice.mass.assign(static_cast<size_t>(last - first + 1), 0.0);
  const double shrink = -std::expm1(-step);  // 1 - e^-h
  LossSides left = loss.At(lattice.origin);
  lattice.mass[0] += left.p_below;
  for (int64_t i = first; i < last; ++i) {
    const double t = static_cast<double>(i) * step;
    const LossSides right = loss.At(static_cast<double>(i + 1) * step);
    const CellMass cell = Between(left, right);
    // up + down = p, up e^{-t-h} + down e^{-t} = q.
    const double lifted = cell.q < kLeastMass ? 0 : cell.q * std::exp(t);
    const double up = std::clamp((cell.p - lifted) / shrink, 0.0, cell.p);
    lattice.mass[static_cast<size_t>(i - first)] += cell.p - up;
    lattice.mass[static_cast<size_t>(i - first) + 1] += up;
    left = right;
  }
  lattice.infinite = left.p_above;
  lattice.mass[static_cast<size_t>(-first)] += loss.AtomAtZero();
  return lattice;
}

LossLattice OptimisticLattice(const RoundLoss& loss, const LossRange& range, double step) {
  const auto at = [&](double t) { return Boundary{t, loss.At(t)}; };
  const double atom = loss.AtomAtZero();
  // The anchor: the heaviest cell.
  double middle = 0;
  if (atom == 0) {
    double heaviest = -1;
    Boundary left = at(range.low);
    for (double t = range.low; t < range.high; t += step) {
      const Boundary right = at(t + step);
      const CellMass cell = Between(left.sides, right.sides);
      if (cell.p > heaviest && cell.q >= kLeastMass) {
        heaviest = cell.p;
        middle = std::clamp(std::log(cell.p / cell.q), t, t + step);
      }
      left = right;
    }
  }
  // On the lattice: it begins half a step below, and its upper end makes the loss fit. The atom at
  // 0 has as much Q-mass as P-mass and changes nothing.
  double anchor_loss = std::round(middle / step) * step;
  Boundary left_end = at(anchor_loss - step / 2);
  Boundary right_end = NextBoundary(loss, left_end, anchor_loss, step, 1);
  // Where too little lies above, as at the largest loss there is, one point lower.
  while (Surplus(left_end, right_end, anchor_loss) < 0 && anchor_loss > range.low) {
    anchor_loss -= step;
    left_end = at(anchor_loss - step / 2);
    right_end = NextBoundary(loss, left_end, anchor_loss, step, 1);
  }
  const CellMass anchor = Between(left_end.sides, right_end.sides);

  // Lattice point k is anchor_loss + k step, -below <= k <= over; index 0 catches rounding below.
  const auto below =
      static_cast<int64_t>(std::ceil(std::max(0.0, (middle - range.low) / step))) + 2;
  const auto over =
      static_cast<int64_t>(std::ceil(std::max(0.0, (range.high - middle) / step))) + 1;
  LossLattice lattice{.step = step, .origin = anchor_loss - static_cast<double>(below) * step};
  lattice.mass.assign(static_cast<size_t>(below + over + 1), 0.0);
  const auto add = [&](int64_t k, double mass) {
    if (k >= -below) {
      lattice.mass[static_cast<size_t>(std::min(k, over) + below)] += mass;
    }
  };
  // A merged cell goes to k when its loss is at least that point's, else to the last point that is
  // not above its lower boundary.
  const auto merge = [&](const Boundary& left, const Boundary& right, int64_t k) {
    const double g = anchor_loss + static_cast<double>(k) * step;
    const bool reached = Surplus(left, right, g) >= 0;
    const auto under = static_cast<int64_t>(std::floor((left.t - anchor_loss) / step));
    add(reached ? k : under, Between(left.sides, right.sides).p);
  };
  add(0, anchor.p + atom);
  // The next lattice point is the first that is well away from the boundary just set.
  Boundary inner = right_end;
  int64_t k = 0;
  while (inner.t < range.high) {
    const double ahead = std::ceil((inner.t - anchor_loss) / step + kMinShare);
    k = std::max(k + 1, static_cast<int64_t>(ahead));
    const double g = anchor_loss + static_cast<double>(k) * step;
    if (k > over) {
      break;
    }
    const Boundary outer = NextBoundary(loss, inner, g, step, 1);
    merge(inner, outer, k);
    inner = outer;
  }
  // All that is left lies above the last boundary, which is at or above lattice point `rest`.
  const auto rest = static_cast<int64_t>(std::floor((inner.t - anchor_loss) / step));
  add(rest, inner.sides.p_above);
  inner = left_end;
  k = 0;
  while (inner.t > range.low) {
    const double ahead = std::floor((inner.t - anchor_loss) / step - kMinShare);
    k = std::min(k - 1, static_cast<int64_t>(ahead));
    if (k <= -below) {
      break;
    }
    const double g = anchor_loss + static_cast<double>(k) * step;
    const Boundary outer = NextBoundary(loss, inner, g, step, -1);
    merge(outer, inner, k);
    inner = outer;
  }
  return lattice;
}

}  // namespace tacet::accounting
