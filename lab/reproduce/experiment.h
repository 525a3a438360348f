// Experiment: one training of a named configuration, and its stored record.
#ifndef TACET_LAB_REPRODUCE_EXPERIMENT_H_
#define TACET_LAB_REPRODUCE_EXPERIMENT_H_

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/json.h"
#include "tacet/config/run_config.h"

namespace tacet::app::reproduce {

// Flags that change an experiment's configuration.
struct ExperimentFlags {
  std::optional<std::string> data, precision, start;
  std::optional<uint64_t> rounds, threads, seed;
};

struct Experiment {
  std::string row;                  // in its table: "noise"
  std::string title;                // in words
  std::optional<double> published;  // accuracy in the paper, in [0, 1]
  std::string command;              // that makes this record, the data being in DIR
  std::string name;                 // of its files: `row`, "noise-t40", "noise-seed2"
  std::vector<std::string> labels;  // next to those of the run: "rounds-40-of-100"
  config::RunConfig config;         // resolved
};

// `config` is the row's own; `command` without flags ("tacet-lab reproduce table1 --row noise").
Experiment MakeExperiment(std::string row, std::string title, std::optional<double> published,
                          std::string command, const config::RunConfig& config,
                          const ExperimentFlags& flags);

// Trains in the run directory OUT/name, continues with a run that was begun there, or takes the
// result of one that was finished there, by whichever command; then writes OUT/name.json and
// returns it (docs/formats/experiments.md). FailedPrecondition when the directory holds a run of
// other settings; InvalidArgument when a femnist model has no data to train on.
absl::StatusOr<base::JsonValue> RunExperiment(const Experiment& experiment,
                                              const std::filesystem::path& out,
                                              std::FILE* progress);

// The records NAME.json in `folder` whose row is `row`, the one called like the row first, the
// others by name. DataLoss when one is not a record.
absl::StatusOr<std::vector<base::JsonValue>> StoredRecords(const std::filesystem::path& folder,
                                                           std::string_view row);

// Columns for a terminal: what was reached next to what was published; ends with a line feed.
std::string RecordsTable(const std::vector<base::JsonValue>& records);
// Replaces the file.
absl::Status WriteText(const std::filesystem::path& path, std::string_view text);

// Writes stem.json into `out`; lab/tables.py makes a table and a picture of it.
absl::Status WriteRecords(const std::filesystem::path& out, const std::string& stem,
                          const base::JsonValue& json);

// A member of a record, or of an object in it ("seeds.seed"); none when it is null,
// infinite or absent.
std::optional<double> NumberIn(const base::JsonValue& record, std::string_view path);
std::string TextIn(const base::JsonValue& record, std::string_view path);

}  // namespace tacet::app::reproduce

#endif  // TACET_LAB_REPRODUCE_EXPERIMENT_H_
