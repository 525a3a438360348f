#include "tacet/simulation.h"

#include <cmath>
#include <utility>

#include "tacet/api/core/options.h"
#include "tacet/api/core/privacy_model.h"
#include "tacet/api/live/run_parts.h"
#include "tacet/base/status.h"
#include "tacet/config/run_config.h"
#include "tacet/run/function_simulation.h"
#include "tacet/trainer/function_learner.h"

namespace tacet {
namespace {

absl::StatusOr<config::RunConfig> ConfigOf(const SimulationOptions& options) {
  for (const auto& [value, name] : {std::pair(options.threads, "threads"),
                                    std::pair(options.evaluate_every, "evaluate_every")}) {
    if (value == 0) return base::InvalidArgument("{} is 0, expected 1 or more", name);
  }
  if (options.budget_epsilon.has_value() && !(*options.budget_epsilon > 0)) {
    return base::InvalidArgument("budget_epsilon is {}, expected more than 0",
                                 *options.budget_epsilon);
  }
  config::RunConfig config;
  TACET_ASSIGN_OR_RETURN(config.agreement, api::TermsOf(options.federation));
  config.agreement.spare_attempts = options.spare_attempts;
  config.agreement.privacy.budget_epsilon = options.budget_epsilon.value_or(0);
  config.agreement.optimizer = {
      .learning_rate = options.learning_rate,
      .learning_rate_final = options.learning_rate_final.value_or(options.learning_rate),
      .momentum = options.momentum};
  config.model.name = std::string(trainer::kExternalModel);
  config.model.architecture = options.architecture;
  config.run.threads = options.threads;
  config.run.evaluate_every = options.evaluate_every;
  return config;
}

bool IsShare(std::optional<double> figure) { return !figure || (*figure >= 0 && *figure <= 1); }

absl::StatusOr<trainer::Evaluation> Checked(const Evaluation& evaluation) {
  if (!IsShare(evaluation.accuracy) || !IsShare(evaluation.auc)) {
    return base::InvalidArgument("evaluate: accuracy and auc must be in [0, 1]");
  }
  if (evaluation.loss && !std::isfinite(*evaluation.loss)) {
    return base::InvalidArgument("evaluate: loss is {}, expected a finite number",
                                 *evaluation.loss);
  }
  if (evaluation.samples == 0 && (evaluation.accuracy || evaluation.auc || evaluation.loss)) {
    return base::InvalidArgument(
        "evaluate: samples is 0: give the number of samples that the figures were measured on");
  }
  return trainer::Evaluation{.accuracy = evaluation.accuracy,
                             .loss = evaluation.loss,
                             .samples = evaluation.samples,
                             .auc = evaluation.auc};
}

trainer::FunctionLearnerSpec LearnerOf(const SimulationOptions& options,
                                       const SimulationFunctions& functions) {
  trainer::FunctionLearnerSpec spec{.initial = options.initial,
                                    .clients = options.federation.clients.value_or(0),
                                    .unit = api::Internal(options.federation.unit),
                                    .units = options.units,
                                    .train = functions.train,
                                    .sum_clipped = functions.sum_clipped};
  if (functions.evaluate) {
    spec.evaluate =
        [&functions](std::span<const float> model) -> absl::StatusOr<trainer::Evaluation> {
      TACET_ASSIGN_OR_RETURN(const Evaluation evaluation, functions.evaluate(model));
      return Checked(evaluation);
    };
  }
  return spec;
}

}  // namespace

absl::StatusOr<Run> Simulate(const SimulationOptions& options,
                             const SimulationFunctions& functions) {
  run::FunctionSimulation call{.config = {},
                               .learner = LearnerOf(options, functions),
                               .data_name = options.data_name,
                               .out = options.out,
                               .resume = options.resume,
                               .stop = functions.stop ? functions.stop : [] { return false; },
                               .on_round = nullptr};
  TACET_ASSIGN_OR_RETURN(call.config, ConfigOf(options));
  if (functions.on_round) {
    call.on_round = [&functions](const simulation::RoundRecord& record) {
      return functions.on_round(api::FiguresOf(record));
    };
  }
  TACET_RETURN_IF_ERROR(run::SimulateFunctions(std::move(call)).status());
  return Run::Open(options.out);
}

}  // namespace tacet
