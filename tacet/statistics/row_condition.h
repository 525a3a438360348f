// Condition on a row of a table: a public filter of a question.
#ifndef TACET_STATISTICS_ROW_CONDITION_H_
#define TACET_STATISTICS_ROW_CONDITION_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tacet::statistics {

enum class Comparison { kEqual, kUnequal, kBelow, kAtMost, kAbove, kAtLeast };

bool Holds(Comparison comparison, double left, double right);

// COLUMN OPERATOR VALUE, for example "age >= 40", "admitted >= 2025-01-01" or "sex = F". The value
// is a number, of a column of dates a date, or for = and != one of the agreed values of the column.
struct RowCondition {
  std::string column;
  Comparison comparison = Comparison::kEqual;
  std::string value = {};

  // Whether it compares values, not their order.
  bool is_equality() const {
    return comparison == Comparison::kEqual || comparison == Comparison::kUnequal;
  }
  std::string Text() const;

  friend bool operator==(const RowCondition&, const RowCondition&) = default;
};

// InvalidArgument quotes the text and states the form.
absl::StatusOr<RowCondition> ParseRowCondition(std::string_view text);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_ROW_CONDITION_H_
