// Training without a run directory, for experiments of many short runs.
#ifndef TACET_APPS_TACET_SIMULATE_MEMORY_RUN_H_
#define TACET_APPS_TACET_SIMULATE_MEMORY_RUN_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/config/run_config.h"
#include "tacet/data/dataset.h"
#include "tacet/simulation/simulation.h"

namespace tacet::app::simulate {

struct MemoryRun {
  std::vector<float> model;
  agreement::ManifestSpec agreed;  // with the noise that a target epsilon led to
  double epsilon = 0;              // of the agreement; infinite without a guarantee
};

// The federation of `config` on exactly these samples, nothing held out: rounds, noise, sealing and
// decryption are those of `tacet simulate`; ledger and checkpoint live in memory and end with the
// call.
absl::StatusOr<MemoryRun> TrainInMemory(const config::RunConfig& config,
                                        const tacet::data::Dataset& dataset);

// Runs a simulation to its end with ledger and checkpoint in memory. `on_round` hears of each
// round.
absl::StatusOr<simulation::SimulationResult> RunInMemory(
    simulation::Simulation& simulation,
    const std::function<void(const simulation::RoundRecord&)>& on_round = {});

}  // namespace tacet::app::simulate

#endif  // TACET_APPS_TACET_SIMULATE_MEMORY_RUN_H_
