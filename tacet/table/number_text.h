// Numbers as tables write them.
#ifndef TACET_TABLE_NUMBER_TEXT_H_
#define TACET_TABLE_NUMBER_TEXT_H_

#include <optional>
#include <string_view>

#include "tacet/table/table_problem.h"

namespace tacet::table {

enum class DecimalMark { kPoint, kComma };

// The finite number that the whole of `text` is: an optional sign, digits with at most one decimal
// mark, an optional exponent. No separators of thousands, no units, neither nan nor inf.
std::optional<double> ParseDecimal(std::string_view text, DecimalMark mark);
// The same as binary32, rounded once.
std::optional<float> ParseDecimal32(std::string_view text, DecimalMark mark);

// Settings that a remedy names, in the words of the configuration that reads the table.
struct NumberSettings {
  // After "fill it in, or ".
  std::string_view empty = "describe the column in `data.csv_features` with missing= or indicator";
  // After "add X to ".
  std::string_view missing =
      "`data.csv_missing` and describe the column in `data.csv_features` with missing= or "
      "indicator";
  // For a number with a decimal comma where a point is expected, and the other way round.
  std::string_view comma =
      "if the file writes numbers with a decimal comma, set `data.csv_decimal = \"comma\"`";
  std::string_view date =
      "that is a date: write the number that the sites agreed on, such as years or days since an "
      "event";
  std::string_view unit = "write the number alone, without unit or remark";
  // After "where there are separators of thousands, ".
  std::string_view thousands = "set `data.csv_thousands`";
  std::string_view point =
      "if the file writes numbers with a decimal point, set `data.csv_decimal = \"point\"`";
};

// "X is not a finite number", with the likely reason as remedy: the other decimal mark, a text for
// a missing value, a date, ...
ValueFault NotANumber(std::string_view text, DecimalMark mark, const NumberSettings& settings = {});

}  // namespace tacet::table

#endif  // TACET_TABLE_NUMBER_TEXT_H_
