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
#include "tacet/table/row_shape.h"
#include "tacet/table/table_file.h"
#include "tacet/table/table_text.h"

namespace tacet::data {
namespace {

using table::DecimalMark;
using table::NotANumber;
using table::OpenRecords;
using table::ParseDecimal;
using table::ParseDecimal32;
using table::SeparatorName;
using table::TableProblem;
using table::TableRecords;
using table::ValueFault;

// Tables that the Python package alone reads.
absl::StatusOr<std::vector<std::filesystem::path>> Workbooks(const std::filesystem::path& path) {
  return DataFiles(path, {".xlsx", ".xlsm", ".parquet"});
}

}  // namespace

uint32_t CsvOptions::known_classes() const {
  if (!labels.empty()) return static_cast<uint32_t>(labels.size());
  if (classes != 0) return classes;
  return label_above.has_value() ? 2 : 0;
}

struct CsvReader::State {
  // Numbers given to identifiers, in the order in which they first come.
  class Names {
   public:
    uint32_t Number(const std::string& text) {
      const auto [entry, fresh] = known_.try_emplace(table::PersonKey(text), count_);
      if (!fresh) return entry->second;
      in_order_.push_back(text);
      return count_++;
    }
    // Number of somebody whose identifier is missing.
    uint32_t Unknown() { return count_++; }
    // As they were first spelt.
    const std::vector<std::string>& in_order() const { return in_order_; }

   private:
    std::unordered_map<std::string, uint32_t> known_;
    std::vector<std::string> in_order_;
    uint32_t count_ = 0;
  };

  // Reports a problem of a file as a whole, or of a row: the error that ends the reading, or OK.
  absl::Status Report(const TableProblem& problem) const { return Hand(faults.of_files, problem); }
  absl::Status ReportRow(const TableProblem& problem) const {
    return Hand(faults.of_rows, problem);
  }
  // On the line of the names a byte of another encoding is the file's fault, on a later one a
  // row's, whose field is then a text that nobody agreed on. True where the rows can be read.
  absl::StatusOr<bool> ReportEncoding(const std::optional<TableProblem>& problem) const {
    if (!problem.has_value()) return true;
    const bool is_rows = problem->line >= (options.columns.empty() ? 2U : 1U);
    TACET_RETURN_IF_ERROR(is_rows ? ReportRow(*problem) : Report(*problem));
    return is_rows;
  }
  // Number of features.
  uint64_t Width() const {
    uint64_t width = 0;
    for (const CsvFeature& feature : options.features) width += feature.width();
    return width > 0 ? width : shared.names.size();
  }

  CsvOptions options;
  CsvFaults faults;
  Names clients, persons;
  std::vector<std::string> warnings = {};
  std::vector<float> features;
  DatasetSpec spec;
  SharedFeatures shared = {};

 private:
  static absl::Status Hand(const std::function<void(const TableProblem&)>& take,
                           const TableProblem& problem) {
    if (!take) return base::InvalidArgument("{}", ProblemText(problem));
    take(problem);
    return absl::OkStatus();
  }
};

// The state of one table.
class CsvReader::Table {
 public:
  Table(const OpenRecords& open, std::string_view name, State& state)
      : open_(open),
        records_(open()),
        name_(name),
        client_of_file_(std::filesystem::path(name).stem().string()),
        state_(state),
        options_(state.options) {}

  absl::Status Read();

 private:
  TableProblem ProblemAt(uint64_t line, std::optional<size_t> column, ValueFault fault) const;
  // Reports a problem of the file: the error that ends the reading, or OK.
  absl::Status Problem(uint64_t line, std::optional<size_t> column, ValueFault fault) {
    ++problems_;
    return state_.Report(ProblemAt(line, column, std::move(fault)));
  }
  absl::Status Problem(std::optional<size_t> column, ValueFault fault) {
    return Problem(records_.line(), column, std::move(fault));
  }
  // The same of the row.
  absl::Status RowProblem(std::optional<size_t> column, ValueFault fault) {
    ++row_problems_;
    return state_.ReportRow(ProblemAt(records_.line(), column, std::move(fault)));
  }
  absl::Status HasNoRows() {
    return Problem(
        0, std::nullopt,
        {.what = fmt::format(
             "the file has no rows{}",
             columns_.count() > 0 && options_.columns.empty() ? " below its header" : ""),
         .remedy = ""});
  }
  std::optional<size_t> PlaceOfFault(TableRecords::Result result) const {
    return table::IsFaultOfField(result) ? std::optional(fields_.size() - 1) : std::nullopt;
  }

  absl::Status ChooseSeparator();
  // Finds the columns by their names, which are the first record or the agreed ones.
  absl::Status FindColumns();
  // Reads the row of a record that was just read.
  absl::Status Row(TableRecords::Result result);
  absl::Status ReadFields();
  // Adds the row as one that cannot be read; `is_split`: its fields are known.
  void AddUnreadable(bool is_split);
  void RemoveThousands();
  absl::Status ReadNames();
  absl::Status ReadLabel();
  absl::Status ReadFeature(size_t index);
  void DropRowsBeyond(size_t rows, size_t features);

  const OpenRecords& open_;
  TableRecords records_;
  std::string_view name_;
  std::string client_of_file_;
  State& state_;
  const CsvOptions& options_;
  char separator_ = ',';
  table::RowShape shape_{0, ','};
  uint64_t problems_ = 0;      // of the whole file
  uint64_t row_problems_ = 0;  // of the current row
  std::vector<std::string> fields_;
  CsvColumns columns_;
};

TableProblem CsvReader::Table::ProblemAt(uint64_t line, std::optional<size_t> column,
                                         ValueFault fault) const {
  TableProblem problem{.file = std::string(name_), .line = line, .fault = std::move(fault)};
  if (column.has_value()) {
    problem.column = *column;
    problem.column_name = std::string(columns_.Name(*column));
  }
  return problem;
}

absl::Status CsvReader::Table::ChooseSeparator() {
  std::optional<char> agreed = options_.separator;
  if (!agreed.has_value() && !options_.columns.empty()) {
    agreed = table::SeparatorOfRows(open_, options_.columns.size());
  }
  const std::optional<char> found = table::ChooseSeparator(
      records_, name_, agreed, NamedColumns(options_), options_.decimal == DecimalMark::kComma);
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
    if (!label.has_value()) return RowProblem(column, options_.labels.NotAmong(field));
    state_.spec.labels.push_back(static_cast<uint32_t>(*label));
    return absl::OkStatus();
  }
  const std::optional<double> value = ParseDecimal(field, options_.decimal);
  const auto not_a_label = [&](std::string_view expected, std::string remedy) {
    return RowProblem(column, {.what = fmt::format("\"{}\" is not a label: {}", field, expected),
                               .remedy = std::move(remedy),
                               .value = field,
                               .of_many = fmt::format("are no labels: {}", expected)});
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
    return RowProblem(column, {.what = fmt::format("label {} where there are {} classes", label,
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
    if (!value.has_value()) return RowProblem(column, NotANumber(field, options_.decimal));
    state_.features.push_back(*value);
    return absl::OkStatus();
  }
  const bool missing = std::ranges::count(options_.missing, field) > 0;
  std::optional<ValueFault> fault = AppendFeature(
      options_.features[index], missing ? std::nullopt : std::optional<std::string_view>(field),
      options_.decimal, state_.features);
  return fault.has_value() ? RowProblem(column, *std::move(fault)) : absl::OkStatus();
}

absl::Status CsvReader::Table::ReadNames() {
  for (const auto& [column, role] :
       {std::pair(columns_.client(), "client"), std::pair(columns_.person(), "person")}) {
    if (!column.has_value() || !table::PersonKey(fields_[*column]).empty()) continue;
    TACET_RETURN_IF_ERROR(
        RowProblem(column, {.what = fmt::format("the {} is empty", role), .remedy = "fill it in"}));
  }
  return absl::OkStatus();
}

absl::Status CsvReader::Table::Row(TableRecords::Result result) {
  row_problems_ = 0;
  std::optional<ValueFault> fault = RecordFault(result, separator_);
  if (!fault.has_value()) fault = shape_.Fit(fields_, records_.first_is_quoted());
  if (!fault.has_value()) return ReadFields();
  TACET_RETURN_IF_ERROR(RowProblem(PlaceOfFault(result), *std::move(fault)));
  records_.ResumeBehindFirstLine();
  AddUnreadable(false);
  return absl::OkStatus();
}

absl::Status CsvReader::Table::ReadFields() {
  for (size_t i = 0; i < fields_.size() && !options_.spellings.empty(); ++i) {
    table::WriteAsAgreed(options_.spellings, columns_.Name(i), options_.decimal, fields_[i]);
  }
  RemoveThousands();
  const size_t rows = state_.spec.labels.size(), features = state_.features.size();
  TACET_RETURN_IF_ERROR(ReadNames());
  TACET_RETURN_IF_ERROR(ReadLabel());
  for (size_t index = 0; index < columns_.features().size(); ++index) {
    TACET_RETURN_IF_ERROR(ReadFeature(index));
  }
  if (row_problems_ > 0) {
    DropRowsBeyond(rows, features);
    AddUnreadable(true);
    return absl::OkStatus();
  }
  const std::optional<size_t> client = columns_.client(), person = columns_.person();
  state_.spec.sample_clients.push_back(
      state_.clients.Number(client ? fields_[*client] : client_of_file_));
  if (person) state_.spec.sample_persons.push_back(state_.persons.Number(fields_[*person]));
  return absl::OkStatus();
}

void CsvReader::Table::AddUnreadable(bool is_split) {
  const auto known = [&](const std::optional<size_t>& column) {
    return is_split && column.has_value() && !table::PersonKey(fields_[*column]).empty();
  };
  const std::optional<size_t> client = columns_.client(), person = columns_.person();
  if (client.has_value() && !known(client)) return;
  state_.spec.labels.push_back(0);
  state_.features.resize(state_.features.size() + state_.Width(), kUnreadable);
  state_.spec.sample_clients.push_back(
      state_.clients.Number(client ? fields_[*client] : client_of_file_));
  if (!person.has_value()) return;
  state_.spec.sample_persons.push_back(known(person) ? state_.persons.Number(fields_[*person])
                                                     : state_.persons.Unknown());
}

void CsvReader::Table::DropRowsBeyond(size_t rows, size_t features) {
  state_.spec.labels.resize(rows);
  state_.features.resize(features);
  state_.spec.sample_clients.resize(rows);
  if (!state_.spec.sample_persons.empty()) state_.spec.sample_persons.resize(rows);
}

absl::Status CsvReader::Table::FindColumns() {
  std::vector<std::string> names = options_.columns;
  if (names.empty()) {
    const TableRecords::Result result = records_.Next(separator_, fields_);
    if (result == TableRecords::Result::kEnd) return HasNoRows();
    if (const auto fault = RecordFault(result, separator_); fault.has_value()) {
      return Problem(PlaceOfFault(result), *fault);
    }
    names = fields_;
    const std::optional<ValueFault> no_names = table::FaultOfHeader(
        names, NamesInHeader(options_), separator_, records_, "list them in `data.csv_columns`");
    if (no_names.has_value()) return Problem(std::nullopt, *no_names);
    shape_ = table::RowShape::OfHeader(names, separator_);
  } else {
    shape_ = table::RowShape(names.size(), separator_);
  }
  TACET_RETURN_IF_ERROR(columns_.Find(options_, std::move(names), separator_, name_, state_.shared,
                                      [this](std::optional<size_t> column, ValueFault fault) {
                                        return Problem(column, std::move(fault));
                                      }));
  for (const size_t column : columns_.nameless()) {
    state_.warnings.push_back(fmt::format(
        "{}: column {} (\"{}\") has no name of its own, so it is no feature. Most often "
        "such a column counts the rows",
        name_, column, columns_.Name(column)));
  }
  return absl::OkStatus();
}

void CsvReader::Table::RemoveThousands() {
  if (columns_.label().has_value() && options_.labels.empty()) {
    table::RemoveThousands(options_.thousands, options_.decimal, fields_[*columns_.label()]);
  }
  for (size_t index = 0; index < columns_.features().size(); ++index) {
    const std::optional<size_t> column = columns_.features()[index];
    if (!column.has_value() ||
        (!options_.features.empty() && !options_.features[index].categories.empty())) {
      continue;
    }
    table::RemoveThousands(options_.thousands, options_.decimal, fields_[*column]);
  }
}

absl::Status CsvReader::Table::Read() {
  TACET_RETURN_IF_ERROR(ChooseSeparator());
  if (problems_ > 0) return absl::OkStatus();
  const size_t rows = state_.spec.labels.size(), features = state_.features.size();
  TACET_RETURN_IF_ERROR(FindColumns());
  if (columns_.count() == 0) return absl::OkStatus();
  const bool found_all = problems_ == 0;
  TableRecords::Result result = records_.Next(separator_, fields_);
  if (result == TableRecords::Result::kEnd) return HasNoRows();
  for (; result != TableRecords::Result::kEnd; result = records_.Next(separator_, fields_)) {
    if (result == TableRecords::Result::kTooLong || result == TableRecords::Result::kUnreadable) {
      return Problem(std::nullopt, *RecordFault(result, separator_));
    }
    TACET_RETURN_IF_ERROR(Row(result));
    if (!found_all) DropRowsBeyond(rows, features);
  }
  std::optional<ValueFault> fault = shape_.FaultOfTable();
  return fault.has_value() ? Problem(0, std::nullopt, *std::move(fault)) : absl::OkStatus();
}

CsvReader::CsvReader(CsvOptions options, CsvFaults faults) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  state_->faults = std::move(faults);
}
CsvReader::~CsvReader() = default;

absl::Status CsvReader::Add(std::string_view text, std::string_view name) {
  TACET_ASSIGN_OR_RETURN(const bool is_text,
                         state_->ReportEncoding(table::EncodingProblem(text, name)));
  const OpenRecords open = [text] { return TableRecords(text); };
  return is_text ? Table(open, name, *state_).Read() : absl::OkStatus();
}

absl::Status CsvReader::AddFile(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const table::TableFile file, table::TableFile::Open(path));
  TACET_ASSIGN_OR_RETURN(const bool is_text, state_->ReportEncoding(file.encoding_problem()));
  const OpenRecords open = [&file] { return file.Records(); };
  return is_text ? Table(open, path.string(), *state_).Read() : absl::OkStatus();
}

std::span<const std::string> CsvReader::persons() const { return state_->persons.in_order(); }

std::span<const std::string> CsvReader::warnings() const { return state_->warnings; }

absl::StatusOr<Dataset> CsvReader::Finish(std::string_view name) {
  State& state = *state_;
  if (state.spec.labels.empty()) return base::InvalidArgument("{}: there are no rows", name);
  state.spec.name = std::string(name);
  state.spec.input_shape = {state.Width()};
  state.spec.features = std::move(state.features);
  state.spec.client_names = state.clients.in_order();
  const uint32_t known = state.options.known_classes();
  state.spec.classes = known != 0 ? known : *std::ranges::max_element(state.spec.labels) + 1;
  return Dataset::Create(std::move(state.spec));
}

absl::StatusOr<std::vector<std::filesystem::path>> CsvFiles(const std::filesystem::path& path) {
  std::error_code error;
  // In a folder a .txt may be anything.
  if (path.extension() == ".txt" && !std::filesystem::is_directory(path, error)) return {{path}};
  return DataFiles(path, {".csv", ".tsv", ".data"});
}

bool HoldsWorkbook(const std::filesystem::path& path) {
  const auto files = Workbooks(path);
  return files.ok() && !files->empty();
}

absl::Status NoCsvFile(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> others, Workbooks(path));
  if (others.empty()) {
    return base::NotFound("{}: there is no file that ends in .csv, .tsv or .data", path.string());
  }
  return base::NotFound(
      "{}: this program reads CSV files. Save it as \"CSV UTF-8\", or let the Python package do "
      "so: "
      "python3 -m tacet.table_files {} {}",
      others.front().string(), others.front().filename().string(),
      others.front().filename().replace_extension(".csv").string());
}

bool HoldsCsv(const std::filesystem::path& path) {
  const auto files = CsvFiles(path);
  return files.ok() && !files->empty();
}

absl::Status AddCsvFiles(const std::filesystem::path& path, CsvReader& reader) {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files, CsvFiles(path));
  if (files.empty()) return NoCsvFile(path);
  for (const std::filesystem::path& file : files) {
    TACET_RETURN_IF_ERROR(reader.AddFile(file));
  }
  return absl::OkStatus();
}

absl::StatusOr<Dataset> LoadCsv(const std::filesystem::path& path, const CsvOptions& options,
                                table::ProblemSummary* unreadable) {
  CsvFaults faults;
  if (unreadable != nullptr) {
    faults.of_rows = [unreadable](const TableProblem& problem) { unreadable->Add(problem); };
  }
  CsvReader reader(options, std::move(faults));
  TACET_RETURN_IF_ERROR(AddCsvFiles(path, reader));
  return reader.Finish(path.string());
}

}  // namespace tacet::data
