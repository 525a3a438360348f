#include "tacet/statistics/row_condition.h"

#include <array>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/statistics/site_table.h"
#include "tacet/table/calendar_day.h"

namespace tacet::statistics {
namespace {

// Longer ones first: "<=" is not "<".
constexpr std::array<std::pair<std::string_view, Comparison>, 6> kOperators = {{
    {"!=", Comparison::kUnequal},
    {"<=", Comparison::kAtMost},
    {">=", Comparison::kAtLeast},
    {"=", Comparison::kEqual},
    {"<", Comparison::kBelow},
    {">", Comparison::kAbove},
}};

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

absl::StatusOr<RowCondition> ParseRowCondition(std::string_view text) {
  const size_t place = text.find_first_of("!<>=");
  if (place != std::string_view::npos) {
    for (const auto& [sign, comparison] : kOperators) {
      if (!text.substr(place).starts_with(sign)) continue;
      RowCondition condition{.column = std::string(Trim(text.substr(0, place))),
                             .comparison = comparison,
                             .value = std::string(Trim(text.substr(place + sign.size())))};
      if (condition.column.empty() || condition.value.empty()) break;
      if (!condition.is_equality() && !NumberOf(condition.value) &&
          !table::ParseDay(condition.value)) {
        return base::InvalidArgument(
            "condition \"{}\": \"{}\" is neither a number nor a date as 2025-01-31", text,
            condition.value);
      }
      return condition;
    }
  }
  return base::InvalidArgument(
      "condition \"{}\": expected COLUMN, one of = != < <= > >=, and a value, as in \"age >= 40\"",
      text);
}

std::string RowCondition::Text() const {
  for (const auto& [sign, known] : kOperators) {
    if (known == comparison) return fmt::format("{} {} {}", column, sign, value);
  }
  return column;
}

bool Holds(Comparison comparison, double left, double right) {
  switch (comparison) {
    case Comparison::kEqual:
      return left == right;
    case Comparison::kUnequal:
      return left != right;
    case Comparison::kBelow:
      return left < right;
    case Comparison::kAtMost:
      return left <= right;
    case Comparison::kAbove:
      return left > right;
    case Comparison::kAtLeast:
      return left >= right;
  }
  return false;
}

}  // namespace tacet::statistics
