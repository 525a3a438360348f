// Privacy events: a description of the releases, as data. Accountants compute their cost.
#ifndef TACET_ACCOUNTING_PRIVACY_EVENT_H_
#define TACET_ACCOUNTING_PRIVACY_EVENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tacet::accounting {

// Unit of privacy: its presence or data are hidden by the guarantee.
enum class Unit { kClient, kPerson, kRecord };

// Neighbouring relation: pairs of data sets that must look alike. Neither changes how many units
// there are:
//   replace-one  one unit's data become any other data (sensitivity 2 S),
//   zero-out     one unit's contribution becomes zero, its noise share is still sent (sensitivity
//   S).
enum class Neighbouring { kReplaceOne, kZeroOut };

// Sampling of the units of one release, as far as the observer does not know it:
//   none        the observer knows that the unit took part,
//   fixed-size  K of M, uniform, without replacement,
//   poisson     each unit by an independent coin of probability q; the observer does not learn how
//               many were drawn,
//   poisson-known-size  the same, but the number drawn is public. Given that number the draw is
//               uniform without replacement: another unit replaces a unit that was not
//               drawn. The event is the mixture, over the number, of fixed-size events.
enum class Sampling { kNone, kFixedSize, kPoisson, kPoissonKnownSize };

// The words used in tables, JSON and on the command line (docs/formats/privacy-json.md).
std::string_view UnitName(Unit unit);
std::string_view NeighbouringName(Neighbouring neighbouring);
std::string_view SamplingName(Sampling sampling);
absl::StatusOr<Unit> ParseUnit(std::string_view name);
absl::StatusOr<Neighbouring> ParseNeighbouring(std::string_view name);
absl::StatusOr<Sampling> ParseSampling(std::string_view name);

// One release: the sum over the sampled units of vectors of L2 norm <= clip_norm, plus
// N(0, noise_stddev^2) in each coordinate (or what pure_epsilon says), as an observer sees it who
// knows everything but the unit's data, the noise counted here and (unless sampling is kNone) who
// was sampled.
struct SamplingEvent {
  Unit unit = Unit::kClient;
  Neighbouring neighbouring = Neighbouring::kReplaceOne;
  Sampling sampling = Sampling::kFixedSize;
  // q in [0, 1]: cohort size over the size of the pool it was drawn from (never over all clients
  // when only some could be drawn, never the number that arrived). 1 when sampling is kNone.
  double sampling_rate = 1;
  // sigma >= 0, standard deviation of the noise in the *sum*; 0 gives epsilon = infinity.
  double noise_stddev = 0;
  // S > 0, the L2 clip norm of one contribution.
  double clip_norm = 1;
  // For poisson-known-size, and for fixed-size where drawn units may be absent; else 0. Of `pool`
  // units m are here, any number that somebody chose before the draw. With poisson-known-size each
  // of the pool tosses a coin, with fixed-size a cohort of sampling_rate pool is drawn from it. k
  // of those here are drawn: with k < `least` nothing is released; else the rate is k / m and the
  // noise is noise_stddev sqrt(k / least). 1 <= least <= pool (round_choices.h).
  uint64_t pool = 0;
  uint64_t least = 0;
  // > 0: the release alone is (pure_epsilon, 0)-private for the unit, as one with discrete Laplace
  // noise is. Clip norm and noise then describe it, and decide nothing. Only where nothing is
  // sampled.
  double pure_epsilon = 0;

  bool operator==(const SamplingEvent&) const = default;
};

// Equal events, counted.
struct CountedEvent {
  SamplingEvent event;
  uint64_t count = 0;
};

// InvalidArgument unless delta is in (0, 1).
absl::Status CheckDelta(double delta);

// InvalidArgument names the field, its value and its range.
absl::Status CheckEvent(const SamplingEvent& event);

// The parameters that decide its cost, for messages.
std::string EventText(const SamplingEvent& event);

// S for zero-out, 2 S for replace-one: how far one unit can move a sum that it is known to be in.
double Sensitivity(const SamplingEvent& event);

// An event of which the observer learns which of several forms it took, the form being independent
// of the data: the laws mix, weighted by probability. Used for colluders, who see how many of
// themselves were drawn.
struct WeightedEvent {
  double probability = 1;
  SamplingEvent event;

  bool operator==(const WeightedEvent&) const = default;
};

// Weights >= 0 that add to 1 within 1e-9; every event valid; at least one; a pure one is alone.
absl::Status CheckMixture(const std::vector<WeightedEvent>& mixture);

// One event that reveals at least as much as any form of the mixture: the least noise and the
// highest rate among them, and no sampling where cohorts of several sizes name a pool.
SamplingEvent WorstForm(const std::vector<WeightedEvent>& mixture);

// One event that reveals at least as much as each of `events` (at least one, of one unit and one
// neighbouring relation): the least noise, the largest clip norm and the highest rate among them
// where they are sampled alike, and no sampling at all where they are not. Cohorts with a pool are
// alike at one rate only. Pure releases next to others count as Gaussian ones that lose as much.
SamplingEvent WorstEvent(std::span<const CountedEvent> events);

inline constexpr size_t kUngroupedParts = 32;

// The fixed-size events that a poisson-known-size event is a mixture of where the whole pool is
// here, by increasing number drawn; numbers of probability below 1e-30 on the high side are charged
// as if everybody was drawn, those on the low side as the lowest that is listed. Any other event is
// its own only part.
std::vector<WeightedEvent> FixedSizeParts(const SamplingEvent& event);

enum class GroupedFor { kUpperBound, kLowerBound };

// A mixture as accountants take it: events of known size are replaced by their parts, parts are in
// the order of their rates, and neighbouring parts of a long mixture are taken together. Each group
// has the least noise and the highest rate among its parts for an upper bound of what is lost, and
// the other way around for a lower one; groups are wide only where they have little probability.
// Parts without probability are left out. Mixtures of up to `ungrouped` parts are left alone,
// others become at most that many as far as their noises and rates lie close together.
std::vector<WeightedEvent> GroupMixture(const std::vector<WeightedEvent>& mixture, GroupedFor side,
                                        size_t ungrouped = kUngroupedParts);

// The same kind of round several times. A stream of these is what accountants are asked about.
struct RepeatedEvent {
  std::vector<WeightedEvent> round = {};
  uint64_t count = 1;

  bool operator==(const RepeatedEvent&) const = default;
};

absl::Status CheckStream(const std::vector<RepeatedEvent>& stream);

// `count` rounds of one event.
std::vector<RepeatedEvent> Repeated(const SamplingEvent& event, uint64_t count);

}  // namespace tacet::accounting

#endif  // TACET_ACCOUNTING_PRIVACY_EVENT_H_
