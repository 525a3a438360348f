#include "tacet/accounting/observers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fmt/format.h"

#include "tacet/accounting/count_laws.h"
#include "tacet/accounting/log_math.h"
#include "tacet/base/status.h"

namespace tacet::accounting {
namespace {

// Numbers of colluders in a cohort of public size that are told apart: each is a mixture itself.
constexpr size_t kMaxColludingForms = 16;

// One release seen with noise of at least `honest_shares` shares and sampling rate q, as far as
// the cohort is drawn from `pool` clients.
SamplingEvent Release(const FederationPrivacySpec& spec, uint64_t honest_shares, double q,
                      uint64_t pool) {
  const auto shares = static_cast<double>(spec.sampling.min_participants);
  SamplingEvent event{.unit = Unit::kClient,
                      .neighbouring = spec.privacy.neighbouring,
                      .sampling = *spec.sampling.method,
                      .sampling_rate = spec.sampling.method == Sampling::kNone ? 1 : q,
                      .clip_norm = spec.mechanism.clip_norm};
  // Only those who were drawn upload, if they are here, and each brings a share of the noise. Their
  // number divides the sum.
  const bool hides_number = spec.sampling.dummy_uploads || spec.sampling.method == Sampling::kNone;
  const bool coins = spec.sampling.method == Sampling::kPoisson;
  if (!hides_number && q < 1 && (coins || honest_shares > 0)) {
    if (coins) event.sampling = Sampling::kPoissonKnownSize;
    event.pool = pool;
    event.least = std::max<uint64_t>(honest_shares, 1);
    honest_shares = event.least;
    if (event.least > pool) {  // never enough for a release
      event.least = pool;
      event.sampling_rate = 0;
    }
  }
  event.noise_stddev =
      spec.mechanism.noise_stddev * std::sqrt(static_cast<double>(honest_shares) / shares);
  return event;
}

// Neighbouring numbers taken together by the largest of them, so that at most `most` are left.
CountLaw Coarser(const CountLaw& law, size_t most) {
  const size_t together = (law.probability.size() + most - 1) / most;
  CountLaw coarser{.first = law.first, .probability = law.probability, .above = law.above};
  for (size_t i = 0; i + 1 < law.probability.size(); ++i) {
    if ((i + 1) % together != 0) {
      coarser.probability[i + 1] += std::exchange(coarser.probability[i], 0);
    }
  }
  return coarser;
}

// Shares of noise that are left of `shares` without those of `known`.
uint64_t Without(uint64_t shares, uint64_t known) { return shares > known ? shares - known : 0; }

// A client at its limit sends zeros, so what others send depends on which cohorts they were in, and
// the proofs of amplification do not cover that (docs/security/fixed-size-accounting.md). Counted
// instead are the participations, as if the cohorts were known.
void WithoutAmplification(const FederationPrivacySpec& spec, ObservedRounds& observer) {
  double least_noise = kInfinity;
  for (const WeightedEvent& part : observer.round) {
    least_noise = std::min(least_noise, part.event.noise_stddev);
  }
  SamplingEvent event = observer.round.front().event;
  event.sampling = Sampling::kNone;
  event.sampling_rate = 1;
  event.pool = event.least = 0;
  event.noise_stddev = least_noise;
  observer.round = {{.event = event}};
  observer.releases = spec.sampling.max_participations;
  observer.note += fmt::format("; at most {} participations are counted, without amplification",
                               spec.sampling.max_participations);
}

std::string ParticipationsNote(bool dummy_uploads, uint64_t times) {
  return fmt::format(
      "{}; about a client that took part {} times",
      dummy_uploads ? "anyone who learns the cohorts nevertheless" : "server, network, operators",
      times);
}

// The server with c members: a guarantee where a sum always has two honest uploads, and not every
// choice of c members has more than f seats.
ObservedRounds Coalition(const FederationPrivacySpec& spec, const SamplingEvent& release,
                         uint64_t releases) {
  const uint64_t seats = spec.committee_seats, corrupt = spec.corrupt_seats;
  const uint64_t colluders = spec.privacy.colluders;
  if (seats == 0) {
    return {.observer = Observer::kServerWithKeyHolder,
            .standing = Standing::kNone,
            .note =
                "every member holds the key of the whole group: the server together with any "
                "of them decrypts single uploads"};
  }
  ObservedRounds coalition{.observer = Observer::kCoalition, .standing = Standing::kNone};
  if (Without(spec.sampling.min_participants, colluders) < 2) {
    coalition.note =
        fmt::format("of {} uploads {} are the coalition's: a sum needs two of others to hide one",
                    spec.sampling.min_participants, colluders);
  } else if (colluders > corrupt + Without(spec.sampling.clients, seats)) {
    coalition.note =
        fmt::format("{} members always have more than the {} seats that may be corrupt, of {}",
                    colluders, corrupt, seats);
  } else {
    coalition.standing = Standing::kGuarantee;
    coalition.round = {{.event = release}};
    coalition.releases = releases;
    coalition.note =
        colluders == 0
            ? "the server and no member; `colluders` plans for more"
            : fmt::format("at most {} of the committee's {} members are in it", corrupt, seats);
  }
  return coalition;
}

// Views where the unit is a record or a person and all sites are in every round.
// Figures of a guarantee are rounded up, but for the rounding of their arithmetic.
double UpToSixDigits(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 5);
  return std::ceil(value / unit - 1e-6) * unit;
}

std::vector<ObservedRounds> ObserveSites(const FederationPrivacySpec& spec) {
  const auto shares = static_cast<double>(spec.sampling.min_participants);
  const auto colluders = static_cast<double>(spec.privacy.colluders);
  const auto appearances = static_cast<double>(spec.sampling.appearances);
  // A unit at several sites is drawn when any of them draws it, and then counted as if by all.
  const double rate =
      -std::expm1(appearances * std::log1p(-std::min(spec.sampling.record_rate, 1.0)));
  const auto planned = static_cast<double>(NoiseShares(spec));
  const double pure_epsilon = PureEpsilonOf(spec);
  const auto release = [&](double honest_shares) -> SamplingEvent {
    return {.unit = spec.privacy.unit,
            .neighbouring = spec.privacy.neighbouring,
            .sampling = Sampling::kPoisson,
            .sampling_rate = spec.sampling.record_rate >= 1 ? 1 : rate,
            .noise_stddev = planned > 0 ? spec.mechanism.noise_stddev *
                                              std::sqrt(std::max(0.0, honest_shares) / planned)
                                        : 0,
            .clip_norm = spec.mechanism.clip_norm * appearances,
            .pure_epsilon = pure_epsilon};
  };
  std::vector<ObservedRounds> observers;
  observers.push_back({.observer = Observer::kExternal,
                       .round = {{.event = release(shares)}},
                       .releases = spec.rounds,
                       .note = "does not know which records a site drew"});
  if (spec.sampling.clients > 1) {
    observers.push_back({.observer = Observer::kParticipantInCohort,
                         .round = {{.event = release(shares - 1)}},
                         .releases = spec.rounds,
                         .note = "another site, which knows its own noise"});
  }
  if (spec.privacy.colluders > 0) {
    observers.push_back(
        {.observer = Observer::kColluders,
         .round = {{.event = release(shares - colluders)}},
         .releases = spec.rounds,
         .note = fmt::format("{} other sites pool what they know", spec.privacy.colluders)});
  }
  observers.push_back(
      {.observer = Observer::kCohortAware,
       .round = {{.event = release(shares)}},
       .releases = spec.rounds,
       .note = "server, network, operators; the draw of records stays inside the site"});
  observers.push_back(Coalition(spec, release(shares - colluders), spec.rounds));
  for (ObservedRounds& observer : observers) {
    if (pure_epsilon == 0 || observer.round.empty()) continue;
    observer.note +=
        fmt::format("; discrete Laplace noise: one release is ({:.6g}, 0)-private by itself",
                    UpToSixDigits(pure_epsilon));
  }
  return observers;
}

// Sampling of clients amplifies only where the draw is honest. With fixed-size cohorts the server
// draws; with Poisson sampling each client tosses its own coin.
void NoteHonestDraw(const FederationPrivacySpec& spec, std::vector<ObservedRounds>& observers) {
  if (spec.sampling.method != Sampling::kFixedSize) return;
  for (ObservedRounds& observer : observers) {
    const bool amplified = std::ranges::any_of(observer.round, [](const WeightedEvent& part) {
      return part.probability > 0 && part.event.sampling_rate < 1;
    });
    if (amplified) observer.note += "; assumes that cohorts are drawn honestly";
  }
}

}  // namespace

std::string_view ObserverName(Observer observer) {
  const auto found = std::ranges::find(kObservers, observer, &NamedObserver::observer);
  return found == std::end(kObservers) ? "unknown" : found->name;
}

std::string_view StandingName(Standing standing) {
  switch (standing) {
    case Standing::kGuarantee:
      return "guarantee";
    case Standing::kConvention:
      return "convention";
    case Standing::kNone:
      return "none";
  }
  return "unknown";
}

absl::StatusOr<std::vector<ObservedRounds>> ObserveFederation(const FederationPrivacySpec& given) {
  TACET_RETURN_IF_ERROR(CheckFederation(given));
  const FederationPrivacySpec spec = Resolved(given);
  if (spec.privacy.unit != Unit::kClient) return ObserveSites(spec);
  const bool fixed_size = spec.sampling.method == Sampling::kFixedSize;
  const auto pool = static_cast<double>(spec.pool);
  const auto cohort = static_cast<double>(spec.sampling.cohort);
  const uint64_t shares = spec.sampling.min_participants;
  const double q = cohort / pool;

  std::vector<ObservedRounds> observers;
  observers.push_back({.observer = Observer::kExternal,
                       .round = {{.event = Release(spec, shares, q, spec.pool)}},
                       .releases = spec.rounds,
                       .note = "knows no cohort and sees no traffic"});
  if (spec.sampling.clients > 1) {
    const double q_in = fixed_size && spec.pool > 1 ? (cohort - 1) / (pool - 1) : q;
    const uint64_t others = std::max<uint64_t>(spec.pool - 1, 1);
    observers.push_back({.observer = Observer::kParticipantInCohort,
                         .round = {{.event = Release(spec, Without(shares, 1), q_in, others)}},
                         .releases = spec.rounds,
                         .note = "took part in every round and knows its own noise"});
    if (spec.sampling.cohort < spec.pool && spec.sampling.method != Sampling::kNone) {
      const double q_out = fixed_size ? cohort / (pool - 1) : q;
      // With dummy uploads its share is in the sum all the same.
      const uint64_t honest = Without(shares, spec.sampling.dummy_uploads ? 1 : 0);
      observers.push_back({.observer = Observer::kParticipantOutOfCohort,
                           .round = {{.event = Release(spec, honest, q_out, others)}},
                           .releases = spec.rounds,
                           .note = "took part in no round and knows that it did not"});
    }
  }
  if (spec.privacy.colluders > 0 && spec.privacy.colluders < spec.pool) {
    const uint64_t c = spec.privacy.colluders;
    ObservedRounds colluding{.observer = Observer::kColluders,
                             .releases = spec.rounds,
                             .note = fmt::format("{} clients pool what they know", c)};
    if (spec.sampling.dummy_uploads) {
      // All their shares are in every sum, whichever clients were drawn.
      colluding.round = {{.event = Release(spec, Without(shares, c), q, spec.pool - c)}};
    } else {
      const CountLaw law = fixed_size ? HypergeometricLaw(spec.pool, c, spec.sampling.cohort)
                                      : Coarser(BinomialLaw(c, q), kMaxColludingForms);
      for (size_t i = 0; i < law.probability.size(); ++i) {
        const uint64_t drawn = law.first + i;
        if (law.probability[i] > 0) {
          const double q_j =
              fixed_size ? (cohort - static_cast<double>(drawn)) / (pool - static_cast<double>(c))
                         : q;
          colluding.round.push_back(
              {.probability = law.probability[i],
               .event = Release(spec, Without(shares, drawn), q_j, spec.pool - c)});
        }
      }
      if (law.above > 0) {
        colluding.round.push_back({.probability = law.above,
                                   .event = Release(spec, Without(shares, c), q, spec.pool - c)});
      }
    }
    observers.push_back(std::move(colluding));
  }

  if (!spec.sampling.dummy_uploads && spec.sampling.max_participations < spec.rounds) {
    for (ObservedRounds& observer : observers) WithoutAmplification(spec, observer);
  }

  if (spec.sampling.dummy_uploads) {
    observers.push_back({.observer = Observer::kTrafficAware,
                         .round = {{.event = Release(spec, shares, q, spec.pool)}},
                         .releases = spec.rounds,
                         .note = "server, network, operators, who see an upload of everybody"});
  }
  FederationPrivacySpec unsampled = spec;
  unsampled.sampling.method = Sampling::kNone;
  const SamplingEvent known = Release(unsampled, shares, 1, spec.pool);
  observers.push_back(
      {.observer = Observer::kCohortAware,
       .hypothetical = spec.sampling.dummy_uploads,
       .round = {{.event = known}},
       .releases = spec.sampling.max_participations,
       .note = ParticipationsNote(spec.sampling.dummy_uploads, spec.sampling.max_participations)});
  const auto expected =
      static_cast<uint64_t>(std::ceil(q * static_cast<double>(spec.rounds) - 1e-9));
  if (expected >= 1 && expected < spec.sampling.max_participations) {
    observers.push_back({.observer = Observer::kCohortAware,
                         .hypothetical = true,
                         .round = {{.event = known}},
                         .releases = expected,
                         .note = ParticipationsNote(spec.sampling.dummy_uploads, expected) +
                                 ", the number to be expected"});
  }
  const uint64_t honest = Without(shares, spec.privacy.colluders);
  const uint64_t others = std::max<uint64_t>(Without(spec.pool, spec.privacy.colluders), 1);
  observers.push_back(spec.sampling.dummy_uploads
                          ? Coalition(spec, Release(spec, honest, q, others), spec.rounds)
                          : Coalition(spec, Release(unsampled, honest, 1, spec.pool),
                                      spec.sampling.max_participations));
  if (spec.sampling.clients > 1) {
    const double chi = std::max(1.0, static_cast<double>(spec.privacy.colluders)) / cohort;
    FederationPrivacySpec published = spec;
    published.mechanism.noise_stddev = std::max(0.0, 1 - chi) * spec.mechanism.noise_stddev;
    observers.push_back({.observer = Observer::kPublishedParticipant,
                         .standing = Standing::kConvention,
                         .round = {{.event = Release(published, shares, q, spec.pool)}},
                         .releases = spec.rounds,
                         .note = "the paper's convention (1 - chi) sigma, for comparison only"});
  }
  NoteHonestDraw(spec, observers);
  return observers;
}

}  // namespace tacet::accounting
