// Numbers of a column that are more than digits, as the sites agree to read them.
#ifndef TACET_TABLE_AGREED_NUMBERS_H_
#define TACET_TABLE_AGREED_NUMBERS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/table/calendar_day.h"
#include "tacet/table/number_text.h"

namespace tacet::table {

// Smallest and largest number that a column can hold.
struct NumberRange {
  double low = 0;
  double high = 0;

  bool Holds(double number) const { return number >= low && number <= high; }

  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};
// "30..250", with decimal points: finite, the lower first, and no farther apart than a double
// holds. The bounds of features and questions are written so, too.
std::optional<NumberRange> ParseNumberRange(std::string_view text);

// The limit that a field gives for a number that it does not state: "> 89", "≥ 5", "90+", "<0.5".
struct StatedLimit {
  bool is_lower = false;   // the number is above it, or equal
  bool is_strict = false;  // not equal
  double limit = 0;
};
std::optional<StatedLimit> ParseLimit(std::string_view text, DecimalMark mark);
// The number nearest to the limit that it can be: of whole ones the next where it is strict.
double NearestNumber(const StatedLimit& stated);

// Either dates, or numbers with limits, a unit or a range. Nothing is guessed: a limit, a unit or
// an order of dates on which nobody agreed cannot be read.
struct AgreedNumbers {
  std::string column;
  std::optional<DateOrder> dates = {};  // days since 1970-01-01; year-month-day is always read, too
  // A field "at least N" counts as N, and so does "> M" where N is M, or M + 1 and M is whole.
  std::vector<double> at_least = {};
  std::vector<double> at_most = {};       // alike, with "at most N" and M - 1
  std::string unit = {};                  // a text that may stand behind the number: "12 mg"
  std::optional<NumberRange> range = {};  // a number outside is an error of who wrote it

  // The number whatever the range; none where the field is none of these.
  std::optional<double> Read(std::string_view field, DecimalMark mark) const;
  // The same inside the range.
  std::optional<double> Find(std::string_view field, DecimalMark mark) const;
  // Makes a date year-month-day, and takes the unit from behind a number or a limit.
  void WritePlain(DecimalMark mark, std::string& field) const;

  friend bool operator==(const AgreedNumbers&, const AgreedNumbers&) = default;
};

// "X is not a date as year-month-day", with a remedy.
ValueFault NotADate(std::string_view field, const DateOrder& order);
// "X is outside the agreed range 30..250", with a remedy.
ValueFault OutsideRange(std::string_view field, const NumberRange& range);

// The words behind a column: "date", "date=day.month.year", "at-least=90", "at-most=0.5",
// "unit=mg", "range=30..250". None where one is another, or they contradict each other.
std::optional<AgreedNumbers> ParseAgreedNumbers(std::string column,
                                                const std::vector<std::string_view>& words);

}  // namespace tacet::table

#endif  // TACET_TABLE_AGREED_NUMBERS_H_
