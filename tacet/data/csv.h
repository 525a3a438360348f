// Tables of numbers in CSV files, with a column that names the client of each row.
#ifndef TACET_DATA_CSV_H_
#define TACET_DATA_CSV_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/data/csv_feature.h"
#include "tacet/data/dataset.h"

namespace tacet::data {

// A column is named by its header or, where digits only, by its position from 0; a negative
// position counts from the end (-1 is the last).
struct CsvOptions {
  char delimiter = ',';
  bool header = true;             // the first line holds column names
  std::string label = "-1";       // column of the class, a whole number from 0
  std::string client = "client";  // column of the client: any text; empty: all rows of a file have
                                  // one client, named as the file without its ending
  uint32_t classes = 0;           // 0: the largest label + 1
  std::string person = {};        // column of the person, any text; empty: not known
  std::vector<std::string> columns = {};   // names, for files without header; empty: none
  std::vector<CsvFeature> features = {};   // empty: all other columns, finite numbers as they are
  std::vector<std::string> missing = {};   // texts that mean "missing", for `features`
  std::optional<double> label_above = {};  // the label is a number: class 1 above this, else 0
};

// Reads any number of tables with the same columns into one data set. A client, or a person, that
// is in several of them is one.
class CsvReader {
 public:
  explicit CsvReader(CsvOptions options);
  ~CsvReader();

  // `name` stands for the file in messages. Fields may be quoted ("" within quotes is a quote);
  // quoted line breaks are refused. Empty lines are skipped. InvalidArgument names file, line (from
  // 1) and column: of a column that is not there, a label outside the classes, a value that is
  // against its feature's bounds, ... The reader is then of no further use.
  absl::Status Add(std::string_view text, std::string_view name);

  // Everything that was added, under this name.
  absl::StatusOr<Dataset> Finish(std::string_view name);

 private:
  class Table;
  struct State;

  std::unique_ptr<State> state_;
};

// One table.
absl::StatusOr<Dataset> ParseCsv(std::string_view text, std::string_view name,
                                 const CsvOptions& options);

// A file, or all files of a folder, with one of the endings .csv, .data and .tsv, in the order of
// their names, up to 4 GiB each; separated by tabs when all of them end in .tsv. NotFound when
// there is none.
absl::StatusOr<Dataset> LoadCsv(const std::filesystem::path& path, const CsvOptions& options);
// Those files; whether there is one.
std::vector<std::filesystem::path> CsvFiles(const std::filesystem::path& path);
bool HoldsCsv(const std::filesystem::path& path);

}  // namespace tacet::data

#endif  // TACET_DATA_CSV_H_
