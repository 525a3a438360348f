#include "tacet/agreement/manifest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tacet/accounting/calibration.h"
#include "tacet/accounting/privacy_filter.h"
#include "tacet/accounting/privacy_rows.h"
#include "tacet/agreement/manifest_bytes.h"
#include "tacet/agreement/manifest_member.h"
#include "tacet/agreement/terms_table.h"
#include "tacet/base/status.h"

namespace tacet::agreement {
namespace {

constexpr uint64_t kMaxCount = std::numeric_limits<uint32_t>::max();  // that the bytes hold

absl::Status CheckRange(uint64_t value, uint64_t low, uint64_t high, std::string_view key) {
  if (value >= low && value <= high) return absl::OkStatus();
  return base::InvalidArgument("{} is {}, it must be from {} to {}", key, value, low, high);
}

bool IsClientUnit(const ManifestSpec& spec) {
  return spec.privacy.unit == accounting::Unit::kClient;
}

absl::Status CheckUnit(const ManifestSpec& spec) {
  const std::string_view unit = accounting::UnitName(spec.privacy.unit);
  if (IsClientUnit(spec)) {
    if (spec.sampling.dummy_uploads && spec.sampling.method != accounting::Sampling::kPoisson) {
      return base::InvalidArgument(
          "dummy_uploads hide who takes part, but with {} sampling the server draws the cohort and "
          "knows it: choose poisson, members then toss coins of their own",
          accounting::SamplingName(*spec.sampling.method));
    }
    if (spec.sampling.record_rate != 0 || spec.sampling.expected_batch != 0 ||
        spec.sampling.appearances != 0) {
      return base::InvalidArgument(
          "privacy.record_rate {}, privacy.expected_batch {} and privacy.appearances {} are for "
          "unit record or person; with unit client they must be left out",
          spec.sampling.record_rate, spec.sampling.expected_batch, spec.sampling.appearances);
    }
    return absl::OkStatus();
  }
  if (spec.sampling.dummy_uploads || spec.sampling.max_participations != 0) {
    return base::InvalidArgument(
        "dummy_uploads and max_participations are for unit client; with unit {} every site is in "
        "every round",
        unit);
  }
  if (!(spec.sampling.record_rate > 0 && spec.sampling.record_rate <= 1)) {
    return base::InvalidArgument("record_rate is {}, it must be above 0 and at most 1",
                                 spec.sampling.record_rate);
  }
  if (!(spec.sampling.expected_batch > 0 && std::isfinite(spec.sampling.expected_batch))) {
    return base::InvalidArgument("expected_batch is {}, it must be a positive number",
                                 spec.sampling.expected_batch);
  }
  if (spec.sampling.cohort != spec.sampling.clients ||
      spec.sampling.method != accounting::Sampling::kFixedSize) {
    return base::InvalidArgument(
        "with unit {} every site is in every round: the cohort must be all {} sites, not {} by {} "
        "sampling",
        unit, spec.sampling.clients, spec.sampling.cohort,
        accounting::SamplingName(*spec.sampling.method));
  }
  // Sums of a query are exact in floats (statistics/query.h).
  if (spec.model == kQueryModel) return absl::OkStatus();
  if (spec.mechanism.noise_law == dp::NoiseLaw::kDiscreteLaplace) {
    return base::InvalidArgument(
        "noise_law is discrete-laplace for model {}, expected gaussian: contributions to a "
        "training are no multiples of the scale, and are clipped in L2",
        spec.model);
  }
  // A site's sum becomes floats: on the way each coordinate may move by 2^-23 b. The clipping of
  // records leaves room for that (docs/design/records.md).
  const double rounding =
      0x1p-23 * spec.mechanism.coordinate_bound * std::sqrt(static_cast<double>(spec.dimension));
  if (rounding > 0x1p-9 * spec.mechanism.clip_norm) {
    return base::InvalidArgument(
        "coordinate_bound is {}: with {} parameters a site's sum of clipped gradients can be "
        "rounded to {:.3g} at best, expected at most 2^-9 of the clip norm {}",
        spec.mechanism.coordinate_bound, spec.dimension, rounding, spec.mechanism.clip_norm);
  }
  return absl::OkStatus();
}

// K_min - c, the uploads in every sum that come from members outside the coalition. Fewer than two
// leave encryption nothing to hide: the sum less the coalition's own uploads is one member's
// update. (Two are enough for the one-time keys: docs/security/rlwe.md.) In the clear, one is
// needed for its noise.
absl::Status CheckHonestUploads(const ManifestSpec& spec) {
  const uint64_t least = spec.without_encryption ? 1 : 2;
  const uint64_t needed = least + spec.privacy.colluders;
  if (spec.sampling.min_participants >= needed) return absl::OkStatus();
  std::string remedy;
  if (ExpectedUploads(spec) >= needed) {
    remedy = fmt::format("raise federation.min_participants to {} or more", needed);
  } else if (spec.sampling.clients >= needed) {
    remedy =
        fmt::format("raise federation.cohort, now {}, to {} or more", spec.sampling.cohort, needed);
  } else {
    remedy = fmt::format("the federation needs {} members or more, it has {}", needed,
                         spec.sampling.clients);
  }
  if (spec.privacy.colluders > 0 && spec.sampling.min_participants >= least) {
    remedy +=
        fmt::format(", or lower privacy.colluders to {}", spec.sampling.min_participants - least);
  }
  return base::InvalidArgument(
      "federation.min_participants is {} and privacy.colluders is {}: at least {} of a sum's "
      "uploads "
      "must come from members outside the coalition, or {}; {}",
      spec.sampling.min_participants, spec.privacy.colluders, least,
      spec.without_encryption ? "nobody's noise is left"
                              : "the sum gives away a single member's update",
      remedy);
}

absl::Status CheckCounts(const ManifestSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckRange(spec.dimension, 1, kMaxDimension, "dimension"));
  if (spec.federated_part.empty() ? spec.whole_dimension != 0
                                  : spec.whole_dimension < spec.dimension) {
    return base::InvalidArgument(
        "the federated part \"{}\" has {} parameters of a model of {}: name a part and the size of "
        "the whole, or neither",
        spec.federated_part, spec.dimension, spec.whole_dimension);
  }
  if (spec.sampling.clients == 0) return base::InvalidArgument("the federation has no clients");
  TACET_RETURN_IF_ERROR(CheckRange(spec.sampling.clients, 1, kMaxCount, "clients"));
  if (spec.sampling.cohort < 1 || spec.sampling.cohort > spec.sampling.clients) {
    return base::InvalidArgument(
        "cohort is {}, but the federation has {} clients: choose 1 to {} participants a round",
        spec.sampling.cohort, spec.sampling.clients, spec.sampling.clients);
  }
  absl::Status in_range;
  VisitSignedTerms(
      [&](const Term& term, const auto& value) {
        if constexpr (std::is_unsigned_v<std::remove_cvref_t<decltype(value)>>) {
          in_range.Update(CheckRange(value, term.least, term.most, term.name()));
        }
      },
      spec);
  TACET_RETURN_IF_ERROR(in_range);
  if (spec.sampling.method == accounting::Sampling::kNone &&
      spec.sampling.cohort != spec.sampling.clients) {
    return base::InvalidArgument("sampling must be fixed-size or poisson when {} of {} take part",
                                 spec.sampling.cohort, spec.sampling.clients);
  }
  return absl::OkStatus();
}

he::CommitteeShape CommitteeOf(uint32_t seats, uint64_t colluders) {
  return {.seats = seats, .corrupt = DefaultCorruptSeats(seats, colluders)};
}

// Fills in the committee's default, and refuses one that is unsafe.
absl::Status ChooseCommittee(ManifestSpec& spec) {
  if (spec.scheme != he::Scheme::kCompact) {
    spec.committee = {};
    spec.committee_members.clear();
    return absl::OkStatus();
  }
  if (spec.committee.seats == 0) {
    const he::CommitteeShape chosen =
        spec.committee_members.empty()
            ? DefaultCommittee(spec.sampling.clients, spec.privacy.colluders)
            : CommitteeOf(static_cast<uint32_t>(
                              std::min<size_t>(spec.committee_members.size(), he::kMaxSeats + 1)),
                          spec.privacy.colluders);
    spec.committee.seats = chosen.seats;
    if (spec.committee.corrupt == 0) spec.committee.corrupt = chosen.corrupt;
  }
  he::CommitteeShape& shape = spec.committee;
  TACET_ASSIGN_OR_RETURN(const he::KeySharing sharing, he::KeySharing::Create(shape));
  shape = sharing.shape();
  if (shape.seats > spec.sampling.clients) {
    return base::InvalidArgument(
        "federation.committee_seats is {}, but the federation has {} members", shape.seats,
        spec.sampling.clients);
  }
  if (shape.seats >= 4 && shape.corrupt == 0) {
    return base::InvalidArgument(
        "federation.committee_corrupt is 0: one member on a committee of {} seats could then read "
        "updates together with the server; choose 1 or more",
        shape.seats);
  }
  if (shape.seats == spec.sampling.clients &&
      shape.corrupt < std::min<uint64_t>(spec.privacy.colluders, shape.seats)) {
    return base::InvalidArgument(
        "privacy.colluders is {} and federation.committee_corrupt is {}: every member is on the "
        "committee, so a coalition of {} members has as many seats; raise "
        "federation.committee_corrupt to {} or lower privacy.colluders",
        spec.privacy.colluders, shape.corrupt, spec.privacy.colluders, spec.privacy.colluders);
  }
  if (spec.committee_members.empty()) {
    for (uint64_t seat = 0; seat < shape.seats; ++seat) spec.committee_members.push_back(seat);
  }
  if (spec.committee_members.size() != shape.seats) {
    return base::InvalidArgument("the committee has {} members for {} seats",
                                 spec.committee_members.size(), shape.seats);
  }
  std::set<uint64_t> seen;
  for (const uint64_t member : spec.committee_members) {
    if (member >= spec.sampling.clients || !seen.insert(member).second) {
      return base::InvalidArgument(
          "the committee names member {} of {}: each seat needs another member", member,
          spec.sampling.clients);
    }
  }
  return absl::OkStatus();
}

// The most attempts that may ever be charged.
uint64_t AttemptBudget(const ManifestSpec& spec) {
  return uint64_t{spec.rounds} + spec.spare_attempts;
}

absl::StatusOr<secagg::Terms> TermsOf(const ManifestSpec& spec, uint32_t largest_cohort,
                                      double max_epsilon) {
  TACET_ASSIGN_OR_RETURN(dp::MechanismSpec mechanism,
                         accounting::MechanismOf(PrivacyOf(spec, AttemptBudget(spec)),
                                                 spec.dimension, largest_cohort));
  mechanism.max_epsilon = max_epsilon;
  if (spec.model == kQueryModel && !IsClientUnit(spec)) {
    // Every unit takes part. For replace-one neighbours a unit's vector is at most 2 S long: it is
    // at most 2 S from zeros, which are a unit's vector, too.
    const bool by_distance = spec.privacy.neighbouring == accounting::Neighbouring::kReplaceOne;
    mechanism.most_contributions = static_cast<double>(spec.sampling.cohort) *
                                   spec.sampling.expected_batch * (by_distance ? 2 : 1);
  }
  return secagg::Terms::Create(
      {.mechanism = std::move(mechanism),
       .scheme = spec.scheme,
       .plaintext_bits = spec.plaintext_bits,
       .committee = spec.committee.seats > 0 ? spec.committee : secagg::TermsSpec{}.committee});
}

// sigma from the epsilon that all permitted attempts may cost.
absl::Status ChooseNoise(ManifestSpec& spec) {
  if (spec.privacy.target_epsilon == 0) return absl::OkStatus();
  if (spec.mechanism.noise_stddev != 0) {
    return base::InvalidArgument(
        "noise_stddev is {} and target_epsilon is {}: the one follows from the other, leave one "
        "out",
        spec.mechanism.noise_stddev, spec.privacy.target_epsilon);
  }
  if (!spec.mechanism.makes_guarantee()) {
    return base::InvalidArgument(
        "target_epsilon is {}, but without noise or without clipping epsilon is infinite",
        spec.privacy.target_epsilon);
  }
  TACET_ASSIGN_OR_RETURN(spec.mechanism.noise_stddev,
                         accounting::CalibrateNoise(PrivacyOf(spec, AttemptBudget(spec)),
                                                    {.epsilon = spec.privacy.target_epsilon}));
  return absl::OkStatus();
}

// With so little noise the samplers' finite precision fails first, but the noise is the cause.
// `epsilon` is above kMaxUsefulEpsilon, or above what finite arithmetic is held to.
absl::Status TooLittleNoise(const ManifestSpec& spec, double epsilon) {
  return base::InvalidArgument(
      "epsilon is {:.4g} or more for every observer at noise {:.4g} and clip norm {:.4g}, and at "
      "most {:g} is accepted, since more protects nobody: {}",
      epsilon, spec.mechanism.noise_stddev, spec.mechanism.clip_norm,
      epsilon > kMaxUsefulEpsilon ? kMaxUsefulEpsilon : accounting::kLargestCarriedEpsilon,
      spec.privacy.target_epsilon > 0 ? "lower `privacy.target_epsilon`"
                                      : "raise `privacy.noise_multiplier`");
}

absl::Status CheckBudget(const ManifestSpec& spec) {
  if (spec.privacy.budget_epsilon == 0) return absl::OkStatus();
  const accounting::SpendingTerms terms{.budget_epsilon = spec.privacy.budget_epsilon,
                                        .delta = spec.privacy.delta};
  TACET_ASSIGN_OR_RETURN(accounting::PrivacyFilter spending,
                         accounting::PrivacyFilter::Create(terms));
  if (!spec.mechanism.makes_guarantee()) {
    return base::InvalidArgument(
        "budget_epsilon is {}, but without noise or without clipping epsilon is infinite: leave "
        "out the one or the other",
        spec.privacy.budget_epsilon);
  }
  return base::Annotate(spending.CheckRoomFor(ChargedEvent(spec)),
                        "budget_epsilon does not reach for a single attempt");
}

}  // namespace

absl::Status CheckMemberKeys(std::span<const MemberIdentity> members) {
  std::map<crypto::PublicKey, size_t> owners;
  for (size_t member = 0; member < members.size(); ++member) {
    for (const auto& key : {members[member].signing_key, members[member].exchange_key}) {
      const auto [first, is_new] = owners.emplace(key, member);
      if (is_new) continue;
      if (first->second == member) {
        return base::InvalidArgument(
            "member {} has one key for signing and for exchange: each is a key of its own", member);
      }
      return base::InvalidArgument(
          "members {} and {} have the same public key: each member makes a key of its own",
          first->second, member);
    }
  }
  for (size_t member = 0; member < members.size(); ++member) {
    TACET_RETURN_IF_ERROR(CheckKeys(fmt::format("member {}", member), members[member].signing_key,
                                    {members[member].exchange_key}));
  }
  return absl::OkStatus();
}

bool ServerDrawsCohorts(const ManifestSpec& spec) {
  return IsClientUnit(spec) && spec.sampling.method == accounting::Sampling::kFixedSize &&
         spec.sampling.cohort < spec.sampling.clients;
}

bool EveryMemberUploads(const ManifestSpec& spec) {
  return spec.sampling.dummy_uploads || spec.sampling.cohort == spec.sampling.clients;
}

CohortRange UploadRange(const ManifestSpec& spec) {
  if (!spec.sampling.dummy_uploads)
    return ExpectedCohortRange(*spec.sampling.method, spec.sampling.clients, spec.sampling.cohort);
  const auto all = static_cast<uint32_t>(spec.sampling.clients);
  return {.smallest = all, .largest = all};
}

uint32_t ExpectedUploads(const ManifestSpec& spec) {
  return static_cast<uint32_t>(spec.sampling.dummy_uploads ? spec.sampling.clients
                                                           : spec.sampling.cohort);
}

accounting::FederationPrivacySpec PrivacyOf(const ManifestSpec& spec, uint64_t attempts) {
  return {.sampling = spec.sampling,
          .mechanism = spec.mechanism,
          .privacy = spec.privacy,
          .committee_seats = spec.committee.seats,
          .corrupt_seats = spec.committee.corrupt,
          .rounds = attempts};
}

accounting::SamplingEvent ChargedEvent(const ManifestSpec& spec) {
  accounting::SamplingEvent event{.unit = spec.privacy.unit,
                                  .neighbouring = spec.privacy.neighbouring,
                                  .sampling = accounting::Sampling::kFixedSize,
                                  .sampling_rate = 1,
                                  .noise_stddev = 0,
                                  .clip_norm = spec.mechanism.clip_norm};
  if (!spec.mechanism.makes_guarantee() || !(spec.mechanism.noise_stddev > 0)) return event;
  const auto worst = accounting::WorstRound(PrivacyOf(spec, AttemptBudget(spec)));
  if (!worst.ok() || !worst->has_value()) return event;
  event = **worst;
  if (event.sampling == accounting::Sampling::kNone) {
    event.sampling = accounting::Sampling::kFixedSize;
    event.sampling_rate = 1;
  }
  return event;
}

he::CommitteeShape DefaultCommittee(uint64_t clients, uint64_t colluders) {
  const uint64_t tolerant = 3 * colluders + 1;
  const uint64_t wanted = clients <= 7 ? clients : std::clamp<uint64_t>(tolerant, 7, he::kMaxSeats);
  return CommitteeOf(static_cast<uint32_t>(std::min<uint64_t>(wanted, clients)), colluders);
}

uint32_t DefaultCorruptSeats(uint32_t seats, uint64_t colluders) {
  const uint32_t others = seats - 1;
  const auto colluding = static_cast<uint32_t>(std::min<uint64_t>(colluders, others));
  return std::max(others / 3, colluding);
}

absl::StatusOr<Manifest> Manifest::Create(ManifestSpec spec) {
  if (spec.members.size() != spec.sampling.clients) {
    return base::InvalidArgument("{} member keys for {} clients", spec.members.size(),
                                 spec.sampling.clients);
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
  if (spec.training != 0 && spec.federation == crypto::Digest{}) {
    return base::InvalidArgument(
        "the training of epoch {} has no federation: its identity is zeros", spec.training);
  }
  if (spec.sampling.cohort == 0) spec.sampling.cohort = spec.sampling.clients;
  TACET_RETURN_IF_ERROR(CheckCounts(spec));
  spec.sampling = accounting::Resolved(
      spec.sampling, spec.privacy, spec.sampling.clients,
      spec.model == kQueryModel ? accounting::Purpose::kQuery : accounting::Purpose::kTraining);
  const CohortRange range = UploadRange(spec);
  const uint32_t uploads = ExpectedUploads(spec);
  if (spec.sampling.min_participants > uploads) {
    return base::InvalidArgument(
        "federation.min_participants is {}, {}", spec.sampling.min_participants,
        spec.sampling.dummy_uploads ? fmt::format("there are only {} members to upload", uploads)
                                    : fmt::format("the cohort has only {}", uploads));
  }
  TACET_RETURN_IF_ERROR(CheckUnit(spec));
  TACET_RETURN_IF_ERROR(CheckHonestUploads(spec));
  TACET_RETURN_IF_ERROR(ChooseCommittee(spec));
  TACET_RETURN_IF_ERROR(ChooseNoise(spec));
  if (spec.mechanism.without_noise) spec.mechanism.noise_stddev = 0;
  spec.optimizer.rounds = spec.rounds;
  spec.optimizer.blocks = spec.model == kQueryModel ? spec.rounds : 1;
  TACET_RETURN_IF_ERROR(ServerOptimizer::Create(spec.optimizer, spec.dimension).status());

  TACET_RETURN_IF_ERROR(CheckBudget(spec));

  double max_epsilon = 0;
  if (spec.mechanism.makes_guarantee() && spec.mechanism.noise_stddev > 0) {
    TACET_ASSIGN_OR_RETURN(max_epsilon,
                           accounting::LargestCarriedEpsilon(PrivacyOf(spec, AttemptBudget(spec))));
  }
  absl::StatusOr<secagg::Terms> terms = TermsOf(spec, range.largest, max_epsilon);
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
  federation_ = spec_.federation == crypto::Digest{} ? agreement_ : spec_.federation;
  hash_ = crypto::Sha256(ManifestBytes(spec_));
  if (spec_.members.empty()) return;
  for (const uint64_t member : spec_.committee_members) {
    committee_.push_back({.member = member,
                          .signing_key = spec_.members[member].signing_key,
                          .exchange_key = spec_.members[member].exchange_key});
  }
}

absl::StatusOr<accounting::Guarantees> GuaranteesOf(const Manifest& manifest, uint64_t attempts,
                                                    accounting::Extent extent) {
  return accounting::GuaranteesOf(PrivacyOf(manifest.spec(), attempts), extent,
                                  &manifest.terms().mechanism());
}

absl::StatusOr<double> ChargedEpsilon(const Manifest& manifest, uint64_t attempts) {
  if (attempts == 0) return 0.0;
  TACET_ASSIGN_OR_RETURN(const accounting::Guarantees guarantees,
                         GuaranteesOf(manifest, attempts, accounting::Extent::kHeadline));
  return guarantees.epsilon();
}

}  // namespace tacet::agreement
