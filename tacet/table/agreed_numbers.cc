#include "tacet/table/agreed_numbers.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "fmt/format.h"

#include "tacet/table/agreed_values.h"
#include "tacet/table/table_text.h"

namespace tacet::table {
namespace {

// A sign in front of a limit, "less than" as in "<0.5".
struct LimitSign {
  std::string_view text;
  bool is_lower;
  bool is_strict;
};
// Longer ones first: ">=" is not ">".
constexpr std::array<LimitSign, 6> kSigns = {{
    {">=", true, false},
    {"<=", false, false},
    {"\u2265", true, false},
    {"\u2264", false, false},
    {">", true, true},
    {"<", false, true},
}};

bool Contains(const std::vector<double>& numbers, double number) {
  return std::ranges::find(numbers, number) != numbers.end();
}

std::string_view WithoutUnit(std::string_view field, const std::string& unit) {
  if (unit.empty() || !field.ends_with(unit)) return field;
  return TrimField(field.substr(0, field.size() - unit.size()));
}

std::optional<std::chrono::sys_days> DayIn(std::string_view field, const DateOrder& order) {
  const std::optional<std::chrono::sys_days> day = ParseDay(field);
  return day.has_value() ? day : ParseDay(field, order);
}

}  // namespace

std::optional<NumberRange> ParseNumberRange(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const auto low = ParseDecimal(text.substr(0, dots), DecimalMark::kPoint);
  const auto high = ParseDecimal(text.substr(dots + 2), DecimalMark::kPoint);
  if (!low.has_value() || !high.has_value() || !(*low < *high) || !std::isfinite(*high - *low)) {
    return std::nullopt;
  }
  return NumberRange{.low = *low, .high = *high};
}

std::optional<StatedLimit> ParseLimit(std::string_view text, DecimalMark mark) {
  StatedLimit stated;
  std::string_view number = text;
  const auto sign = std::ranges::find_if(
      kSigns, [text](const LimitSign& each) { return text.starts_with(each.text); });
  if (sign != kSigns.end()) {
    stated = {.is_lower = sign->is_lower, .is_strict = sign->is_strict};
    number.remove_prefix(sign->text.size());
  } else if (text.ends_with('+')) {
    stated = {.is_lower = true};
    number.remove_suffix(1);
  } else {
    return std::nullopt;
  }
  const std::optional<double> limit = ParseDecimal(TrimField(number), mark);
  if (!limit.has_value()) return std::nullopt;
  stated.limit = *limit;
  return stated;
}

void AgreedNumbers::WritePlain(DecimalMark mark, std::string& field) const {
  if (dates.has_value()) {
    if (const auto day = DayIn(field, *dates); day.has_value()) field = DayText(*day);
  } else if (const std::string number(WithoutUnit(field, unit));
             ParseDecimal(number, mark).has_value() || ParseLimit(number, mark).has_value()) {
    field = number;
  }
}

double NearestNumber(const StatedLimit& stated) {
  if (!stated.is_strict || std::trunc(stated.limit) != stated.limit) return stated.limit;
  return stated.limit + (stated.is_lower ? 1 : -1);
}

std::optional<double> AgreedNumbers::Find(std::string_view field, DecimalMark mark) const {
  const std::optional<double> number = Read(field, mark);
  const bool is_possible = number.has_value() && (!range.has_value() || range->Holds(*number));
  return is_possible ? number : std::nullopt;
}

std::optional<double> AgreedNumbers::Read(std::string_view field, DecimalMark mark) const {
  if (dates.has_value()) {
    const std::optional<std::chrono::sys_days> day = DayIn(field, *dates);
    return day.has_value() ? std::optional(DayNumber(*day)) : std::nullopt;
  }
  field = WithoutUnit(field, unit);
  if (const std::optional<double> number = ParseDecimal(field, mark); number.has_value()) {
    return number;
  }
  const std::optional<StatedLimit> stated = ParseLimit(field, mark);
  if (!stated.has_value()) return std::nullopt;
  const std::vector<double>& agreed = stated->is_lower ? at_least : at_most;
  if (const double next = NearestNumber(*stated); Contains(agreed, next)) return next;
  return Contains(agreed, stated->limit) ? std::optional(stated->limit) : std::nullopt;
}

ValueFault NotADate(std::string_view field, const DateOrder& order) {
  const std::string words = DateOrderText(order);
  return {.what = fmt::format("\"{}\" is not a date as {}", field, words),
          .remedy =
              "correct it; where a site's files have another order, say so in its own "
              "`data.csv_spellings`, as in \"admitted date=day.month.year\"",
          .value = std::string(field),
          .of_many = fmt::format("are not dates as {}", words)};
}

ValueFault OutsideRange(std::string_view field, const NumberRange& range) {
  return {.what = fmt::format("\"{}\" is outside the agreed range {}..{}", field, range.low,
                              range.high),
          .remedy = "correct it, or leave the field empty if the value is missing",
          .value = std::string(field),
          .of_many = fmt::format("are outside the agreed range {}..{}", range.low, range.high)};
}

std::optional<AgreedNumbers> ParseAgreedNumbers(std::string column,
                                                const std::vector<std::string_view>& words) {
  AgreedNumbers numbers{.column = std::move(column)};
  for (const std::string_view word : words) {
    const size_t end = std::min(word.find('='), word.size());
    const std::string_view key = word.substr(0, end);
    const std::string value = Unquoted(word.substr(std::min(end + 1, word.size())));
    if (word == "date" || key == "date") {
      const auto order = word == "date" ? std::optional(DateOrder()) : ParseDateOrder(value);
      if (!order.has_value() || numbers.dates.has_value()) return std::nullopt;
      numbers.dates = order;
    } else if (key == "unit" && !value.empty() && numbers.unit.empty()) {
      numbers.unit = value;
    } else if (key == "range" && !numbers.range.has_value()) {
      numbers.range = ParseNumberRange(value);
      if (!numbers.range.has_value()) return std::nullopt;
    } else if (key == "at-least" || key == "at-most") {
      const std::optional<double> number = ParseDecimal(value, DecimalMark::kPoint);
      std::vector<double>& agreed = key == "at-least" ? numbers.at_least : numbers.at_most;
      if (!number.has_value() || Contains(agreed, *number)) return std::nullopt;
      agreed.push_back(*number);
    } else {
      return std::nullopt;
    }
  }
  if (words.empty() || (numbers.dates.has_value() && words.size() > 1)) return std::nullopt;
  return numbers;
}

}  // namespace tacet::table
