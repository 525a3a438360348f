// One table in memory, and the inputs of its rows.
#ifndef TACET_DATA_CSV_FOR_TEST_H_
#define TACET_DATA_CSV_FOR_TEST_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/status.h"
#include "tacet/data/csv.h"

namespace tacet::data {

inline absl::StatusOr<Dataset> ParseCsv(std::string_view text, std::string_view name,
                                        const CsvOptions& options) {
  CsvReader reader(options);
  TACET_RETURN_IF_ERROR(reader.Add(text, name));
  return reader.Finish(name);
}

inline std::vector<float> Input(const Dataset& dataset, uint64_t row) {
  std::vector<float> input(dataset.input_size());
  dataset.CopyInput(row, input);
  return input;
}

}  // namespace tacet::data

#endif  // TACET_DATA_CSV_FOR_TEST_H_
