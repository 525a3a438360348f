#include "tacet/accounting/federation_privacy.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "fmt/format.h"

#include "tacet/accounting/count_laws.h"
#include "tacet/base/status.h"
#include "tacet/dp/discrete_laplace.h"
#include "tacet/dp/sum_limits.h"

namespace tacet::accounting {
namespace {

constexpr double kMissedRound = 1e-9;
constexpr double kUpwards = 1e-14;  // relative allowance for rounding

bool IsLaplace(const FederationPrivacySpec& spec) {
  return spec.mechanism.noise_law == dp::NoiseLaw::kDiscreteLaplace;
}

// Whether only those upload whom secret coins choose.
bool HasRandomUploads(const SamplingParams& sampling, const PrivacyTarget& privacy, uint64_t pool) {
  return privacy.unit == Unit::kClient && sampling.method == Sampling::kPoisson &&
         sampling.cohort < pool && sampling.cohort > 0 && !sampling.dummy_uploads;
}

// The smallest number with which a server finds one member that spoils sums: it leaves out so many
// in turn, each refused sum clears those, and in the last ones a half stays. With two more sums of
// all members these are ten, as many as attempts are spare by default (server/exclusions.h).
uint64_t DefaultAbsent(uint64_t uploads) {
  constexpr uint64_t kRefused = 8, kMost = 16;  // enough for 64 uploads
  const auto refused = [uploads](uint64_t absent) {
    return (uploads + absent - 1) / absent + static_cast<uint64_t>(std::bit_width(absent - 1));
  };
  uint64_t absent = 1;
  while (absent < kMost && refused(absent) > kRefused) ++absent;
  return absent;
}

uint64_t DefaultMinParticipants(const SamplingParams& sampling, const PrivacyTarget& privacy,
                                uint64_t pool, Purpose purpose) {
  if (HasRandomUploads(sampling, privacy, pool)) {
    return PoissonMinParticipants(
        pool, static_cast<double>(sampling.cohort) / static_cast<double>(pool), kMissedRound);
  }
  const uint64_t uploads = sampling.dummy_uploads ? pool : sampling.cohort;
  // A cohort that is drawn again has other participants.
  const uint64_t of_training = uploads < pool ? 1 : DefaultAbsent(uploads);
  const uint64_t by_default = purpose == Purpose::kQuery ? 0 : of_training;
  const uint64_t absent = sampling.max_absent.value_or(by_default);
  const uint64_t present = uploads > absent ? uploads - absent : 0;
  return std::min(uploads, std::max(privacy.colluders + 2, present));
}

// `spec` is resolved.
absl::Status CheckAbsent(const FederationPrivacySpec& spec) {
  const SamplingParams& sampling = spec.sampling;
  if (HasRandomUploads(sampling, spec.privacy, spec.pool)) {
    return base::InvalidArgument(
        "max_absent is {}, but the members that were not drawn do not upload, so nobody knows how "
        "many are absent: give min_participants, or dummy_uploads",
        *sampling.max_absent);
  }
  const uint64_t follows =
      DefaultMinParticipants(sampling, spec.privacy, spec.pool, Purpose::kTraining);
  if (sampling.min_participants == follows) return absl::OkStatus();
  return base::InvalidArgument(
      "max_absent is {} and min_participants is {}: {} follows from the one, leave out the other",
      *sampling.max_absent, sampling.min_participants, follows);
}

// `spec` is resolved.
absl::Status CheckLaplace(const FederationPrivacySpec& spec) {
  if (IsClientUnit(spec)) {
    return base::InvalidArgument(
        "noise_law is discrete-laplace with unit client, whose updates are clipped in L2: expected "
        "gaussian, or unit record or person");
  }
  if (spec.sampling.record_rate < 1) {
    return base::InvalidArgument(
        "noise_law is discrete-laplace with record_rate {}: it is for releases in which every unit "
        "takes part, expected gaussian",
        spec.sampling.record_rate);
  }
  if (NoiseShares(spec) == 0) {
    return base::InvalidArgument(
        "noise_law is discrete-laplace with min_participants {} and colluders {}: no site is left "
        "that brings noise which nobody else knows; expected gaussian, or at least {} participants",
        spec.sampling.min_participants, spec.privacy.colluders,
        std::max<uint64_t>(1, spec.privacy.colluders) + 1);
  }
  if (!(spec.mechanism.scale > 0 && std::isfinite(spec.mechanism.scale))) {
    return base::InvalidArgument("scale is {}, expected a finite number above 0",
                                 spec.mechanism.scale);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFederation(const FederationPrivacySpec& given) {
  if (given.sampling.clients < 1) {
    return base::InvalidArgument("clients is 0, expected at least 1");
  }
  // Laws of the number of participants are tables of this size.
  constexpr uint64_t kMaxClients = 100'000'000;
  if (given.sampling.clients > kMaxClients) {
    return base::InvalidArgument("clients is {}, expected at most {}", given.sampling.clients,
                                 kMaxClients);
  }
  if (given.pool > given.sampling.clients) {
    return base::InvalidArgument("the pool of {} is larger than the {} clients", given.pool,
                                 given.sampling.clients);
  }
  const uint64_t pool = given.pool == 0 ? given.sampling.clients : given.pool;
  if (IsClientUnit(given)
          ? given.sampling.cohort < 1 || given.sampling.cohort > pool
          : given.sampling.cohort != 0 && given.sampling.cohort != given.sampling.clients) {
    return base::InvalidArgument("the cohort is {}, expected {}", given.sampling.cohort,
                                 IsClientUnit(given)
                                     ? fmt::format("1 to {} (the clients to draw from)", pool)
                                     : fmt::format("all {} sites", given.sampling.clients));
  }
  const FederationPrivacySpec spec = Resolved(given);
  const SamplingParams& sampling = spec.sampling;
  const uint64_t most = sampling.dummy_uploads ? spec.pool : sampling.cohort;
  if (sampling.max_absent.has_value()) TACET_RETURN_IF_ERROR(CheckAbsent(spec));
  if (sampling.min_participants > most) {
    return base::InvalidArgument("min_participants is {}, more than the {} of {}",
                                 sampling.min_participants,
                                 sampling.dummy_uploads ? "pool" : "cohort", most);
  }
  if (spec.rounds < 1) {
    return base::InvalidArgument("rounds is 0, expected at least 1");
  }
  if (spec.privacy.colluders >= sampling.clients) {
    return base::InvalidArgument("colluders is {}, expected fewer than the {} clients",
                                 spec.privacy.colluders, sampling.clients);
  }
  if (!IsClientUnit(spec)) {
    if (!(sampling.record_rate > 0 && sampling.record_rate <= 1)) {
      return base::InvalidArgument("record_rate is {}, expected above 0 and at most 1",
                                   sampling.record_rate);
    }
    if (sampling.appearances > sampling.clients) {
      return base::InvalidArgument("appearances is {}, expected 1 to {} (the sites)",
                                   sampling.appearances, sampling.clients);
    }
    if (sampling.dummy_uploads) {
      return base::InvalidArgument("dummy_uploads hide who was drawn; with unit {} all sites are",
                                   UnitName(spec.privacy.unit));
    }
  }
  if (sampling.dummy_uploads && sampling.method != Sampling::kPoisson) {
    return base::InvalidArgument(
        "dummy_uploads hide the cohort, but with {} sampling the party that draws it knows it: "
        "expected sampling poisson",
        SamplingName(*sampling.method));
  }
  if (IsLaplace(spec)) TACET_RETURN_IF_ERROR(CheckLaplace(spec));
  TACET_RETURN_IF_ERROR(CheckDelta(spec.privacy.delta));
  return CheckEvent({.sampling = Sampling::kNone,
                     .noise_stddev = spec.mechanism.noise_stddev,
                     .clip_norm = spec.mechanism.clip_norm});
}

SamplingParams Resolved(SamplingParams sampling, const PrivacyTarget& privacy, uint64_t pool,
                        Purpose purpose) {
  const bool is_client = privacy.unit == Unit::kClient;
  if (sampling.cohort == 0) sampling.cohort = is_client ? pool : sampling.clients;
  if (!is_client) sampling.appearances = std::max<uint64_t>(sampling.appearances, 1);
  if (!sampling.method.has_value()) {
    const bool hidden = is_client && (sampling.cohort < pool || sampling.dummy_uploads);
    sampling.method = hidden ? Sampling::kPoisson : Sampling::kFixedSize;
    sampling.dummy_uploads |= hidden;
  }
  if (sampling.min_participants == 0) {
    sampling.min_participants = DefaultMinParticipants(sampling, privacy, pool, purpose);
  }
  return sampling;
}

FederationPrivacySpec Resolved(FederationPrivacySpec spec) {
  spec.pool = spec.pool == 0 ? spec.sampling.clients : spec.pool;
  SamplingParams& sampling = spec.sampling;
  sampling = Resolved(sampling, spec.privacy, spec.pool, Purpose::kTraining);
  sampling.max_participations = sampling.max_participations == 0
                                    ? spec.rounds
                                    : std::min(sampling.max_participations, spec.rounds);
  return spec;
}

uint64_t NoiseShares(const FederationPrivacySpec& spec) {
  const uint64_t shares = Resolved(spec).sampling.min_participants;
  if (IsClientUnit(spec)) return shares;
  const uint64_t known = std::max<uint64_t>(spec.privacy.colluders, IsLaplace(spec) ? 1 : 0);
  return shares > known ? shares - known : 0;
}

double PureEpsilonOf(const FederationPrivacySpec& spec) {
  const dp::MechanismParams& mechanism = spec.mechanism;
  if (!IsLaplace(spec) || !(mechanism.noise_stddev > 0)) return 0;
  const double norm =
      mechanism.clip_norm * static_cast<double>(std::max<uint64_t>(spec.sampling.appearances, 1));
  const double sensitivity = Sensitivity(
      {.neighbouring = spec.privacy.neighbouring, .sampling = Sampling::kNone, .clip_norm = norm});
  return sensitivity / mechanism.scale *
         dp::DiscreteLaplaceRate(mechanism.noise_stddev / mechanism.scale) * (1 + kUpwards);
}

absl::StatusOr<dp::MechanismSpec> MechanismOf(const FederationPrivacySpec& spec, uint64_t dimension,
                                              uint64_t largest_cohort) {
  const uint64_t shares = NoiseShares(spec);
  if (shares == 0) {
    return base::InvalidArgument(
        "colluders is {}: of the noise of {} participants nothing is left that {} does not know",
        spec.privacy.colluders, Resolved(spec).sampling.min_participants,
        IsLaplace(spec) ? "another site, or who colludes," : "who colludes");
  }
  const auto count = [](uint64_t value) {
    return static_cast<uint32_t>(std::min<uint64_t>(value, std::numeric_limits<uint32_t>::max()));
  };
  // Units of which secret coins decide whether they are in the sum: how many on average.
  double drawn = spec.sampling.expected_batch;
  if (spec.sampling.dummy_uploads) drawn = static_cast<double>(spec.sampling.cohort);
  const double most = drawn > 0 ? dp::MostDrawn(drawn) : std::numeric_limits<double>::infinity();
  return dp::MechanismSpec{.dimension = dimension,
                           .params = spec.mechanism,
                           .cohort = count(largest_cohort),
                           .min_participants = count(Resolved(spec).sampling.min_participants),
                           .noise_shares = count(shares),
                           .sums_of_clipped = !IsClientUnit(spec),
                           .most_contributions = most,
                           .attempts = count(spec.rounds),
                           .delta = spec.privacy.delta};
}

}  // namespace tacet::accounting
