#include "tacet/accounting/loss_rounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tacet/accounting/log_math.h"

namespace tacet::accounting {
namespace {

// Cells of a lattice times parts of a mixture that the tilt is looked for with.
constexpr double kMaxStartWork = 131'072;

}  // namespace

bool IsUnsampled(const SamplingEvent& event) {
  return event.sampling == Sampling::kNone ||
         (event.sampling_rate >= 1 && event.sampling != Sampling::kPoissonKnownSize);
}

std::unique_ptr<RoundLoss> LossOfMixture(const std::vector<WeightedEvent>& mixture,
                                         const LossOfEvent& loss_of) {
  std::vector<std::pair<double, std::unique_ptr<RoundLoss>>> parts;
  for (const WeightedEvent& part : mixture) {
    parts.emplace_back(part.probability,
                       part.event.sampling_rate > 0 ? loss_of(part.event) : ErasureLoss(0));
  }
  if (parts.size() == 1) return std::move(parts.front().second);
  return MixedLoss(std::move(parts));
}

LossRounds MakeLossRounds(const std::vector<WeightedEvent>& mixture, const LossOfEvent& loss_of,
                          double count, double total_rounds, double delta) {
  std::unique_ptr<RoundLoss> loss = LossOfMixture(mixture, loss_of);
  const LossRange range =
      FindLossRange(*loss, delta * 1e-5 / total_rounds, delta * 1e-12 / total_rounds);
  return {.loss = std::move(loss),
          .count = count,
          .range = range,
          .parts = static_cast<double>(mixture.size())};
}

CompositionStart FindCompositionStart(std::vector<LossRounds>& rounds, double delta) {
  double count = 0;
  double parts = 0;
  for (const LossRounds& r : rounds) {
    count += r.count;
    parts += r.parts;
  }
  CompositionStart start;
  double step = kInfinity;
  for (int turn = 0; turn < 12; ++turn) {
    double width = 0;
    for (const LossRounds& r : rounds) width = std::max(width, r.range.high - r.range.low);
    step = std::min(step, width / 1000);
    std::vector<LossSum::Part> lattices;
    for (const LossRounds& r : rounds) {
      lattices.push_back(
          {.lattice = PessimisticLattice(*r.loss, r.range, step), .rounds = r.count});
    }
    start.tilt = LossSum(std::move(lattices)).FindTilt(std::log(delta));
    start.deviation = start.tilt.stddev / std::sqrt(count);
    // Low losses hardly count under the tilt: they may share the range's lower end.
    for (LossRounds& r : rounds) {
      const double log_least = start.tilt.k / count - std::log(count) - 35;
      double low = r.range.low;
      while (low < -1e-3 * r.range.high &&
             std::log(r.loss->At(0.8 * low).p_below) + start.tilt.theta * 0.8 * low < log_least) {
        low *= 0.8;
      }
      r.range.low = low;
    }
    const double wanted = std::max(0.1 * start.deviation, width * parts / kMaxStartWork);
    if (step <= 1.5 * wanted) break;
    step = wanted;
  }
  return start;
}

}  // namespace tacet::accounting
