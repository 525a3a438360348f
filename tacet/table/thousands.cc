#include "tacet/table/thousands.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "fmt/format.h"

#include "tacet/base/status.h"

namespace tacet::table {
namespace {

constexpr uint64_t kDoubtfulNumbers = 10;

constexpr std::array<std::string_view, 1> kCommas = {","};
constexpr std::array<std::string_view, 1> kPoints = {"."};
// Blank, no-break space, narrow no-break space, thin space.
constexpr std::array<std::string_view, 4> kBlanks = {" ", "\xC2\xA0", "\xE2\x80\xAF",
                                                     "\xE2\x80\x89"};
constexpr std::array<std::string_view, 2> kApostrophes = {"'", "\xE2\x80\x99"};

std::span<const std::string_view> MarksOf(Thousands thousands) {
  switch (thousands) {
    case Thousands::kComma:
      return kCommas;
    case Thousands::kPoint:
      return kPoints;
    case Thousands::kBlank:
      return kBlanks;
    case Thousands::kApostrophe:
      return kApostrophes;
    case Thousands::kUnsaid:
    case Thousands::kNone:
      break;
  }
  return {};
}

size_t DigitsAtFront(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

char MarkOf(DecimalMark decimal) { return decimal == DecimalMark::kPoint ? '.' : ','; }

}  // namespace

absl::StatusOr<Thousands> ThousandsOf(std::string_view word) {
  constexpr std::array<std::string_view, 6> kWords = {"",      "none",  "comma",
                                                      "point", "blank", "apostrophe"};
  const auto found = std::ranges::find(kWords, word);
  if (found == kWords.end()) {
    return base::InvalidArgument(
        "\"{}\": expected none, comma, point, blank or apostrophe between thousands", word);
  }
  return static_cast<Thousands>(found - kWords.begin());
}

absl::Status CheckThousands(Thousands thousands, DecimalMark decimal) {
  const bool is_point = decimal == DecimalMark::kPoint;
  if (thousands != (is_point ? Thousands::kPoint : Thousands::kComma)) return absl::OkStatus();
  return base::InvalidArgument(
      "the {} is the decimal mark, so it cannot stand between thousands: correct one of the two",
      is_point ? "point" : "comma");
}

void RemoveThousands(Thousands thousands, DecimalMark decimal, std::string& field) {
  const std::span<const std::string_view> marks = MarksOf(thousands);
  if (marks.empty()) return;
  std::string_view rest = field;
  std::string number;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    number += rest.front();
    rest.remove_prefix(1);
  }
  for (size_t groups = 0;; ++groups) {
    const size_t digits = DigitsAtFront(rest);
    if (groups == 0 ? digits < 1 || digits > 3 : digits != 3) return;
    number += rest.substr(0, digits);
    rest.remove_prefix(digits);
    const auto mark = std::ranges::find_if(
        marks, [rest](std::string_view each) { return rest.starts_with(each); });
    if (mark == marks.end()) break;
    rest.remove_prefix(mark->size());
  }
  number += rest;
  // Behind the whole part there may be a fraction and an exponent, nothing else.
  if (ParseDecimal(number, decimal).has_value()) field = std::move(number);
}

void DoubtfulNumbers::Add(std::string_view field, DecimalMark decimal) {
  if (is_certain_) return;
  if (field.starts_with('-') || field.starts_with('+')) field.remove_prefix(1);
  const size_t mark = field.find(MarkOf(decimal));
  if (mark == std::string_view::npos) return;
  const std::string_view fraction = field.substr(mark + 1);
  if (mark < 1 || mark > 3 || field.front() == '0' || fraction.size() != 3 ||
      DigitsAtFront(fraction) != 3) {
    is_certain_ = true;
    return;
  }
  if (in_doubt_++ == 0) example_ = field;
}

std::optional<ValueFault> DoubtfulNumbers::Doubt() const {
  if (is_certain_ || in_doubt_ < kDoubtfulNumbers) return std::nullopt;
  const size_t mark = example_.find_first_of(".,");
  std::string whole = example_;
  whole.erase(mark, 1);
  return ValueFault{
      .what = fmt::format("all {} numbers with a `{}` have three digits behind it, as {}, which "
                          "counts as {}.{} and not as {}",
                          in_doubt_, example_[mark], example_, example_.substr(0, mark),
                          example_.substr(mark + 1), whole),
      .remedy = fmt::format("where it separates thousands, set `data.thousands = \"{}\"` and "
                            "`data.decimal = \"{}\"` in the query, or `data.csv_thousands` and "
                            "`data.csv_decimal` in the site's own settings; where it does not, set "
                            "the first to \"none\"",
                            example_[mark] == '.' ? "point" : "comma",
                            example_[mark] == '.' ? "comma" : "point")};
}

}  // namespace tacet::table
