#include "apps/tacet/data/data_check.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "fmt/format.h"

#include "apps/tacet/simulate/training_run.h"
#include "tacet/agreement/privacy_warnings.h"
#include "tacet/base/json_lists.h"
#include "tacet/base/status.h"
#include "tacet/base/text_sink.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/data_warnings.h"
#include "tacet/data/csv.h"
#include "tacet/data/csv_columns.h"
#include "tacet/data/load.h"
#include "tacet/table/person_text.h"

namespace tacet::app::data {
namespace {

namespace fs = std::filesystem;
using table::TableProblem;

std::string Count(uint64_t number, std::string_view name) {
  return fmt::format("{} {}{}", number, name, number == 1 ? "" : "s");
}

// "12 of 300 rows repeat an earlier row, such as line 14 (line 3 again)". Without examples where
// nothing may be wrong.
std::string CopiesText(const table::RepeatedRows& rows) {
  std::string examples;
  for (const table::RepeatedRow& row : rows.examples) {
    examples += fmt::format("{}line {} (line {} again)", examples.empty() ? "" : ", ", row.line,
                            row.earlier);
  }
  return fmt::format(
      "{} of {} repeat{} an earlier row, {}", rows.repeated, Count(rows.rows, "row"),
      rows.repeated == 1 ? "s" : "",
      rows.beyond_chance ? "such as " + examples : "which columns of few values may explain");
}

// For the first feature that counts the rows of each client; a row's number tells nothing of it.
void WarnOfRowNumbers(const tacet::data::Dataset& dataset, DataCheck& check) {
  std::vector<bool> counts(dataset.input_size(), true);
  std::vector<float> row(dataset.input_size()), before(dataset.input_size());
  for (uint64_t client = 0; client < dataset.clients(); ++client) {
    const auto rows = dataset.rows(client);
    if (rows.size() < 3) return;
    for (size_t i = 0; i < rows.size(); ++i) {
      dataset.CopyInput(rows[i], row);
      for (size_t feature = 0; feature < row.size() && i > 0; ++feature) {
        if (row[feature] != before[feature] + 1) counts[feature] = false;
      }
      before.swap(row);
    }
  }
  const auto found = std::ranges::find(counts, true);
  if (found == counts.end()) return;
  check.warnings.push_back(
      fmt::format("feature {} counts the rows: list the columns that mean something in "
                  "`data.csv_features`",
                  found - counts.begin()));
}

// Rows of all tables in `path`; none where no row is without problems.
std::optional<tacet::data::Dataset> ReadTables(const fs::path& path,
                                               const tacet::data::CsvOptions& options,
                                               DataCheck& check) {
  const auto add = [&check](const TableProblem& problem) { check.problems.Add(problem); };
  tacet::data::CsvReader reader(options, {.of_rows = add, .of_files = add});
  const auto files = tacet::data::CsvFiles(path);
  if (!files.ok()) AddProblem(check, path.string(), files.status());
  for (const fs::path& file : files.value_or(std::vector<fs::path>())) {
    check.files.push_back(file.string());
    const absl::Status added = reader.AddFile(file);
    if (!added.ok()) AddProblem(check, file.string(), added);
  }
  std::string alike = table::LookAlikesWarning(reader.persons());
  if (!alike.empty()) check.warnings.push_back(std::move(alike));
  check.warnings.insert(check.warnings.end(), reader.warnings().begin(), reader.warnings().end());
  absl::StatusOr<tacet::data::Dataset> dataset = reader.Finish(path.string());
  if (dataset.ok()) {
    if (options.features.empty()) WarnOfRowNumbers(*dataset, check);
    return *std::move(dataset);
  }
  if (check.problems.empty()) AddProblem(check, path.string(), dataset.status());
  return std::nullopt;
}

bool HoldsTables(const fs::path& path) {
  return !tacet::data::HoldsIdxImages(path) && tacet::data::HoldsCsv(path);
}

std::optional<tacet::data::Dataset> ReadData(const fs::path& path,
                                             const tacet::data::CsvOptions& options,
                                             DataCheck& check) {
  if (HoldsTables(path)) return ReadTables(path, options, check);
  const auto files = tacet::data::FilesOfDataset(path).value_or(std::vector<fs::path>());
  for (const fs::path& file : files) check.files.push_back(file.string());
  absl::StatusOr<tacet::data::Dataset> dataset = tacet::data::LoadDataset(path, options);
  if (dataset.ok()) return *std::move(dataset);
  AddProblem(check, path.string(), dataset.status());
  return std::nullopt;
}

void CheckClient(const DataCheckSpec& spec, const tacet::data::Dataset& dataset, DataCheck& check) {
  const std::string& path = spec.config.data.path;
  const auto clients = dataset.clients();
  if (!spec.client.has_value() && clients > 1) {
    check.problems.Add(
        {.file = path,
         .fault = {.what = fmt::format("the data are of {} clients, a site is one", clients),
                   .remedy = "set `data.csv_client_column = \"\"` and give one file, or "
                             "choose with --client"}});
  }
  if (spec.client.has_value() && *spec.client >= clients) {
    check.problems.Add({.file = path,
                        .fault = {.what = fmt::format("--client is {}, the data are of {} clients",
                                                      *spec.client, clients),
                                  .remedy = "clients are counted from 0"}});
  }
}

// For a simulation with these data.
void WarnOfSimulation(const config::RunConfig& config, DataCheck& check) {
  const auto run = app::simulate::TrainingRun::Create(config, base::TextSink());
  if (!run.ok()) {
    check.warnings.push_back(fmt::format("a simulation with these data alone does not start: {}",
                                         base::Message(run.status())));
    return;
  }
  const auto warnings = agreement::PrivacyWarnings((*run)->manifest().spec());
  if (warnings.ok())
    check.warnings.insert(check.warnings.end(), warnings->begin(), warnings->end());
}

absl::Status Warn(const DataCheckSpec& spec, const tacet::data::Dataset& dataset,
                  DataCheck& check) {
  for (std::string& warning : config::DataWarnings(spec.config, dataset)) {
    check.warnings.push_back(std::move(warning));
  }
  if (const auto unread = UnreadTables(spec.config.data.path); unread.has_value()) {
    check.warnings.push_back(*unread);
  }
  if (!spec.agreed.has_value()) {
    if (check.problems.empty()) WarnOfSimulation(spec.config, check);
    return absl::OkStatus();
  }
  TACET_ASSIGN_OR_RETURN(const std::vector<std::string> warnings,
                         agreement::PrivacyWarnings(*spec.agreed));
  check.warnings.insert(check.warnings.end(), warnings.begin(), warnings.end());
  return absl::OkStatus();
}

}  // namespace

void AddProblem(DataCheck& check, const std::string& file, const absl::Status& status) {
  std::string what = base::Message(status);
  if (what.starts_with(file + ": ")) what.erase(0, file.size() + 2);
  check.problems.Add({.file = file, .fault = {.what = std::move(what), .remedy = ""}});
}

void CompareRows(const table::RowFormat& format, accounting::Unit unit, DataCheck& check) {
  for (const std::string& file : check.files) {
    const absl::StatusOr<table::RepeatedRows> rows = table::FindRepeatedRows(file, format);
    if (!rows.ok() || rows->repeated == 0) continue;
    check.copies.push_back({.file = file, .rows = *rows});
    if (!rows->beyond_chance || unit != accounting::Unit::kRecord) continue;
    check.warnings.push_back(fmt::format(
        "{}: {}. Chance does not explain them, and each counts as one more record: remove rows "
        "that were written twice, or agree on `privacy.unit = \"person\"`, which counts each "
        "person once",
        file, CopiesText(*rows)));
  }
}

std::optional<std::string> UnreadTables(const fs::path& path) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string ending = entry->path().extension().string();
    for (char& letter : ending) {
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    const bool table = ending == ".xlsx" || ending == ".xls" || ending == ".parquet" ||
                       ending == ".ods" || ending == ".txt" || ending == ".csv" || ending == ".tsv";
    const auto read = tacet::data::CsvFiles(entry->path());
    // A text file is a table where it is named itself.
    if (table && read.ok() && (read->empty() || ending == ".txt")) {
      names.insert(entry->path().filename().string());
    }
  }
  if (names.empty()) return std::nullopt;
  return fmt::format(
      "{} of this folder {} not read, as {}: a table ends in .csv, .tsv or .data; save it as "
      "\"CSV UTF-8\" if it belongs to the data",
      names.size() == 1 ? "one file" : fmt::format("{} files", names.size()),
      names.size() == 1 ? "is" : "are", *names.begin());
}

absl::StatusOr<DataCheck> CheckData(const DataCheckSpec& spec) {
  TACET_ASSIGN_OR_RETURN(const tacet::data::CsvOptions options, config::CsvOptionsOf(spec.config));
  DataCheck check;
  check.class_texts = spec.config.data.csv_labels;
  std::optional<tacet::data::Dataset> dataset = ReadData(spec.config.data.path, options, check);
  if (HoldsTables(spec.config.data.path)) {
    CompareRows({.separator = options.separator,
                 .known = tacet::data::NamedColumns(options),
                 .has_decimal_comma = options.decimal == table::DecimalMark::kComma,
                 .columns = options.columns.size()},
                spec.config.agreement.privacy.unit, check);
  }
  if (!dataset.has_value()) return check;
  absl::StatusOr<tacet::data::Dataset> arranged =
      config::ArrangeRunData(spec.config, *std::move(dataset));
  if (!arranged.ok()) {
    AddProblem(check, spec.config.data.path, arranged.status());
    return check;
  }
  check.rows = arranged->readable_samples();
  check.clients = arranged->clients();
  check.class_rows = config::ClassCounts(*arranged);
  if (spec.agreed.has_value()) CheckClient(spec, *arranged, check);
  TACET_RETURN_IF_ERROR(Warn(spec, *arranged, check));
  return check;
}

std::string DataCheckText(const DataCheck& check) {
  std::string text;
  std::string file;
  std::set<std::string> wrong_files;
  for (const table::ProblemGroup& group : check.problems.Groups()) {
    const TableProblem& first = group.first;
    wrong_files.insert(first.file);
    if (first.file != file) text += fmt::format("{}\n", first.file);
    file = first.file;
    std::string place =
        first.line != 0 ? fmt::format("{}line {}", group.count > 1 ? "from " : "", first.line) : "";
    if (first.column.has_value()) {
      place += fmt::format("{}column {}", place.empty() ? "" : ", ", *first.column);
      if (!first.column_name.empty()) place += fmt::format(" (\"{}\")", first.column_name);
    }
    text += fmt::format("  {}{}{}\n", place, place.empty() ? "" : ": ", group.What());
    for (const std::string& remedy : group.remedies) text += fmt::format("    {}\n", remedy);
  }
  if (!text.empty()) text += "\n";
  text +=
      check.problems.empty()
          ? fmt::format("problems    none in {}\n", Count(check.files.size(), "file"))
          : fmt::format("problems    {} in {} of {}\n", check.problems.count(), wrong_files.size(),
                        Count(std::max(check.files.size(), wrong_files.size()), "file"));
  text += check.questions.empty()
              ? fmt::format("rows        {} without problems, of {}\n", check.rows,
                            Count(check.clients, "client"))
              : fmt::format("rows        {}, of {}\n", check.rows, Count(check.clients, "site"));
  for (const FileCopies& copies : check.copies) {
    text +=
        fmt::format("{}{}: {}\n", &copies == check.copies.data() ? "copies      " : "            ",
                    copies.file, CopiesText(copies.rows));
  }
  for (size_t label = 0; label < check.class_rows.size() && check.class_rows.size() <= 100;
       ++label) {
    text += fmt::format(
        "{}{}{}: {}\n", label == 0 ? "classes     " : "            ", label,
        label < check.class_texts.size() ? fmt::format(" (\"{}\")", check.class_texts[label]) : "",
        Count(check.class_rows[label], "row"));
  }
  for (const QuestionRows& question : check.questions) {
    text += fmt::format(
        "{}{} ({}): {}{}\n", &question == check.questions.data() ? "questions   " : "            ",
        question.question, question.kind, Count(question.rows, "row"),
        question.left_out == 0 ? "" : fmt::format(", {} left out", question.left_out));
  }
  for (const ConditionRows& condition : check.conditions) {
    text += fmt::format(
        "{}{}: {} of {}{}\n",
        &condition == check.conditions.data() ? "conditions  " : "            ",
        condition.condition, condition.rows, Count(condition.all, "row"),
        condition.unreadable == 0 ? "" : fmt::format(", {} cannot be read", condition.unreadable));
  }
  return text + agreement::WarningLines(check.warnings);
}

base::JsonValue DataCheckJson(const DataCheck& check) {
  base::JsonValue problems = base::JsonValue::MakeArray();
  for (const table::ProblemGroup& group : check.problems.Groups()) {
    const TableProblem& first = group.first;
    base::JsonValue values = base::JsonValue::MakeArray();
    for (const table::ValueCount& value : group.values) {
      values.Append(
          base::JsonValue::MakeObject().Set("value", value.value).Set("count", value.count));
    }
    problems.Append(
        base::JsonValue::MakeObject()
            .Set("file", first.file)
            .Set("line", first.line != 0 ? base::JsonValue(first.line) : base::JsonValue())
            .Set("column", base::OrNull(first.column))
            .Set("column_name", base::OrNull(first.column_name))
            .Set("count", group.count)
            .Set("problem", group.What())
            .Set("values", std::move(values))
            .Set("change", base::JsonList(group.remedies)));
  }
  base::JsonValue classes = base::JsonValue::MakeArray();
  for (size_t label = 0; label < check.class_rows.size(); ++label) {
    classes.Append(base::JsonValue::MakeObject()
                       .Set("class", uint64_t{label})
                       .Set("text", label < check.class_texts.size()
                                        ? base::JsonValue(check.class_texts[label])
                                        : base::JsonValue())
                       .Set("rows", check.class_rows[label]));
  }
  base::JsonValue questions = base::JsonValue::MakeArray();
  for (const QuestionRows& question : check.questions) {
    questions.Append(base::JsonValue::MakeObject()
                         .Set("question", question.question)
                         .Set("kind", question.kind)
                         .Set("rows", question.rows)
                         .Set("left_out", question.left_out));
  }
  base::JsonValue conditions = base::JsonValue::MakeArray();
  for (const ConditionRows& condition : check.conditions) {
    conditions.Append(base::JsonValue::MakeObject()
                          .Set("condition", condition.condition)
                          .Set("rows", condition.rows)
                          .Set("unreadable", condition.unreadable)
                          .Set("all", condition.all));
  }
  base::JsonValue copies = base::JsonValue::MakeArray();
  for (const FileCopies& of : check.copies) {
    base::JsonValue examples = base::JsonValue::MakeArray();
    for (const table::RepeatedRow& row : of.rows.examples) {
      examples.Append(
          base::JsonValue::MakeObject().Set("line", row.line).Set("earlier", row.earlier));
    }
    copies.Append(base::JsonValue::MakeObject()
                      .Set("file", of.file)
                      .Set("rows", of.rows.rows)
                      .Set("repeated", of.rows.repeated)
                      .Set("examples", std::move(examples))
                      .Set("beyond_chance", of.rows.beyond_chance));
  }
  return base::JsonValue::MakeObject()
      .Set("files", base::JsonList(check.files))
      .Set("problem_count", check.problems.count())
      .Set("problems", std::move(problems))
      .Set("rows", check.rows)
      .Set("clients", check.clients)
      .Set("classes", std::move(classes))
      .Set("questions", std::move(questions))
      .Set("conditions", std::move(conditions))
      .Set("copies", std::move(copies))
      .Set("warnings", base::JsonList(check.warnings));
}

}  // namespace tacet::app::data
