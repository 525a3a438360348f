// Simulation of a run's settings.
#ifndef TACET_RUN_CONFIGURED_SIMULATION_H_
#define TACET_RUN_CONFIGURED_SIMULATION_H_

#include "absl/status/statusor.h"

#include "tacet/config/run_config.h"
#include "tacet/simulation/simulation.h"

namespace tacet::run {

// InvalidArgument for a word that is not among the choices of its key and a number that does not
// fit.
absl::StatusOr<simulation::SimulationSpec> SimulationSpecOf(const config::RunConfig& config);

}  // namespace tacet::run

#endif  // TACET_RUN_CONFIGURED_SIMULATION_H_
