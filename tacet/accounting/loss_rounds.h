// Streams of rounds as privacy losses, with the ranges and the tilt that matter for one delta: the
// input of every composition.
#ifndef TACET_ACCOUNTING_LOSS_ROUNDS_H_
#define TACET_ACCOUNTING_LOSS_ROUNDS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "tacet/accounting/loss_composition.h"
#include "tacet/accounting/loss_lattice.h"
#include "tacet/accounting/privacy_event.h"
#include "tacet/accounting/round_choices.h"
#include "tacet/accounting/round_loss.h"

namespace tacet::accounting {

// Sensitivity over noise from which on a round by itself costs an epsilon above 60: a bound from
// above takes it for lost, and one from below for a round with this much.
inline constexpr double kSteepest = 24;

// The probability that may be charged to certain participation in each of so many rounds: together
// a millionth of delta.
double NegligibleIn(double rounds, double delta);

// True when the observer knows that the unit takes part.
bool IsUnsampled(const SamplingEvent& event);

using LossOfEvent = std::function<std::unique_ptr<RoundLoss>(const SamplingEvent&)>;

// The loss that dominates all laws of the choices: its profile is the largest of theirs at every a.
// `loss_of` gives those of the forms, of a unit that moves by its sensitivity.
std::unique_ptr<RoundLoss> LossOfChoices(const RoundChoices& choices, const LossOfEvent& loss_of);

// The same for laws in consecutive ranges, [ends[i - 1], ends[i]), of a unit that moves by
// `distance` clip norms. What the losses share is computed once for each argument and remembered.
std::vector<std::unique_ptr<RoundLoss>> LossesOfChoices(const RoundChoices& choices,
                                                        const LossOfEvent& loss_of,
                                                        const std::vector<size_t>& ends,
                                                        double distance);

// `count` rounds of one loss; losses outside the range have too little mass to matter.
struct LossRounds {
  std::unique_ptr<RoundLoss> loss;
  double count = 0;
  LossRange range;
  double parts = 1;  // forms of which the loss is made
};

LossRounds MakeLossRounds(const RoundChoices& choices, const LossOfEvent& loss_of, double count,
                          double total_rounds, double delta);

// The tilt under which the sum of all losses has its mean near epsilon(delta), and the standard
// deviation of one round under it. Found on coarse lattices; narrows the ranges' lower ends to
// what counts under the tilt.
struct CompositionStart {
  double deviation = 0;  // of one round, tilted; 0 when there is nothing to compose
  LossSum::Tilt tilt;
};
CompositionStart FindCompositionStart(std::vector<LossRounds>& rounds, double delta);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_LOSS_ROUNDS_H_
