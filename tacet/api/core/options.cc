#include "tacet/api/core/options.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tacet/agreement/terms_table.h"
#include "tacet/api/core/privacy_model.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/he/key_sharing.h"

namespace tacet::api {
namespace {

absl::Status CheckPositive(double value, std::string_view name) {
  if (value > 0 && std::isfinite(value)) return absl::OkStatus();
  return base::InvalidArgument("{} is {}, expected a finite number above 0", name, value);
}

// Sets a term of the option's name, which holds the same kind of value.
template <typename Option, typename Term>
absl::Status Assign(std::string_view, const Option& option, Term& term) {
  if constexpr (requires { Internal(option); }) {
    if constexpr (std::is_assignable_v<Term&, decltype(Internal(option))>) term = Internal(option);
  } else if constexpr (std::is_unsigned_v<Option> && std::is_unsigned_v<Term>) {
    // Too many for an agreement's bytes are refused as the most that they hold.
    term = static_cast<Term>(std::min<uint64_t>(option, std::numeric_limits<Term>::max()));
  } else if constexpr (std::is_same_v<Option, Term> ||
                       std::is_same_v<std::optional<Option>, Term>) {
    term = option;
  }
  return absl::OkStatus();
}
template <typename Option, typename Term>
absl::Status Assign(std::string_view name, const std::optional<Option>& option, Term& term) {
  if (!option.has_value()) return absl::OkStatus();
  if constexpr (std::is_same_v<Option, double>) TACET_RETURN_IF_ERROR(CheckPositive(*option, name));
  // In a term 0 stands for the default, which an option leaves out.
  if constexpr (std::is_integral_v<Option> && !std::is_same_v<Option, bool> &&
                std::is_integral_v<Term>) {
    if (*option == 0) {
      return base::InvalidArgument("{} is 0, expected 1 or more; leave it out for its default",
                                   name);
    }
  }
  return Assign(name, *option, term);
}

// The terms that have an option's name, as the options give them.
absl::StatusOr<agreement::ManifestSpec> NamedTerms(const FederationOptions& options) {
  agreement::ManifestSpec spec{.sampling = {.method = std::nullopt}};
  absl::Status status;
  VisitOptions(options, [&](std::string_view name, const auto& option) {
    agreement::VisitTerms(
        [&](const agreement::Term& term, auto& value) {
          if (term.name() == name) status.Update(Assign(name, option, value));
        },
        spec);
  });
  TACET_RETURN_IF_ERROR(status);
  return spec;
}

absl::Status CheckOptions(const FederationOptions& options) {
  if (options.corrupt_seats == 0u && !options.committee_seats.has_value()) {
    return base::InvalidArgument("corrupt_seats is 0: give committee_seats, 2 or 3, too");
  }
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
  return CheckPositive(options.noise_multiplier.value_or(1), "noise_multiplier");
}

absl::StatusOr<agreement::ManifestSpec> GivenTermsOf(const FederationOptions& options) {
  TACET_RETURN_IF_ERROR(CheckOptions(options));
  TACET_ASSIGN_OR_RETURN(agreement::ManifestSpec spec, NamedTerms(options));
  if (!options.cohort.has_value()) spec.sampling.cohort = spec.sampling.clients;
  if (options.unit != Unit::kClient) spec.sampling.method = accounting::Sampling::kFixedSize;
  spec.mechanism.coordinate_bound = options.coordinate_bound.value_or(options.clip_norm);
  spec.mechanism.noise_stddev =
      options.noise_stddev.value_or(options.noise_multiplier.value_or(0) * options.clip_norm);
  if (options.committee_seats.has_value()) {
    spec.committee.corrupt = options.corrupt_seats.value_or(
        agreement::DefaultCorruptSeats(spec.committee.seats, options.colluders));
  } else {
    spec.committee.corrupt = options.corrupt_seats.value_or(0);
  }
  return spec;
}

}  // namespace

absl::StatusOr<accounting::FederationPrivacySpec> PrivacySpecOf(const FederationOptions& options) {
  TACET_ASSIGN_OR_RETURN(const agreement::ManifestSpec terms, GivenTermsOf(options));
  accounting::FederationPrivacySpec spec{.sampling = terms.sampling,
                                         .mechanism = terms.mechanism,
                                         .privacy = terms.privacy,
                                         .rounds = options.rounds};
  TACET_RETURN_IF_ERROR(accounting::CheckFederation(spec));
  he::CommitteeShape shape = terms.committee;
  if (shape.seats == 0) {
    shape = agreement::DefaultCommittee(terms.sampling.clients, options.colluders);
    shape.corrupt = options.corrupt_seats.value_or(shape.corrupt);
  }
  TACET_RETURN_IF_ERROR(he::KeySharing::Create(shape).status());
  if (shape.seats > terms.sampling.clients) {
    return base::InvalidArgument("committee_seats is {}, but there are {} clients", shape.seats,
                                 terms.sampling.clients);
  }
  spec.committee_seats = shape.seats;
  spec.corrupt_seats = shape.corrupt;
  return spec;
}

absl::StatusOr<agreement::ManifestSpec> TermsOf(const FederationOptions& options) {
  if (options.unit != Unit::kClient && !options.coordinate_bound.has_value()) {
    return base::InvalidArgument(
        "coordinate_bound is missing: with unit {} an update is a sum of clipped contributions, "
        "choose the largest absolute value of its coordinates",
        Name(options.unit));
  }
  return GivenTermsOf(options);
}

absl::StatusOr<agreement::ManifestSpec> ManifestSpecOf(const AgreementOptions& options) {
  FederationOptions federation = options.federation;
  if (!federation.clients.has_value()) federation.clients = options.members.size();
  TACET_ASSIGN_OR_RETURN(agreement::ManifestSpec spec, TermsOf(federation));
  spec.dimension = options.dimension;
  spec.spare_attempts = options.spare_attempts;
  spec.committee_members = options.committee;
  // The other agreed keys, for which a manifest has no place, in the form of a text.
  base::ByteWriter annex;
  annex.Raw("tacet/2/library agreement");
  annex.U32(options.epoch);
  annex.Blob(options.context);
  for (const MemberPublicKey& member : options.members) {
    TACET_RETURN_IF_ERROR(base::Annotate(crypto::CheckKemKey(member.kem),
                                         fmt::format("member {}", spec.members.size())));
    annex.Raw(crypto::Sha256(member.kem));
    spec.members.push_back({.signing_key = member.signing, .exchange_key = member.exchange});
  }
  spec.annex = crypto::Sha256(annex.bytes());
  return spec;
}

AgreementOptions WithDefaults(AgreementOptions options, const agreement::ManifestSpec& spec) {
  FederationOptions& federation = options.federation;
  federation.clients = spec.sampling.clients;
  federation.cohort = spec.sampling.cohort;
  federation.min_participants = spec.sampling.min_participants;
  if (federation.unit == Unit::kClient) {
    federation.sampling = Public(*spec.sampling.method);
  } else {
    federation.appearances = spec.sampling.appearances;
  }
  federation.dummy_uploads = spec.sampling.dummy_uploads;
  federation.coordinate_bound = spec.mechanism.coordinate_bound;
  federation.committee_seats = spec.committee.seats;
  federation.corrupt_seats = spec.committee.corrupt;
  options.committee = spec.committee_members;
  return options;
}

}  // namespace tacet::api
