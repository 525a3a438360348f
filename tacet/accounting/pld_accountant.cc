#include "tacet/accounting/pld_accountant.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "tacet/accounting/fixed_size_loss.h"
#include "tacet/accounting/gaussian_mechanism.h"
#include "tacet/accounting/log_math.h"
#include "tacet/accounting/loss_composition.h"
#include "tacet/accounting/loss_lattice.h"
#include "tacet/accounting/loss_rounds.h"
#include "tacet/accounting/pure_releases.h"
#include "tacet/accounting/rdp_accountant.h"
#include "tacet/accounting/round_loss.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

constexpr double kFinestGap = 8e-5;  // relative to max(1, epsilon); refined no further
constexpr double kWantedGap = 1e-3;
// Equal pure releases whose losses are added exactly. More count as Gaussian ones.
constexpr uint64_t kMostPure = 10'000;
constexpr size_t kCheapPoints = size_t{1} << 19;  // refines towards the finest gap up to here
constexpr size_t kMaxPoints = size_t{1} << 19;
// Work that one bracket may take, in evaluations of one part's loss: some half a second.
constexpr double kMaxWork = 4e6;
constexpr double kWorkOfPoint = 3;          // of a transform
constexpr double kWorkOfExtended = 30;      // of one with more digits
constexpr double kWorkOfMergedCell = 12;    // of a lattice from below
constexpr double kFirstFineness = 0.04;     // steps in deviations of a round
constexpr double kCoarsestFineness = 1000;  // where even the first is too much work

// Kind of pair known for one round: one that dominates, or one that is attained.
enum class Bound { kUpper, kLower };

// The bounds that are asked for. One from above alone takes a tenth of the time.
enum class Wanted { kBoth, kUpper };

// Whether exchanging the neighbours changes the pair that dominates.
bool HasTwoDirections(const SamplingEvent& event) {
  return event.sampling == Sampling::kPoisson && !IsUnsampled(event) &&
         event.neighbouring == Neighbouring::kZeroOut;
}

std::unique_ptr<RoundLoss> EventLoss(const SamplingEvent& event, Bound bound, bool forward) {
  const double steepness = Sensitivity(event) / event.noise_stddev;
  const double q = event.sampling_rate;
  if (!(steepness <= kSteepest) && bound == Bound::kUpper) return ErasureLoss(q);
  const double c = steepness <= kSteepest ? steepness : kSteepest;
  if (IsUnsampled(event)) {
    return SampledGaussianLoss(1, c, true);
  }
  if (event.sampling == Sampling::kPoisson) {
    return event.neighbouring == Neighbouring::kZeroOut ? SampledGaussianLoss(q, c, forward)
                                                        : OppositeGaussianLoss(q, c / 2);
  }
  if (bound == Bound::kLower) {
    return SampledGaussianLoss(q, c, forward);
  }
  return event.neighbouring == Neighbouring::kZeroOut ? FixedSizeZeroOutLoss(q, c)
                                                      : FixedSizeReplaceLoss(q, c);
}

bool IsPure(const RepeatedEvent& repeated) { return repeated.round.front().event.pure_epsilon > 0; }

double TotalRounds(const std::vector<RepeatedEvent>& stream) {
  double total = 0;
  for (const RepeatedEvent& repeated : stream) total += static_cast<double>(repeated.count);
  return total;
}

// The choices of each kind of round, with little of delta charged to what they leave out.
std::vector<RoundChoices> ChoicesOfStream(const std::vector<RepeatedEvent>& stream, double delta) {
  std::vector<RoundChoices> choices;
  for (const RepeatedEvent& repeated : stream) {
    choices.push_back(
        ChoicesOf(repeated.round, {.negligible = NegligibleIn(TotalRounds(stream), delta)}));
  }
  return choices;
}

std::vector<LossRounds> StreamLosses(const std::vector<RepeatedEvent>& stream,
                                     const std::vector<RoundChoices>& choices, Bound bound,
                                     bool forward, double delta) {
  std::vector<LossRounds> rounds;
  for (size_t i = 0; i < stream.size(); ++i) {
    rounds.push_back(MakeLossRounds(
        choices[i], [&](const SamplingEvent& event) { return EventLoss(event, bound, forward); },
        static_cast<double>(stream[i].count), TotalRounds(stream), delta));
  }
  return rounds;
}

LossSum Lattices(const std::vector<LossRounds>& rounds, double step, Side side) {
  std::vector<LossSum::Part> parts;
  for (const LossRounds& r : rounds) {
    parts.push_back({.lattice = side == Side::kAbove ? PessimisticLattice(*r.loss, r.range, step)
                                                     : OptimisticLattice(*r.loss, r.range, step),
                     .rounds = r.count});
  }
  return LossSum(std::move(parts));
}

// The most by which rounding of the masses can move the composed loss.
double RoundingShift(const std::vector<LossRounds>& rounds, const LossSum& sum) {
  double count = 0;
  for (const LossRounds& r : rounds) {
    count += r.count;
  }
  return 2.3e-16 * count * static_cast<double>(sum.cells());
}

double TransformWork(const ComposedEpsilon& composed) {
  return static_cast<double>(composed.points) *
         (kWorkOfPoint + (composed.extended ? kWorkOfExtended : 0));
}

// Evaluations for a lattice from above and one from below.
double LatticeWork(const std::vector<LossRounds>& rounds, double step) {
  double work = 0;
  for (const LossRounds& r : rounds) {
    work += r.parts * (r.range.high - r.range.low) / step * (1 + kWorkOfMergedCell);
  }
  return work;
}

struct Bracket {
  double upper = kInfinity;
  double lower = 0;
  size_t points = 0;
  double theta = 1;    // the tilt under which the loss has its mean near epsilon
  bool tight = false;  // upper - lower <= kWantedGap max(1, upper)
};

// One round by itself: delta(t) = P(L > t) - e^t Q(L > t), no lattice needed.
Bracket OneRound(const RoundLoss& loss, const LossRange& range, double delta) {
  // The relative error of a tail at x standard deviations is about x^2 roundings.
  const auto solve = [&](double slack) {
    const auto too_much = [&](double t) {
      const LossSides sides = loss.At(t);
      if (sides.q_above < kLeastMass) return slack > 0 && sides.p_above * (1 + slack) > delta;
      return sides.p_above * (1 + slack) - std::exp(t) * sides.q_above * (1 - slack) > delta;
    };
    if (!too_much(0)) {
      return 0.0;
    }
    double low = 0;
    double high = range.high;
    if (too_much(high)) {
      return kInfinity;
    }
    while (high - low > 1e-10 * high) {
      const double middle = 0.5 * (low + high);
      (too_much(middle) ? low : high) = middle;
    }
    return slack > 0 ? high : low;
  };
  return {.upper = solve(1e-12), .lower = solve(-1e-12), .points = 0, .tight = true};
}

// The finest lattice, in deviations of a round, that a third of the work is enough for.
double FirstFineness(const std::vector<LossRounds>& rounds, const CompositionStart& start) {
  double fineness = kFirstFineness;
  while (LatticeWork(rounds, fineness * start.deviation) > 0.3 * kMaxWork &&
         fineness < kCoarsestFineness) {
    fineness *= 2;
  }
  return fineness;
}

// Upper and lower epsilon of one list of pairs, refined until they are close or the upper one is
// at most `enough`. The upper one alone is refined until it hardly falls: a lattice of half the
// step has a quarter of the error, so what is left is a third of the last fall.
Bracket BracketEpsilon(std::vector<LossRounds> rounds, double delta, double enough, Wanted wanted) {
  Bracket bracket;
  // Losses above the ranges together have less than delta, so the sum of their upper ends is a
  // bound.
  double beyond = 0;
  double most = 0;
  for (const LossRounds& r : rounds) {
    beyond += r.count * r.loss->At(r.range.high).p_above;
    most += r.count * r.range.high;
  }
  if (beyond <= delta) {
    bracket.upper = most;
  }
  if (bracket.upper <= enough) {
    return bracket;
  }
  if (rounds.size() == 1 && rounds.front().count == 1) {
    return OneRound(*rounds.front().loss, rounds.front().range, delta);
  }
  // More lost for certain than delta: no epsilon is enough.
  double log_kept = 0;
  for (const LossRounds& r : rounds) {
    log_kept += r.count * std::log1p(-std::min(1.0, r.loss->At(kBeyondAnyLoss).p_above));
  }
  if (-std::expm1(log_kept) > delta) {
    return bracket;
  }
  const CompositionStart start = FindCompositionStart(rounds, delta);
  if (!(start.deviation > 0)) {
    return bracket;
  }
  bracket.theta = start.tilt.theta;
  double last_gap = kInfinity;
  double spent = 0;
  for (double fineness = FirstFineness(rounds, start); fineness > 2e-4; fineness /= 2) {
    const double step = fineness * start.deviation;
    const LossSum above = Lattices(rounds, step, Side::kAbove);
    const auto upper =
        above.Epsilon(above.TiltAt(start.tilt.theta), delta, Side::kAbove, kMaxPoints);
    if (!upper) {
      if (bracket.points > 0 || fineness > kCoarsestFineness) {
        break;
      }
      fineness *= 8;  // too many points: four times coarser
      continue;
    }
    bracket.points = std::max(bracket.points, upper->points);
    const double before = bracket.upper;
    if (upper->epsilon == 0) {
      bracket.upper = 0;
    } else {
      bracket.upper = std::min(bracket.upper, upper->epsilon + RoundingShift(rounds, above));
    }
    if (bracket.upper <= enough) {
      break;
    }
    if (wanted == Wanted::kUpper) {
      spent += LatticeWork(rounds, step) + 2 * TransformWork(*upper);
      bracket.tight = (before - bracket.upper) / 3 <= kFinestGap * std::max(1.0, bracket.upper);
      if (bracket.tight || 3 * spent > kMaxWork) break;
      continue;
    }
    const LossSum below = Lattices(rounds, step, Side::kBelow);
    const auto lower =
        below.Epsilon(below.TiltAt(start.tilt.theta), delta, Side::kBelow, kMaxPoints);
    if (lower) {
      bracket.lower = std::max(bracket.lower, lower->epsilon - RoundingShift(rounds, below));
    }
    const double gap = (bracket.upper - bracket.lower) / std::max(1.0, bracket.upper);
    bracket.tight = gap <= kWantedGap;
    const double work = LatticeWork(rounds, step) + 2 * TransformWork(*upper);
    spent += work;
    if (gap <= kFinestGap || (bracket.tight && upper->points >= kCheapPoints) ||
        (bracket.tight && gap > 0.8 * last_gap) || spent + 2 * work > kMaxWork) {
      break;
    }
    last_gap = gap;
  }
  return bracket;
}

// A lower bound only, on lattices that are refined until it hardly grows.
double LowerEpsilon(std::vector<LossRounds> rounds, double delta) {
  // Nothing that matters is lost: the ranges and steps below would have no scale.
  double beyond = 0;
  for (const LossRounds& r : rounds) beyond += r.count * r.loss->At(1e-9).p_above;
  if (beyond <= delta) return 0;
  if (rounds.size() == 1 && rounds.front().count == 1) {
    return OneRound(*rounds.front().loss, rounds.front().range, delta).lower;
  }
  const CompositionStart start = FindCompositionStart(rounds, delta);
  if (!(start.deviation > 0)) return 0;
  double best = 0;
  double spent = 0;
  for (double fineness = FirstFineness(rounds, start); fineness > 2e-4; fineness /= 2) {
    const double step = fineness * start.deviation;
    const LossSum below = Lattices(rounds, step, Side::kBelow);
    const auto lower =
        below.Epsilon(below.TiltAt(start.tilt.theta), delta, Side::kBelow, kMaxPoints);
    if (!lower) break;
    const double before = best;
    best = std::max(best, lower->epsilon - RoundingShift(rounds, below));
    const double work = LatticeWork(rounds, step) + TransformWork(*lower);
    spent += work;
    const bool settled = best > 0 && best - before <= kWantedGap / 4 * std::max(1.0, best);
    if (settled || spent + 2 * work > kMaxWork) break;
  }
  return best;
}

// A pair that is attained, with a number of clients here that stays the same.
struct Attained {
  double epsilon = 0;
  std::optional<uint64_t> here = {};
};

Attained EpsilonHere(const std::vector<RepeatedEvent>& stream, double delta) {
  std::vector<RoundChoices> constant;
  for (const RepeatedEvent& repeated : stream) {
    constant.push_back(OnlyChoice(GroupMixture(repeated.round, GroupedFor::kLowerBound)));
  }
  return {.epsilon =
              LowerEpsilon(StreamLosses(stream, constant, Bound::kLower, true, delta), delta)};
}

// `count` rounds with always `here` clients here.
Attained EpsilonHere(const RepeatedEvent& rounds, uint64_t here, double delta) {
  Attained attained =
      EpsilonHere({{.round = WithHere(rounds.round, here), .count = rounds.count}}, delta);
  attained.here = here;
  return attained;
}

// Under the best numbers by their moments. For one round by itself, whose epsilon is cheap, the
// best of several numbers, and then of their neighbours.
Attained AttainedEpsilon(const std::vector<RepeatedEvent>& stream,
                         const std::vector<RoundChoices>& choices, double theta, double delta) {
  if (stream.size() == 1 && stream.front().count == 1 && HasChoices(stream.front().round)) {
    const std::vector<RoundChoices::Law>& laws = choices.front().laws;
    Attained best;
    size_t best_law = 0;
    const auto visit = [&](size_t law) {
      if (laws[law].here == 0) return;
      const Attained attained = EpsilonHere(stream.front(), laws[law].here, delta);
      if (attained.epsilon <= best.epsilon && best.here) return;
      best = attained;
      best_law = law;
    };
    constexpr size_t kVisits = 12;
    size_t stride = laws.size() / kVisits + 1;
    for (size_t law = 0; law < laws.size(); law += stride) visit(law);
    for (; stride > 1; stride = stride == 2 ? 1 : (stride + 1) / 2) {
      const size_t middle = best_law;
      const size_t half = (stride + 1) / 2;
      if (middle >= half) visit(middle - half);
      if (middle + half < laws.size()) visit(middle + half);
    }
    return best;
  }
  std::vector<RepeatedEvent> constant = stream;
  std::optional<uint64_t> here;
  for (size_t i = 0; i < stream.size(); ++i) {
    if (!HasChoices(stream[i].round)) continue;
    here = choices[i].laws[WorstLaw(choices[i], theta)].here;
    constant[i].round = WithHere(stream[i].round, *here);
  }
  Attained attained = EpsilonHere(constant, delta);
  if (stream.size() == 1) attained.here = here;
  return attained;
}

// The closed form for the stream as if everybody were always known to take part: never below any
// sampled answer. Mixtures are taken at their worst part.
double UnsampledEpsilon(const std::vector<RepeatedEvent>& stream, double delta) {
  double mu_square = 0;
  std::vector<PureReleases> pure;
  for (const RepeatedEvent& repeated : stream) {
    double worst = 0;
    for (const WeightedEvent& part : repeated.round) {
      if (part.probability > 0 && part.event.sampling_rate > 0) {
        worst = std::max(worst, GaussianMu(part.event));
      }
    }
    if (IsPure(repeated) && repeated.count <= kMostPure) {
      pure.push_back({repeated.round.front().event.pure_epsilon, repeated.count});
    } else if (repeated.count > 0 && worst > 0) {
      mu_square += static_cast<double>(repeated.count) * worst * worst;
    }
  }
  const double mu = std::sqrt(mu_square);
  return pure.empty() ? GaussianEpsilon(mu, delta) : EpsilonWithPure(mu, pure, delta);
}

bool AllUnsampled(const std::vector<RepeatedEvent>& stream) {
  return std::all_of(stream.begin(), stream.end(), [](const RepeatedEvent& repeated) {
    return repeated.count == 0 ||
           (repeated.round.size() == 1 && IsUnsampled(repeated.round.front().event));
  });
}

bool AnyPure(const std::vector<RepeatedEvent>& stream) {
  return std::ranges::any_of(stream, IsPure);
}

bool AnyTwoDirections(const std::vector<RepeatedEvent>& stream) {
  for (const RepeatedEvent& repeated : stream) {
    for (const WeightedEvent& part : repeated.round) {
      if (HasTwoDirections(part.event)) {
        return true;
      }
    }
  }
  return false;
}

// Whether the upper bound's pair may lie above the truth by more than its lattice: fixed-size
// sampling has an envelope only, and long mixtures are grouped.
bool NeedsOwnLowerBound(const std::vector<RepeatedEvent>& stream) {
  for (const RepeatedEvent& repeated : stream) {
    if (repeated.round.size() > kUngroupedParts) {
      return true;
    }
    for (const WeightedEvent& part : repeated.round) {
      if (!IsUnsampled(part.event) && part.event.sampling != Sampling::kPoisson) {
        return true;
      }
    }
  }
  return false;
}

// The larger answer of the directions in which neighbours can be compared. The direction with the
// unit present first is nearly always the larger one: the other is followed only until it is known
// not to matter.
Bracket WorstDirection(const std::vector<RepeatedEvent>& stream,
                       const std::vector<RoundChoices>& choices, double delta, Wanted wanted) {
  Bracket worst =
      BracketEpsilon(StreamLosses(stream, choices, Bound::kUpper, true, delta), delta, 0, wanted);
  if (AnyTwoDirections(stream)) {
    const bool both = wanted == Wanted::kBoth;
    const Bracket other = BracketEpsilon(StreamLosses(stream, choices, Bound::kUpper, false, delta),
                                         delta, both ? worst.lower : worst.upper, wanted);
    worst.tight = worst.tight && (other.tight || other.upper <= worst.upper);
    worst.upper = std::max(worst.upper, other.upper);
    worst.lower = std::max(worst.lower, other.lower);
    worst.points = std::max(worst.points, other.points);
    if (both) worst.tight = worst.upper - worst.lower <= kWantedGap * std::max(1.0, worst.upper);
  }
  return worst;
}

absl::StatusOr<PldResult> BoundStream(const std::vector<RepeatedEvent>& given, double delta,
                                      Wanted wanted);

// Pure releases together with sampled ones: above, Gaussian releases that lose as much; below,
// without them.
absl::StatusOr<PldResult> WithPure(std::vector<RepeatedEvent> stream, double delta, Wanted wanted) {
  std::vector<RepeatedEvent> others;
  for (RepeatedEvent& repeated : stream) {
    if (!IsPure(repeated)) {
      others.push_back(repeated);
      continue;
    }
    SamplingEvent& event = repeated.round.front().event;
    event = GaussianInPlaceOfPure(event);
  }
  TACET_ASSIGN_OR_RETURN(PldResult result, BoundStream(stream, delta, wanted));
  if (wanted == Wanted::kUpper) return result;
  TACET_ASSIGN_OR_RETURN(const PldResult below, BoundStream(others, delta, wanted));
  result.epsilon_lower = below.epsilon_lower;
  result.attained_here = below.attained_here;
  return result;
}

absl::StatusOr<PldResult> BoundStream(const std::vector<RepeatedEvent>& given, double delta,
                                      Wanted wanted) {
  TACET_RETURN_IF_ERROR(CheckDelta(delta));
  TACET_RETURN_IF_ERROR(CheckStream(given));
  // Rounds in which nobody is sampled cost nothing.
  std::vector<RepeatedEvent> stream;
  for (const RepeatedEvent& repeated : given) {
    const bool costs = std::any_of(
        repeated.round.begin(), repeated.round.end(),
        [](const WeightedEvent& w) { return w.probability > 0 && w.event.sampling_rate > 0; });
    if (repeated.count > 0 && costs) {
      stream.push_back(repeated);
    }
  }
  if (stream.empty()) {
    return PldResult{.tight = true};
  }
  const double unsampled = UnsampledEpsilon(stream, delta);
  if (AllUnsampled(stream)) {
    if (!AnyPure(stream)) {
      return PldResult{.epsilon = unsampled, .epsilon_lower = unsampled, .tight = true};
    }
    // Randomized response may lose more than the release that it stands for.
    std::erase_if(stream, IsPure);
    return PldResult{
        .epsilon = unsampled, .epsilon_lower = UnsampledEpsilon(stream, delta), .tight = true};
  }
  if (AnyPure(stream)) return WithPure(std::move(stream), delta, wanted);
  const std::vector<RoundChoices> choices = ChoicesOfStream(stream, delta);
  const Bracket upper = WorstDirection(stream, choices, delta, wanted);
  PldResult result{.epsilon = upper.upper,
                   .epsilon_lower = upper.lower,
                   .tight = upper.tight,
                   .points = upper.points};
  if (wanted == Wanted::kBoth && NeedsOwnLowerBound(stream)) {
    const Attained attained = AttainedEpsilon(stream, choices, upper.theta, delta);
    result.epsilon_lower = attained.epsilon;
    result.attained_here = attained.here;
  }
  if (unsampled < result.epsilon) {
    result.epsilon = unsampled;
    result.note = "the bracket was not reached; the bound leaves the sampling out";
  } else {
    result.note = "the bracket was not reached; the loss distribution's own upper bound is used";
  }
  if (!upper.tight) {
    TACET_ASSIGN_OR_RETURN(const RdpResult rdp, RdpEpsilon(stream, delta));
    if (rdp.epsilon < result.epsilon) {
      result.epsilon = rdp.epsilon;
      result.note = "the bracket was not reached; the bound is by Renyi moments";
    }
    result.tight = result.epsilon - upper.lower <= kWantedGap * std::max(1.0, result.epsilon);
  }
  if (result.tight) {
    result.note.clear();
  }
  result.epsilon_lower = std::min(result.epsilon_lower, result.epsilon);
  return result;
}

}  // namespace

absl::StatusOr<PldResult> PldEpsilon(const std::vector<RepeatedEvent>& stream, double delta) {
  return BoundStream(stream, delta, Wanted::kBoth);
}

absl::StatusOr<double> PldUpperEpsilon(const std::vector<RepeatedEvent>& stream, double delta) {
  TACET_ASSIGN_OR_RETURN(const PldResult result, BoundStream(stream, delta, Wanted::kUpper));
  return result.epsilon;
}

}  // namespace tacet::accounting
