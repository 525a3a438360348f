#include "tacet/accounting/privacy_event.h"

#include <algorithm>
#include <cmath>

#include "tacet/base/status.h"

namespace tacet::accounting {

std::string_view UnitName(Unit unit) {
  switch (unit) {
    case Unit::kClient:
      return "client";
    case Unit::kPerson:
      return "person";
    case Unit::kRecord:
      return "record";
  }
  return "unknown";
}

std::string_view NeighbouringName(Neighbouring neighbouring) {
  return neighbouring == Neighbouring::kReplaceOne ? "replace-one" : "zero-out";
}

std::string_view SamplingName(Sampling sampling) {
  switch (sampling) {
    case Sampling::kNone:
      return "none";
    case Sampling::kFixedSize:
      return "fixed-size";
    case Sampling::kPoisson:
      return "poisson";
  }
  return "unknown";
}

absl::StatusOr<Unit> ParseUnit(std::string_view name) {
  for (Unit unit : {Unit::kClient, Unit::kPerson, Unit::kRecord}) {
    if (name == UnitName(unit)) {
      return unit;
    }
  }
  return base::InvalidArgument("unknown unit \"{}\": expected client, person or record", name);
}

absl::StatusOr<Neighbouring> ParseNeighbouring(std::string_view name) {
  for (Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
    if (name == NeighbouringName(neighbouring)) {
      return neighbouring;
    }
  }
  return base::InvalidArgument("unknown neighbouring \"{}\": expected replace-one or zero-out",
                               name);
}

absl::StatusOr<Sampling> ParseSampling(std::string_view name) {
  for (Sampling sampling : {Sampling::kNone, Sampling::kFixedSize, Sampling::kPoisson}) {
    if (name == SamplingName(sampling)) {
      return sampling;
    }
  }
  return base::InvalidArgument("unknown sampling \"{}\": expected fixed-size, poisson or none",
                               name);
}

absl::Status CheckEvent(const SamplingEvent& event) {
  if (!(event.sampling_rate >= 0 && event.sampling_rate <= 1)) {
    return base::InvalidArgument("sampling_rate is {}, expected a probability in [0, 1]",
                                 event.sampling_rate);
  }
  if (event.sampling == Sampling::kNone && event.sampling_rate != 1) {
    return base::InvalidArgument("sampling_rate is {} where nothing is sampled, expected 1",
                                 event.sampling_rate);
  }
  if (!(event.noise_stddev >= 0 && std::isfinite(event.noise_stddev))) {
    return base::InvalidArgument("noise_stddev is {}, expected a finite number >= 0",
                                 event.noise_stddev);
  }
  if (!(event.clip_norm > 0 && std::isfinite(event.clip_norm))) {
    return base::InvalidArgument("clip_norm is {}, expected a finite number > 0", event.clip_norm);
  }
  return absl::OkStatus();
}

double Sensitivity(const SamplingEvent& event) {
  return event.neighbouring == Neighbouring::kReplaceOne ? 2 * event.clip_norm : event.clip_norm;
}

absl::Status CheckMixture(const std::vector<WeightedEvent>& mixture) {
  if (mixture.empty()) {
    return base::InvalidArgument("a mixture of events is empty, expected at least one");
  }
  double total = 0;
  for (const WeightedEvent& part : mixture) {
    if (!(part.probability >= 0 && part.probability <= 1)) {
      return base::InvalidArgument("the probability of an event is {}, expected [0, 1]",
                                   part.probability);
    }
    TACET_RETURN_IF_ERROR(CheckEvent(part.event));
    total += part.probability;
  }
  if (!(std::abs(total - 1) <= 1e-9)) {
    return base::InvalidArgument("the probabilities of a mixture add to {}, expected 1", total);
  }
  return absl::OkStatus();
}

std::vector<WeightedEvent> GroupMixture(const std::vector<WeightedEvent>& mixture,
                                        GroupedFor side) {
  std::vector<WeightedEvent> kept;
  for (const WeightedEvent& part : mixture) {
    if (part.probability > 0) {
      kept.push_back(part);
    }
  }
  if (kept.size() <= kUngroupedParts) {
    return kept;
  }
  const bool upper = side == GroupedFor::kUpperBound;
  constexpr double kShare = 1.0 / kUngroupedParts;
  std::vector<WeightedEvent> groups;
  for (const WeightedEvent& part : kept) {
    const double noise = part.event.noise_stddev;
    const double rate = part.event.sampling_rate;
    // Noises far apart stay apart, however rare: the loudest part decides about the tail.
    const bool fits = !groups.empty() && noise > 0 &&
                      noise > 0.9 * groups.back().event.noise_stddev &&
                      groups.back().probability + part.probability <= kShare;
    if (!fits) {
      groups.push_back(part);
      continue;
    }
    WeightedEvent& group = groups.back();
    group.probability += part.probability;
    double& group_noise = group.event.noise_stddev;
    double& group_rate = group.event.sampling_rate;
    group_noise = upper ? std::min(group_noise, noise) : std::max(group_noise, noise);
    group_rate = upper ? std::max(group_rate, rate) : std::min(group_rate, rate);
  }
  return groups;
}

absl::Status CheckStream(const std::vector<RepeatedEvent>& stream) {
  for (const RepeatedEvent& repeated : stream) {
    TACET_RETURN_IF_ERROR(CheckMixture(repeated.round));
  }
  return absl::OkStatus();
}

std::vector<RepeatedEvent> Repeated(const SamplingEvent& event, uint64_t count) {
  return {{.round = {{.probability = 1, .event = event}}, .count = count}};
}

}  // namespace tacet::accounting
