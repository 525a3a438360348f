// One training of a configuration in a run directory, started or resumed.
#ifndef TACET_APPS_TACET_SIMULATE_TRAINING_RUN_H_
#define TACET_APPS_TACET_SIMULATE_TRAINING_RUN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/json.h"
#include "tacet/base/text_sink.h"
#include "tacet/config/run_config.h"
#include "tacet/data/dataset.h"
#include "tacet/run/directory_run.h"
#include "tacet/simulation/local_channel.h"
#include "tacet/simulation/simulation.h"
#include "tacet/storage/file/run_directory.h"

namespace tacet::app::simulate {

// Every update is clipped, noised, sealed, added and decrypted, as far as the configuration's
// labels allow it. One object serves one run.
class TrainingRun {
 public:
  // Reads the data and makes model and agreement; nothing is written yet. InvalidArgument or
  // NotFound say what of the configuration or the data is wrong. Progress goes to `out`.
  // `ranks` must outlive the run.
  static absl::StatusOr<std::unique_ptr<TrainingRun>> Create(
      const config::RunConfig& config, const base::TextSink& out,
      simulation::RankGroup& ranks = simulation::OneProcess());
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // The agreement, with the values that follow from the data: dimension, clients, noise.
  const agreement::Manifest& manifest() const;

  // Trains from the directory's checkpoint, or from the start without one, to the last round, and
  // writes metrics, model and summary.
  absl::StatusOr<run::TrainingEnd> Run(storage::file::RunDirectory& directory);

  // The part of every rank but the first: simulation/simulation.h.
  absl::Status Assist();

 private:
  TrainingRun(config::RunConfig config, const base::TextSink& out, simulation::RankGroup& ranks)
      : config_(std::move(config)), out_(out), ranks_(ranks) {}
  absl::Status Prepare();

  config::RunConfig config_;
  base::TextSink out_;
  simulation::RankGroup& ranks_;
  double most_frequent_class_ = 0;
  std::string form_;  // of the network: onednn or a registered form's name
  std::vector<std::string> labels_;
  std::unique_ptr<trainer::Learner> learner_;
  simulation::LocalChannel channel_;
  std::unique_ptr<simulation::Simulation> simulation_;
};

// The data of a run: its name in printable ASCII, and the digest of all samples, which stays in
// memory.
simulation::SimulatedData RunDataOf(const tacet::data::Dataset& dataset);

}  // namespace tacet::app::simulate

#endif  // TACET_APPS_TACET_SIMULATE_TRAINING_RUN_H_
