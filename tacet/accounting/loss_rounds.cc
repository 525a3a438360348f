#include "tacet/accounting/loss_rounds.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "tacet/accounting/log_math.h"

namespace tacet::accounting {
namespace {

// Cells of a lattice times parts of a mixture that the tilt is looked for with.
constexpr double kMaxStartWork = 131'072;

// Sides of every law of some choices; of each range of laws those of the one with the largest
// profile.
class ChoiceLosses {
 public:
  ChoiceLosses(const RoundChoices& choices, const LossOfEvent& loss_of, std::vector<size_t> ends,
               double distance, bool remember)
      : laws_(choices.laws), ends_(std::move(ends)), remember_(remember) {
    for (const SamplingEvent& form : choices.forms) forms_.push_back(loss_of(form));
    size_t first = 0;
    for (const size_t last : ends_) {
      at_zero_.push_back(choices.WorstAtZero(first, last, distance));
      first = last;
    }
    zero_ = SidesAt(0);
  }

  LossSides At(size_t range, double t) const {
    if (!remember_) return SidesAt(t)[range];
    const auto [entry, is_new] = sides_.try_emplace(t);
    if (is_new) entry->second = SidesAt(t);
    return entry->second[range];
  }

  // Nothing is released with what the law leaves.
  double AtomAtZero(size_t range) const {
    double drawn = 0;
    double total = 0;
    for (const auto& [form, weight] : laws_[at_zero_[range]].weights) {
      drawn += weight;
      total += weight * forms_[form]->AtomAtZero();
    }
    return total + std::max(0.0, 1 - drawn);
  }

 private:
  std::vector<LossSides> SidesAt(double t) const {
    std::vector<LossSides> forms;
    std::vector<double> profile;  // above its trivial part, (1 - e^t)^+
    for (const auto& form : forms_) {
      const LossSides sides = form->At(t);
      forms.push_back(sides);
      if (t >= 0) {
        profile.push_back(sides.q_above < kLeastMass ? sides.p_above
                                                     : sides.p_above - std::exp(t) * sides.q_above);
      } else {
        profile.push_back(std::exp(t) * sides.q_below - sides.p_below);
      }
    }
    std::vector<LossSides> ranges;
    size_t first = 0;
    for (size_t range = 0; range < ends_.size(); ++range) {
      size_t largest = first;
      if (t == 0) {
        largest = at_zero_[range];
      } else if (ends_[range] - first > 1) {
        double most = -kInfinity;
        for (size_t i = first; i < ends_[range]; ++i) {
          double total = 0;
          for (const auto& [form, weight] : laws_[i].weights) total += weight * profile[form];
          if (total > most) {
            most = total;
            largest = i;
          }
        }
      }
      LossSides& sides = ranges.emplace_back();
      for (const auto& [form, weight] : laws_[largest].weights) {
        sides.p_below += weight * forms[form].p_below;
        sides.p_above += weight * forms[form].p_above;
        sides.q_below += weight * forms[form].q_below;
        sides.q_above += weight * forms[form].q_above;
      }
      // The mass beyond t is the law's own; the rest is what is left of the masses at 0, where
      // another law may be the largest.
      if (t != 0 && ends_[range] - first > 1) {
        const LossSides& zero = zero_[range];
        if (t > 0) {
          sides.p_below = zero.p_below + std::max(0.0, zero.p_above - sides.p_above);
          sides.q_below = zero.q_below + std::max(0.0, zero.q_above - sides.q_above);
        } else {
          sides.p_above = zero.p_above + std::max(0.0, zero.p_below - sides.p_below);
          sides.q_above = zero.q_above + std::max(0.0, zero.q_below - sides.q_below);
        }
      }
      first = ends_[range];
    }
    return ranges;
  }

  std::vector<RoundChoices::Law> laws_;
  std::vector<std::unique_ptr<RoundLoss>> forms_;
  std::vector<size_t> ends_;
  std::vector<size_t> at_zero_;  // of each range the law with the largest total variation
  std::vector<LossSides> zero_;  // sides of that law at 0
  bool remember_;
  mutable std::unordered_map<double, std::vector<LossSides>> sides_;
};

class LargestOf : public RoundLoss {
 public:
  LargestOf(std::shared_ptr<const ChoiceLosses> losses, size_t range)
      : losses_(std::move(losses)), range_(range) {}

  LossSides At(double t) const override { return losses_->At(range_, t); }
  double AtomAtZero() const override { return losses_->AtomAtZero(range_); }

 private:
  std::shared_ptr<const ChoiceLosses> losses_;
  size_t range_;
};

double DistanceOf(const RoundChoices& choices) {
  if (choices.forms.empty()) return 1;
  return Sensitivity(choices.forms.front()) / choices.forms.front().clip_norm;
}

}  // namespace

double NegligibleIn(double rounds, double delta) { return std::max(1e-30, 1e-6 * delta / rounds); }

bool IsUnsampled(const SamplingEvent& event) {
  return event.sampling == Sampling::kNone ||
         (event.sampling_rate >= 1 && event.sampling != Sampling::kPoissonKnownSize);
}

std::unique_ptr<RoundLoss> LossOfChoices(const RoundChoices& choices, const LossOfEvent& loss_of) {
  return std::make_unique<LargestOf>(
      std::make_shared<ChoiceLosses>(choices, loss_of, std::vector{choices.laws.size()},
                                     DistanceOf(choices), false),
      0);
}

std::vector<std::unique_ptr<RoundLoss>> LossesOfChoices(const RoundChoices& choices,
                                                        const LossOfEvent& loss_of,
                                                        const std::vector<size_t>& ends,
                                                        double distance) {
  const auto losses = std::make_shared<ChoiceLosses>(choices, loss_of, ends, distance, true);
  std::vector<std::unique_ptr<RoundLoss>> ranges;
  for (size_t i = 0; i < ends.size(); ++i) {
    ranges.push_back(std::make_unique<LargestOf>(losses, i));
  }
  return ranges;
}

LossRounds MakeLossRounds(const RoundChoices& choices, const LossOfEvent& loss_of, double count,
                          double total_rounds, double delta) {
  std::unique_ptr<RoundLoss> loss = LossOfChoices(choices, loss_of);
  const LossRange range =
      FindLossRange(*loss, delta * 1e-5 / total_rounds, delta * 1e-12 / total_rounds);
  return {.loss = std::move(loss),
          .count = count,
          .range = range,
          .parts = static_cast<double>(choices.forms.size())};
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
