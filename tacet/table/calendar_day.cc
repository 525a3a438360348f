#include "tacet/table/calendar_day.h"

#include <algorithm>
#include <charconv>

#include "fmt/format.h"

namespace tacet::table {
namespace {

using std::chrono::sys_days;
using std::chrono::year_month_day;

constexpr std::array<std::string_view, 3> kDateWords = {"day", "month", "year"};

// The three texts between two marks.
std::optional<std::array<std::string_view, 3>> Parts(std::string_view text, char mark) {
  std::array<std::string_view, 3> parts;
  for (size_t i = 0; i < 2; ++i) {
    const size_t end = text.find(mark);
    if (end == std::string_view::npos) return std::nullopt;
    parts[i] = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  parts[2] = text;
  return parts;
}

std::optional<int> Digits(std::string_view text, size_t least, size_t most) {
  if (text.size() < least || text.size() > most) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

bool IsTime(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789:.+-Z") == std::string_view::npos &&
         text.find(':') != std::string_view::npos;
}

}  // namespace

std::optional<DateOrder> ParseDateOrder(std::string_view text) {
  const size_t place = text.find_first_of("./-");
  if (place == std::string_view::npos) return std::nullopt;
  DateOrder order{.mark = text[place]};
  const auto parts = Parts(text, order.mark);
  if (!parts.has_value()) return std::nullopt;
  for (size_t i = 0; i < 3; ++i) {
    if (std::ranges::count(kDateWords, (*parts)[i]) == 0 ||
        std::ranges::count(*parts, (*parts)[i]) > 1)
      return std::nullopt;
    order.parts[i] = (*parts)[i].front();
  }
  return order;
}

std::string DateOrderText(const DateOrder& order) {
  std::string text;
  for (const char part : order.parts) {
    if (!text.empty()) text += order.mark;
    text += *std::ranges::find(kDateWords, part, &std::string_view::front);
  }
  return text;
}

std::optional<sys_days> ParseDay(std::string_view text, const DateOrder& order) {
  const size_t end = text.find_first_of(" T");
  if (end != std::string_view::npos && !IsTime(text.substr(end + 1))) return std::nullopt;
  const auto parts = Parts(text.substr(0, end), order.mark);
  if (!parts.has_value()) return std::nullopt;
  std::optional<int> year, month, day;
  for (size_t i = 0; i < 3; ++i) {
    const bool is_year = order.parts[i] == 'y';
    const std::optional<int> value =
        is_year ? Digits((*parts)[i], 4, 4) : Digits((*parts)[i], 1, 2);
    if (!value.has_value()) return std::nullopt;
    (is_year ? year : order.parts[i] == 'm' ? month : day) = value;
  }
  const year_month_day date{std::chrono::year(*year),
                            std::chrono::month(static_cast<unsigned>(*month)),
                            std::chrono::day(static_cast<unsigned>(*day))};
  return date.ok() ? std::optional(sys_days(date)) : std::nullopt;
}

std::string DayText(sys_days day) {
  const year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

double DayNumber(sys_days day) { return static_cast<double>(day.time_since_epoch().count()); }

sys_days DayOf(double number) {
  return sys_days(std::chrono::days(static_cast<std::chrono::days::rep>(number)));
}

int YearsBetween(sys_days from, sys_days to) {
  const year_month_day first(from), last(to);
  const bool is_before_birthday =
      last.month() < first.month() || (last.month() == first.month() && last.day() < first.day());
  return static_cast<int>(last.year()) - static_cast<int>(first.year()) -
         (is_before_birthday ? 1 : 0);
}

}  // namespace tacet::table
