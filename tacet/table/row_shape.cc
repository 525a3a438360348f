#include "tacet/table/row_shape.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "tacet/table/table_text.h"

namespace tacet::table {
namespace {

constexpr uint64_t kRowsOfTable = 10;

std::optional<uint64_t> WholeNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool AreEmpty(const std::vector<std::string>& fields, size_t from) {
  return std::all_of(fields.begin() + static_cast<ptrdiff_t>(from), fields.end(),
                     [](const std::string& field) { return field.empty(); });
}

}  // namespace

bool IsNameless(std::string_view name) {
  for (const std::string_view prefix : {"Unnamed: ", "..."}) {
    if (name.starts_with(prefix)) return WholeNumber(name.substr(prefix.size())).has_value();
  }
  return name.empty();
}

std::optional<ValueFault> FaultOfHeader(const std::vector<std::string>& names,
                                        const std::vector<std::string>& known, char separator,
                                        TableRecords& records, std::string_view names_elsewhere) {
  const auto is_named = [&names](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (known.empty() || std::ranges::any_of(known, is_named)) return std::nullopt;
  // Names of another table. A row's number may be quoted.
  std::vector<std::string> fields, others = names;
  (void)records.Peek(separator, fields);
  if (others.size() > 1 && !RowShape::OfHeader(others, separator).Fit(fields, true).has_value()) {
    return std::nullopt;
  }
  // A remark may have made another character the separator.
  size_t next = 0;
  char of_next = separator;
  for (const char each : kSeparators) {
    (void)records.Peek(each, fields);
    if (fields.size() <= next) continue;
    next = fields.size();
    of_next = each;
  }
  const auto here = static_cast<size_t>(
      1 +
      std::ranges::count(fmt::format("{}", fmt::join(names, std::string(1, separator))), of_next));
  if (next < 2 || here == next) return std::nullopt;
  return ValueFault{
      .what = fmt::format("this is no line of column names: it has {} field{}, and the next line "
                          "has {}",
                          here, here == 1 ? "" : "s", next),
      .remedy = fmt::format("delete it if it is a remark; if the file has no names, {}",
                            names_elsewhere)};
}

RowShape RowShape::OfHeader(std::vector<std::string>& names, char separator) {
  const size_t all = names.size();
  while (names.size() > 1 && names.back().empty()) names.pop_back();
  return {names.size(), all, separator};
}

RowShape::Extra RowShape::ExtraOf(const std::vector<std::string>& fields,
                                  bool first_is_quoted) const {
  const std::optional<uint64_t> number = WholeNumber(fields.front());
  const bool at_end = fields.back().empty();
  // A quoted number may be a row's number whose last column is missing.
  if (at_end) return number.has_value() && first_is_quoted ? Extra::kUnknown : Extra::kAtEnd;
  const bool counts_rows = number == rows_ || number == rows_ - 1;
  return counts_rows && (first_is_quoted || separator_ != ',') ? Extra::kRowNumber
                                                               : Extra::kUnknown;
}

bool RowShape::Takes(const std::vector<std::string>& fields, bool first_is_quoted) {
  if (fields.size() == columns_ && extra_ != Extra::kRowNumber) {
    if (extra_ == Extra::kUnknown) extra_ = Extra::kNone;
    return true;
  }
  if (fields.size() > columns_ && fields.size() <= with_nameless_) {
    return AreEmpty(fields, columns_);
  }
  if (with_nameless_ != columns_ || fields.size() != columns_ + 1) return false;
  if (extra_ == Extra::kUnknown) extra_ = ExtraOf(fields, first_is_quoted);
  if (extra_ == Extra::kAtEnd) return fields.back().empty();
  if (extra_ != Extra::kRowNumber) return false;
  const std::optional<uint64_t> number = WholeNumber(fields.front());
  if (!number.has_value() || *number < next_number_) return false;
  next_number_ = *number + 1;
  return true;
}

std::optional<ValueFault> RowShape::Fit(std::vector<std::string>& fields, bool first_is_quoted) {
  ++rows_;
  if (!Takes(fields, first_is_quoted)) {
    const size_t expected = columns_ + (extra_ == Extra::kRowNumber ? 1 : 0);
    const size_t found = fields.size();
    if (found == expected) {
      return ValueFault{.what = "the row's number is not above that of the row before",
                        .remedy = "write the table without row names (row.names = FALSE in R)"};
    }
    return ValueFault{.what = fmt::format("{} columns, expected {}", found, expected),
                      .remedy = fmt::format("{}quote a field that holds a {}, or correct the row",
                                            rows_ == 1 ? "delete the line if it is a remark; " : "",
                                            SeparatorName(separator_))};
  }
  ++fitting_;
  if (extra_ == Extra::kRowNumber) fields.erase(fields.begin());
  fields.resize(columns_);
  return std::nullopt;
}

std::optional<ValueFault> RowShape::FaultOfTable() const {
  if (rows_ < kRowsOfTable || 2 * fitting_ >= rows_) return std::nullopt;
  return ValueFault{
      .what = fmt::format("{} of its {} rows have another number of fields than the {} columns "
                          "with a name",
                          rows_ - fitting_, rows_, columns_),
      .remedy =
          fmt::format("delete a remark in front of the table; give each column a name; write R's "
                      "tables with row.names = FALSE and those of pandas "
                      "with index=False; where {} is the decimal mark too, separate by semicolons",
                      SeparatorName(separator_))};
}

}  // namespace tacet::table
