#include "tacet/table/column.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/hash/hash.h"
#include "fmt/format.h"

#include "tacet/table/number_text.h"

namespace tacet::table {

size_t TextNumbers::Hash::operator()(std::string_view text) const { return absl::HashOf(text); }

std::string_view TextNumbers::text(uint32_t number) const {
  const uint64_t begin = number == 0 ? 0 : ends_[number - 1];
  return std::string_view(letters_).substr(begin, ends_[number] - begin);
}

uint32_t TextNumbers::NumberOf(std::string_view text) {
  const auto known = index_.find(text);
  if (known != index_.end()) return *known;
  const auto number = static_cast<uint32_t>(ends_.size());
  letters_.append(text);
  ends_.push_back(letters_.size());
  index_.insert(number);
  return number;
}

void TextNumbers::Seal() {
  index_ = absl::flat_hash_set<uint32_t, Hash, Equal>(0, Hash{this}, Equal{this});
  letters_.shrink_to_fit();
  ends_.shrink_to_fit();
}

std::string TextOfNumber(double number) {
  if (std::isnan(number)) return "";
  if (number == 0) return "0";
  return std::trunc(number) == number && std::isfinite(number) ? fmt::format("{:.0f}", number)
                                                               : fmt::format("{}", number);
}

std::string ShownNumber(double number) {
  return std::isnan(number) ? "" : fmt::format("{}", number + 0.0);
}

std::vector<double> NumbersAmong(std::span<const std::string> texts) {
  std::vector<double> numbers;
  for (const std::string& text : texts) {
    const std::optional<double> number = ParseDecimal(text, DecimalMark::kPoint);
    if (number.has_value() && TextOfNumber(*number) == text) numbers.push_back(*number);
  }
  return numbers;
}

double WidenedFloat(float number) {
  constexpr float kExact = 1 << 24;  // whole numbers up to it have no shorter text
  if (!std::isfinite(number) || (std::trunc(number) == number && std::abs(number) <= kExact)) {
    return number;
  }
  std::array<char, 32> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), number);
  double wide = 0;
  std::from_chars(text.data(), written.ptr, wide);
  return wide;
}

size_t Column::rows() const {
  return is_numbers() ? std::get_if<Numbers>(cells_.get())->cells.size()
                      : std::get_if<Texts>(cells_.get())->codes.size();
}

std::string Column::TextOf(size_t row) const {
  return is_numbers() ? TextOfNumber(number(row)) : std::string(text(code(row)));
}

std::string Column::ShownAt(size_t row) const {
  return is_numbers() ? ShownNumber(number(row)) : std::string(text(code(row)));
}

ColumnBuilder::ColumnBuilder(std::vector<double> missing)
    : missing_(std::move(missing)), cells_(std::make_unique<Column::Either>()) {}

ColumnBuilder ColumnBuilder::OfTexts() {
  ColumnBuilder builder;
  builder.BecomeTexts();
  return builder;
}

void ColumnBuilder::BecomeTexts() {
  Column::Texts texts{.codes = {}, .texts = std::make_unique<TextNumbers>()};
  const Cells<double>& numbers = std::get_if<Column::Numbers>(cells_.get())->cells;
  for (size_t row = 0; row < numbers.size(); ++row) {
    texts.codes.Append(texts.texts->NumberOf(TextOfNumber(numbers[row])));
  }
  *cells_ = std::move(texts);
}

void ColumnBuilder::AddNumber(double number) {
  auto* numbers = std::get_if<Column::Numbers>(cells_.get());
  if (numbers == nullptr) {
    AddText(TextOfNumber(number));
    return;
  }
  const bool is_missing =
      std::isnan(number) || std::ranges::find(missing_, number) != missing_.end();
  numbers->cells.Append(is_missing ? std::numeric_limits<double>::quiet_NaN() : number + 0.0);
}

void ColumnBuilder::AddText(std::string_view text) {
  if (cells_->index() == 0) {
    if (text.empty()) {
      AddNumber(std::numeric_limits<double>::quiet_NaN());
      return;
    }
    BecomeTexts();
  }
  auto* texts = std::get_if<Column::Texts>(cells_.get());
  texts->codes.Append(texts->texts->NumberOf(text));
}

size_t ColumnBuilder::rows() const {
  const auto* numbers = std::get_if<Column::Numbers>(cells_.get());
  return numbers != nullptr ? numbers->cells.size()
                            : std::get_if<Column::Texts>(cells_.get())->codes.size();
}

Column ColumnBuilder::Finish() && {
  if (auto* texts = std::get_if<Column::Texts>(cells_.get()); texts != nullptr) {
    texts->texts->Seal();
  }
  return Column(std::move(cells_));
}

}  // namespace tacet::table
