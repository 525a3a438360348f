// Numbers as tables write them.
#ifndef TACET_DATA_NUMBER_TEXT_H_
#define TACET_DATA_NUMBER_TEXT_H_

#include <optional>
#include <string_view>

#include "tacet/data/table_problem.h"

namespace tacet::data {

enum class DecimalMark { kPoint, kComma };

// The finite number that the whole of `text` is: an optional sign, digits with at most one decimal
// mark, an optional exponent. No separators of thousands, no units, neither nan nor inf.
std::optional<double> ParseDecimal(std::string_view text, DecimalMark mark);
// The same as binary32, rounded once.
std::optional<float> ParseDecimal32(std::string_view text, DecimalMark mark);

// "X is not a finite number", with the likely reason as remedy: the other decimal mark, a text for
// a missing value, ...
ValueFault NotANumber(std::string_view text, DecimalMark mark);

}  // namespace tacet::data

#endif  // TACET_DATA_NUMBER_TEXT_H_
