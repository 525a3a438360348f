#include "tacet/run/configured_simulation.h"

#include <algorithm>

#include "tacet/base/parallel.h"
#include "tacet/base/status.h"

namespace tacet::run {

absl::StatusOr<simulation::SimulationSpec> SimulationSpecOf(const config::RunConfig& config) {
  simulation::SimulationSpec spec;
  spec.manifest = config::ManifestSpecOf(config);
  const uint64_t threads = config.run.threads != 0 ? config.run.threads : base::Processors();
  spec.threads = static_cast<int>(std::min<uint64_t>(threads, 1 << 20));
  TACET_ASSIGN_OR_RETURN(spec.evaluate_every,
                         config::Narrow(config.run.evaluate_every, "run.evaluate_every"));
  if (config.federation.weights != "equal" && config.federation.weights != "samples") {
    return base::InvalidArgument("federation.weights is \"{}\"; it must be equal or samples",
                                 config.federation.weights);
  }
  spec.weigh_by_samples = config.federation.weights == "samples";
  spec.without_quantisation = config.run.no_quantisation;
  spec.insecure_seed = config.run.insecure_seed;
  return spec;
}

}  // namespace tacet::run
