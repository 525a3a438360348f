#include "tacet/learning/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tacet/base/status.h"

namespace tacet::learning {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 32;
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

// The state of one parse; messages begin with the file and the line.
class Parser {
 public:
  Parser(std::string_view text, std::string_view name, const CsvOptions& options)
      : lines_(text), name_(name), options_(options) {}

  absl::StatusOr<Dataset> Parse();

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
  absl::Status Row();

  Lines lines_;
  std::string_view name_;
  const CsvOptions& options_;
  std::vector<std::string> fields_;
  std::vector<std::string> header_;
  size_t columns_ = 0;
  size_t label_ = 0;
  size_t owner_ = 0;
  std::vector<float> features_;
  std::unordered_map<std::string, uint32_t> known_owners_;
  DatasetSpec spec_;
};

absl::Status Parser::Split(std::string_view line) {
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

absl::StatusOr<size_t> Parser::Find(std::string_view wanted, std::string_view role) const {
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

absl::Status Parser::FirstLine() {
  columns_ = fields_.size();
  if (options_.header) header_ = fields_;
  TACET_ASSIGN_OR_RETURN(label_, Find(options_.label, "label"));
  TACET_ASSIGN_OR_RETURN(owner_, Find(options_.owner, "owner"));
  if (label_ == owner_) {
    return Error("{} cannot be both label and owner", ColumnName(label_));
  }
  if (columns_ < 3) {
    return Error("{} columns: besides label and owner there must be a feature", columns_);
  }
  return absl::OkStatus();
}

absl::Status Parser::Row() {
  if (fields_.size() != columns_) {
    return Error("{} columns, expected {}", fields_.size(), columns_);
  }
  for (size_t column = 0; column < columns_; ++column) {
    const std::string& field = fields_[column];
    if (column == owner_) {
      if (field.empty()) return Error("{}: the owner is empty", ColumnName(column));
      const auto [entry, fresh] =
          known_owners_.try_emplace(field, static_cast<uint32_t>(known_owners_.size()));
      if (fresh) spec_.owner_names.push_back(field);
      spec_.sample_owners.push_back(entry->second);
    } else if (column == label_) {
      const std::optional<uint32_t> label = ParseNumber<uint32_t>(field);
      if (!label.has_value() || *label > kMaxLabel) {
        return Error("{}: \"{}\" is not a label: a whole number from 0 to {}", ColumnName(column),
                     field, kMaxLabel);
      }
      if (options_.classes != 0 && *label >= options_.classes) {
        return Error("{}: label {} where there are {} classes", ColumnName(column), *label,
                     options_.classes);
      }
      spec_.labels.push_back(*label);
    } else {
      const std::optional<float> value = ParseNumber<float>(field);
      if (!value.has_value() || !std::isfinite(*value)) {
        return Error("{}: \"{}\" is not a finite number", ColumnName(column), field);
      }
      features_.push_back(*value);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Dataset> Parser::Parse() {
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
  spec_.name = std::string(name_);
  spec_.input_shape = {columns_ - 2};
  spec_.features = std::move(features_);
  spec_.classes =
      options_.classes != 0 ? options_.classes : *std::ranges::max_element(spec_.labels) + 1;
  return Dataset::Create(std::move(spec_));
}

}  // namespace

absl::StatusOr<Dataset> ParseCsv(std::string_view text, std::string_view name,
                                 const CsvOptions& options) {
  return Parser(text, name, options).Parse();
}

absl::StatusOr<Dataset> LoadCsv(const std::filesystem::path& path, const CsvOptions& options) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const std::streamoff bytes = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (bytes < 0) return base::NotFound("{}: the file cannot be read", path.string());
  if (static_cast<uint64_t>(bytes) > kMaxFileBytes) {
    return base::InvalidArgument("{}: {} bytes, at most {} are read", path.string(), bytes,
                                 kMaxFileBytes);
  }
  in.seekg(0);
  std::string text(static_cast<size_t>(bytes), '\0');
  in.read(text.data(), bytes);
  if (in.gcount() != bytes) {
    return base::DataLoss("{}: {} bytes expected, {} read", path.string(), bytes, in.gcount());
  }
  return ParseCsv(text, path.string(), options);
}

}  // namespace tacet::learning
