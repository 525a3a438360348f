#include "tacet/federation/manifest.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "tacet/accounting/privacy_rows.h"
#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/federation/cohort.h"
#include "tacet/federation/privacy_spending.h"

namespace tacet::federation {
namespace {

constexpr uint32_t kMostRounds = 1'000'000;
constexpr uint32_t kMostAttempts = 100;

absl::Status CheckRange(uint64_t value, uint64_t low, uint64_t high, std::string_view key) {
  if (value >= low && value <= high) return absl::OkStatus();
  return base::InvalidArgument("{} is {}, it must be from {} to {}", key, value, low, high);
}

absl::Status CheckCounts(const ManifestSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckRange(spec.dimension, 1, uint64_t{1} << 40, "dimension"));
  if (spec.clients == 0) return base::InvalidArgument("the federation has no clients");
  if (spec.cohort < 1 || spec.cohort > spec.clients) {
    return base::InvalidArgument(
        "cohort is {}, but the federation has {} clients: choose 1 to {} participants a round",
        spec.cohort, spec.clients, spec.clients);
  }
  TACET_RETURN_IF_ERROR(CheckRange(spec.rounds, 1, kMostRounds, "rounds"));
  TACET_RETURN_IF_ERROR(
      CheckRange(spec.attempts_per_round, 1, kMostAttempts, "attempts_per_round"));
  TACET_RETURN_IF_ERROR(CheckRange(spec.spare_attempts, 0, kMostRounds, "spare_attempts"));
  TACET_RETURN_IF_ERROR(CheckRange(spec.openers, 1, 99, "openers"));
  if (spec.sampling == accounting::Sampling::kNone && spec.cohort != spec.clients) {
    return base::InvalidArgument("sampling must be fixed-size or poisson when {} of {} take part",
                                 spec.cohort, spec.clients);
  }
  if (spec.members.size() != spec.clients) {
    return base::InvalidArgument("{} member keys for {} clients", spec.members.size(),
                                 spec.clients);
  }
  return absl::OkStatus();
}

accounting::FederationPrivacySpec PrivacySpec(const ManifestSpec& spec) {
  accounting::FederationPrivacySpec privacy;
  privacy.clients = spec.clients;
  privacy.cohort = spec.cohort;
  privacy.min_participants = spec.min_participants;
  privacy.rounds = uint64_t{spec.rounds} + spec.spare_attempts;
  privacy.clip_norm = spec.clip_norm;
  privacy.noise_stddev = spec.noise_stddev;
  privacy.delta = spec.delta;
  privacy.sampling = spec.sampling;
  return privacy;
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
  mechanism.attempts = spec.rounds + spec.spare_attempts;
  mechanism.delta = spec.delta;
  mechanism.max_epsilon = max_epsilon;
  mechanism.sampler = spec.sampler;
  mechanism.without_noise = spec.without_noise;
  mechanism.without_clipping = spec.without_clipping;
  mechanism.without_guarantee = spec.without_noise || spec.without_clipping;
  return mechanism;
}

void WriteAgreement(const ManifestSpec& spec, base::ByteWriter& writer) {
  writer.Raw("TCTM");
  writer.U16(spec.plaintext_bits == 0 ? 1 : 2);
  writer.Blob(spec.model);
  writer.U64(spec.dimension);
  writer.Raw(spec.initial_model);
  writer.U64(spec.clients);
  writer.U32(spec.cohort);
  writer.U32(spec.min_participants);
  writer.U32(spec.rounds);
  writer.U32(spec.attempts_per_round);
  writer.U32(spec.spare_attempts);
  writer.U32(spec.openers);
  writer.Blob(accounting::SamplingName(spec.sampling));
  writer.F64(spec.clip_norm);
  writer.F64(spec.coordinate_bound);
  writer.F64(spec.noise_stddev);
  writer.F64(spec.scale);
  writer.F64(spec.delta);
  writer.U8(static_cast<uint8_t>(spec.sampler));
  writer.U8(spec.without_noise ? 1 : 0);
  writer.U8(spec.without_clipping ? 1 : 0);
  writer.U8(static_cast<uint8_t>(spec.scheme));
  writer.F64(spec.optimizer.learning_rate);
  writer.F64(spec.optimizer.learning_rate_final);
  writer.F64(spec.optimizer.momentum);
  writer.F64(spec.budget_epsilon);
  if (spec.plaintext_bits != 0) writer.U32(spec.plaintext_bits);
}

absl::Status CheckBudget(const ManifestSpec& spec) {
  if (spec.budget_epsilon == 0) return absl::OkStatus();
  const SpendingTerms terms{.budget_epsilon = spec.budget_epsilon, .delta = spec.delta};
  TACET_ASSIGN_OR_RETURN(PrivacySpending spending, PrivacySpending::Create(terms));
  if (spec.without_noise || spec.without_clipping) {
    return base::InvalidArgument(
        "budget_epsilon is {}, but without noise or without clipping epsilon is infinite: leave "
        "out the one or the other",
        spec.budget_epsilon);
  }
  return base::Annotate(spending.CheckRoomFor(OutsiderEvent(spec)),
                        "budget_epsilon does not reach for a single attempt");
}

}  // namespace

accounting::SamplingEvent OutsiderEvent(const ManifestSpec& spec) {
  accounting::SamplingEvent event;
  event.sampling = spec.sampling == accounting::Sampling::kNone ? accounting::Sampling::kFixedSize
                                                                : spec.sampling;
  event.sampling_rate = static_cast<double>(spec.cohort) / static_cast<double>(spec.clients);
  event.noise_stddev = spec.without_noise || spec.without_clipping ? 0 : spec.noise_stddev;
  event.clip_norm = spec.clip_norm;
  return event;
}

absl::StatusOr<Manifest> Manifest::Create(ManifestSpec spec) {
  TACET_RETURN_IF_ERROR(CheckCounts(spec));
  const CohortRange range = ExpectedCohortRange(spec.sampling, spec.clients, spec.cohort);
  if (spec.min_participants == 0) spec.min_participants = range.smallest;
  if (spec.min_participants > spec.cohort) {
    return base::InvalidArgument("min_participants is {}, the cohort has only {}",
                                 spec.min_participants, spec.cohort);
  }
  if (spec.without_noise) spec.noise_stddev = 0;
  spec.optimizer.rounds = spec.rounds;
  TACET_RETURN_IF_ERROR(ServerOptimizer::Create(spec.optimizer, 1).status());

  TACET_RETURN_IF_ERROR(CheckBudget(spec));

  double max_epsilon = 0;
  if (!spec.without_noise && !spec.without_clipping && spec.noise_stddev > 0) {
    TACET_ASSIGN_OR_RETURN(max_epsilon, accounting::MaxGuaranteedEpsilon(PrivacySpec(spec)));
  }
  TACET_ASSIGN_OR_RETURN(
      secagg::Terms terms,
      secagg::Terms::Create({.mechanism = MechanismOf(spec, range.largest, max_epsilon),
                             .scheme = spec.scheme,
                             .plaintext_bits = spec.plaintext_bits}));
  return Manifest(std::move(spec), std::make_shared<const secagg::Terms>(std::move(terms)),
                  max_epsilon);
}

Manifest::Manifest(ManifestSpec spec, std::shared_ptr<const secagg::Terms> terms,
                   double max_epsilon)
    : spec_(std::move(spec)), terms_(std::move(terms)), max_epsilon_(max_epsilon) {
  base::ByteWriter writer;
  WriteAgreement(spec_, writer);
  agreement_ = base::Sha256(writer.bytes());
  for (const base::PublicKey& member : spec_.members) writer.Raw(member);
  hash_ = base::Sha256(writer.bytes());
}

}  // namespace tacet::federation
