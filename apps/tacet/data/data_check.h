// Check of a site's files against what the sites agreed on, before anything is trained or charged.
#ifndef TACET_APPS_TACET_DATA_DATA_CHECK_H_
#define TACET_APPS_TACET_DATA_DATA_CHECK_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/accounting/privacy_event.h"
#include "tacet/agreement/manifest.h"
#include "tacet/base/json.h"
#include "tacet/config/run_config.h"
#include "tacet/table/problem_summary.h"
#include "tacet/table/repeated_rows.h"

namespace tacet::app::data {

struct DataCheckSpec {
  config::RunConfig config;  // data.path says where the data are
  // For a live federation: the warnings about privacy are those of the agreement. Without, they are
  // those of a simulation with these data.
  std::optional<agreement::ManifestSpec> agreed = std::nullopt;
  std::optional<uint64_t> client = std::nullopt;  // the site among the data set's clients
};

// Rows of the tables that count in a question, and those that are left out of it.
struct QuestionRows {
  std::string question;
  std::string kind;
  uint64_t rows = 0;
  uint64_t left_out = 0;
};

// Rows for which a condition of the query holds, of those that it is asked about.
struct ConditionRows {
  std::string condition;
  uint64_t rows = 0;
  uint64_t unreadable = 0;  // nobody knows whether it holds
  uint64_t all = 0;
};

// Rows of a file that are exact copies of an earlier one.
struct FileCopies {
  std::string file;
  table::RepeatedRows rows;
};

struct DataCheck {
  std::vector<std::string> files;  // that were read
  table::ProblemSummary problems;
  // For the rows without problems.
  uint64_t rows = 0;
  uint64_t clients = 0;
  std::vector<uint64_t> class_rows;
  std::vector<std::string> class_texts;  // of data.csv_labels
  std::vector<QuestionRows> questions;   // of a query, which has no classes
  std::vector<ConditionRows> conditions;
  std::vector<FileCopies> copies;  // of files that have some
  std::vector<std::string> warnings;
};

// Adds a problem of a whole file.
void AddProblem(DataCheck& check, const std::string& file, const absl::Status& status);
// Counts the copies of rows in the files of `check`. They are a warning where each is one more
// record and chance does not explain them.
void CompareRows(const table::RowFormat& format, accounting::Unit unit, DataCheck& check);
// Tables in a folder that are not read, since their names end otherwise.
std::optional<std::string> UnreadTables(const std::filesystem::path& path);

// InvalidArgument when the configuration itself is wrong; problems of the data are in the result.
absl::StatusOr<DataCheck> CheckData(const DataCheckSpec& spec);

// File by file, one line for each column and kind of fault, with what to change; then the counts
// and the warnings. It quotes values of the data, so it is for the site alone.
std::string DataCheckText(const DataCheck& check);
// docs/formats/datasets.md, "Check of a site's files".
base::JsonValue DataCheckJson(const DataCheck& check);

}  // namespace tacet::app::data

#endif  // TACET_APPS_TACET_DATA_DATA_CHECK_H_
