#include "tacet/run/function_simulation.h"

#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/base/text_sink.h"
#include "tacet/crypto/hash.h"
#include "tacet/run/configured_simulation.h"
#include "tacet/simulation/local_channel.h"
#include "tacet/storage/file/run_directory.h"

namespace tacet::run {

absl::StatusOr<TrainingEnd> SimulateFunctions(FunctionSimulation call) {
  TACET_ASSIGN_OR_RETURN(simulation::SimulationSpec spec, SimulationSpecOf(call.config));
  spec.data = {.name = call.data_name,
               .digest = crypto::Sha256(base::AsBytes("tacet.simulate:" + call.data_name))};
  spec.budget = std::move(call.budget);
  const bool published = static_cast<bool>(call.learner.evaluate);
  TACET_ASSIGN_OR_RETURN(const auto learner, trainer::NewFunctionLearner(std::move(call.learner)));
  std::vector<std::string> labels = simulation::SimulationLabels(spec);
  simulation::LocalChannel channel;
  TACET_ASSIGN_OR_RETURN(const auto simulation,
                         simulation::Simulation::Create(std::move(spec), *learner, channel));
  TACET_ASSIGN_OR_RETURN(const auto directory, call.resume
                                                   ? NewOrBegunRunDirectory(call.out, call.config)
                                                   : NewRunDirectory(call.out, call.config));
  DirectoryRun run{.simulation = *simulation,
                   .learner = *learner,
                   .labels = std::move(labels),
                   .publish_evaluation = published,
                   .form = std::string(trainer::kExternalModel),
                   .stop = std::move(call.stop),
                   .end = std::move(call.end)};
  if (call.on_round) {
    run.on_round = [&](const simulation::RoundRecord& record) {
      simulation::RoundRecord told = record;
      if (!published) told.evaluation.reset();
      return call.on_round(told);
    };
  }
  return RunInDirectory(run, *directory, base::TextSink());
}

}  // namespace tacet::run
