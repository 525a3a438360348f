#include "tacet/agreement/manifest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "tacet/accounting/calibration.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/manifest_bytes.h"
#include "tacet/base/status.h"

namespace tacet::agreement {
namespace {

constexpr uint32_t kMaxRounds = 1'000'000;
constexpr uint32_t kMaxAttempts = 100;

absl::Status CheckRange(uint64_t value, uint64_t low, uint64_t high, std::string_view key) {
  if (value >= low && value <= high) return absl::OkStatus();
  return base::InvalidArgument("{} is {}, it must be from {} to {}", key, value, low, high);
}

bool IsClientUnit(const ManifestSpec& spec) { return spec.unit == accounting::Unit::kClient; }

absl::Status CheckUnit(const ManifestSpec& spec) {
  const std::string_view unit = accounting::UnitName(spec.unit);
  if (IsClientUnit(spec)) {
    if (spec.dummy_uploads && spec.sampling != accounting::Sampling::kPoisson) {
      return base::InvalidArgument(
          "dummy_uploads hide who takes part, but with {} sampling the server draws the cohort and "
          "knows it: choose poisson, members then toss coins of their own",
          accounting::SamplingName(spec.sampling));
    }
    if (spec.record_rate != 0 || spec.expected_batch != 0 || spec.appearances != 0) {
      return base::InvalidArgument(
          "privacy.record_rate {}, privacy.expected_batch {} and privacy.appearances {} are for "
          "unit record or person; with unit client they must be left out",
          spec.record_rate, spec.expected_batch, spec.appearances);
    }
    return absl::OkStatus();
  }
  if (spec.dummy_uploads || spec.max_participations != 0) {
    return base::InvalidArgument(
        "dummy_uploads and max_participations are for unit client; with unit {} every site is in "
        "every round",
        unit);
  }
  if (!(spec.record_rate > 0 && spec.record_rate <= 1)) {
    return base::InvalidArgument("record_rate is {}, it must be above 0 and at most 1",
                                 spec.record_rate);
  }
  if (!(spec.expected_batch > 0 && std::isfinite(spec.expected_batch))) {
    return base::InvalidArgument("expected_batch is {}, it must be a positive number",
                                 spec.expected_batch);
  }
  if (spec.cohort != spec.clients || spec.sampling != accounting::Sampling::kFixedSize) {
    return base::InvalidArgument(
        "with unit {} every site is in every round: the cohort must be all {} sites, not {} by {} "
        "sampling",
        unit, spec.clients, spec.cohort, accounting::SamplingName(spec.sampling));
  }
  // A site's sum becomes floats: on the way each coordinate may move by 2^-23 b. The clipping of
  // records leaves room for that (docs/design/records.md).
  const double rounding =
      0x1p-23 * spec.coordinate_bound * std::sqrt(static_cast<double>(spec.dimension));
  if (rounding > 0x1p-9 * spec.clip_norm) {
    return base::InvalidArgument(
        "coordinate_bound is {}: with {} parameters a site's sum of clipped gradients can be "
        "rounded to {:.3g} at best, expected at most 2^-9 of the clip norm {}",
        spec.coordinate_bound, spec.dimension, rounding, spec.clip_norm);
  }
  return absl::OkStatus();
}

// K_min - c, the uploads in every sum that come from members outside the coalition. Fewer than two
// leave encryption nothing to hide: the sum less the coalition's own uploads is one member's
// update. (Two are enough for the one-time keys: docs/security/rlwe.md.) In the clear, one is
// needed for its noise.
absl::Status CheckHonestUploads(const ManifestSpec& spec) {
  const uint64_t least = spec.without_encryption ? 1 : 2;
  const uint64_t needed = least + spec.colluders;
  if (spec.min_participants >= needed) return absl::OkStatus();
  std::string remedy;
  if (ExpectedUploads(spec) >= needed) {
    remedy = fmt::format("raise federation.min_participants to {} or more", needed);
  } else if (spec.clients >= needed) {
    remedy = fmt::format("raise federation.cohort, now {}, to {} or more", spec.cohort, needed);
  } else {
    remedy =
        fmt::format("the federation needs {} members or more, it has {}", needed, spec.clients);
  }
  if (spec.colluders > 0 && spec.min_participants >= least) {
    remedy += fmt::format(", or lower privacy.colluders to {}", spec.min_participants - least);
  }
  return base::InvalidArgument(
      "federation.min_participants is {} and privacy.colluders is {}: at least {} of a sum's "
      "uploads "
      "must come from members outside the coalition, or {}; {}",
      spec.min_participants, spec.colluders, least,
      spec.without_encryption ? "nobody's noise is left"
                              : "the sum gives away a single member's update",
      remedy);
}

absl::Status CheckCounts(const ManifestSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckRange(spec.dimension, 1, uint64_t{1} << 40, "dimension"));
  if (spec.federated_part.empty() ? spec.whole_dimension != 0
                                  : spec.whole_dimension < spec.dimension) {
    return base::InvalidArgument(
        "the federated part \"{}\" has {} parameters of a model of {}: name a part and the size of "
        "the whole, or neither",
        spec.federated_part, spec.dimension, spec.whole_dimension);
  }
  if (spec.clients == 0) return base::InvalidArgument("the federation has no clients");
  TACET_RETURN_IF_ERROR(
      CheckRange(spec.clients, 1, std::numeric_limits<uint32_t>::max(), "clients"));
  if (spec.cohort < 1 || spec.cohort > spec.clients) {
    return base::InvalidArgument(
        "cohort is {}, but the federation has {} clients: choose 1 to {} participants a round",
        spec.cohort, spec.clients, spec.clients);
  }
  TACET_RETURN_IF_ERROR(CheckRange(spec.rounds, 1, kMaxRounds, "rounds"));
  TACET_RETURN_IF_ERROR(CheckRange(spec.attempts_per_round, 1, kMaxAttempts, "attempts_per_round"));
  TACET_RETURN_IF_ERROR(CheckRange(spec.spare_attempts, 0, kMaxRounds, "spare_attempts"));
  TACET_RETURN_IF_ERROR(CheckRange(spec.openers, 1, 99, "openers"));
  if (spec.sampling == accounting::Sampling::kNone && spec.cohort != spec.clients) {
    return base::InvalidArgument("sampling must be fixed-size or poisson when {} of {} take part",
                                 spec.cohort, spec.clients);
  }
  return absl::OkStatus();
}

dp::MechanismSpec MechanismOf(const ManifestSpec& spec, uint32_t largest_cohort,
                              double max_epsilon) {
  dp::MechanismSpec mechanism;
  mechanism.dimension = spec.dimension;
  mechanism.clip_norm = spec.clip_norm;
  mechanism.coordinate_bound = spec.coordinate_bound;
  mechanism.noise_stddev = spec.noise_stddev;
  mechanism.scale = spec.scale;
  mechanism.cohort = largest_cohort;
  mechanism.min_participants = spec.min_participants;
  mechanism.noise_shares =
      IsClientUnit(spec) ? spec.min_participants : spec.min_participants - spec.colluders;
  mechanism.sums_of_clipped = !IsClientUnit(spec);
  mechanism.attempts = spec.rounds + spec.spare_attempts;
  mechanism.delta = spec.delta;
  mechanism.max_epsilon = max_epsilon;
  mechanism.sampler = spec.sampler;
  mechanism.without_noise = spec.without_noise;
  mechanism.without_clipping = spec.without_clipping;
  mechanism.without_guarantee = spec.without_noise || spec.without_clipping;
  return mechanism;
}

bool GuaranteesSomething(const ManifestSpec& spec) {
  return !spec.without_noise && !spec.without_clipping;
}

// The most attempts that may ever be charged.
uint64_t AttemptBudget(const ManifestSpec& spec) {
  return uint64_t{spec.rounds} + spec.spare_attempts;
}

// sigma from the epsilon that all permitted attempts may cost.
absl::Status ChooseNoise(ManifestSpec& spec) {
  if (spec.target_epsilon == 0) return absl::OkStatus();
  if (spec.noise_stddev != 0) {
    return base::InvalidArgument(
        "noise is {} and target_epsilon is {}: the one follows from the other, leave one out",
        spec.noise_stddev, spec.target_epsilon);
  }
  if (!GuaranteesSomething(spec)) {
    return base::InvalidArgument(
        "target_epsilon is {}, but without noise or without clipping epsilon is infinite",
        spec.target_epsilon);
  }
  TACET_ASSIGN_OR_RETURN(spec.noise_stddev,
                         accounting::CalibrateNoise(PrivacyOf(spec, AttemptBudget(spec)),
                                                    {.epsilon = spec.target_epsilon}));
  return absl::OkStatus();
}

// With so little noise the samplers' finite precision fails first, but the noise is the cause.
absl::Status TooLittleNoise(const ManifestSpec& spec, double epsilon) {
  return base::InvalidArgument(
      "epsilon is {:.4g} or more for every observer at noise {:.4g} and clip norm {:.4g}, which "
      "protects nobody: {}",
      epsilon, spec.noise_stddev, spec.clip_norm,
      spec.target_epsilon > 0 ? "lower `privacy.target_epsilon`" : "raise `privacy.noise`");
}

absl::Status CheckBudget(const ManifestSpec& spec) {
  if (spec.budget_epsilon == 0) return absl::OkStatus();
  const accounting::SpendingTerms terms{.budget_epsilon = spec.budget_epsilon, .delta = spec.delta};
  TACET_ASSIGN_OR_RETURN(accounting::PrivacyFilter spending,
                         accounting::PrivacyFilter::Create(terms));
  if (!GuaranteesSomething(spec)) {
    return base::InvalidArgument(
        "budget_epsilon is {}, but without noise or without clipping epsilon is infinite: leave "
        "out the one or the other",
        spec.budget_epsilon);
  }
  return base::Annotate(spending.CheckRoomFor(ChargedEvent(spec)),
                        "budget_epsilon does not reach for a single attempt");
}

}  // namespace

CohortRange UploadRange(const ManifestSpec& spec) {
  if (!spec.dummy_uploads) return ExpectedCohortRange(spec.sampling, spec.clients, spec.cohort);
  const auto all = static_cast<uint32_t>(spec.clients);
  return {.smallest = all, .largest = all};
}

uint32_t ExpectedUploads(const ManifestSpec& spec) {
  return spec.dummy_uploads ? static_cast<uint32_t>(spec.clients) : spec.cohort;
}

accounting::FederationPrivacySpec PrivacyOf(const ManifestSpec& spec, uint64_t attempts) {
  accounting::FederationPrivacySpec privacy;
  privacy.unit = spec.unit;
  privacy.neighbouring = spec.neighbouring;
  privacy.clients = spec.clients;
  privacy.cohort = spec.cohort;
  privacy.min_participants = spec.min_participants;
  privacy.rounds = attempts;
  privacy.clip_norm = spec.clip_norm;
  privacy.noise_stddev = spec.noise_stddev;
  privacy.delta = spec.delta;
  privacy.sampling = spec.sampling;
  privacy.record_rate = spec.record_rate;
  privacy.appearances = std::max<uint32_t>(spec.appearances, 1);
  privacy.colluders = spec.colluders;
  privacy.dummy_uploads = spec.dummy_uploads;
  privacy.max_participations = spec.max_participations;
  return privacy;
}

accounting::SamplingEvent ChargedEvent(const ManifestSpec& spec) {
  accounting::SamplingEvent event{.unit = spec.unit,
                                  .neighbouring = spec.neighbouring,
                                  .sampling = accounting::Sampling::kFixedSize,
                                  .sampling_rate = 1,
                                  .noise_stddev = 0,
                                  .clip_norm = spec.clip_norm};
  if (!GuaranteesSomething(spec) || !(spec.noise_stddev > 0)) return event;
  const auto worst = accounting::WorstObserver(PrivacyOf(spec, AttemptBudget(spec)));
  if (!worst.ok()) return event;
  bool first = true;
  for (const accounting::WeightedEvent& part : worst->round) {
    if (first) {
      event = part.event;
      first = false;
      continue;
    }
    if (part.event.noise_stddev < event.noise_stddev) {
      event.noise_stddev = part.event.noise_stddev;
      event.least = part.event.least;
    }
    event.sampling_rate = std::max(event.sampling_rate, part.event.sampling_rate);
  }
  if (event.sampling == accounting::Sampling::kNone) {
    event.sampling = accounting::Sampling::kFixedSize;
    event.sampling_rate = 1;
  }
  return event;
}

absl::StatusOr<double> ChargedEpsilon(const ManifestSpec& spec, uint64_t attempts) {
  if (attempts == 0) return 0.0;
  if (!GuaranteesSomething(spec) || !(spec.noise_stddev > 0)) {
    return std::numeric_limits<double>::infinity();
  }
  TACET_ASSIGN_OR_RETURN(const accounting::PrivacyRow worst,
                         accounting::WorstRow(PrivacyOf(spec, attempts)));
  return worst.epsilon.value_or(std::numeric_limits<double>::infinity());
}

absl::StatusOr<Manifest> Manifest::Create(ManifestSpec spec) {
  if (spec.members.size() != spec.clients) {
    return base::InvalidArgument("{} member keys for {} clients", spec.members.size(),
                                 spec.clients);
  }
  return CreateChecked(std::move(spec));
}

absl::StatusOr<Manifest> Manifest::CreateWithoutMembers(ManifestSpec spec) {
  if (!spec.members.empty()) {
    return base::InvalidArgument("{} member keys, none are expected", spec.members.size());
  }
  return CreateChecked(std::move(spec));
}

absl::StatusOr<Manifest> Manifest::CreateChecked(ManifestSpec spec) {
  if (!IsClientUnit(spec) && spec.cohort == 0) spec.cohort = static_cast<uint32_t>(spec.clients);
  TACET_RETURN_IF_ERROR(CheckCounts(spec));
  const CohortRange range = UploadRange(spec);
  if (spec.min_participants == 0) spec.min_participants = range.smallest;
  const uint32_t uploads = ExpectedUploads(spec);
  if (spec.min_participants > uploads) {
    return base::InvalidArgument("federation.min_participants is {}, {}", spec.min_participants,
                                 spec.dummy_uploads
                                     ? fmt::format("there are only {} members to upload", uploads)
                                     : fmt::format("the cohort has only {}", uploads));
  }
  TACET_RETURN_IF_ERROR(CheckUnit(spec));
  TACET_RETURN_IF_ERROR(CheckHonestUploads(spec));
  if (!IsClientUnit(spec)) spec.appearances = std::max<uint32_t>(spec.appearances, 1);
  TACET_RETURN_IF_ERROR(ChooseNoise(spec));
  if (spec.without_noise) spec.noise_stddev = 0;
  spec.optimizer.rounds = spec.rounds;
  TACET_RETURN_IF_ERROR(ServerOptimizer::Create(spec.optimizer, 1).status());

  TACET_RETURN_IF_ERROR(CheckBudget(spec));

  double max_epsilon = 0;
  if (GuaranteesSomething(spec) && spec.noise_stddev > 0) {
    TACET_ASSIGN_OR_RETURN(max_epsilon,
                           accounting::LargestCarriedEpsilon(PrivacyOf(spec, AttemptBudget(spec))));
  }
  absl::StatusOr<secagg::Terms> terms =
      secagg::Terms::Create({.mechanism = MechanismOf(spec, range.largest, max_epsilon),
                             .scheme = spec.scheme,
                             .plaintext_bits = spec.plaintext_bits});
  if (max_epsilon > kMaxUsefulEpsilon ||
      (!terms.ok() && max_epsilon > accounting::kLargestCarriedEpsilon)) {
    return TooLittleNoise(spec, max_epsilon);
  }
  TACET_RETURN_IF_ERROR(terms.status());
  return Manifest(std::move(spec), std::make_shared<const secagg::Terms>(*std::move(terms)),
                  max_epsilon);
}

Manifest::Manifest(ManifestSpec spec, std::shared_ptr<const secagg::Terms> terms,
                   double max_epsilon)
    : spec_(std::move(spec)), terms_(std::move(terms)), max_epsilon_(max_epsilon) {
  agreement_ = crypto::Sha256(AgreementBytes(spec_));
  hash_ = crypto::Sha256(ManifestBytes(spec_));
}

}  // namespace tacet::agreement
