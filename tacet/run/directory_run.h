// A simulation that runs in a run directory, whatever trains in it.
#ifndef TACET_RUN_DIRECTORY_RUN_H_
#define TACET_RUN_DIRECTORY_RUN_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/json.h"
#include "tacet/base/text_sink.h"
#include "tacet/config/run_config.h"
#include "tacet/simulation/simulation.h"
#include "tacet/storage/file/run_directory.h"
#include "tacet/trainer/learner.h"

namespace tacet::run {

struct TrainingEnd {
  simulation::SimulationResult result;
  std::optional<trainer::Evaluation> before;  // of the model that the whole run began with
  std::optional<double> most_frequent_class;  // accuracy of always answering it, where it is known
  bool evaluation_is_published = true;        // otherwise nothing of the above is to be told
  base::JsonValue summary;                    // summary.json (docs/formats/run-directory.md)
};

// Settings of one call of RunInDirectory.
struct DirectoryRun {
  simulation::Simulation& simulation;
  const trainer::Learner& learner;
  std::vector<std::string> labels;
  uint64_t processes = 1;
  bool publish_evaluation = true;
  std::optional<double> most_frequent_class = {};
  std::string form;  // of the network: onednn, a registered form's name, or external
  // Asked after every checkpoint: true ends the run there.
  std::function<bool()> stop;
  // Asked at the same places before it: true ends the run there as finished. May be empty.
  std::function<bool()> end = {};
  // Told of each round after it was written; nothing: nobody is told.
  std::function<absl::Status(const simulation::RoundRecord&)> on_round = {};
};

// Trains from the directory's checkpoint, or from the start without one, to the last round, and
// writes metrics, model and summary. Progress goes to `out`.
absl::StatusOr<TrainingEnd> RunInDirectory(const DirectoryRun& run,
                                           storage::file::RunDirectory& directory,
                                           const base::TextSink& out);

// A new run directory that holds its configuration. AlreadyExists when it is not empty.
absl::StatusOr<std::unique_ptr<storage::file::RunDirectory>> NewRunDirectory(
    const std::filesystem::path& path, const config::RunConfig& config);

// The configuration of the run in `path`. NotFound when it holds none.
absl::StatusOr<config::RunConfig> ConfigOfRun(const std::filesystem::path& path);

// A new directory, or the one in which the same configuration was begun before, by whichever
// command. FailedPrecondition names the keys that differ when it holds a run of another one.
absl::StatusOr<std::unique_ptr<storage::file::RunDirectory>> NewOrBegunRunDirectory(
    const std::filesystem::path& path, const config::RunConfig& config);

// The directory in which a site works on this configuration, whatever is left of it: a lost or
// damaged configuration is written again. FailedPrecondition as above.
absl::StatusOr<std::unique_ptr<storage::file::RunDirectory>> RunDirectoryOfSite(
    const std::filesystem::path& path, const config::RunConfig& config);

}  // namespace tacet::run

#endif  // TACET_RUN_DIRECTORY_RUN_H_
