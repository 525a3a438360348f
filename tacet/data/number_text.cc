#include "tacet/data/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "fmt/format.h"

namespace tacet::data {
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

}  // namespace

std::optional<double> ParseDecimal(std::string_view text, DecimalMark mark) {
  return Parse<double>(text, mark);
}

std::optional<float> ParseDecimal32(std::string_view text, DecimalMark mark) {
  return Parse<float>(text, mark);
}

ValueFault NotANumber(std::string_view text, DecimalMark mark) {
  const bool point = mark == DecimalMark::kPoint;
  std::string remedy;
  if (text.empty()) {
    remedy = "fill it in, or describe the column in `data.csv_features` with missing= or indicator";
  } else if (MeansMissing(text)) {
    remedy = fmt::format(
        "if that means \"missing\", add \"{}\" to `data.csv_missing` and describe the column in "
        "`data.csv_features` with missing= or indicator",
        text);
  } else if (HasThousands(text)) {
    remedy = "write it without separators of thousands";
  } else if (ParseDecimal(text, point ? DecimalMark::kComma : DecimalMark::kPoint).has_value()) {
    remedy = fmt::format(
        "if the file writes numbers with a decimal {0}, set `data.csv_decimal = "
        "\"{0}\"`",
        point ? "comma" : "point");
  } else if (std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
    remedy = "write the number alone, without unit or remark";
  }
  return {.what = fmt::format("\"{}\" is not a finite number", text), .remedy = std::move(remedy)};
}

}  // namespace tacet::data
