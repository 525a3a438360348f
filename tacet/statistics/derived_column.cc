#include "tacet/statistics/derived_column.h"

#include <vector>

#include "tacet/base/status.h"
#include "tacet/table/agreed_values.h"
#include "tacet/table/calendar_day.h"

namespace tacet::statistics {

std::optional<double> DerivedColumn::Of(std::optional<double> from_day,
                                        std::optional<double> to_day) const {
  if (day.has_value()) to_day = day;
  if (!from_day.has_value() || !to_day.has_value() || *from_day > *to_day) return std::nullopt;
  return in_years ? table::YearsBetween(table::DayOf(*from_day), table::DayOf(*to_day))
                  : *to_day - *from_day;
}

absl::StatusOr<DerivedColumn> ParseDerivedColumn(std::string_view text) {
  std::vector<std::string_view> words =
      table::SplitOutsideQuotes(text, ' ').value_or(std::vector<std::string_view>());
  std::erase(words, "");
  if (words.size() == 7 && words[1] == "=" && (words[2] == "years" || words[2] == "days") &&
      words[3] == "from" && words[5] == "to") {
    DerivedColumn column{.name = table::Unquoted(words[0]),
                         .in_years = words[2] == "years",
                         .from = table::Unquoted(words[4])};
    const auto day = table::ParseDay(words[6]);
    if (day.has_value()) {
      column.day = table::DayNumber(*day);
    } else {
      column.to = table::Unquoted(words[6]);
    }
    return column;
  }
  return base::InvalidArgument(
      "\"{}\": expected NAME = years or days from COLUMN to COLUMN or a date, as in \"age = years "
      "from born to 2025-01-01\"",
      text);
}

}  // namespace tacet::statistics
