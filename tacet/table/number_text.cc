#include "tacet/table/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "fmt/format.h"

namespace tacet::table {
namespace {

template <typename T>
std::optional<T> Parse(std::string_view text, DecimalMark mark) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  std::string own;
  if (mark == DecimalMark::kComma) {
    if (text.find('.') != std::string_view::npos) return std::nullopt;
    own = text;
    std::ranges::replace(own, ',', '.');
    text = own;
  }
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

bool MeansMissing(std::string_view text) {
  constexpr std::array<std::string_view, 14> kWords = {"NA",   "N/A",  "n/a",  "na",  "NULL",
                                                       "null", "None", "NaN",  "nan", "-",
                                                       "--",   ".",    "#N/A", "#NV"};
  return std::ranges::count(kWords, text) > 0;
}

// Digits in groups behind one kind of mark, as in 1,234,567 or 1.234,5.
bool HasThousands(std::string_view text) {
  return std::ranges::count(text, '.') + std::ranges::count(text, ',') > 1 &&
         text.find_first_not_of("+-0123456789.,") == std::string_view::npos;
}

// A mark and three digits at the end, as in 1,234.
bool MayBeThousands(std::string_view text) {
  const size_t mark = text.find_first_of(".,");
  return mark != std::string_view::npos && text.size() == mark + 4;
}

// Day, month and year in digits, the year first or last, and perhaps a time behind a blank or T.
bool IsDate(std::string_view text) {
  text = text.substr(0, text.find_first_of(" T"));
  const size_t first = text.find_first_of("-/.");
  if (first == std::string_view::npos) return false;
  const size_t second = text.find(text[first], first + 1);
  if (second == std::string_view::npos) return false;
  const std::array<std::string_view, 3> groups = {
      text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
  const auto has_digits = [](std::string_view group, size_t least, size_t most) {
    return group.size() >= least && group.size() <= most &&
           group.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (!has_digits(groups[1], 1, 2)) return false;
  return (has_digits(groups[0], 4, 4) && has_digits(groups[2], 1, 2)) ||
         (has_digits(groups[0], 1, 2) &&
          (has_digits(groups[2], 2, 2) || has_digits(groups[2], 4, 4)));
}

// U+FEFF. It begins a file; elsewhere it is a rest of a file that was appended.
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

std::optional<double> ParseDecimal(std::string_view text, DecimalMark mark) {
  return Parse<double>(text, mark);
}

std::optional<float> ParseDecimal32(std::string_view text, DecimalMark mark) {
  return Parse<float>(text, mark);
}

ValueFault NotANumber(std::string_view text, DecimalMark mark, const NumberSettings& settings) {
  const bool point = mark == DecimalMark::kPoint;
  std::string remedy;
  if (text.empty()) {
    remedy = fmt::format("fill it in, or {}", settings.empty);
  } else if (MeansMissing(text)) {
    remedy = fmt::format("if that means \"missing\", add \"{}\" to {}", text, settings.missing);
  } else if (text.find(kByteOrderMark) != std::string_view::npos) {
    remedy =
        "remove the invisible byte order mark (U+FEFF) in it: it comes from joining files, so look "
        "for a second header line, too";
  } else if (IsDate(text)) {
    remedy = settings.date;
  } else if (HasThousands(text)) {
    remedy = fmt::format("where there are separators of thousands, {}", settings.thousands);
  } else if (ParseDecimal(text, point ? DecimalMark::kComma : DecimalMark::kPoint).has_value()) {
    remedy = point ? settings.comma : settings.point;
    if (MayBeThousands(text)) {
      remedy += fmt::format("; where there are separators of thousands, {}", settings.thousands);
    }
  } else if (std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
    remedy = settings.unit;
  }
  return {.what = fmt::format("\"{}\" is not a finite number", text),
          .remedy = std::move(remedy),
          .value = std::string(text),
          .of_many = "are no finite numbers"};
}

}  // namespace tacet::table
