#include "tacet/api/core/options.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "tacet/api/core/privacy_model.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/he/key_sharing.h"

namespace tacet::api {
namespace {

absl::Status CheckPositive(double value, const char* name) {
  if (value > 0 && std::isfinite(value)) return absl::OkStatus();
  return base::InvalidArgument("{} is {}, expected a finite number above 0", name, value);
}

std::optional<accounting::Sampling> SamplingMethodOf(const FederationOptions& options) {
  if (options.unit != Unit::kClient) return accounting::Sampling::kFixedSize;
  if (!options.sampling.has_value()) return std::nullopt;
  return Internal(*options.sampling);
}

accounting::SamplingParams SamplingOf(const FederationOptions& options) {
  return {.clients = options.clients,
          .cohort = options.cohort == 0 ? options.clients : options.cohort,
          .min_participants = options.min_participants,
          .method = SamplingMethodOf(options),
          .dummy_uploads = options.dummy_uploads.value_or(false),
          .max_participations = options.max_participations,
          .record_rate = options.record_rate,
          .expected_batch = options.expected_batch,
          .appearances = options.appearances};
}

dp::MechanismParams MechanismOf(const FederationOptions& options) {
  return {.clip_norm = options.clip_norm,
          .coordinate_bound =
              options.coordinate_bound == 0 ? options.clip_norm : options.coordinate_bound,
          .noise_stddev = options.noise_stddev.value_or(options.noise_multiplier.value_or(0) *
                                                        options.clip_norm),
          .scale = options.scale};
}

accounting::PrivacyTarget PrivacyOf(const FederationOptions& options) {
  return {.unit = Internal(options.unit),
          .neighbouring = Internal(options.neighbouring),
          .colluders = options.colluders,
          .delta = options.delta};
}

// Seats 0 where the default is to be chosen later.
he::CommitteeShape CommitteeOf(const FederationOptions& options) {
  he::CommitteeShape shape{.seats = options.committee_seats, .corrupt = options.corrupt_seats};
  if (shape.seats != 0 && shape.corrupt == 0) {
    shape.corrupt = agreement::DefaultCorruptSeats(shape.seats, options.colluders);
  }
  return shape;
}

absl::Status CheckOptions(const FederationOptions& options) {
  if (options.unit == Unit::kClient && !options.sampling.has_value() &&
      options.dummy_uploads == false) {
    return base::InvalidArgument(
        "dummy_uploads is false and sampling is not given: choose kFixedSize or kPoisson for "
        "cohorts without dummy uploads");
  }
  TACET_RETURN_IF_ERROR(CheckPositive(options.clip_norm, "clip_norm"));
  if (options.noise_multiplier.has_value() == options.noise_stddev.has_value()) {
    return base::InvalidArgument("noise_multiplier and noise_stddev are both {}: give one of them",
                                 options.noise_stddev.has_value() ? "given" : "missing");
  }
  TACET_RETURN_IF_ERROR(options.noise_stddev.has_value()
                            ? CheckPositive(*options.noise_stddev, "noise_stddev")
                            : CheckPositive(*options.noise_multiplier, "noise_multiplier"));
  if (options.coordinate_bound != 0) {
    return CheckPositive(options.coordinate_bound, "coordinate_bound");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<accounting::FederationPrivacySpec> PrivacySpecOf(const FederationOptions& options) {
  TACET_RETURN_IF_ERROR(CheckOptions(options));
  accounting::FederationPrivacySpec spec{.sampling = SamplingOf(options),
                                         .mechanism = MechanismOf(options),
                                         .privacy = PrivacyOf(options),
                                         .rounds = options.rounds};
  TACET_RETURN_IF_ERROR(accounting::CheckFederation(spec));
  he::CommitteeShape shape = agreement::DefaultCommittee(options.clients, options.colluders);
  if (options.committee_seats != 0) shape = CommitteeOf(options);
  if (options.corrupt_seats != 0) shape.corrupt = options.corrupt_seats;
  TACET_RETURN_IF_ERROR(he::KeySharing::Create(shape).status());
  if (shape.seats > options.clients) {
    return base::InvalidArgument("committee_seats is {}, but there are {} clients", shape.seats,
                                 options.clients);
  }
  spec.committee_seats = shape.seats;
  spec.corrupt_seats = shape.corrupt;
  return spec;
}

absl::StatusOr<agreement::ManifestSpec> TermsOf(const FederationOptions& options) {
  TACET_RETURN_IF_ERROR(CheckOptions(options));
  if (options.unit != Unit::kClient && options.coordinate_bound == 0) {
    return base::InvalidArgument(
        "coordinate_bound is 0: with unit {} an update is a sum of clipped contributions, choose "
        "the largest absolute value of its coordinates",
        Name(options.unit));
  }
  agreement::ManifestSpec spec;
  spec.rounds = static_cast<uint32_t>(
      std::min<uint64_t>(options.rounds, std::numeric_limits<uint32_t>::max()));
  spec.committee = CommitteeOf(options);
  spec.sampling = SamplingOf(options);
  spec.mechanism = MechanismOf(options);
  spec.privacy = PrivacyOf(options);
  return spec;
}

absl::StatusOr<agreement::ManifestSpec> ManifestSpecOf(const AgreementOptions& options) {
  FederationOptions federation = options.federation;
  if (federation.clients == 0) federation.clients = options.members.size();
  TACET_ASSIGN_OR_RETURN(agreement::ManifestSpec spec, TermsOf(federation));
  spec.dimension = options.dimension;
  spec.spare_attempts = options.spare_attempts;
  spec.committee_members = options.committee;
  // What else is agreed, in the form of a text.
  base::ByteWriter annex;
  annex.Raw("tacet/1/library agreement");
  annex.U32(options.epoch);
  annex.Blob(options.context);
  spec.annex = crypto::Sha256(annex.bytes());
  for (const MemberPublicKey& member : options.members) {
    spec.members.push_back({.signing_key = member.signing, .exchange_key = member.exchange});
  }
  return spec;
}

AgreementOptions WithDefaults(AgreementOptions options, const agreement::ManifestSpec& spec) {
  FederationOptions& federation = options.federation;
  federation.clients = spec.sampling.clients;
  federation.cohort = spec.sampling.cohort;
  federation.min_participants = spec.sampling.min_participants;
  if (federation.unit == Unit::kClient) federation.sampling = Public(*spec.sampling.method);
  federation.dummy_uploads = spec.sampling.dummy_uploads;
  federation.appearances = spec.sampling.appearances;
  federation.coordinate_bound = spec.mechanism.coordinate_bound;
  federation.committee_seats = spec.committee.seats;
  federation.corrupt_seats = spec.committee.corrupt;
  options.committee = spec.committee_members;
  return options;
}

}  // namespace tacet::api
