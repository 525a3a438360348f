#include "tacet/trainer/learner_updates.h"

#include <limits>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/trainer/unit_sampling.h"

namespace tacet::trainer {

absl::Status SumDrawnUnits(const agreement::ManifestSpec& spec, const Learner& learner,
                           uint64_t client, crypto::Entropy& coins, Trainer& trainer,
                           std::span<const float> model, std::span<float> sum) {
  crypto::Random random = crypto::Random::FromEntropy(coins);
  const std::vector<uint32_t> drawn =
      DrawUnits(learner.units(client), spec.sampling.record_rate, random);
  const double clip_norm = spec.mechanism.without_clipping ? std::numeric_limits<double>::infinity()
                                                           : spec.mechanism.clip_norm;
  return trainer.SumClippedGradients(model, client, drawn, clip_norm, sum);
}

namespace {

// Before anything is charged: all members refuse a sum of many more units than the agreement
// expects.
absl::Status CheckExpectedUnits(const agreement::ManifestSpec& spec, uint64_t units) {
  if (spec.privacy.unit == accounting::Unit::kClient) return absl::OkStatus();
  const double drawn = spec.sampling.record_rate * static_cast<double>(units);
  if (drawn <= spec.sampling.expected_batch * (1 + 1e-9)) return absl::OkStatus();
  return base::InvalidArgument(
      "this site has {} {}s and draws {:.6g} a round on average, but the agreement expects {:.6g} "
      "of all sites: the members would refuse the sum; sign an agreement whose expected_batch is "
      "record_rate times the {}s of all sites",
      units, accounting::UnitName(spec.privacy.unit), drawn, spec.sampling.expected_batch,
      accounting::UnitName(spec.privacy.unit));
}

}  // namespace

absl::StatusOr<std::unique_ptr<LearnerUpdates>> LearnerUpdates::Create(
    const agreement::Manifest& manifest, const Learner& learner, uint64_t client,
    crypto::Entropy& coins) {
  const agreement::ManifestSpec& spec = manifest.spec();
  if (learner.dimension() != spec.dimension) {
    return base::InvalidArgument("the model has {} parameters, the agreement says {}",
                                 learner.dimension(), spec.dimension);
  }
  if (client >= learner.clients()) {
    return base::InvalidArgument("the data have {} clients, numbered from 0: there is no client {}",
                                 learner.clients(), client);
  }
  if (learner.unit() != spec.privacy.unit) {
    return base::InvalidArgument("the learner is for unit {}, the agreement says {}",
                                 accounting::UnitName(learner.unit()),
                                 accounting::UnitName(spec.privacy.unit));
  }
  TACET_RETURN_IF_ERROR(CheckExpectedUnits(spec, learner.units(client)));
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer, learner.NewTrainer());
  return std::unique_ptr<LearnerUpdates>(
      new LearnerUpdates(manifest, learner, client, coins, std::move(trainer)));
}

LearnerUpdates::LearnerUpdates(const agreement::Manifest& manifest, const Learner& learner,
                               uint64_t client, crypto::Entropy& coins,
                               std::unique_ptr<Trainer> trainer)
    : manifest_(manifest),
      learner_(learner),
      client_(client),
      coins_(coins),
      trainer_(std::move(trainer)) {}

absl::Status LearnerUpdates::Update(const secagg::Attempt& attempt, std::span<const float> model,
                                    std::span<float> update) {
  if (manifest_.spec().privacy.unit == accounting::Unit::kClient) {
    return trainer_->Train(model, attempt.number.round, client_, update);
  }
  return SumDrawnUnits(manifest_.spec(), learner_, client_, coins_, *trainer_, model, update);
}

}  // namespace tacet::trainer
