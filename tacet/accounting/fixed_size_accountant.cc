#include "tacet/accounting/fixed_size_accountant.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <unordered_map>
#include <utility>

#include "tacet/accounting/adaptive_composition.h"
#include "tacet/accounting/fixed_size_loss.h"
#include "tacet/accounting/log_math.h"
#include "tacet/accounting/loss_rounds.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

constexpr double kRightAngle = std::numbers::pi / 2;

// Half of the cuts of an angle in [0, pi/2], mirrored at pi/4: fine near the corners of the set of
// triangles, where w meets v or u and the supremum lies.
constexpr double kCuts[] = {0.06, 0.12, 0.2, 0.3, 0.45, 0.6};
constexpr double kCoarseCuts[] = {0.12, 0.3, 0.55};

// Cuts of the angle between u and w, for zero-out.
constexpr double kPsi[] = {0, 0.6, 1.0, 1.3, 1.55, 1.8, 2.0, 2.2, 2.4, 2.6, 2.8, std::numbers::pi};

std::vector<double> Cuts(std::span<const double> half) {
  std::vector<double> cuts = {0, kRightAngle / 2, kRightAngle};
  for (const double cut : half) {
    cuts.push_back(cut);
    cuts.push_back(kRightAngle - cut);
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

// Remembers masses: half of a cell's losses are the mirrored losses of another one.
class Remembered : public RoundLoss {
 public:
  explicit Remembered(std::unique_ptr<RoundLoss> loss) : loss_(std::move(loss)) {}

  LossSides At(double t) const override {
    const auto [entry, is_new] = sides_.try_emplace(t);
    if (is_new) entry->second = loss_->At(t);
    return entry->second;
  }
  double AtomAtZero() const override { return loss_->AtomAtZero(); }

 private:
  std::unique_ptr<RoundLoss> loss_;
  mutable std::unordered_map<double, LossSides> sides_;
};

// The losses of a half in a mixture of parts: `corner_of` gives the corner for lengths in units of
// the clip norm's radius c = S / sigma.
using HalfLoss = std::function<std::unique_ptr<RoundLoss>(double q, double c)>;

std::shared_ptr<const RoundLoss> HalfOf(const std::vector<WeightedEvent>& parts,
                                        const HalfLoss& half) {
  return std::make_shared<Remembered>(LossOfMixture(parts, [&](const SamplingEvent& event) {
    return half(event.sampling_rate, event.clip_norm / event.noise_stddev);
  }));
}

// One dominating pair for each cell of the set of triangles, as losses.
using Cells = std::vector<std::unique_ptr<RoundLoss>>;

// Replace-one: acute and right triangles inscribed in the circle of radius c, by their angles at v
// and at u. In a cell the sides and cosines are at most those at its ends.
Cells ReplaceCells(const std::vector<WeightedEvent>& parts, std::span<const double> half_cuts) {
  const std::vector<double> cuts = Cuts(half_cuts);
  const size_t n = cuts.size() - 1;
  // halves[i][j]: the corner at u where the angle at v is in cell i and that at u in cell j. The
  // corner at v is the same with the two exchanged.
  std::vector<std::vector<std::shared_ptr<const RoundLoss>>> halves(
      n, std::vector<std::shared_ptr<const RoundLoss>>(n));
  const auto inside = [&](size_t i, size_t j) {
    return cuts[i + 1] + cuts[j + 1] > kRightAngle + 1e-9;
  };
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      if (!inside(i, j)) continue;
      const double at_w = std::min(kRightAngle, 2 * kRightAngle - cuts[i] - cuts[j]);
      halves[i][j] = HalfOf(parts, [&](double q, double c) {
        return CornerLoss(q, {.rest = 2 * c * std::sin(cuts[i + 1]),
                              .moved = 2 * c * std::sin(at_w),
                              .cosine = std::cos(cuts[j])});
      });
    }
  }
  Cells cells;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      if (inside(i, j)) cells.push_back(TwoHalvesLoss(halves[i][j], halves[j][i]));
    }
  }
  return cells;
}

// Zero-out: u and w on the sphere, by the angle psi between them. The half seen from u grows with
// psi, the half seen from 0 falls with it.
Cells ZeroOutCells(const std::vector<WeightedEvent>& parts, bool present_first) {
  Cells cells;
  for (size_t i = 0; i + 1 < std::size(kPsi); ++i) {
    const double sine = std::sin(kPsi[i + 1] / 2);
    std::shared_ptr<const RoundLoss> at_unit = HalfOf(parts, [&](double q, double c) {
      return CornerLoss(q, {.rest = 2 * c * sine, .moved = c, .cosine = sine});
    });
    std::shared_ptr<const RoundLoss> at_zero = HalfOf(parts, [&](double q, double c) {
      return CornerLoss(q, {.rest = c, .moved = c, .cosine = std::cos(kPsi[i])});
    });
    cells.push_back(present_first ? TwoHalvesLoss(at_unit, at_zero)
                                  : TwoHalvesLoss(at_zero, at_unit));
  }
  return cells;
}

// Pairs that are attained. Replace-one: w = v in both orders; zero-out: w = -u.
Cells AttainedPairs(const std::vector<WeightedEvent>& parts, Neighbouring neighbouring,
                    bool forward) {
  Cells pairs;
  const auto add = [&](const HalfLoss& loss) {
    pairs.push_back(LossOfMixture(parts, [&](const SamplingEvent& event) {
      return loss(event.sampling_rate, event.clip_norm / event.noise_stddev);
    }));
  };
  if (neighbouring == Neighbouring::kZeroOut) {
    add([&](double q, double c) { return OpposedZeroOutLoss(q, c, forward); });
  } else {
    add([](double q, double c) { return SampledGaussianLoss(q, 2 * c, true); });
    add([](double q, double c) { return SampledGaussianLoss(q, 2 * c, false); });
  }
  return pairs;
}

std::vector<LossLattice> LatticesOf(const Cells& cells, const LossRange& range, double step,
                                    Side side) {
  std::vector<LossLattice> lattices;
  for (const auto& cell : cells) {
    lattices.push_back(side == Side::kAbove ? PessimisticLattice(*cell, range, step)
                                            : OptimisticLattice(*cell, range, step));
  }
  return lattices;
}

// The one kind of round in a stream and how often it happens; no value when there are several.
std::optional<RepeatedEvent> OnlyRound(const std::vector<RepeatedEvent>& stream) {
  std::optional<RepeatedEvent> only;
  for (const RepeatedEvent& repeated : stream) {
    if (repeated.count == 0) continue;
    if (only.has_value()) return std::nullopt;
    only = repeated;
  }
  return only;
}

// Whether the lemmas and the arithmetic reach: fixed-size sampling alone, and noise that is not too
// small for the masses of its losses.
bool IsFixedSize(const std::vector<WeightedEvent>& parts) {
  bool sampled = false;
  for (const WeightedEvent& part : parts) {
    const SamplingEvent& event = part.event;
    if (event.sampling != Sampling::kFixedSize ||
        !(Sensitivity(event) <= kSteepest * event.noise_stddev) ||
        event.neighbouring != parts.front().event.neighbouring ||
        event.clip_norm != parts.front().event.clip_norm) {
      return false;
    }
    sampled |= event.sampling_rate > 0 && event.sampling_rate < 1;
  }
  return sampled;
}

// Butterflies of transforms, and lines of corners, that half a second is enough for.
constexpr double kTransformWork = 4e8;
constexpr double kLineWork = 4e6;
// Evaluations of the envelope while a step is chosen.
constexpr double kMaxEnvelopeWork = 2e5;
constexpr size_t kMaxTransformPoints = size_t{1} << 18;
// Parts of a mixture that are told apart.
constexpr size_t kMaxParts[] = {32, 20, 12, 8};  // the first that can be paid for
// What the lattice may add to epsilon, relative to it.
constexpr double kWantedError = 4e-4;
// Blocks of rounds: work that they may take, steps of a round's lattice in its deviations, that of
// a block's lattice in deviations of the block.
constexpr double kBlockWork = 1.7;
// Beyond them the charge for errors of masses is as large as delta.
constexpr uint64_t kMostRounds = 10'000'000;
constexpr double kBlockSteps[] = {0.12, 0.2, 0.3};
constexpr double kStrideStep = 0.03;
// Of the attained pairs, which are composed without a recursion.
constexpr double kFinestStep = 0.02;
constexpr double kMostLowerCells = 20000;

// About what such blocks add to epsilon, relative to it, as measured: a block's pair has the worst
// of all adversaries in both halves, so its excess falls with the root of its length.
double BlockError(double rounds, double steps, bool coarse) {
  return 0.2 / std::sqrt(rounds) + 0.1 * steps * steps + (coarse ? 0.008 : 0);
}

class FixedSizeRounds {
 public:
  // `parts` and `attained` are one mixture, grouped for a bound from above and from below.
  FixedSizeRounds(const std::vector<WeightedEvent>& parts,
                  const std::vector<WeightedEvent>& attained, uint64_t count, double delta)
      : parts_(parts), attained_(attained), count_(count), delta_(delta) {
    const bool zero_out = parts.front().event.neighbouring == Neighbouring::kZeroOut;
    std::vector<LossRounds> rounds;
    rounds.push_back(MakeLossRounds(
        parts,
        [&](const SamplingEvent& event) {
          const double c = event.clip_norm / event.noise_stddev;
          return zero_out ? FixedSizeZeroOutLoss(event.sampling_rate, c)
                          : FixedSizeReplaceLoss(event.sampling_rate, 2 * c);
        },
        static_cast<double>(count), static_cast<double>(count), delta));
    start_ = FindCompositionStart(rounds, delta);
    range_ = rounds.front().range;
    if (start_.deviation > 0) step_ = ChooseStep(*rounds.front().loss);
  }

  std::optional<FixedSizeResult> Epsilon() {
    if (!(start_.deviation > 0)) return std::nullopt;
    // Nothing is below 0, and the envelope has shown it.
    if (envelope_epsilon_ == 0.0) return FixedSizeResult{.cells = 1};
    const bool zero_out = parts_.front().event.neighbouring == Neighbouring::kZeroOut;
    std::optional<FixedSizeResult> worst;
    for (const bool forward : {true, false}) {
      if (!forward && !zero_out) break;
      const std::optional<FixedSizeResult> result = Direction(zero_out, forward);
      if (!result) return std::nullopt;
      if (!worst || result->epsilon > worst->epsilon) {
        const double lower = worst ? worst->epsilon_lower : 0;
        worst = result;
        worst->epsilon_lower = std::max(worst->epsilon_lower, lower);
      } else {
        worst->epsilon_lower = std::max(worst->epsilon_lower, result->epsilon_lower);
      }
    }
    return worst;
  }

 private:
  std::optional<FixedSizeResult> Direction(bool zero_out, bool forward) {
    // The finest cells and the finest step that can be paid for, first of all cells.
    double step = step_;
    std::span<const double> cuts = kCuts;
    const double coarsest = 0.1 * start_.deviation;
    const double most = zero_out ? 0.4 : 1;  // of two directions or of one
    const auto too_much = [&] {
      return Work(CellCount(zero_out, cuts), step, Window(), count_) > most;
    };
    while (too_much() && step < coarsest) step *= std::numbers::sqrt2;
    if (too_much()) cuts = kCoarseCuts;
    while (too_much() && step < 2 * coarsest) step *= std::numbers::sqrt2;
    if (too_much()) return InBlocks(zero_out, forward, most * kBlockWork);
    const Cells cells = zero_out ? ZeroOutCells(parts_, forward) : ReplaceCells(parts_, cuts);
    const Cells attained = AttainedPairs(attained_, parts_.front().event.neighbouring, forward);
    const auto upper = AdaptiveEpsilon(LatticesOf(cells, range_, step, Side::kAbove), count_,
                                       delta_, Window(), Side::kAbove);
    if (!upper) return std::nullopt;
    const auto lower = AdaptiveEpsilon(LatticesOf(attained, range_, step, Side::kBelow), count_,
                                       delta_, Window(), Side::kBelow);
    return FixedSizeResult{
        .epsilon = *upper, .epsilon_lower = lower.value_or(0), .cells = cells.size()};
  }

  // Every round of a block by the recursion, the blocks by one dominating pair each.
  std::optional<FixedSizeResult> InBlocks(bool zero_out, bool forward, double most) {
    struct Choice {
      uint64_t rounds = 0;
      double step = 0;
      bool coarse = false;
      double error = std::numeric_limits<double>::infinity();
    };
    Choice best;
    for (const double steps : kBlockSteps) {
      for (const bool coarse : {false, true}) {
        if (zero_out && coarse) continue;
        const double step = steps * start_.deviation;
        const size_t pairs = zero_out ? std::size(kPsi) - 1 : CellCount(zero_out, Half(coarse));
        const auto fits = [&](uint64_t rounds) {
          return Work(pairs, step, BlockWindow(rounds), rounds) <= most;
        };
        uint64_t rounds = 1;
        while (rounds < count_ && fits(rounds + rounds / 4 + 1)) rounds += rounds / 4 + 1;
        const double error = BlockError(static_cast<double>(rounds), steps, coarse);
        if (rounds > 1 && error < best.error) {
          best = {.rounds = rounds, .step = step, .coarse = coarse, .error = error};
        }
      }
    }
    if (best.rounds < 2 || count_ > kMostRounds) return std::nullopt;
    const uint64_t blocks = (count_ + best.rounds - 1) / best.rounds;
    const uint64_t rounds = (count_ + blocks - 1) / blocks;
    const Cells cells =
        zero_out ? ZeroOutCells(parts_, forward) : ReplaceCells(parts_, Half(best.coarse));
    const double block_deviation = start_.deviation * std::sqrt(static_cast<double>(rounds));
    const auto stride =
        static_cast<size_t>(std::max(1.0, std::floor(kStrideStep * block_deviation / best.step)));
    std::optional<LossLattice> block = DominatingBlock(
        LatticesOf(cells, range_, best.step, Side::kAbove), rounds, BlockWindow(rounds), stride);
    if (!block) return std::nullopt;
    const auto upper = Composed(*std::move(block), static_cast<double>(blocks), Side::kAbove);
    if (!upper) return std::nullopt;
    // One attained pair in all rounds is an adversary, too.
    double lower = 0;
    const double step =
        std::max({kFinestStep * start_.deviation, (range_.high - range_.low) / kMostLowerCells,
                  30 * start_.tilt.stddev / kMaxTransformPoints});
    for (const auto& pair : AttainedPairs(attained_, parts_.front().event.neighbouring, forward)) {
      const auto attained = Composed(OptimisticLattice(*pair, range_, step),
                                     static_cast<double>(count_), Side::kBelow);
      lower = std::max(lower, attained.value_or(0));
    }
    return FixedSizeResult{.epsilon = *upper, .epsilon_lower = lower, .cells = cells.size()};
  }

  static std::span<const double> Half(bool coarse) {
    return coarse ? std::span<const double>(kCoarseCuts) : std::span<const double>(kCuts);
  }

  std::optional<double> Composed(LossLattice lattice, double times, Side side) const {
    const LossSum sum({{.lattice = std::move(lattice), .rounds = times}});
    const auto epsilon =
        sum.Epsilon(sum.FindTilt(std::log(delta_)), delta_, side, kMaxTransformPoints);
    if (!epsilon || !std::isfinite(epsilon->epsilon)) return std::nullopt;
    return epsilon->epsilon;
  }

  // The largest step of the lattice with which the envelope's own epsilon is near its limit.
  double ChooseStep(const RoundLoss& envelope) {
    const double evaluations = (range_.high - range_.low) * static_cast<double>(parts_.size());
    double step = std::max(0.1 * start_.deviation, evaluations / kMaxEnvelopeWork);
    double work = 0;
    for (int halvings = 0; halvings < 6; ++halvings, step /= 2) {
      work += evaluations / step;
      if (halvings > 0 && work > kMaxEnvelopeWork) break;
      const LossSum sum({{.lattice = PessimisticLattice(envelope, range_, step),
                          .rounds = static_cast<double>(count_)}});
      const auto epsilon =
          sum.Epsilon(sum.TiltAt(start_.tilt.theta), delta_, Side::kAbove, kMaxTransformPoints);
      if (!epsilon) return step;
      const std::optional<double> coarser = std::exchange(envelope_epsilon_, epsilon->epsilon);
      // The error falls with the square of the step: this one has a third of the difference.
      if (coarser && (*coarser - epsilon->epsilon) / 3 <= kWantedError * epsilon->epsilon) break;
      if (epsilon->epsilon == 0) break;
    }
    return step;
  }

  // From an epsilon that is surely large enough to losses after which all is lost anyway.
  CompositionWindow Window() const {
    const LossSum::Tilt& tilt = start_.tilt;
    const double epsilon = std::max(tilt.mean, 0.0) + tilt.stddev;
    return {.theta = tilt.theta,
            .lowest = -epsilon - 1.2 * tilt.stddev,
            .highest = std::min(14 / (1 + tilt.theta), 20 * tilt.stddev)};
  }

  // Of so many rounds: what the tilted sum of their losses reaches, and one round's largest loss.
  CompositionWindow BlockWindow(uint64_t rounds) const {
    const double share = static_cast<double>(rounds) / static_cast<double>(count_);
    const double reach = 10 * start_.tilt.stddev * std::sqrt(share);
    return {.theta = start_.tilt.theta,
            .lowest = -(std::max(start_.tilt.mean, 0.0) * share + reach + range_.high),
            .highest = reach - range_.low};
  }

  static size_t CellCount(bool zero_out, std::span<const double> cuts) {
    // Of the n^2 cells of 2 (cuts + 1) = n intervals, those that reach over the diagonal.
    const size_t n = 2 * (cuts.size() + 1);
    return zero_out ? std::size(kPsi) - 1 : n * (n + 1) / 2;
  }

  // The time of one direction and `rounds` of the recursion, in units of half a second of a slow
  // core. Above 1: too much.
  double Work(size_t cells, double step, const CompositionWindow& window, uint64_t rounds) const {
    const double reach = (range_.high - range_.low) / step;
    const double length = (window.highest - window.lowest) / step + reach;
    const auto pairs = static_cast<double>(cells);
    const double transforms = (0.5 * pairs + 1) * static_cast<double>(rounds + 2) * length *
                              std::log2(std::max(length, 2.0));
    // Lines of a corner, about, for each part and cell; and the merged cells of the lower bound.
    double lines = 0;
    for (const WeightedEvent& part : parts_) {
      const double c = part.event.clip_norm / part.event.noise_stddev;
      lines += (22 + 2 * c) / std::min(0.6, 0.35 / c);
    }
    const double lattices = reach * (0.6 * pairs * lines + 24 * static_cast<double>(parts_.size()));
    return transforms / kTransformWork + lattices / kLineWork;
  }

  const std::vector<WeightedEvent>& parts_;
  const std::vector<WeightedEvent>& attained_;
  uint64_t count_;
  double delta_;
  CompositionStart start_;
  LossRange range_;
  double step_ = 0;
  std::optional<double> envelope_epsilon_;
};

}  // namespace

absl::StatusOr<std::optional<FixedSizeResult>> FixedSizeEpsilon(
    const std::vector<RepeatedEvent>& stream, double delta) {
  TACET_RETURN_IF_ERROR(CheckDelta(delta));
  TACET_RETURN_IF_ERROR(CheckStream(stream));
  const std::optional<RepeatedEvent> round = OnlyRound(stream);
  if (!round || round->count < 2) return std::nullopt;
  size_t before = 0;
  for (const size_t most : kMaxParts) {
    const std::vector<WeightedEvent> parts =
        GroupMixture(round->round, GroupedFor::kUpperBound, most);
    if (!IsFixedSize(parts)) return std::nullopt;
    if (std::exchange(before, parts.size()) == parts.size()) continue;
    const std::vector<WeightedEvent> attained =
        GroupMixture(round->round, GroupedFor::kLowerBound, most);
    const auto result = FixedSizeRounds(parts, attained, round->count, delta).Epsilon();
    if (result) return result;
  }
  return std::nullopt;
}

}  // namespace tacet::accounting
