#include "apps/tacet/simulate/configured_learner.h"

#include <utility>

#include "tacet/base/status.h"
#include "tacet/config/configured_data.h"

namespace tacet::app::simulate {

absl::StatusOr<training::LearnerSpec> LearnerSpecOf(const config::RunConfig& config) {
  training::LearnerSpec spec;
  spec.model = config.model.name;
  spec.hidden = config.model.hidden;
  spec.last_layer_gain = config.model.last_layer_gain;
  spec.federated = config.model.federated;
  if (!config.model.start.empty()) {
    TACET_ASSIGN_OR_RETURN(spec.start, config::LoadParameters(config.model.start, "model.start"));
  }
  spec.seed = config.run.seed;
  spec.held_out_share = config.data.held_out;
  TACET_ASSIGN_OR_RETURN(spec.batch, config::Narrow(config.training.batch, "training.batch"));
  TACET_ASSIGN_OR_RETURN(spec.local_epochs,
                         config::Narrow(config.training.local_epochs, "training.local_epochs"));
  TACET_ASSIGN_OR_RETURN(spec.sample_cap,
                         config::Narrow(config.training.sample_cap, "training.sample_cap"));
  spec.learning_rate = config.training.learning_rate;
  spec.learning_rate_final = config.training.learning_rate_final;
  TACET_ASSIGN_OR_RETURN(spec.precision, models::ParsePrecision(config.training.precision));
  spec.rounds = config.agreement.rounds;
  spec.unit = config.agreement.privacy.unit;
  return spec;
}

absl::StatusOr<models::ArchitectureSpec> ArchitectureSpecOf(const config::RunConfig& config) {
  TACET_ASSIGN_OR_RETURN(config::ModelInput input, config::ModelInputOf(config));
  return models::ArchitectureSpec{.model = config.model.name,
                                  .input_shape = std::move(input.shape),
                                  .hidden = config.model.hidden,
                                  .classes = input.classes};
}

}  // namespace tacet::app::simulate
