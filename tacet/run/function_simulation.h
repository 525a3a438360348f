// A simulation in a run directory whose clients train by functions of the caller.
#ifndef TACET_RUN_FUNCTION_SIMULATION_H_
#define TACET_RUN_FUNCTION_SIMULATION_H_

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/json.h"
#include "tacet/config/run_config.h"
#include "tacet/ledger/shared_budget.h"
#include "tacet/run/directory_run.h"
#include "tacet/simulation/simulation.h"
#include "tacet/trainer/function_learner.h"

namespace tacet::run {

struct FunctionSimulation {
  config::RunConfig config;  // `model.name` says whose model it is
  trainer::FunctionLearnerSpec learner;
  std::string data_name;
  std::filesystem::path out;
  bool resume = false;         // whether a run in `out` is continued
  std::function<bool()> stop;  // asked between rounds
  // Asked between rounds: true ends the run as finished. May be empty.
  std::function<bool()> end = {};
  ledger::BudgetUse budget = {};
  // Told of each round after it was written, without figures that are not published. May be empty.
  std::function<absl::Status(const simulation::RoundRecord& record)> on_round;
};

// Errors of the settings, of the directory, of the functions and of RunInDirectory.
absl::StatusOr<TrainingEnd> SimulateFunctions(FunctionSimulation call);

}  // namespace tacet::run

#endif  // TACET_RUN_FUNCTION_SIMULATION_H_
