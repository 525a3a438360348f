#include "tacet/accounting/loss_lattice.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tacet/accounting/log_math.h"

namespace tacet::accounting {
namespace {

constexpr double kMaxSteps = 1024;
// Least distance from a cell's inner boundary to its lattice point, in steps.
constexpr double kMinShare = 0.3;
// Gaps between dots, about, that share a tolerance.
constexpr double kGaps = 100;
// Difference of profiles that counts for nothing, relative to them.
constexpr double kEqual = 1e-10;

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

// At each lattice point t, from the last to the first, P(L > t) - e^t Q(L > t). Between them it is
// linear in e^t.
std::vector<double> ProfileOf(const LossLattice& lattice) {
  std::vector<double> profile;
  const double shrink = std::exp(-lattice.step);
  double p = lattice.infinite;
  double q = 0;  // times e^t
  for (size_t i = lattice.mass.size(); i-- > 0;) {
    profile.push_back(p - q);
    p += lattice.mass[i];
    q = (q + lattice.mass[i]) * shrink;
  }
  return profile;
}

bool IsNowhereAbove(const std::vector<double>& profile, const std::vector<double>& other) {
  for (size_t i = 0; i < profile.size(); ++i) {
    if (profile[i] > other[i] * (1 + kEqual)) return false;
  }
  return true;
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
  std::vector<int64_t> all(
      static_cast<size_t>(std::ceil(range.high / step) - std::floor(range.low / step)) + 1);
  std::iota(all.begin(), all.end(), static_cast<int64_t>(std::floor(range.low / step)));
  return PessimisticLattice(loss, all, step);
}

LossLattice PessimisticLattice(const RoundLoss& loss, const std::vector<int64_t>& dots,
                               double step) {
  const int64_t first = dots.front();
  LossLattice lattice{.step = step, .origin = static_cast<double>(first) * step};
  lattice.mass.assign(static_cast<size_t>(dots.back() - first + 1), 0.0);
  LossSides left = loss.At(lattice.origin);
  lattice.mass[0] += left.p_below;
  for (size_t i = 0; i + 1 < dots.size(); ++i) {
    const double t = static_cast<double>(dots[i]) * step;
    const double next = static_cast<double>(dots[i + 1]) * step;
    const LossSides right = loss.At(next);
    const CellMass cell = Between(left, right);
    // up + down = p, up e^-next + down e^-t = q.
    const double lifted = cell.q < kLeastMass ? 0 : cell.q * std::exp(t);
    const double up = std::clamp((cell.p - lifted) / -std::expm1(t - next), 0.0, cell.p);
    lattice.mass[static_cast<size_t>(dots[i] - first)] += cell.p - up;
    lattice.mass[static_cast<size_t>(dots[i + 1] - first)] += up;
    left = right;
  }
  lattice.infinite = left.p_above;
  lattice.mass[static_cast<size_t>(-first)] += loss.AtomAtZero();
  return lattice;
}

std::vector<int64_t> SparseDots(const LossLattice& law, double theta, double tolerance) {
  const auto first = static_cast<int64_t>(std::llround(law.origin / law.step));
  const auto last = first + static_cast<int64_t>(law.mass.size()) - 1;
  // Tilted mass of each point, relative to all.
  std::vector<double> tilted(law.mass.size());
  double highest = -kInfinity;
  for (size_t i = 0; i < tilted.size(); ++i) {
    tilted[i] = theta * law.LossAt(i) + std::log(law.mass[i]);
    highest = std::max(highest, tilted[i]);
  }
  double total = 0;
  for (double& value : tilted) total += value = std::exp(value - highest);
  // The addition of one gap: mass m at t becomes m u at its upper end and m (1 - u) at its lower
  // one, where u = (1 - e^-(t - lower)) / (1 - e^-(upper - lower)).
  const auto added = [&](int64_t lower, int64_t upper) {
    double sum = 0;
    const double whole = std::expm1(static_cast<double>(lower - upper) * law.step);
    for (int64_t i = std::max(lower + 1, first); i < std::min(upper, last + 1); ++i) {
      const double mass = tilted[static_cast<size_t>(i - first)] / total;
      if (!(mass > 0)) continue;
      const double up = std::expm1(static_cast<double>(lower - i) * law.step) / whole;
      sum += mass * (up * std::expm1(theta * static_cast<double>(upper - i) * law.step) +
                     (1 - up) * std::expm1(theta * static_cast<double>(lower - i) * law.step));
    }
    return sum;
  };
  std::vector<int64_t> ladder;  // distances from 0
  const int64_t longest = std::max(last, -first);
  int64_t gap = 1;
  const double most = tolerance / kGaps;
  for (int64_t distance = 0; distance + gap < longest;) {
    const auto fits = [&](int64_t width) {
      return added(distance, distance + width) + added(-distance - width, -distance) <= most;
    };
    if (fits(2 * gap)) {
      gap *= 2;
    } else {
      while (gap > 1 && !fits(gap)) gap /= 2;
    }
    distance += gap;
    ladder.push_back(distance);
  }
  std::vector<int64_t> dots = {first};
  for (size_t i = ladder.size(); i-- > 0;) {
    if (-ladder[i] > first) dots.push_back(-ladder[i]);
  }
  dots.push_back(0);
  for (const int64_t distance : ladder) {
    if (distance < last) dots.push_back(distance);
  }
  dots.push_back(last);
  return dots;
}

std::vector<LossLattice> WithoutDominated(std::vector<LossLattice> lattices) {
  std::vector<std::vector<double>> profiles;
  for (const LossLattice& lattice : lattices) profiles.push_back(ProfileOf(lattice));
  std::vector<size_t> kept;
  for (size_t i = 0; i < lattices.size(); ++i) {
    if (std::ranges::any_of(
            kept, [&](size_t other) { return IsNowhereAbove(profiles[i], profiles[other]); })) {
      continue;
    }
    std::erase_if(kept, [&](size_t other) { return IsNowhereAbove(profiles[other], profiles[i]); });
    kept.push_back(i);
  }
  std::vector<LossLattice> rest;
  for (const size_t i : kept) rest.push_back(std::move(lattices[i]));
  return rest;
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
