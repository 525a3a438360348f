#include "tacet/accounting/two_member_adversary_for_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>

namespace tacet::accounting {
namespace {

constexpr double kReach = 10;              // standard deviations around the outermost centres
constexpr double kFineCellsPerStep = 8;    // before cells are merged
constexpr double kMaxFineCells = 400'000;  // of a member
constexpr double kMinFineCells = 1000;     // of a pair
constexpr double kTopLoss = 12;     // V above this is replaced by V there, e^-12 less at most
constexpr double kMinMass = 1e-18;  // lattice points with less are dropped
// Distance from the first cell of a group to its lattice point, in steps: at least this.
constexpr double kMinDistance = 0.3;
// Groups of little mass may be wider than two steps, but not wider than this.
constexpr double kWidestGroup = 0.04;
// Without the unit the loss is near -q or q. Steps have to be smaller.
constexpr double kStepsInRate = 6;
constexpr double kMaxPoints = 60'000;

// Mass of N(mean, 1) on [low, high], from the nearer tail.
double NormalMass(double mean, double low, double high) {
  const double a = (low - mean) / std::numbers::sqrt2;
  const double b = (high - mean) / std::numbers::sqrt2;
  return a > 0 ? 0.5 * (std::erfc(a) - std::erfc(b)) : 0.5 * (std::erfc(-b) - std::erfc(-a));
}

struct Cell {
  double p = 0;
  double q = 0;
  double Loss() const { return std::log(p / q); }
};

double LongestDistance(const LinePair& pair) {
  return std::max(
      {std::abs(pair.u - pair.w), std::abs(pair.u - pair.v), std::abs(pair.w - pair.v)});
}

// The member as masses of intervals of the line, about kFineCellsPerStep of them to a lattice step,
// in the order of their losses.
std::vector<Cell> FineCells(const AdversaryMember& member, double step) {
  std::vector<Cell> cells;
  for (const auto& [probability, pair] : member) {
    const double low = std::min({pair.u, pair.w, pair.v}) - kReach;
    const double high = std::max({pair.u, pair.w, pair.v}) + kReach;
    const double steepest = std::max(LongestDistance(pair), 1e-3);  // of the loss in x
    const double wanted = (high - low) * steepest * kFineCellsPerStep / step;
    const double most = kMaxFineCells / static_cast<double>(member.size());
    const double count = std::ceil(std::max(kMinFineCells, std::min(wanted, most)));
    double left = -std::numeric_limits<double>::infinity();
    for (double i = 0; i <= count + 1; ++i) {
      const double right =
          i <= count ? low + (high - low) * i / count : std::numeric_limits<double>::infinity();
      const double rest = (1 - pair.q) * NormalMass(pair.w, left, right);
      const Cell cell{.p = probability * (rest + pair.q * NormalMass(pair.u, left, right)),
                      .q = probability * (rest + pair.q * NormalMass(pair.v, left, right))};
      if (cell.p > 0 && cell.q > 0) cells.push_back(cell);
      left = right;
    }
  }
  std::ranges::sort(cells, {}, &Cell::Loss);
  return cells;
}

// Positions of losses.
struct Scale {
  double deviation = 0;   // of a round's loss under P
  double resolution = 0;  // as asked for
  double step = 0;
};

// Cells in the order of their losses are merged into groups, of each the last cell only in part (a
// random choice, which is a post-processing too), such that log(p / q) of the group is a lattice
// point. What is left at the end is rounded down to one.
class Merger {
 public:
  Merger(const std::vector<Cell>& cells, const Scale& scale) : cells_(cells), scale_(scale) {
    double total = 0;
    for (const Cell& cell : cells) {
      losses_.push_back(cell.Loss());
      mass_before_.push_back(total);
      total += cell.p;
    }
    mass_before_.push_back(total);
  }

  // P-masses by lattice point.
  std::map<int64_t, double> Merge() const {
    std::map<int64_t, double> lattice;
    Cell group;
    int64_t k = 0;
    for (size_t i = 0; i < cells_.size(); ++i) {
      Cell cell = cells_[i];
      for (;;) {
        if (group.p == 0) k = PointFor(i);
        const double ratio = std::exp(static_cast<double>(k) * scale_.step);
        const double missing = group.q * ratio - group.p;  // >= 0
        const double surplus = cell.p - cell.q * ratio;
        if (surplus <= missing) {
          group.p += cell.p;
          group.q += cell.q;
          break;
        }
        const double share = missing / surplus;
        lattice[k] += group.p + share * cell.p;
        group = {};
        cell.p *= 1 - share;
        cell.q *= 1 - share;
      }
    }
    if (group.p > 0) {
      lattice[static_cast<int64_t>(std::floor(group.Loss() / scale_.step))] += group.p;
    }
    return lattice;
  }

 private:
  // The lattice point of a group that begins with cell i: the next one, or one further away where
  // merging takes little from the variance of the loss.
  int64_t PointFor(size_t i) const {
    const double base = std::ceil(losses_[i] / scale_.step + kMinDistance);
    const double budget =
        std::pow(scale_.deviation / scale_.resolution, 2) / scale_.resolution / 24;
    double far = 0;
    for (double more = 1; 2 * (more + 1) * scale_.step <= kWidestGroup; more *= 2) {
      const double reach = (more + 1) * scale_.step;
      const auto end = std::ranges::upper_bound(losses_, losses_[i] + 2 * reach);
      const double mass =
          mass_before_[static_cast<size_t>(end - losses_.begin())] - mass_before_[i];
      if (mass * reach * reach / 3 > budget) break;
      far = more;
    }
    return static_cast<int64_t>(base + far);
  }

  const std::vector<Cell>& cells_;
  Scale scale_;
  std::vector<double> losses_;
  std::vector<double> mass_before_;  // of the cells before this one
};

struct PointMass {
  int64_t k = 0;
  double mass = 0;
};

// Mean and standard deviation of the loss under P, and the smallest rate.
struct Statistics {
  double deviation = 0;
  double least_rate = 1;
};

// Over all members: the largest deviation and the smallest rate.
Statistics StatisticsOf(const std::vector<AdversaryMember>& members) {
  Statistics all;
  for (const AdversaryMember& member : members) {
    double mean = 0, square = 0;
    for (const Cell& cell : FineCells(member, 1)) {
      mean += cell.p * cell.Loss();
      square += cell.p * cell.Loss() * cell.Loss();
    }
    all.deviation = std::max(all.deviation, std::sqrt(std::max(0.0, square - mean * mean)));
    for (const auto& [probability, pair] : member) {
      all.least_rate = std::min(all.least_rate, pair.q);
    }
  }
  return all;
}

// The step for losses down to `bottom` < 0.
Scale ScaleFor(const AdversarySetting& setting, double bottom) {
  const Statistics statistics = StatisticsOf(setting.members);
  const double wanted =
      std::min(statistics.deviation / setting.resolution, statistics.least_rate / kStepsInRate);
  return {.deviation = statistics.deviation,
          .resolution = setting.resolution,
          .step = std::max(wanted, (kTopLoss - bottom) / kMaxPoints)};
}

// The depth below -epsilon to which losses are followed.
double Below(const AdversarySetting& setting) {
  return 8 * StatisticsOf(setting.members).deviation * std::sqrt(setting.rounds);
}

// V_T at the losses bottom + i step.
std::vector<double> Induction(const AdversarySetting& setting, const Scale& scale, double bottom) {
  std::vector<std::vector<PointMass>> kernels;
  for (const AdversaryMember& member : setting.members) {
    std::vector<PointMass>& kernel = kernels.emplace_back();
    for (const auto& [k, mass] : Merger(FineCells(member, scale.step), scale).Merge()) {
      if (mass >= kMinMass) kernel.push_back({k, mass});
    }
  }
  const auto points = static_cast<int64_t>(std::ceil((kTopLoss - bottom) / scale.step)) + 1;
  std::vector<double> value(static_cast<size_t>(points));
  for (size_t i = 0; i < value.size(); ++i) {
    value[i] = std::max(0.0, -std::expm1(-(bottom + static_cast<double>(i) * scale.step)));
  }
  for (int round = 0; round < setting.rounds; ++round) {
    std::vector<double> next(value.size(), 0.0);
    for (const std::vector<PointMass>& kernel : kernels) {
      const int64_t first = kernel.front().k;
      // Element j is V at point first + j: 0 below the lattice, and above it the value at its top.
      std::vector<double> reach(static_cast<size_t>(points + kernel.back().k - first));
      for (size_t j = 0; j < reach.size(); ++j) {
        const int64_t at = first + static_cast<int64_t>(j);
        reach[j] = at < 0 ? 0 : value[static_cast<size_t>(std::min(at, points - 1))];
      }
      std::vector<double> sum(value.size(), 0.0);
      for (const PointMass& point : kernel) {
        const double* from = reach.data() + (point.k - first);
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += point.mass * from[i];
      }
      for (size_t i = 0; i < sum.size(); ++i) next[i] = std::max(next[i], sum[i]);
    }
    value = std::move(next);
  }
  return value;
}

// The largest epsilon that V_T on a lattice with 0 shows to have at least `delta`: delta is convex
// in e^epsilon, so the secant through two neighbouring points lies below it beyond them.
double EpsilonOf(const std::vector<double>& value, double step, double bottom, double delta) {
  const auto zero = static_cast<size_t>(std::llround(-bottom / step));
  const auto epsilon_at = [&](size_t i) { return static_cast<double>(zero - i) * step; };
  size_t last = zero;  // the lowest point with at least delta
  if (value[zero] < delta) return 0;
  while (last > 0 && value[last - 1] >= delta) --last;
  double best = epsilon_at(last);
  const double slope = (value[last + 1] - value[last]) /
                       (std::exp(epsilon_at(last)) * -std::expm1(-step));  // fall of delta per a
  if (slope > 0) best += std::log1p((value[last] - delta) / slope * std::exp(-best));
  return last == 0 ? epsilon_at(0) : std::min(best, epsilon_at(last - 1));
}

}  // namespace

std::vector<AdversaryMember> ReplaceOneMembers(double q, double c) {
  return {{{.pair = {.q = q, .u = c, .w = 0, .v = 0}}},
          {{.pair = {.q = q, .u = 0, .w = 0, .v = c}}}};
}

std::vector<AdversaryMember> ZeroOutMembers(double q, double c) {
  return {{{.pair = {.q = q, .u = c, .w = -c, .v = 0}}}};
}

std::vector<AdversaryMember> PublicSizeMembers(double clients, double cohort,
                                               double min_participants, double sigma) {
  const double q = cohort / clients;
  const double deviation = std::sqrt(cohort * (1 - q));
  const auto probability = [&](double k) {
    return std::exp(std::lgamma(clients + 1) - std::lgamma(k + 1) - std::lgamma(clients - k + 1) +
                    k * std::log(q) + (clients - k) * std::log1p(-q));
  };
  const double last = std::min(clients - 1, std::ceil(cohort + 9 * deviation));
  const double together = std::max(1.0, std::floor(deviation / 10));
  std::vector<AdversaryMember> members(2);
  double total = 0;
  for (double k = min_participants; k <= last; k += together) {
    double weight = 0;
    for (double i = k; i < k + together; ++i) weight += probability(i);
    const double most = k + together - 1;
    const double c = 2 / (sigma * std::sqrt(most / min_participants));
    members[0].push_back({weight, {.q = k / clients, .u = c, .w = 0, .v = 0}});
    members[1].push_back({weight, {.q = k / clients, .u = 0, .w = 0, .v = c}});
    total += weight;
  }
  for (AdversaryMember& member : members) {
    for (WeightedLinePair& part : member) part.probability /= total;
  }
  return members;
}

double AdversaryDelta(const AdversarySetting& setting, double epsilon) {
  const double below = Below(setting);
  const Scale scale = ScaleFor(setting, -epsilon - below);
  const double index = std::ceil(below / scale.step);
  return Induction(setting, scale, -epsilon - index * scale.step)[static_cast<size_t>(index)];
}

double AdversaryEpsilon(const AdversarySetting& setting, double delta) {
  const double below = Below(setting);
  const auto solve = [&](double resolution, double largest) {
    AdversarySetting at = setting;
    at.resolution = resolution;
    const Scale scale = ScaleFor(at, -largest - below);
    const double bottom = -std::ceil((largest + below) / scale.step) * scale.step;
    return EpsilonOf(Induction(at, scale, bottom), scale.step, bottom, delta);
  };
  // A coarse lattice says how far the fine one has to reach.
  double largest = 1.05 * solve(setting.resolution / 4, 20) + 0.1;
  for (;;) {
    const double epsilon = solve(setting.resolution, largest);
    if (epsilon <= largest) return epsilon;
    largest = 1.5 * epsilon;
  }
}

}  // namespace tacet::accounting
