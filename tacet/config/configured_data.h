// Data and start of a run, as its settings say.
#ifndef TACET_CONFIG_CONFIGURED_DATA_H_
#define TACET_CONFIG_CONFIGURED_DATA_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/config/run_config.h"
#include "tacet/data/csv.h"
#include "tacet/data/dataset.h"
#include "tacet/data/handwriting.h"
#include "tacet/table/problem_summary.h"

namespace tacet::config {

// InvalidArgument for words that are not among the choices of their key and numbers that do not
// fit.
absl::StatusOr<data::HandwritingSpec> HandwritingSpecOf(const RunConfig& config);
absl::StatusOr<data::CsvOptions> CsvOptionsOf(const RunConfig& config);

// The facts that a network has to know of its samples.
struct ModelInput {
  std::vector<uint64_t> shape;  // of a sample
  uint32_t classes = 0;
};

// As configured, or as the columns of data.csv_features and data.csv_label_above imply.
// InvalidArgument says what has to be stated.
absl::StatusOr<ModelInput> ModelInputOf(const RunConfig& config);

// Parameters from a file of little-endian binary32, as a run's model.f32. Messages name `key`.
absl::StatusOr<std::vector<float>> LoadParameters(const std::string& path, std::string_view key);

// The data of a run: what is read from data.path, or drawn when that is empty, then arranged:
// data.clients of the clients, spread over data.sites. `unreadable` takes the problems of rows
// (data::LoadCsv); without it they are errors. InvalidArgument when samples are not of
// model.input_shape.
absl::StatusOr<data::Dataset> LoadRunData(const RunConfig& config,
                                          table::ProblemSummary* unreadable = nullptr);
absl::StatusOr<data::Dataset> LoadAllData(const RunConfig& config,
                                          table::ProblemSummary* unreadable = nullptr);
absl::StatusOr<data::Dataset> ArrangeRunData(const RunConfig& config, data::Dataset dataset);

}  // namespace tacet::config

#endif  // TACET_CONFIG_CONFIGURED_DATA_H_
