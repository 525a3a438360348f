#include "apps/tacet/simulate/training_run.h"

#include <utility>

#include "fmt/core.h"

#include "apps/tacet/simulate/configured_learner.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/base/plain_text.h"
#include "tacet/base/status.h"
#include "tacet/base/stop_signal.h"
#include "tacet/base/stopwatch.h"
#include "tacet/config/configuration_words.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/data_warnings.h"
#include "tacet/config/site_config.h"
#include "tacet/models/network.h"
#include "tacet/run/configured_simulation.h"
#include "tacet/run/site_tables.h"
#include "tacet/table/problem_summary.h"

namespace tacet::app::simulate {
namespace {

using storage::file::RunDirectory;

// The form that runs a model of this configuration on this processor.
absl::StatusOr<std::string> FormOf(const training::LearnerSpec& spec,
                                   const data::Dataset& dataset) {
  TACET_ASSIGN_OR_RETURN(const models::Architecture architecture,
                         models::Architecture::Create({.model = spec.model,
                                                       .input_shape = dataset.input_shape(),
                                                       .hidden = spec.hidden,
                                                       .classes = dataset.classes()}));
  TACET_ASSIGN_OR_RETURN(const auto network,
                         models::Network::Create(architecture, 1, models::Network::Mode::kInference,
                                                 {.precision = spec.precision}));
  return std::string(network->form());
}

absl::Status TellUnreadable(const table::ProblemSummary& problems, const data::Dataset& dataset,
                            const base::TextSink& out) {
  const std::vector<std::string> lines = run::ProblemLines(problems);
  if (!lines.empty() && dataset.readable_samples() == 0) {
    return base::InvalidArgument("no row can be read: {}", lines.front());
  }
  for (const std::string& line : lines) out.Print("warning     {}. Such rows are left out\n", line);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingRun>> TrainingRun::Create(const config::RunConfig& config,
                                                                 const base::TextSink& out,
                                                                 simulation::RankGroup& ranks) {
  std::unique_ptr<TrainingRun> run(new TrainingRun(config, out, ranks));
  TACET_RETURN_IF_ERROR(run->Prepare());
  return run;
}

absl::Status TrainingRun::Prepare() {
  if (config::IsExternal(config_)) {
    return base::InvalidArgument(
        "model.name is \"external\": only its users' own code trains it. Simulate it in Python "
        "with tacet.simulate");
  }
  TACET_ASSIGN_OR_RETURN(simulation::SimulationSpec spec, run::SimulationSpecOf(config_));
  TACET_ASSIGN_OR_RETURN(const training::LearnerSpec learner_spec,
                         simulate::LearnerSpecOf(config_));
  const base::Stopwatch loading;
  if (config_.data.path.empty()) {
    out_.Print("data        none given: handwriting of {} writers, drawn by the program\n",
               config_.data.handwriting_writers);
  }
  table::ProblemSummary unreadable;
  TACET_ASSIGN_OR_RETURN(data::Dataset dataset, config::LoadRunData(config_, &unreadable));
  TACET_RETURN_IF_ERROR(TellUnreadable(unreadable, dataset, out_));
  spec.data = RunDataOf(dataset);
  most_frequent_class_ = data::MostFrequentClassShare(dataset);
  out_.Print("data        {}: {} samples of {} clients in {} classes, read in {:.1f} s\n",
             dataset.name(), dataset.samples(), dataset.clients(), dataset.classes(),
             loading.Seconds());
  out_.Print("{}", agreement::WarningLines(config::DataWarnings(config_, dataset)));
  TACET_ASSIGN_OR_RETURN(form_, FormOf(learner_spec, dataset));
  auto learner = training::NewLearner(learner_spec, std::move(dataset));
  if (!learner.ok()) return config::InConfigurationWords(learner.status());
  learner_ = *std::move(learner);
  labels_ = simulation::SimulationLabels(spec);
  auto simulation = simulation::Simulation::Create(std::move(spec), *learner_, channel_, ranks_);
  if (!simulation.ok()) return config::InConfigurationWords(simulation.status());
  simulation_ = *std::move(simulation);
  return absl::OkStatus();
}

const agreement::Manifest& TrainingRun::manifest() const { return simulation_->manifest(); }

absl::StatusOr<run::TrainingEnd> TrainingRun::Run(RunDirectory& directory) {
  out_.Print("directory   {}\n", directory.path().string());
  if (ranks_.size() > 1) out_.Print("ranks       {}\n", ranks_.size());
  const base::StopSignal stop;
  return run::RunInDirectory({.simulation = *simulation_,
                              .learner = *learner_,
                              .labels = labels_,
                              .processes = ranks_.size(),
                              .publish_evaluation = config_.run.publish_evaluation.value_or(true),
                              .most_frequent_class = most_frequent_class_,
                              .form = form_,
                              .stop = &base::StopSignal::Arrived},
                             directory, out_);
}

absl::Status TrainingRun::Assist() {
  const base::StopSignal stop;  // rank 0 says when
  return simulation_->Assist();
}

simulation::SimulatedData RunDataOf(const data::Dataset& dataset) {
  simulation::SimulatedData data{.name = base::PlainText(dataset.name(), ledger::kMaxNameBytes),
                                 .digest = data::DatasetDigest(dataset)};
  if (data.name.empty()) data.name = "data";
  return data;
}

}  // namespace tacet::app::simulate
