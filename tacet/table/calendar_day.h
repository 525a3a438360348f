// Days of the Gregorian calendar, as tables write them.
#ifndef TACET_TABLE_CALENDAR_DAY_H_
#define TACET_TABLE_CALENDAR_DAY_H_

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tacet::table {

// In which order a column writes day, month and year, and the mark between them.
struct DateOrder {
  std::array<char, 3> parts = {'y', 'm', 'd'};
  char mark = '-';

  friend bool operator==(const DateOrder&, const DateOrder&) = default;
};

// "day.month.year", "month/day/year", "year-month-day", ...: each word once, and one of . / -
// between them.
std::optional<DateOrder> ParseDateOrder(std::string_view text);
std::string DateOrderText(const DateOrder& order);

// The day that the text is in this order: one or two digits of day and month, four of the year,
// behind them perhaps a time of day, which does not count. None for anything else: a year of two
// digits, 31 April.
std::optional<std::chrono::sys_days> ParseDay(std::string_view text, const DateOrder& order = {});

// "2025-01-31".
std::string DayText(std::chrono::sys_days day);

// Days since 1970-01-01.
double DayNumber(std::chrono::sys_days day);
// The day of such a number, which is whole.
std::chrono::sys_days DayOf(double number);

// Whole years from one day to a later one, as ages are counted: who is born on 29 February is a
// year older on 1 March where the month has 28 days.
int YearsBetween(std::chrono::sys_days from, std::chrono::sys_days to);

}  // namespace tacet::table

#endif  // TACET_TABLE_CALENDAR_DAY_H_
