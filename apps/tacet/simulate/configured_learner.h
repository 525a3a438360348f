// Learner and network of a run's settings.
#ifndef TACET_APPS_TACET_SIMULATE_CONFIGURED_LEARNER_H_
#define TACET_APPS_TACET_SIMULATE_CONFIGURED_LEARNER_H_

#include "absl/status/statusor.h"

#include "tacet/config/run_config.h"
#include "tacet/models/architecture.h"
#include "tacet/training/learner.h"

namespace tacet::app::simulate {

// InvalidArgument for a word that is not among the choices of its key and a number that does not
// fit; errors of config::LoadParameters for model.start.
absl::StatusOr<training::LearnerSpec> LearnerSpecOf(const config::RunConfig& config);

// Errors of config::ModelInputOf.
absl::StatusOr<models::ArchitectureSpec> ArchitectureSpecOf(const config::RunConfig& config);

}  // namespace tacet::app::simulate

#endif  // TACET_APPS_TACET_SIMULATE_CONFIGURED_LEARNER_H_
