#include "tacet/data/csv.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "tacet/base/status.h"
#include "tacet/data/csv_columns.h"
#include "tacet/data/data_files.h"
#include "tacet/table/person_text.h"
#include "tacet/table/table_file.h"
#include "tacet/table/table_text.h"

namespace tacet::data {
namespace {

using table::DecimalMark;
using table::NotANumber;
using table::ParseDecimal;
using table::ParseDecimal32;
using table::SeparatorName;
using table::TableProblem;
using table::TableRecords;
using table::ValueFault;

constexpr uint32_t kMaxLabel = (uint32_t{1} << 20) - 1;

}  // namespace

uint32_t CsvOptions::known_classes() const {
  if (!labels.empty()) return static_cast<uint32_t>(labels.size());
  if (classes != 0) return classes;
  return label_above.has_value() ? 2 : 0;
}

struct CsvReader::State {
  // Numbers handed out to identifiers, in the order in which they first come.
  class Names {
   public:
    uint32_t Number(const std::string& text) {
      const auto [entry, fresh] =
          known_.try_emplace(table::PersonKey(text), static_cast<uint32_t>(known_.size()));
      if (fresh) in_order_.push_back(text);
      return entry->second;
    }
    // As they were first spelt.
    const std::vector<std::string>& in_order() const { return in_order_; }

   private:
    std::unordered_map<std::string, uint32_t> known_;
    std::vector<std::string> in_order_;
  };

  // The error that ends the reading, or OK where problems are collected.
  absl::Status Report(const TableProblem& problem) const {
    if (!on_problem) return base::InvalidArgument("{}", ProblemText(problem));
    on_problem(problem);
    return absl::OkStatus();
  }

  CsvOptions options;
  std::function<void(const TableProblem&)> on_problem;
  Names clients, persons;
  std::vector<float> features;
  DatasetSpec spec;
  SharedFeatures shared = {};
};

// The state of one table.
class CsvReader::Table {
 public:
  Table(TableRecords records, std::string_view name, State& state)
      : records_(std::move(records)),
        name_(name),
        client_of_file_(std::filesystem::path(name).stem().string()),
        state_(state),
        options_(state.options) {}

  absl::Status Read();

 private:
  // Reports a problem: the error that ends the reading, or OK where problems are collected.
  absl::Status Problem(uint64_t line, std::optional<size_t> column, ValueFault fault);
  absl::Status Problem(std::optional<size_t> column, ValueFault fault) {
    return Problem(records_.line(), column, std::move(fault));
  }

  // The next record that can be split; false at the end.
  absl::StatusOr<bool> NextRecord();
  absl::Status ChooseSeparator();
  absl::Status Row();
  absl::Status ReadNames();
  absl::Status ReadLabel();
  absl::Status ReadFeature(size_t index);
  void DropRowsBeyond(size_t rows, size_t features);

  TableRecords records_;
  std::string_view name_;
  std::string client_of_file_;
  State& state_;
  const CsvOptions& options_;
  char separator_ = ',';
  uint64_t problems_ = 0;
  std::vector<std::string> fields_;
  CsvColumns columns_;
};

absl::Status CsvReader::Table::Problem(uint64_t line, std::optional<size_t> column,
                                       ValueFault fault) {
  ++problems_;
  TableProblem problem{.file = std::string(name_), .line = line, .fault = std::move(fault)};
  if (column.has_value()) {
    problem.column = *column;
    problem.column_name = columns_.Name(*column);
  }
  return state_.Report(problem);
}

absl::StatusOr<bool> CsvReader::Table::NextRecord() {
  while (true) {
    const TableRecords::Result result = records_.Next(separator_, fields_);
    const std::optional<ValueFault> fault = RecordFault(result, separator_);
    if (!fault.has_value()) return result == TableRecords::Result::kRecord;
    const std::optional<size_t> column =
        table::IsFaultOfField(result) ? std::optional(fields_.size() - 1) : std::nullopt;
    TACET_RETURN_IF_ERROR(Problem(column, *fault));
  }
}

absl::Status CsvReader::Table::ChooseSeparator() {
  const std::optional<char> found =
      table::ChooseSeparator(records_, name_, options_.separator, NamedColumns(options_),
                             options_.decimal == DecimalMark::kComma);
  if (!found.has_value()) {
    return Problem(1, std::nullopt,
                   {.what = "several characters could separate the fields of the first line",
                    .remedy = "set `data.csv_separator`"});
  }
  separator_ = *found;
  return absl::OkStatus();
}

absl::Status CsvReader::Table::ReadLabel() {
  const std::optional<size_t> column = columns_.label();
  if (!column.has_value()) return absl::OkStatus();
  const std::string& field = fields_[*column];
  if (!options_.labels.empty()) {
    const std::optional<size_t> label = options_.labels.Find(field, options_.decimal);
    if (!label.has_value()) return Problem(column, options_.labels.NotAmong(field));
    state_.spec.labels.push_back(static_cast<uint32_t>(*label));
    return absl::OkStatus();
  }
  const std::optional<double> value = ParseDecimal(field, options_.decimal);
  const auto not_a_label = [&](std::string_view expected, std::string remedy) {
    return Problem(column, {.what = fmt::format("\"{}\" is not a label: {}", field, expected),
                            .remedy = std::move(remedy)});
  };
  if (options_.label_above.has_value()) {
    if (!value.has_value()) {
      return not_a_label("a finite number", NotANumber(field, options_.decimal).remedy);
    }
    state_.spec.labels.push_back(*value > *options_.label_above ? 1 : 0);
    return absl::OkStatus();
  }
  if (!value.has_value() || !(*value >= 0 && *value <= kMaxLabel) || std::floor(*value) != *value) {
    return not_a_label(fmt::format("a whole number from 0 to {}", kMaxLabel),
                       "for other labels list them in `data.csv_labels`, or set "
                       "`data.csv_label_above`");
  }
  const auto label = static_cast<uint32_t>(*value);
  if (options_.classes != 0 && label >= options_.classes) {
    return Problem(column, {.what = fmt::format("label {} where there are {} classes", label,
                                                options_.classes),
                            .remedy = "classes are counted from 0; correct the label or raise "
                                      "`data.classes`"});
  }
  state_.spec.labels.push_back(label);
  return absl::OkStatus();
}

absl::Status CsvReader::Table::ReadFeature(size_t index) {
  if (!columns_.features()[index].has_value()) return absl::OkStatus();
  const size_t column = *columns_.features()[index];
  const std::string& field = fields_[column];
  if (options_.features.empty()) {
    const std::optional<float> value = ParseDecimal32(field, options_.decimal);
    if (!value.has_value()) return Problem(column, NotANumber(field, options_.decimal));
    state_.features.push_back(*value);
    return absl::OkStatus();
  }
  const bool missing = std::ranges::count(options_.missing, field) > 0;
  std::optional<ValueFault> fault = AppendFeature(
      options_.features[index], missing ? std::nullopt : std::optional<std::string_view>(field),
      options_.decimal, state_.features);
  return fault.has_value() ? Problem(column, *std::move(fault)) : absl::OkStatus();
}

absl::Status CsvReader::Table::ReadNames() {
  for (const auto& [column, role] :
       {std::pair(columns_.client(), "client"), std::pair(columns_.person(), "person")}) {
    if (!column.has_value() || !table::PersonKey(fields_[*column]).empty()) continue;
    TACET_RETURN_IF_ERROR(
        Problem(column, {.what = fmt::format("the {} is empty", role), .remedy = "fill it in"}));
  }
  return absl::OkStatus();
}

absl::Status CsvReader::Table::Row() {
  if (fields_.size() != columns_.count()) {
    return Problem(
        std::nullopt,
        {.what = fmt::format("{} columns, expected {}", fields_.size(), columns_.count()),
         .remedy = fmt::format("quote a field that holds a {}, or correct the row",
                               SeparatorName(separator_))});
  }
  for (size_t i = 0; i < fields_.size() && !options_.spellings.empty(); ++i) {
    table::WriteAsAgreed(options_.spellings, columns_.Name(i), options_.decimal, fields_[i]);
  }
  const size_t rows = state_.spec.labels.size(), features = state_.features.size();
  const uint64_t problems = problems_;
  TACET_RETURN_IF_ERROR(ReadNames());
  TACET_RETURN_IF_ERROR(ReadLabel());
  for (size_t index = 0; index < columns_.features().size(); ++index) {
    TACET_RETURN_IF_ERROR(ReadFeature(index));
  }
  if (problems_ != problems) {
    DropRowsBeyond(rows, features);
    return absl::OkStatus();
  }
  const std::optional<size_t> client = columns_.client(), person = columns_.person();
  state_.spec.sample_clients.push_back(
      state_.clients.Number(client ? fields_[*client] : client_of_file_));
  if (person) state_.spec.sample_persons.push_back(state_.persons.Number(fields_[*person]));
  return absl::OkStatus();
}

void CsvReader::Table::DropRowsBeyond(size_t rows, size_t features) {
  state_.spec.labels.resize(rows);
  state_.features.resize(features);
  state_.spec.sample_clients.resize(rows);
  if (!state_.spec.sample_persons.empty()) state_.spec.sample_persons.resize(rows);
}

absl::Status CsvReader::Table::Read() {
  TACET_RETURN_IF_ERROR(ChooseSeparator());
  if (problems_ > 0) return absl::OkStatus();
  const size_t rows = state_.spec.labels.size(), features = state_.features.size();
  TACET_ASSIGN_OR_RETURN(bool more, NextRecord());
  if (problems_ > 0) return absl::OkStatus();  // the first line does not say what the columns are
  if (!more) return Problem(0, std::nullopt, {.what = "the file has no rows", .remedy = ""});
  if (!options_.header && !options_.columns.empty() && options_.columns.size() != fields_.size()) {
    return Problem(std::nullopt, {.what = fmt::format("{} columns, the configuration names {}",
                                                      fields_.size(), options_.columns.size()),
                                  .remedy = "correct `data.csv_columns` or the file"});
  }
  TACET_RETURN_IF_ERROR(columns_.Find(options_, fields_, separator_, name_, state_.shared,
                                      [this](std::optional<size_t> column, ValueFault fault) {
                                        return Problem(column, std::move(fault));
                                      }));
  const bool found_all = problems_ == 0;
  if (options_.header) {
    TACET_ASSIGN_OR_RETURN(more, NextRecord());
    if (!more) {
      return Problem(0, std::nullopt,
                     {.what = "the file has no rows below its header", .remedy = ""});
    }
  }
  while (more) {
    TACET_RETURN_IF_ERROR(Row());
    if (!found_all) DropRowsBeyond(rows, features);
    TACET_ASSIGN_OR_RETURN(more, NextRecord());
  }
  return absl::OkStatus();
}

CsvReader::CsvReader(CsvOptions options, std::function<void(const TableProblem&)> on_problem)
    : state_(new State{.options = std::move(options),
                       .on_problem = std::move(on_problem),
                       .clients = {},
                       .persons = {},
                       .features = {},
                       .spec = {}}) {}
CsvReader::~CsvReader() = default;

absl::Status CsvReader::Add(std::string_view text, std::string_view name) {
  const std::optional<TableProblem> problem = table::EncodingProblem(text, name);
  if (problem.has_value()) return state_->Report(*problem);
  return Table(TableRecords(text), name, *state_).Read();
}

absl::Status CsvReader::AddFile(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const table::TableFile file, table::TableFile::Open(path));
  if (file.encoding_problem().has_value()) return state_->Report(*file.encoding_problem());
  return Table(file.Records(), path.string(), *state_).Read();
}

std::span<const std::string> CsvReader::persons() const { return state_->persons.in_order(); }

absl::StatusOr<Dataset> CsvReader::Finish(std::string_view name) {
  State& state = *state_;
  if (state.spec.labels.empty()) return base::InvalidArgument("{}: there are no rows", name);
  uint64_t width = 0;
  for (const CsvFeature& feature : state.options.features) width += feature.width();
  state.spec.name = std::string(name);
  state.spec.input_shape = {width > 0 ? width : state.shared.count};
  state.spec.features = std::move(state.features);
  state.spec.client_names = state.clients.in_order();
  const uint32_t known = state.options.known_classes();
  state.spec.classes = known != 0 ? known : *std::ranges::max_element(state.spec.labels) + 1;
  return Dataset::Create(std::move(state.spec));
}

absl::StatusOr<std::vector<std::filesystem::path>> CsvFiles(const std::filesystem::path& path) {
  return DataFiles(path, {".csv", ".tsv", ".data"});
}

bool HoldsCsv(const std::filesystem::path& path) {
  const auto files = CsvFiles(path);
  return files.ok() && !files->empty();
}

absl::Status AddCsvFiles(const std::filesystem::path& path, CsvReader& reader) {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files, CsvFiles(path));
  if (files.empty()) {
    return base::NotFound("{}: no file ending in .csv, .tsv or .data", path.string());
  }
  for (const std::filesystem::path& file : files) {
    TACET_RETURN_IF_ERROR(reader.AddFile(file));
  }
  return absl::OkStatus();
}

absl::StatusOr<Dataset> LoadCsv(const std::filesystem::path& path, const CsvOptions& options) {
  CsvReader reader(options);
  TACET_RETURN_IF_ERROR(AddCsvFiles(path, reader));
  return reader.Finish(path.string());
}

}  // namespace tacet::data
