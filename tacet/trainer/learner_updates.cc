#include "tacet/trainer/learner_updates.h"

#include "tacet/base/status.h"

namespace tacet::trainer {

absl::Status Train(Trainer& trainer, uint64_t client, const AttemptContext& context,
                   std::span<const float> model, std::span<float> update) {
  if (!context.units.has_value()) return trainer.Train(model, context.round, client, update);
  return trainer.SumClippedGradients(model, client, *context.units, context.clip_norm, update);
}

absl::StatusOr<std::unique_ptr<LearnerUpdates>> LearnerUpdates::Create(
    const agreement::Manifest& manifest, const Learner& learner, uint64_t client) {
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
  return std::unique_ptr<LearnerUpdates>(new LearnerUpdates(learner, client, std::move(trainer)));
}

}  // namespace tacet::trainer
