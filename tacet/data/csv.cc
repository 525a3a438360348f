#include "tacet/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/data/data_files.h"

namespace tacet::data {
namespace {

constexpr uint32_t kMaxLabel = (uint32_t{1} << 20) - 1;

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <typename T>
std::optional<T> ParseFinite(std::string_view text) {
  const std::optional<T> value = ParseNumber<T>(text);
  return value.has_value() && std::isfinite(*value) ? value : std::nullopt;
}

// Hands out lines without their line break and counts them from 1.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
  }

  // The next line that is not blank; false at the end.
  bool Next(std::string_view& line) {
    while (!rest_.empty()) {
      ++number_;
      const size_t end = rest_.find('\n');
      line = rest_.substr(0, end);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!Trim(line).empty()) return true;
    }
    return false;
  }
  uint64_t number() const { return number_; }

 private:
  std::string_view rest_;
  uint64_t number_ = 0;
};

// Numbers handed out to texts, in the order in which they first come.
class Names {
 public:
  uint32_t Number(const std::string& text) {
    const auto [entry, fresh] = known_.try_emplace(text, static_cast<uint32_t>(known_.size()));
    if (fresh) in_order_.push_back(text);
    return entry->second;
  }
  const std::vector<std::string>& in_order() const { return in_order_; }

 private:
  std::unordered_map<std::string, uint32_t> known_;
  std::vector<std::string> in_order_;
};

}  // namespace

struct CsvReader::State {
  CsvOptions options;
  Names clients, persons;
  std::vector<float> features;
  DatasetSpec spec;
  // Of the first table, where features are not described.
  std::string first_table = {};
  std::vector<std::string> feature_names = {};
  size_t feature_count = 0;
};

// The state of one table; messages begin with the file and the line.
class CsvReader::Table {
 public:
  Table(std::string_view text, std::string_view name, State& state)
      : lines_(text), name_(name), state_(state), options_(state.options) {}

  absl::Status Read();

 private:
  template <typename... Args>
  absl::Status Error(fmt::format_string<Args...> format, Args&&... args) const {
    return base::InvalidArgument("{}:{}: {}", name_, lines_.number(),
                                 fmt::format(format, std::forward<Args>(args)...));
  }
  std::string ColumnName(size_t column) const {
    return column < header_.size() ? fmt::format("column {} (\"{}\")", column, header_[column])
                                   : fmt::format("column {}", column);
  }

  absl::Status Split(std::string_view line);
  absl::StatusOr<size_t> Find(std::string_view wanted, std::string_view role) const;
  absl::Status FirstLine();
  absl::Status FindFeatures();
  absl::Status CheckSameFeatures();
  absl::Status Row();
  absl::Status ReadLabel();
  absl::Status ReadFeature(size_t index);

  Lines lines_;
  std::string_view name_;
  State& state_;
  const CsvOptions& options_;
  std::vector<std::string> fields_;
  std::vector<std::string> header_;
  size_t columns_ = 0;
  size_t label_ = 0;
  std::optional<size_t> client_, person_;
  std::vector<size_t> features_;  // columns, in the order of the features
};

absl::Status CsvReader::Table::Split(std::string_view line) {
  size_t count = 0;
  const auto next_field = [&]() -> std::string& {
    if (count == fields_.size()) fields_.emplace_back();
    fields_[count].clear();
    return fields_[count++];
  };
  while (true) {
    std::string& field = next_field();
    if (Trim(line.substr(0, line.find(options_.delimiter))).starts_with('"')) {
      line = line.substr(line.find('"') + 1);
      while (true) {
        const size_t quote = line.find('"');
        if (quote == std::string_view::npos) {
          return Error("{}: a quoted field does not end on its line", ColumnName(count - 1));
        }
        field.append(line.substr(0, quote));
        line.remove_prefix(quote + 1);
        if (!line.starts_with('"')) break;
        field.push_back('"');
        line.remove_prefix(1);
      }
      const size_t end = line.find(options_.delimiter);
      if (!Trim(line.substr(0, end)).empty()) {
        return Error("{}: text after a quoted field", ColumnName(count - 1));
      }
      if (end == std::string_view::npos) break;
      line.remove_prefix(end + 1);
      continue;
    }
    const size_t end = line.find(options_.delimiter);
    field.assign(Trim(line.substr(0, end)));
    if (end == std::string_view::npos) break;
    line.remove_prefix(end + 1);
  }
  fields_.resize(count);
  return absl::OkStatus();
}

absl::StatusOr<size_t> CsvReader::Table::Find(std::string_view wanted,
                                              std::string_view role) const {
  const auto matches = std::ranges::count(header_, wanted);
  if (matches > 1) return Error("the {} column \"{}\" exists {} times", role, wanted, matches);
  if (matches == 1) {
    return static_cast<size_t>(std::ranges::find(header_, wanted) - header_.begin());
  }
  const std::optional<int64_t> position = ParseNumber<int64_t>(wanted);
  if (!position.has_value()) {
    return Error("there is no {} column \"{}\"{}", role, wanted,
                 header_.empty() ? " (the file is read without header: give a position)" : "");
  }
  const auto columns = static_cast<int64_t>(columns_);
  const int64_t column = *position < 0 ? *position + columns : *position;
  if (column < 0 || column >= columns) {
    return Error("the {} column is at position {}, the file has {} columns", role, *position,
                 columns_);
  }
  return static_cast<size_t>(column);
}

absl::Status CsvReader::Table::FirstLine() {
  columns_ = fields_.size();
  if (options_.header) {
    header_ = fields_;
  } else if (!options_.columns.empty()) {
    if (options_.columns.size() != columns_) {
      return Error("{} columns, the configuration names {}", columns_, options_.columns.size());
    }
    header_ = options_.columns;
  }
  TACET_ASSIGN_OR_RETURN(label_, Find(options_.label, "label"));
  if (!options_.client.empty()) {
    TACET_ASSIGN_OR_RETURN(client_, Find(options_.client, "client"));
    if (label_ == *client_) return Error("{} cannot be both label and client", ColumnName(label_));
  }
  if (!options_.person.empty()) {
    TACET_ASSIGN_OR_RETURN(person_, Find(options_.person, "person"));
    if (label_ == *person_) return Error("{} cannot be both label and person", ColumnName(label_));
  }
  return FindFeatures();
}

absl::Status CsvReader::Table::FindFeatures() {
  for (const CsvFeature& feature : options_.features) {
    TACET_ASSIGN_OR_RETURN(features_.emplace_back(), Find(feature.column, "feature"));
    if (features_.back() == label_) {
      return Error("{} cannot be both label and feature", ColumnName(label_));
    }
  }
  if (!options_.features.empty()) return absl::OkStatus();
  for (size_t column = 0; column < columns_; ++column) {
    if (column != label_ && column != client_ && column != person_) features_.push_back(column);
  }
  if (features_.empty()) {
    return Error("{} columns: besides label{}{} there must be a feature", columns_,
                 client_ ? " and client" : "", person_ ? " and person" : "");
  }
  return CheckSameFeatures();
}

absl::Status CsvReader::Table::CheckSameFeatures() {
  std::vector<std::string> names;
  for (const size_t column : features_) {
    if (column < header_.size()) names.push_back(header_[column]);
  }
  if (state_.first_table.empty()) {
    state_.first_table = name_;
    state_.feature_names = std::move(names);
    state_.feature_count = features_.size();
    return absl::OkStatus();
  }
  if (features_.size() != state_.feature_count) {
    return Error("{} features where {} has {}", features_.size(), state_.first_table,
                 state_.feature_count);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] != state_.feature_names[i]) {
      return Error("{}: {} has \"{}\" in its place", ColumnName(features_[i]), state_.first_table,
                   state_.feature_names[i]);
    }
  }
  return absl::OkStatus();
}

absl::Status CsvReader::Table::ReadLabel() {
  const std::string& field = fields_[label_];
  if (options_.label_above.has_value()) {
    const std::optional<double> value = ParseFinite<double>(field);
    if (!value.has_value()) {
      return Error("{}: \"{}\" is not a label: a finite number", ColumnName(label_), field);
    }
    state_.spec.labels.push_back(*value > *options_.label_above ? 1 : 0);
    return absl::OkStatus();
  }
  const std::optional<uint32_t> label = ParseNumber<uint32_t>(field);
  if (!label.has_value() || *label > kMaxLabel) {
    return Error("{}: \"{}\" is not a label: a whole number from 0 to {}", ColumnName(label_),
                 field, kMaxLabel);
  }
  if (options_.classes != 0 && *label >= options_.classes) {
    return Error("{}: label {} where there are {} classes", ColumnName(label_), *label,
                 options_.classes);
  }
  state_.spec.labels.push_back(*label);
  return absl::OkStatus();
}

absl::Status CsvReader::Table::ReadFeature(size_t index) {
  const size_t column = features_[index];
  const std::string& field = fields_[column];
  if (options_.features.empty()) {
    const std::optional<float> value = ParseFinite<float>(field);
    if (!value.has_value()) {
      return Error("{}: \"{}\" is not a finite number", ColumnName(column), field);
    }
    state_.features.push_back(*value);
    return absl::OkStatus();
  }
  std::optional<double> value;
  if (std::ranges::count(options_.missing, field) == 0) {
    value = ParseFinite<double>(field);
    if (!value.has_value()) {
      return Error("{}: \"{}\" is not a finite number", ColumnName(column), field);
    }
  }
  const absl::Status appended = AppendFeature(options_.features[index], value, state_.features);
  if (!appended.ok()) return Error("{}: {}", ColumnName(column), base::Message(appended));
  return absl::OkStatus();
}

absl::Status CsvReader::Table::Row() {
  if (fields_.size() != columns_) {
    return Error("{} columns, expected {}", fields_.size(), columns_);
  }
  for (const auto& [column, role] : {std::pair(client_, "client"), std::pair(person_, "person")}) {
    if (column.has_value() && fields_[*column].empty()) {
      return Error("{}: the {} is empty", ColumnName(*column), role);
    }
  }
  const std::string file = std::filesystem::path(name_).stem().string();
  state_.spec.sample_clients.push_back(state_.clients.Number(client_ ? fields_[*client_] : file));
  if (person_) state_.spec.sample_persons.push_back(state_.persons.Number(fields_[*person_]));
  TACET_RETURN_IF_ERROR(ReadLabel());
  for (size_t index = 0; index < features_.size(); ++index) {
    TACET_RETURN_IF_ERROR(ReadFeature(index));
  }
  return absl::OkStatus();
}

absl::Status CsvReader::Table::Read() {
  std::string_view line;
  if (!lines_.Next(line)) return base::InvalidArgument("{}: the file has no rows", name_);
  TACET_RETURN_IF_ERROR(Split(line));
  TACET_RETURN_IF_ERROR(FirstLine());
  bool more = true;
  if (options_.header) {
    more = lines_.Next(line);
    if (more) TACET_RETURN_IF_ERROR(Split(line));
  }
  if (!more) return base::InvalidArgument("{}: the file has no rows below its header", name_);
  while (true) {
    TACET_RETURN_IF_ERROR(Row());
    if (!lines_.Next(line)) break;
    TACET_RETURN_IF_ERROR(Split(line));
  }
  return absl::OkStatus();
}

CsvReader::CsvReader(CsvOptions options)
    : state_(new State{.options = std::move(options),
                       .clients = {},
                       .persons = {},
                       .features = {},
                       .spec = {}}) {}
CsvReader::~CsvReader() = default;

absl::Status CsvReader::Add(std::string_view text, std::string_view name) {
  return Table(text, name, *state_).Read();
}

absl::StatusOr<Dataset> CsvReader::Finish(std::string_view name) {
  State& state = *state_;
  if (state.spec.labels.empty()) return base::InvalidArgument("{}: there are no rows", name);
  uint64_t width = 0;
  for (const CsvFeature& feature : state.options.features) width += feature.width();
  state.spec.name = std::string(name);
  state.spec.input_shape = {width > 0 ? width : state.feature_count};
  state.spec.features = std::move(state.features);
  state.spec.client_names = state.clients.in_order();
  state.spec.classes = state.options.classes != 0 ? state.options.classes
                       : state.options.label_above
                           ? 2
                           : *std::ranges::max_element(state.spec.labels) + 1;
  return Dataset::Create(std::move(state.spec));
}

absl::StatusOr<Dataset> ParseCsv(std::string_view text, std::string_view name,
                                 const CsvOptions& options) {
  CsvReader reader(options);
  TACET_RETURN_IF_ERROR(reader.Add(text, name));
  return reader.Finish(name);
}

std::vector<std::filesystem::path> CsvFiles(const std::filesystem::path& path) {
  return DataFiles(path, {".csv", ".tsv", ".data"});
}

bool HoldsCsv(const std::filesystem::path& path) { return !CsvFiles(path).empty(); }

absl::StatusOr<Dataset> LoadCsv(const std::filesystem::path& path, const CsvOptions& options) {
  const std::vector<std::filesystem::path> files = CsvFiles(path);
  if (files.empty()) {
    return base::NotFound("{}: no file ending in .csv, .tsv or .data", path.string());
  }
  CsvOptions own = options;
  const bool tabs = std::ranges::all_of(
      files, [](const std::filesystem::path& file) { return file.extension() == ".tsv"; });
  if (tabs && own.delimiter == CsvOptions{}.delimiter) own.delimiter = '\t';
  CsvReader reader(own);
  for (const std::filesystem::path& file : files) {
    TACET_ASSIGN_OR_RETURN(const std::string text, ReadDataFile(file));
    TACET_RETURN_IF_ERROR(reader.Add(text, file.string()));
  }
  return reader.Finish(path.string());
}

}  // namespace tacet::data
