#include "tacet/data/csv_columns.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "tacet/base/nearest_word.h"
#include "tacet/base/status.h"
#include "tacet/data/csv.h"
#include "tacet/table/row_shape.h"
#include "tacet/table/table_text.h"

namespace tacet::data {
namespace {

using table::SeparatorName;
using table::ValueFault;

constexpr size_t kMaxListedColumns = 30;

std::optional<int64_t> ParsePosition(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<std::string> NamedColumns(const CsvOptions& options) {
  std::vector<std::string> names = {options.label, options.client, options.person};
  for (const CsvFeature& feature : options.features) names.push_back(feature.column);
  std::erase(names, "");
  return names;
}

std::vector<std::string> NamesInHeader(const CsvOptions& options) {
  std::vector<std::string> names = NamedColumns(options);
  std::erase_if(names, [](const std::string& name) { return ParsePosition(name).has_value(); });
  return names;
}

std::string_view CsvColumns::Name(size_t column) const {
  return column < count() ? std::string_view(names_[column]) : "";
}

std::string CsvColumns::InWords(size_t column) const {
  return fmt::format("column {} (\"{}\")", column, names_[column]);
}

ValueFault CsvColumns::NotThere(std::string_view wanted, std::string_view role) const {
  ValueFault fault{.what = fmt::format("there is no {} column \"{}\"", role, wanted), .remedy = ""};
  const std::vector<std::string_view> names(names_.begin(), names_.end());
  if (const auto near = base::NearestWord(wanted, names); near.has_value()) {
    fault.remedy = fmt::format("column \"{}\" may be meant", *near);
  } else if (count() == 1) {
    fault.remedy = fmt::format("the first line has no {}; set `data.csv_separator`",
                               SeparatorName(separator_));
  } else {
    fault.remedy = fmt::format(
        "the columns are {}{}",
        fmt::join(std::span(names).first(std::min(names.size(), kMaxListedColumns)), ", "),
        names.size() > kMaxListedColumns ? ", ..." : "");
  }
  if (role == "client") {
    fault.remedy += "; set `data.csv_client_column` to \"\" if every row is of one client";
  }
  return fault;
}

absl::Status CsvColumns::FindOne(std::string_view wanted, std::string_view role,
                                 const Report& report, std::optional<size_t>& found) const {
  found.reset();
  const auto matches = std::ranges::count(names_, wanted);
  if (matches > 1) {
    return report(std::nullopt, {.what = fmt::format("the {} column \"{}\" exists {} times", role,
                                                     wanted, matches),
                                 .remedy = "rename or remove the others"});
  }
  if (matches == 1) {
    found = static_cast<size_t>(std::ranges::find(names_, wanted) - names_.begin());
    return absl::OkStatus();
  }
  const std::optional<int64_t> position = ParsePosition(wanted);
  if (!position.has_value()) return report(std::nullopt, NotThere(wanted, role));
  const auto columns = static_cast<int64_t>(count());
  const int64_t column = *position < 0 ? *position + columns : *position;
  if (column < 0 || column >= columns) {
    return report(std::nullopt,
                  {.what = fmt::format("the {} column is at position {}, the file has {} columns",
                                       role, *position, count()),
                   .remedy = ""});
  }
  found = static_cast<size_t>(column);
  return absl::OkStatus();
}

absl::Status CsvColumns::Find(const CsvOptions& options, std::vector<std::string> names,
                              char separator, std::string_view table, SharedFeatures& shared,
                              const Report& report) {
  names_ = std::move(names);
  separator_ = separator;
  TACET_RETURN_IF_ERROR(FindNames(options, report));
  return FindFeatures(options, table, shared, report);
}

absl::Status CsvColumns::FindNames(const CsvOptions& options, const Report& report) {
  TACET_RETURN_IF_ERROR(FindOne(options.label, "label", report, label_));
  for (const auto& [wanted, role, column] :
       {std::tuple<const std::string&, std::string_view, std::optional<size_t>&>(options.client,
                                                                                 "client", client_),
        {options.person, "person", person_}}) {
    if (wanted.empty()) continue;
    TACET_RETURN_IF_ERROR(FindOne(wanted, role, report, column));
    if (!label_.has_value() || label_ != column) continue;
    TACET_RETURN_IF_ERROR(report(
        std::nullopt,
        {.what = fmt::format("{} cannot be both label and {}", InWords(*label_), role),
         .remedy = fmt::format("set `data.csv_{}_column` or `data.csv_label_column`", role)}));
  }
  return absl::OkStatus();
}

absl::Status CsvColumns::FindFeatures(const CsvOptions& options, std::string_view table,
                                      SharedFeatures& shared, const Report& report) {
  for (const CsvFeature& feature : options.features) {
    TACET_RETURN_IF_ERROR(FindOne(feature.column, "feature", report, features_.emplace_back()));
    if (!label_.has_value() || features_.back() != label_) continue;
    TACET_RETURN_IF_ERROR(report(
        std::nullopt, {.what = fmt::format("{} cannot be both label and feature", InWords(*label_)),
                       .remedy = "remove it from `data.csv_features`"}));
  }
  if (!options.features.empty()) return absl::OkStatus();
  for (size_t column = 0; column < count(); ++column) {
    if (column == label_ || column == client_ || column == person_) continue;
    if (table::IsNameless(names_[column])) {
      nameless_.push_back(column);
    } else {
      features_.push_back(column);
    }
  }
  if (features_.empty()) {
    return report(
        std::nullopt,
        {.what = fmt::format("{} columns: besides label{}{} there must be a feature", count(),
                             client_ ? " and client" : "", person_ ? " and person" : ""),
         .remedy = fmt::format("the separator is {}; set `data.csv_separator` if it is "
                               "another",
                               SeparatorName(separator_))});
  }
  return Compare(table, shared, report);
}

absl::Status CsvColumns::Compare(std::string_view table, SharedFeatures& shared,
                                 const Report& report) const {
  std::vector<std::string> names;
  for (const std::optional<size_t>& column : features_) names.push_back(names_[*column]);
  if (shared.table.empty()) {
    shared = {.table = std::string(table), .names = std::move(names)};
    return absl::OkStatus();
  }
  constexpr std::string_view kRemedy =
      "describe the columns in `data.csv_features`, or give all files the same ones in one order";
  if (names.size() != shared.names.size()) {
    return report(std::nullopt, {.what = fmt::format("{} features where {} has {}", names.size(),
                                                     shared.table, shared.names.size()),
                                 .remedy = std::string(kRemedy)});
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == shared.names[i]) continue;
    TACET_RETURN_IF_ERROR(report(features_[i], {.what = fmt::format("{} has \"{}\" in its place",
                                                                    shared.table, shared.names[i]),
                                                .remedy = std::string(kRemedy)}));
  }
  return absl::OkStatus();
}

}  // namespace tacet::data
