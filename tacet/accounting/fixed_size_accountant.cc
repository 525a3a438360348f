#include "tacet/accounting/fixed_size_accountant.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
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

constexpr double kCoarsePsi[] = {0, 1.3, 1.9, 2.4, std::numbers::pi};
constexpr double kCoarsestPsi[] = {0, 1.9, std::numbers::pi};

// Ends of the strips of the smaller angle at u or v.
constexpr double kStrips[] = {0.06, 0.12, 0.2, 0.3, 0.45, 0.6, kRightAngle / 2};
constexpr double kCoarseStrips[] = {0.12, 0.3, 0.55};

std::vector<double> Cuts(std::span<const double> half) {
  std::vector<double> cuts = {0, kRightAngle / 2, kRightAngle};
  for (const double cut : half) {
    cuts.push_back(cut);
    cuts.push_back(kRightAngle - cut);
  }
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

// The losses of a half in a round's choices: it is given lengths in units of
// the clip norm's radius c = S / sigma.
using HalfLoss = std::function<std::unique_ptr<RoundLoss>(double q, double c)>;

// One for each range of laws.
using Half = std::vector<std::shared_ptr<const RoundLoss>>;

// A round's choices, with their laws in a few ranges of numbers that cost alike.
struct RangedChoices {
  RoundChoices choices;
  std::vector<size_t> ends;
};

Half HalfOf(const RangedChoices& ranged, double distance, const HalfLoss& half) {
  Half losses;
  for (auto& loss : LossesOfChoices(
           ranged.choices,
           [&](const SamplingEvent& event) {
             return half(event.sampling_rate, event.clip_norm / event.noise_stddev);
           },
           ranged.ends, distance)) {
    losses.push_back(std::move(loss));
  }
  return losses;
}

// One dominating pair for each cell of the set of triangles and each range, as losses.
using Cells = std::vector<std::unique_ptr<RoundLoss>>;

void AddPairs(const Half& above, const Half& below, Cells& cells) {
  for (size_t range = 0; range < above.size(); ++range) {
    cells.push_back(TwoHalvesLoss(above[range], below[range]));
  }
}

// Replace-one: acute and right triangles inscribed in the circle of radius c, by their angles at v
// and at u. In a cell the sides and cosines are at most those at its ends.
Cells ReplaceCells(const RangedChoices& ranged, std::span<const double> half_cuts) {
  const std::vector<double> cuts = Cuts(half_cuts);
  const size_t n = cuts.size() - 1;
  // halves[i][j]: the corner at u where the angle at v is in cell i and that at u in cell j. The
  // corner at v is the same with the two exchanged.
  std::vector<std::vector<Half>> halves(n, std::vector<Half>(n));
  const auto inside = [&](size_t i, size_t j) {
    return cuts[i + 1] + cuts[j + 1] > kRightAngle + 1e-9;
  };
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      if (!inside(i, j)) continue;
      const double at_w = std::min(kRightAngle, 2 * kRightAngle - cuts[i] - cuts[j]);
      halves[i][j] = HalfOf(ranged, 2 * std::sin(at_w), [&](double q, double c) {
        return CornerLoss(q, {.rest = 2 * c * std::sin(cuts[i + 1]),
                              .moved = 2 * c * std::sin(at_w),
                              .cosine = std::cos(cuts[j])});
      });
    }
  }
  Cells cells;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      if (inside(i, j)) AddPairs(halves[i][j], halves[j][i], cells);
    }
  }
  return cells;
}

// Replace-one, with fewer pairs: strips of triangles by the smaller of the angles at u and at v, up
// to `strips.back()`, and one cell for those where both are larger. At the corner with that angle
// both sides count as 2 c. The other angle is at least its complement.
Cells ReplaceStrips(const RangedChoices& ranged, std::span<const double> strips) {
  const auto half_of = [&](double rest, double cosine) {
    return HalfOf(ranged, 2, [&](double q, double c) {
      return CornerLoss(q, {.rest = 2 * c * rest, .moved = 2 * c, .cosine = cosine});
    });
  };
  Cells cells;
  double angle = 0;
  Half near = half_of(1, 1);
  for (const double next : strips) {
    const Half far = half_of(std::sin(next), std::sin(next));
    AddPairs(near, far, cells);
    AddPairs(far, near, cells);
    angle = next;
    near = half_of(1, std::cos(angle));
  }
  AddPairs(near, near, cells);
  return cells;
}

// Zero-out: u and w on the sphere, by the angle psi between them. The half seen from u grows with
// psi, the half seen from 0 falls with it.
Cells ZeroOutCells(const RangedChoices& ranged, std::span<const double> psi, bool present_first) {
  Cells cells;
  for (size_t i = 0; i + 1 < psi.size(); ++i) {
    const double sine = std::sin(psi[i + 1] / 2);
    const Half at_unit = HalfOf(ranged, 1, [&](double q, double c) {
      return CornerLoss(q, {.rest = 2 * c * sine, .moved = c, .cosine = sine});
    });
    const Half at_zero = HalfOf(ranged, 1, [&](double q, double c) {
      return CornerLoss(q, {.rest = c, .moved = c, .cosine = std::cos(psi[i])});
    });
    present_first ? AddPairs(at_unit, at_zero, cells) : AddPairs(at_zero, at_unit, cells);
  }
  return cells;
}

// Pairs that are attained. Replace-one: w = v in both orders; zero-out: w = -u.
Cells AttainedPairs(const std::vector<WeightedEvent>& parts, Neighbouring neighbouring,
                    bool forward) {
  Cells pairs;
  const RoundChoices only = OnlyChoice(parts);
  const auto add = [&](const HalfLoss& loss) {
    pairs.push_back(LossOfChoices(only, [&](const SamplingEvent& event) {
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

std::vector<LossLattice> LatticesAbove(const Cells& cells, const std::vector<int64_t>& dots,
                                       double step) {
  std::vector<LossLattice> lattices;
  for (const auto& cell : cells) lattices.push_back(PessimisticLattice(*cell, dots, step));
  return WithoutDominated(std::move(lattices));
}

std::vector<LossLattice> LatticesBelow(const Cells& cells, const LossRange& range, double step) {
  std::vector<LossLattice> lattices;
  for (const auto& cell : cells) lattices.push_back(OptimisticLattice(*cell, range, step));
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
bool IsFixedSize(const std::vector<SamplingEvent>& forms) {
  bool sampled = false;
  for (const SamplingEvent& event : forms) {
    if (event.sampling != Sampling::kFixedSize ||
        !(Sensitivity(event) <= kSteepest * event.noise_stddev) ||
        event.neighbouring != forms.front().neighbouring ||
        event.clip_norm != forms.front().clip_norm) {
      return false;
    }
    sampled |= event.sampling_rate > 0 && event.sampling_rate < 1;
  }
  return sampled;
}

// Butterflies of transforms, and lines of corners, that may be paid for. They are counted as if
// every lattice point were a dot, every line were taken and every cell stayed. A third of them is
// done, in some 0.2 seconds.
constexpr double kTransformWork = 4e8;
constexpr double kLineWork = 4e6;
// Where the number of clients here is anybody's choice there are more forms, and no other bound is
// near: it may take so much more.
constexpr double kWorkOfChoices = 2;
// Evaluations of the envelope while a step is chosen.
constexpr double kMaxEnvelopeWork = 2e5;
constexpr size_t kMaxTransformPoints = size_t{1} << 18;
// Parts of a mixture that are told apart, and how coarsely; the first that can be paid for.
constexpr ChoicesSpec kResolutions[] = {{.ungrouped = 32, .coarseness = 1},
                                        {.ungrouped = 20, .coarseness = 1.6},
                                        {.ungrouped = 12, .coarseness = 2.5},
                                        {.ungrouped = 8, .coarseness = 4}};
// The most that the lattice may add to epsilon, relative to it.
constexpr double kWantedError = 4e-4;
// The most that leaving out dots may add to log delta: some 5e-5 of epsilon.
constexpr double kSparseError = 1e-3;
// Blocks of rounds: work that they may take, steps of a round's lattice in its deviations, that of
// a block's lattice in deviations of the block.
constexpr double kBlockWork = 1.7;
// Beyond them the charge for errors of masses is as large as delta.
constexpr uint64_t kMostRounds = 10'000'000;
constexpr double kBlockSteps[] = {0.12, 0.2, 0.3};
constexpr double kStrideStep = 0.03;
// For the attained pairs, which are composed without a recursion.
constexpr double kFinestStep = 0.02;
constexpr double kMostLowerCells = 20000;

// About what such blocks add to epsilon, relative to it, as measured: a block's pair has the worst
// of all adversaries in both halves, so its excess falls with the root of its length.
double BlockError(double rounds, double steps, double cut_error) {
  return 0.2 / std::sqrt(rounds) + 0.1 * steps * steps + cut_error;
}

// A way to cut the set of triangles.
struct Cut {
  std::function<Cells(const RangedChoices& ranged, bool forward)> cells;
  double halves = 0;  // different halves, and pairs of them
  double pairs = 0;
  double error = 0;  // about what it adds to epsilon, relative to it, more than the finest
};

Cut CellsOf(std::span<const double> half_cuts, double error) {
  // Among the n^2 cells of n intervals, those that reach over the diagonal.
  const auto n = static_cast<double>(2 * (half_cuts.size() + 1));
  return {.cells = [=](const RangedChoices& r, bool) { return ReplaceCells(r, half_cuts); },
          .halves = n * (n + 1) / 2,
          .pairs = n * (n + 1) / 2,
          .error = error};
}

Cut StripsOf(std::span<const double> strips, double error) {
  const auto n = static_cast<double>(strips.size());
  return {.cells = [=](const RangedChoices& r, bool) { return ReplaceStrips(r, strips); },
          .halves = 2 * n,  // the first is on a line
          .pairs = 2 * n + 1,
          .error = error};
}

Cut AnglesOf(std::span<const double> psi, double error) {
  const auto n = static_cast<double>(psi.size()) - 1;
  return {
      .cells = [=](const RangedChoices& r, bool forward) { return ZeroOutCells(r, psi, forward); },
      .halves = 2 * n,
      .pairs = n,
      .error = error};
}

class FixedSizeRounds {
 public:
  FixedSizeRounds(const std::vector<WeightedEvent>& round, RoundChoices choices, uint64_t count,
                  double delta)
      : choices_(std::move(choices)), count_(count), delta_(delta) {
    const bool zero_out = IsZeroOut();
    std::vector<LossRounds> rounds;
    rounds.push_back(MakeLossRounds(
        choices_,
        [&](const SamplingEvent& event) {
          const double c = event.clip_norm / event.noise_stddev;
          return zero_out ? FixedSizeZeroOutLoss(event.sampling_rate, c)
                          : FixedSizeReplaceLoss(event.sampling_rate, 2 * c);
        },
        static_cast<double>(count), static_cast<double>(count), delta));
    start_ = FindCompositionStart(rounds, delta);
    range_ = rounds.front().range;
    if (!(start_.deviation > 0)) return;
    envelope_ = std::move(rounds.front().loss);
    step_ = ChooseStep();
    if (!HasChoices(round)) {
      attained_ = GroupMixture(round, GroupedFor::kLowerBound);
      return;
    }
    worst_law_ = WorstLaw(choices_, std::max(start_.tilt.theta, 0.1));
    here_ = choices_.laws[worst_law_].here;
    attained_ = GroupMixture(WithHere(round, *here_), GroupedFor::kLowerBound);
  }

  // With the first of `cuts` that can be paid for, or in blocks of rounds.
  std::optional<FixedSizeResult> Epsilon(std::span<const Cut> cuts, bool in_blocks) {
    if (!(start_.deviation > 0)) return std::nullopt;
    // Nothing is below 0, and the envelope has shown it.
    if (envelope_epsilon_ == 0.0) return FixedSizeResult{.cells = 1};
    std::optional<FixedSizeResult> worst;
    for (const bool forward : {true, false}) {
      if (!forward && !IsZeroOut()) break;
      const std::optional<FixedSizeResult> result =
          in_blocks ? InBlocks(cuts, forward) : Direction(cuts, forward);
      if (!result) return std::nullopt;
      if (!worst || result->epsilon > worst->epsilon) {
        const double lower = worst ? worst->epsilon_lower : 0;
        worst = result;
        worst->epsilon_lower = std::max(worst->epsilon_lower, lower);
      } else {
        worst->epsilon_lower = std::max(worst->epsilon_lower, result->epsilon_lower);
      }
    }
    worst->attained_here = here_;
    return worst;
  }

 private:
  bool IsZeroOut() const { return choices_.forms.front().neighbouring == Neighbouring::kZeroOut; }

  // The first cut, and the finest step, that can be paid for.
  std::optional<Cut> Affordable(std::span<const Cut> cuts, double& step) const {
    const double coarsest = 0.1 * start_.deviation;
    const double most = MostWork();
    for (const double widest : {coarsest, 2 * coarsest}) {
      for (const Cut& cut : cuts) {
        step = step_;
        while (Work(cut, step, Window(), count_) > most && step < widest)
          step *= std::numbers::sqrt2;
        if (Work(cut, step, Window(), count_) <= most) return cut;
      }
    }
    return std::nullopt;
  }

  std::optional<FixedSizeResult> Direction(std::span<const Cut> cuts, bool forward) {
    double step = step_;
    const std::optional<Cut> cut = Affordable(cuts, step);
    if (!cut) return std::nullopt;
    const Cells cells = cut->cells({choices_, Ranges()}, forward);
    const Cells attained = AttainedPairs(attained_, choices_.forms.front().neighbouring, forward);
    const auto upper = AdaptiveEpsilon(LatticesAbove(cells, Dots(step), step), count_, delta_,
                                       Window(), Side::kAbove);
    if (!upper) return std::nullopt;
    const auto lower = AdaptiveEpsilon(LatticesBelow(attained, range_, step), count_, delta_,
                                       Window(), Side::kBelow);
    return FixedSizeResult{
        .epsilon = *upper, .epsilon_lower = lower.value_or(0), .cells = cells.size()};
  }

  // Every round of a block by the recursion, the blocks by one dominating pair each.
  std::optional<FixedSizeResult> InBlocks(std::span<const Cut> cuts, bool forward) {
    struct Choice {
      uint64_t rounds = 0;
      double step = 0;
      const Cut* cut = nullptr;
      double error = std::numeric_limits<double>::infinity();
    };
    Choice best;
    for (const double steps : kBlockSteps) {
      for (const Cut& cut : cuts) {
        const double step = steps * start_.deviation;
        const auto fits = [&](uint64_t rounds) {
          return Work(cut, step, BlockWindow(rounds), rounds) <= MostWork() * kBlockWork;
        };
        uint64_t rounds = 1;
        while (rounds < count_ && fits(rounds + rounds / 4 + 1)) rounds += rounds / 4 + 1;
        const double error = BlockError(static_cast<double>(rounds), steps, cut.error);
        if (rounds > 1 && error < best.error) {
          best = {.rounds = rounds, .step = step, .cut = &cut, .error = error};
        }
      }
    }
    if (best.rounds < 2 || count_ > kMostRounds) return std::nullopt;
    const uint64_t blocks = (count_ + best.rounds - 1) / best.rounds;
    const uint64_t rounds = (count_ + blocks - 1) / blocks;
    const Cells cells = best.cut->cells({choices_, Ranges()}, forward);
    const double block_deviation = start_.deviation * std::sqrt(static_cast<double>(rounds));
    const auto stride =
        static_cast<size_t>(std::max(1.0, std::floor(kStrideStep * block_deviation / best.step)));
    std::optional<LossLattice> block = DominatingBlock(
        LatticesAbove(cells, Dots(best.step), best.step), rounds, BlockWindow(rounds), stride);
    if (!block) return std::nullopt;
    const auto upper = Composed(*std::move(block), static_cast<double>(blocks), Side::kAbove);
    if (!upper) return std::nullopt;
    // One attained pair in all rounds is an adversary, too.
    double lower = 0;
    const double step =
        std::max({kFinestStep * start_.deviation, (range_.high - range_.low) / kMostLowerCells,
                  30 * start_.tilt.stddev / kMaxTransformPoints});
    for (const auto& pair :
         AttainedPairs(attained_, choices_.forms.front().neighbouring, forward)) {
      const auto attained = Composed(OptimisticLattice(*pair, range_, step),
                                     static_cast<double>(count_), Side::kBelow);
      lower = std::max(lower, attained.value_or(0));
    }
    return FixedSizeResult{.epsilon = *upper, .epsilon_lower = lower, .cells = cells.size()};
  }

  std::optional<double> Composed(LossLattice lattice, double times, Side side) const {
    const LossSum sum({{.lattice = std::move(lattice), .rounds = times}});
    const auto epsilon =
        sum.Epsilon(sum.FindTilt(std::log(delta_)), delta_, side, kMaxTransformPoints);
    if (!epsilon || !std::isfinite(epsilon->epsilon)) return std::nullopt;
    return epsilon->epsilon;
  }

  // Where the cells' profiles are computed. The envelope is at least as large as each.
  std::vector<int64_t> Dots(double step) const {
    return SparseDots(PessimisticLattice(*envelope_, range_, step), start_.tilt.theta,
                      kSparseError / static_cast<double>(count_));
  }

  // Ends of the ranges of laws: the adversary's best constant number, and the one with which a
  // single round costs most, have ranges of their own.
  std::vector<size_t> Ranges() const {
    const size_t all = choices_.laws.size();
    const size_t at_zero = choices_.WorstAtZero(0, all, IsZeroOut() ? 1 : 2);
    std::vector<size_t> ends;
    if (here_ && worst_law_ < at_zero) {
      const size_t half = (at_zero - worst_law_) / 2;
      for (const size_t end :
           {worst_law_ - std::min(half, worst_law_), worst_law_, worst_law_ + half, at_zero}) {
        if (end > (ends.empty() ? 0 : ends.back())) ends.push_back(end);
      }
    }
    ends.push_back(all);
    return ends;
  }

  // The largest step of the lattice with which the envelope's own epsilon is near its limit.
  double ChooseStep() {
    const double evaluations =
        (range_.high - range_.low) * static_cast<double>(choices_.forms.size());
    double step = std::max(0.1 * start_.deviation, evaluations / kMaxEnvelopeWork);
    double work = 0;
    for (int halvings = 0; halvings < 6; ++halvings, step /= 2) {
      work += evaluations / step;
      if (halvings > 0 && work > kMaxEnvelopeWork) break;
      const LossSum sum({{.lattice = PessimisticLattice(*envelope_, range_, step),
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

  // Reaches from an epsilon that is surely large enough to losses after which all is lost anyway.
  CompositionWindow Window() const {
    const LossSum::Tilt& tilt = start_.tilt;
    const double epsilon = std::max(tilt.mean, 0.0) + tilt.stddev;
    return {.theta = tilt.theta,
            .lowest = -epsilon - 1.2 * tilt.stddev,
            .highest = std::min(14 / (1 + tilt.theta), 20 * tilt.stddev)};
  }

  // For so many rounds: what the tilted sum of their losses reaches, and one round's largest loss.
  CompositionWindow BlockWindow(uint64_t rounds) const {
    const double share = static_cast<double>(rounds) / static_cast<double>(count_);
    const double reach = 10 * start_.tilt.stddev * std::sqrt(share);
    return {.theta = start_.tilt.theta,
            .lowest = -(std::max(start_.tilt.mean, 0.0) * share + reach + range_.high),
            .highest = reach - range_.low};
  }

  // For one direction, or for one of two.
  double MostWork() const { return (here_ ? kWorkOfChoices : 1) * (IsZeroOut() ? 0.4 : 1); }

  // The work of one direction and `rounds` of the recursion, relative to what may be paid for.
  // Above MostWork: too much.
  double Work(const Cut& cut, double step, const CompositionWindow& window, uint64_t rounds) const {
    const double reach = (range_.high - range_.low) / step;
    const double length = (window.highest - window.lowest) / step + reach;
    const auto ranges = static_cast<double>(Ranges().size());
    const double transforms = (0.5 * cut.pairs * ranges + 1) * static_cast<double>(rounds + 2) *
                              length * std::log2(std::max(length, 2.0));
    // Lines of a corner, about, for each form and half; and the merged cells of the lower bound.
    double lines = 0;
    for (const SamplingEvent& form : choices_.forms) {
      const double c = form.clip_norm / form.noise_stddev;
      if (form.sampling_rate < 1) lines += (22 + 2 * c) / std::min(0.6, 0.35 / c);
    }
    const double lattices =
        reach * (0.6 * cut.halves * lines + 24 * static_cast<double>(attained_.size()));
    return transforms / kTransformWork + lattices / kLineWork;
  }

  RoundChoices choices_;
  std::vector<WeightedEvent> attained_;
  std::optional<uint64_t> here_;  // the adversary's best constant number, where it has a choice
  size_t worst_law_ = 0;          // that stands for it
  uint64_t count_;
  double delta_;
  CompositionStart start_;
  std::unique_ptr<RoundLoss> envelope_;  // of one round
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
  const bool zero_out = round->round.front().event.neighbouring == Neighbouring::kZeroOut;
  std::vector<Cut> fine = zero_out ? std::vector{AnglesOf(kPsi, 0)}
                                   : std::vector{CellsOf(kCuts, 0), CellsOf(kCoarseCuts, 0.008)};
  std::vector<Cut> coarse = {zero_out ? AnglesOf(kCoarsestPsi, 0.02)
                                      : StripsOf(kCoarseStrips, 0.02)};
  if (HasChoices(round->round)) {
    fine.push_back(zero_out ? AnglesOf(kCoarsePsi, 0.01) : StripsOf(kStrips, 0.004));
  } else {
    coarse.clear();
  }
  // The cuts, and whether rounds are taken in blocks.
  const std::pair<std::vector<Cut>, bool> ways[] = {{fine, false}, {coarse, false}, {fine, true}};
  for (const auto& [cuts, in_blocks] : ways) {
    if (cuts.empty()) continue;
    size_t before = 0;
    for (ChoicesSpec resolution : kResolutions) {
      resolution.negligible = NegligibleIn(static_cast<double>(round->count), delta);
      RoundChoices choices = ChoicesOf(round->round, resolution);
      if (!IsFixedSize(choices.forms)) return std::nullopt;
      const size_t forms = choices.forms.size();
      if (std::exchange(before, forms) == forms) continue;
      const auto result = FixedSizeRounds(round->round, std::move(choices), round->count, delta)
                              .Epsilon(cuts, in_blocks);
      if (result) return result;
    }
  }
  return std::nullopt;
}

}  // namespace tacet::accounting
