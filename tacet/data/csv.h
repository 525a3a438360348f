// Tables in CSV files, with a column that names the client of each row.
#ifndef TACET_DATA_CSV_H_
#define TACET_DATA_CSV_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/data/csv_feature.h"
#include "tacet/data/dataset.h"
#include "tacet/table/agreed_values.h"
#include "tacet/table/category_list.h"
#include "tacet/table/number_text.h"
#include "tacet/table/problem_summary.h"
#include "tacet/table/table_problem.h"
#include "tacet/table/thousands.h"

namespace tacet::data {

// A column is named by the first line of the file or by `columns`, or else by its position from 0
// in digits; a negative position counts from the end (-1 is the last).
struct CsvOptions {
  // Between fields; none: found in each file (TableRecords, FindSeparator).
  std::optional<char> separator = {};
  table::DecimalMark decimal = table::DecimalMark::kPoint;
  table::Thousands thousands = table::Thousands::kUnsaid;
  std::vector<table::AgreedColumn> spellings = {};  // of these files (table::WriteAsAgreed)
  std::string label = "-1";                         // column of the class
  std::string client = "client";  // column of the client: any text; empty: all rows of a file have
                                  // one client, named as the file without its ending
  uint32_t classes = 0;           // 0: the largest label + 1
  std::string person = {};        // column of the person, any text; empty: not known
  // Names, in files whose first line is a row; empty: it has them.
  std::vector<std::string> columns = {};
  // Empty: all other columns with a name (table::IsNameless), finite numbers as they are.
  std::vector<CsvFeature> features = {};
  std::vector<std::string> missing = {};  // texts that mean "missing", for `features`
  // The label is: one of these, the class its place among them; else, with label_above, a number,
  // class 1 above that, else 0; else a whole number from 0 (1.0 is one).
  table::CategoryList labels = {};
  std::optional<double> label_above = {};

  // Classes that the options imply; 0: those of the data.
  uint32_t known_classes() const;
};

// Takes problems: those of a row, and those of a file as a whole, of its encoding or its columns.
// Without a function the first problem ends the reading.
struct CsvFaults {
  std::function<void(const table::TableProblem&)> of_rows = {};
  std::function<void(const table::TableProblem&)> of_files = {};
};

// Reads any number of tables with the same columns into one data set. A client, or a person, that
// is in several of them is one, and so are all spellings with one table::PersonKey.
class CsvReader {
 public:
  // With `of_rows` a row with a problem stays in its place as one that cannot be read
  // (Dataset::is_readable): if it vanished, the rows behind it would move, and others would be held
  // out. It is its own person where its person is missing, and left out where its client is. With
  // `of_files` the rows of a file with a problem are left out.
  explicit CsvReader(CsvOptions options, CsvFaults faults = {});
  ~CsvReader();

  // `name` stands for the file in messages. InvalidArgument is the first problem that no function
  // takes: file, line (from 1), column, what is wrong and what to change. The reader is then of no
  // further use.
  absl::Status Add(std::string_view text, std::string_view name);
  // The same of a file, which is read in pieces. Also the errors of TableFile::Open.
  absl::Status AddFile(const std::filesystem::path& path);

  // The persons, each as it was first spelt.
  std::span<const std::string> persons() const;
  // A sentence for the site about each column without a name, which is left out.
  std::span<const std::string> warnings() const;
  // Everything that was added, under this name.
  absl::StatusOr<Dataset> Finish(std::string_view name);

 private:
  class Table;
  struct State;

  std::unique_ptr<State> state_;
};

// A file, or all files of a folder, with one of the endings .csv, .data and .tsv, in the order of
// their names, up to 4 GiB each; a file that is named itself may end in .txt. Unless the options
// name a separator, a file that ends in .tsv is separated by tabs. `unreadable` takes the problems
// of rows, which then are rows that cannot be read; without it they are errors. NotFound without a
// file.
absl::StatusOr<Dataset> LoadCsv(const std::filesystem::path& path, const CsvOptions& options,
                                table::ProblemSummary* unreadable = nullptr);
// Hands those files to a reader.
absl::Status AddCsvFiles(const std::filesystem::path& path, CsvReader& reader);
// Those files, errors of DataFiles; whether there is one.
absl::StatusOr<std::vector<std::filesystem::path>> CsvFiles(const std::filesystem::path& path);
// NotFound where there is none; it names a workbook or Parquet file that lies there instead.
absl::Status NoCsvFile(const std::filesystem::path& path);
bool HoldsCsv(const std::filesystem::path& path);
// Whether a workbook or Parquet file is there, which the Python package alone reads.
bool HoldsWorkbook(const std::filesystem::path& path);

}  // namespace tacet::data

#endif  // TACET_DATA_CSV_H_
