// Check of a site's files against what the sites agreed on, before anything is trained or charged.
#ifndef TACET_APPS_TACET_DATA_DATA_CHECK_H_
#define TACET_APPS_TACET_DATA_DATA_CHECK_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/base/json.h"
#include "tacet/config/run_config.h"
#include "tacet/table/table_problem.h"

namespace tacet::app::data {

// Problems beyond these are counted, not listed.
inline constexpr uint64_t kMaxListedProblems = 10'000;

struct DataCheckSpec {
  config::RunConfig config;  // data.path says where the data are
  // Of a live federation: the warnings about privacy are those of the agreement. Without, they are
  // those of a simulation with these data.
  std::optional<agreement::ManifestSpec> agreed = std::nullopt;
  std::optional<uint64_t> client = std::nullopt;  // the site among the data set's clients
};

// Rows of the tables that count in a question.
struct QuestionRows {
  std::string question;
  std::string kind;
  uint64_t rows = 0;
};

struct DataCheck {
  std::vector<std::string> files;  // that were read
  std::vector<table::TableProblem> problems;
  uint64_t problem_count = 0;
  // Of the rows without problems.
  uint64_t rows = 0;
  uint64_t clients = 0;
  std::vector<uint64_t> class_rows;
  std::vector<std::string> class_texts;  // of data.csv_labels
  std::vector<QuestionRows> questions;   // of a query, which has no classes
  std::vector<std::string> warnings;
};

// Lists the problem, or counts it.
void AddProblem(DataCheck& check, const table::TableProblem& problem);
// Of a whole file.
void AddProblem(DataCheck& check, const std::string& file, const absl::Status& status);
// Tables in a folder that are not read, since their names end otherwise.
std::optional<std::string> UnreadTables(const std::filesystem::path& path);

// InvalidArgument when the configuration itself is wrong; problems of the data are in the result.
absl::StatusOr<DataCheck> CheckData(const DataCheckSpec& spec);

// File by file, with line, column and what to change; then the counts and the warnings. It quotes
// values of the data, so it is for the site alone.
std::string DataCheckText(const DataCheck& check);
// docs/formats/datasets.md, "Check of a site's files".
base::JsonValue DataCheckJson(const DataCheck& check);

}  // namespace tacet::app::data

#endif  // TACET_APPS_TACET_DATA_DATA_CHECK_H_
