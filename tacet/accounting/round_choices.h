// Rounds of which an adversary chooses, before anything is drawn, how many clients are here.
//
// Of m clients that are here some are drawn, and each brings a share of the noise: with k of them
// the unit is among them with rate k / m, under noise of k shares. Nobody else knows m in advance,
// so a bound holds for the largest over all m. For a pair of contributions let D(r, s) be the
// profile of a round of fixed size with rate r and noise s. It is convex in r, and falls with s.
// The profile of a round with m here is the mean of D over k, and three facts bring all m to a few
// sums (docs/security/fixed-size-accounting.md, "Clients that are absent"):
//   numbers m of a cell are at most a mixture with the number drawn of its two ends,
//   a rate between two others is at most their mixture,
//   beyond an m at which a round hardly ever fails, fewer clients here cost more.
#ifndef TACET_ACCOUNTING_ROUND_CHOICES_H_
#define TACET_ACCOUNTING_ROUND_CHOICES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tacet/accounting/privacy_event.h"

namespace tacet::accounting {

struct RoundChoices {
  // A law on the forms; with the rest of its probability nothing is released.
  struct Law {
    std::vector<std::pair<uint32_t, double>> weights = {};  // index of a form, its probability
    uint64_t here = 0;  // the least number of clients here that it stands for; 0: it names none
  };
  std::vector<SamplingEvent> forms = {};  // events without `pool`
  std::vector<Law> laws = {};             // at least one

  // The law, of those in [first, last), with the largest total variation for every pair of
  // contributions of the unit that are `distance` clip norms apart.
  size_t WorstAtZero(size_t first, size_t last, double distance) const;
};

struct ChoicesSpec {
  // Mixtures that name no pool keep up to this many parts (GroupMixture).
  size_t ungrouped = kUngroupedParts;
  // The distance of noises and rates that are taken together, relative to the finest.
  double coarseness = 1;
  size_t most_laws = 160;
  // Probability that may be charged to certain participation in every round.
  double negligible = 1e-30;
};

// The choices of a mixture. Parts that name a pool must agree on it, and on the noise of a share,
// noise_stddev / sqrt(least). Without a pool there is no choice: one law, of the mixture grouped
// for an upper bound.
RoundChoices ChoicesOf(const std::vector<WeightedEvent>& mixture, const ChoicesSpec& spec);

// One law, of `parts` as they are.
RoundChoices OnlyChoice(const std::vector<WeightedEvent>& parts);

// The mixture of fixed-size events where always `here` clients of the pool are here. Parts that
// name no pool stay as they are.
std::vector<WeightedEvent> WithHere(const std::vector<WeightedEvent>& mixture, uint64_t here);

// Whether some part names a pool.
bool HasChoices(const std::vector<WeightedEvent>& mixture);

// The choices of which moments are taken: fewer forms, since each takes a quadrature.
inline constexpr ChoicesSpec kMomentChoices{.coarseness = 5, .most_laws = 60};

// The largest over the laws of log E[(P/Q)^l], from `log_moment` of a form.
double LargestLogMoment(const RoundChoices& choices,
                        const std::function<double(const SamplingEvent&)>& log_moment);

// The index of the law, of those that name a number here, with the largest log-moment of order l >
// 0 of a pair that is attained: for a bound from below. 0 when none does.
size_t WorstLaw(const RoundChoices& choices, double order);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_ROUND_CHOICES_H_
