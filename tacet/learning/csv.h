// Tables of numbers with a column that says who owns each row.
#ifndef TACET_LEARNING_CSV_H_
#define TACET_LEARNING_CSV_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/learning/dataset.h"

namespace tacet::learning {

// A column is named by its header or, where digits only, by its position from 0; a negative
// position counts from the end (-1 is the last).
struct CsvOptions {
  char delimiter = ',';
  bool header = true;           // the first line holds column names
  std::string label = "-1";     // column of the class, a whole number from 0
  std::string owner = "owner";  // column of the owner: any text that is not empty
  uint32_t classes = 0;         // 0: the largest label + 1
};

// Text to Dataset; `name` stands for the file in messages. All columns but label and owner are
// features, finite decimal numbers. Fields may be quoted ("" within quotes is a quote); quoted line
// breaks are refused. Empty lines are skipped. InvalidArgument names line (from 1) and column.
absl::StatusOr<Dataset> ParseCsv(std::string_view text, std::string_view name,
                                 const CsvOptions& options);

// Files up to 4 GiB.
absl::StatusOr<Dataset> LoadCsv(const std::filesystem::path& path, const CsvOptions& options);

}  // namespace tacet::learning

#endif  // TACET_LEARNING_CSV_H_
