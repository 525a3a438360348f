#include "tacet/accounting/privacy_event.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "fmt/format.h"

#include "tacet/accounting/count_laws.h"
#include "tacet/accounting/pure_releases.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

// Sums over the numbers that can be drawn are tables.
constexpr uint64_t kMaxPool = 100'000'000;

bool SameKind(const SamplingEvent& a, const SamplingEvent& b) {
  return a.sampling == b.sampling && a.neighbouring == b.neighbouring &&
         a.clip_norm == b.clip_norm && a.pure_epsilon == b.pure_epsilon;
}

// Parts that may be taken together lie side by side in this order.
auto KeyOf(const SamplingEvent& event) {
  return std::tuple(event.sampling, event.neighbouring, event.clip_norm, event.pure_epsilon,
                    event.sampling_rate, event.noise_stddev);
}

// Rates and noises of a group's parts differ by at most this factor, both together: a certain
// participation that is all but impossible must not make a rare one certain.
constexpr double kWidestGroup = 2;

// Neighbours taken together as long as the probability of a group times how far its parts lie
// apart, in noise and in rate, is at most `max_cost`.
std::vector<WeightedEvent> GroupsOfCost(const std::vector<WeightedEvent>& parts, GroupedFor side,
                                        double max_cost) {
  struct Spread {
    double least_noise, most_noise, least_rate, most_rate;
  };
  const bool upper = side == GroupedFor::kUpperBound;
  std::vector<WeightedEvent> groups;
  Spread spread{};
  for (const WeightedEvent& part : parts) {
    const double noise = part.event.noise_stddev;
    const double rate = part.event.sampling_rate;
    if (!groups.empty() && SameKind(part.event, groups.back().event) && noise > 0 && rate > 0 &&
        spread.least_noise > 0 && spread.least_rate > 0) {
      const Spread wider{std::min(spread.least_noise, noise), std::max(spread.most_noise, noise),
                         std::min(spread.least_rate, rate), std::max(spread.most_rate, rate)};
      const double width =
          wider.most_noise / wider.least_noise * (wider.most_rate / wider.least_rate) - 1;
      WeightedEvent& group = groups.back();
      if (width <= kWidestGroup - 1 && (group.probability + part.probability) * width <= max_cost) {
        spread = wider;
        group.probability += part.probability;
        group.event.noise_stddev = upper ? wider.least_noise : wider.most_noise;
        group.event.sampling_rate = upper ? wider.most_rate : wider.least_rate;
        continue;
      }
    }
    groups.push_back(part);
    spread = {noise, noise, rate, rate};
  }
  return groups;
}

}  // namespace

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
    case Sampling::kPoissonKnownSize:
      return "poisson-known-size";
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
  // Whether the size is known follows from the protocol, nobody chooses it.
  for (Sampling sampling : {Sampling::kNone, Sampling::kFixedSize, Sampling::kPoisson}) {
    if (name == SamplingName(sampling)) {
      return sampling;
    }
  }
  return base::InvalidArgument("unknown sampling \"{}\": expected fixed-size, poisson or none",
                               name);
}

absl::Status CheckDelta(double delta) {
  if (!(delta > 0 && delta < 1)) {
    return base::InvalidArgument("delta is {}, expected a probability above 0 and below 1", delta);
  }
  return absl::OkStatus();
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
  if (!(event.pure_epsilon >= 0 && std::isfinite(event.pure_epsilon))) {
    return base::InvalidArgument("pure_epsilon is {}, expected a finite number >= 0",
                                 event.pure_epsilon);
  }
  if (event.pure_epsilon > 0 && (event.sampling_rate < 1 || event.pool > 0)) {
    return base::InvalidArgument("pure_epsilon is {} where units are sampled, expected 0",
                                 event.pure_epsilon);
  }
  if (event.sampling == Sampling::kPoissonKnownSize ||
      (event.sampling == Sampling::kFixedSize && event.pool > 0)) {
    if (event.pool < 1 || event.pool > kMaxPool) {
      return base::InvalidArgument("pool is {}, expected 1 to {}", event.pool, kMaxPool);
    }
    if (event.least < 1 || event.least > event.pool) {
      return base::InvalidArgument("least is {}, expected 1 to the pool of {}", event.least,
                                   event.pool);
    }
  } else if (event.pool != 0 || event.least != 0) {
    return base::InvalidArgument("pool {} and least {} are for cohorts whose size is known only",
                                 event.pool, event.least);
  }
  return absl::OkStatus();
}

std::string EventText(const SamplingEvent& event) {
  const std::string pure =
      event.pure_epsilon > 0 ? fmt::format(", pure epsilon {}", event.pure_epsilon) : "";
  return fmt::format("{} {}, noise {}, clip norm {}, rate {}{}", SamplingName(event.sampling),
                     NeighbouringName(event.neighbouring), event.noise_stddev, event.clip_norm,
                     event.sampling_rate, pure);
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
    if (part.event.pure_epsilon > 0 && mixture.size() > 1) {
      return base::InvalidArgument("pure_epsilon is {} in a mixture of {} events, expected one",
                                   part.event.pure_epsilon, mixture.size());
    }
    total += part.probability;
  }
  if (!(std::abs(total - 1) <= 1e-9)) {
    return base::InvalidArgument("the probabilities of a mixture add to {}, expected 1", total);
  }
  return absl::OkStatus();
}

SamplingEvent WorstForm(const std::vector<WeightedEvent>& mixture) {
  SamplingEvent worst = mixture.front().event;
  for (const WeightedEvent& part : mixture) {
    // Larger cohorts have higher rates and more noise: neither is the worse where some are absent.
    if (part.event.sampling == Sampling::kFixedSize && part.event.pool > 0 &&
        part.event.sampling_rate != worst.sampling_rate) {
      worst.sampling = Sampling::kNone;
    }
    if (part.event.noise_stddev < worst.noise_stddev) {
      worst.noise_stddev = part.event.noise_stddev;
      worst.least = part.event.least;
    }
    worst.sampling_rate = std::max(worst.sampling_rate, part.event.sampling_rate);
  }
  if (worst.sampling == Sampling::kNone) {
    worst.sampling_rate = 1;
    worst.pool = worst.least = 0;
  }
  return worst;
}

SamplingEvent WorstEvent(std::span<const CountedEvent> events) {
  const bool all_pure = std::ranges::all_of(
      events, [](const CountedEvent& counted) { return counted.event.pure_epsilon > 0; });
  const auto form = [&](const SamplingEvent& event) {
    return all_pure ? event : GaussianInPlaceOfPure(event);
  };
  SamplingEvent worst = form(events.front().event);
  bool alike = true;
  for (const CountedEvent& counted : events) {
    const SamplingEvent event = form(counted.event);
    alike = alike && event.sampling == worst.sampling && event.pool == worst.pool &&
            event.least == worst.least;
    // With a known size more are drawn at a higher rate with more noise: neither is the worse.
    alike = alike && (event.pool == 0 || event.sampling_rate == events.front().event.sampling_rate);
    worst.noise_stddev = std::min(worst.noise_stddev, event.noise_stddev);
    worst.clip_norm = std::max(worst.clip_norm, event.clip_norm);
    worst.pure_epsilon = std::max(worst.pure_epsilon, event.pure_epsilon);
    worst.sampling_rate = std::max(worst.sampling_rate, event.sampling_rate);
  }
  if (alike) return worst;
  worst.sampling = Sampling::kNone;
  worst.sampling_rate = 1;
  worst.pool = worst.least = 0;
  return worst;
}

std::vector<WeightedEvent> FixedSizeParts(const SamplingEvent& event) {
  if (event.sampling != Sampling::kPoissonKnownSize) return {{.probability = 1, .event = event}};
  const CountLaw law = BinomialLaw(event.pool, event.sampling_rate);
  const auto pool = static_cast<double>(event.pool);
  const auto least = static_cast<double>(event.least);
  const auto part = [&](double probability, double rate, double noise_shares) {
    SamplingEvent fixed = event;
    fixed.sampling = Sampling::kFixedSize;
    fixed.pool = fixed.least = 0;
    fixed.sampling_rate = rate;
    fixed.noise_stddev = event.noise_stddev * std::sqrt(noise_shares / least);
    return WeightedEvent{.probability = probability, .event = fixed};
  };
  std::vector<WeightedEvent> parts;
  double nothing = 0;  // the probability that too few are drawn
  double last = least;
  for (size_t i = 0; i < law.probability.size(); ++i) {
    const auto drawn = static_cast<double>(law.first + i);
    if (drawn < least) {
      nothing += law.probability[i];
    } else {
      parts.push_back(part(law.probability[i], drawn / pool, drawn));
      last = drawn;
    }
  }
  if (nothing > 0) parts.insert(parts.begin(), part(nothing, 0, least));
  // The mass that the table leaves out on the high side.
  if (law.above > 0) parts.push_back(part(law.above, 1, last));
  if (parts.empty()) parts.push_back(part(1, 1, least));
  return parts;
}

std::vector<WeightedEvent> GroupMixture(const std::vector<WeightedEvent>& mixture, GroupedFor side,
                                        size_t ungrouped) {
  std::vector<WeightedEvent> kept;
  for (const WeightedEvent& part : mixture) {
    for (const WeightedEvent& fixed : FixedSizeParts(part.event)) {
      if (part.probability * fixed.probability > 0) {
        kept.push_back({part.probability * fixed.probability, fixed.event});
      }
    }
  }
  // Colluders who see several numbers of their own meet the same rates and noises again and again.
  std::sort(kept.begin(), kept.end(), [](const WeightedEvent& a, const WeightedEvent& b) {
    return KeyOf(a.event) < KeyOf(b.event);
  });
  std::vector<WeightedEvent> groups = kept;
  for (double cost = 1e-4; groups.size() > ungrouped && cost < 0.1; cost *= 1.5) {
    groups = GroupsOfCost(kept, side, cost);
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
