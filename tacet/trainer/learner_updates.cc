#include "tacet/trainer/learner_updates.h"

#include <limits>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/trainer/unit_sampling.h"

namespace tacet::trainer {

absl::Status SumDrawnUnits(const agreement::ManifestSpec& spec, const Learner& learner,
                           uint64_t owner, crypto::Entropy& coins, Trainer& trainer,
                           std::span<const float> model, std::span<float> sum) {
  crypto::Random random = crypto::Random::FromEntropy(coins);
  const std::vector<uint32_t> drawn = DrawUnits(learner.units(owner), spec.record_rate, random);
  const double clip_norm =
      spec.without_clipping ? std::numeric_limits<double>::infinity() : spec.clip_norm;
  return trainer.SumClippedGradients(model, owner, drawn, clip_norm, sum);
}

absl::StatusOr<std::unique_ptr<LearnerUpdates>> LearnerUpdates::Create(
    const agreement::Manifest& manifest, const Learner& learner, uint64_t owner,
    crypto::Entropy& coins) {
  const agreement::ManifestSpec& spec = manifest.spec();
  if (learner.dimension() != spec.dimension) {
    return base::InvalidArgument("the model has {} parameters, the agreement says {}",
                                 learner.dimension(), spec.dimension);
  }
  if (owner >= learner.owners()) {
    return base::InvalidArgument("the data have {} owners, numbered from 0: there is no owner {}",
                                 learner.owners(), owner);
  }
  if (learner.unit() != spec.unit) {
    return base::InvalidArgument("the learner is for unit {}, the agreement says {}",
                                 accounting::UnitName(learner.unit()),
                                 accounting::UnitName(spec.unit));
  }
  TACET_ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer, learner.NewTrainer());
  return std::unique_ptr<LearnerUpdates>(
      new LearnerUpdates(manifest, learner, owner, coins, std::move(trainer)));
}

LearnerUpdates::LearnerUpdates(const agreement::Manifest& manifest, const Learner& learner,
                               uint64_t owner, crypto::Entropy& coins,
                               std::unique_ptr<Trainer> trainer)
    : manifest_(manifest),
      learner_(learner),
      owner_(owner),
      coins_(coins),
      trainer_(std::move(trainer)) {}

absl::Status LearnerUpdates::Update(const secagg::Attempt& attempt, std::span<const float> model,
                                    std::span<float> update) {
  if (manifest_.spec().unit == accounting::Unit::kClient) {
    return trainer_->Train(model, attempt.round, owner_, update);
  }
  return SumDrawnUnits(manifest_.spec(), learner_, owner_, coins_, *trainer_, model, update);
}

}  // namespace tacet::trainer
