// Column of a query that follows from dates of the row: an age, a length of stay.
#ifndef TACET_STATISTICS_DERIVED_COLUMN_H_
#define TACET_STATISTICS_DERIVED_COLUMN_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tacet::statistics {

// Whole years (table::YearsBetween) or days from one date to a later one. Missing where one of them
// is, and where the first is the later.
struct DerivedColumn {
  std::string name;
  bool in_years = false;
  std::string from;                // a column of dates
  std::string to = {};             // the same; empty: to the day below
  std::optional<double> day = {};  // days since 1970-01-01, on which the sites agree

  // For a row, from its dates as days since 1970-01-01.
  std::optional<double> Of(std::optional<double> from_day, std::optional<double> to_day) const;

  friend bool operator==(const DerivedColumn&, const DerivedColumn&) = default;
};

// "age = years from born to 2025-01-01", "stay = days from admitted to discharged". Single quotes
// hold a name with blanks together. InvalidArgument quotes the text.
absl::StatusOr<DerivedColumn> ParseDerivedColumn(std::string_view text);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_DERIVED_COLUMN_H_
