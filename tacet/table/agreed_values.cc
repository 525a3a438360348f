#include "tacet/table/agreed_values.h"

#include <utility>

#include "tacet/base/status.h"

namespace tacet::table {

namespace {

constexpr std::string_view kList = "one-of=";

// Those between blanks outside of quotes; none where a quote is not closed.
std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words =
      SplitOutsideQuotes(text, ' ').value_or(std::vector<std::string_view>());
  std::erase(words, "");
  return words;
}

}  // namespace

std::optional<std::vector<std::string_view>> SplitOutsideQuotes(std::string_view text,
                                                                char separator) {
  std::vector<std::string_view> pieces;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') quoted = !quoted;
    if (text[i] != separator || quoted) continue;
    pieces.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  pieces.push_back(text.substr(start));
  return quoted ? std::nullopt : std::optional(std::move(pieces));
}

std::string Unquoted(std::string_view text) {
  std::string plain;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\'') {
      plain.push_back(text[i]);
    } else if (quoted && text.substr(i + 1).starts_with('\'')) {
      plain.push_back('\'');
      ++i;
    } else {
      quoted = !quoted;
    }
  }
  return plain;
}

std::optional<CategoryList> ParseCategories(std::string_view text) {
  const auto pieces = SplitOutsideQuotes(text, ',');
  if (!pieces.has_value()) return std::nullopt;
  CategoryList list;
  for (const std::string_view piece : *pieces) {
    if (!list.Add(Unquoted(piece)).ok()) return std::nullopt;
  }
  return list;
}

absl::StatusOr<AgreedValues> ParseAgreedValues(std::string_view text) {
  const std::vector<std::string_view> words = Words(text);
  if (words.size() == 2 && words[1].starts_with(kList)) {
    std::optional<CategoryList> values = ParseCategories(words[1].substr(kList.size()));
    if (values.has_value()) {
      return AgreedValues{.column = Unquoted(words[0]), .values = *std::move(values)};
    }
  }
  return base::InvalidArgument(
      "\"{}\": expected a column and one-of= with its different values, each with its spellings, "
      "as in \"sex one-of=F|f|female,M|m|male\" (blanks and commas stand in single quotes)",
      text);
}

absl::StatusOr<AgreedColumn> ParseAgreedColumn(std::string_view text) {
  std::vector<std::string_view> words = Words(text);
  if (words.size() < 2 || words[1].starts_with(kList)) return ParseAgreedValues(text);
  std::string column = Unquoted(words[0]);
  words.erase(words.begin());
  std::optional<AgreedNumbers> numbers = ParseAgreedNumbers(std::move(column), words);
  if (numbers.has_value()) return *std::move(numbers);
  return base::InvalidArgument(
      "\"{}\": expected behind the column one-of= with its values, or date, or at-least=, "
      "at-most=, range= and unit= with their values, as in \"sex one-of=F|f,M|m\", \"admitted "
      "date=day.month.year\", \"age at-least=90\", \"dose unit=mg\"",
      text);
}

absl::StatusOr<AgreedColumn> ParseSpelling(std::string_view text) {
  TACET_ASSIGN_OR_RETURN(AgreedColumn column, ParseAgreedColumn(text));
  const auto* numbers = std::get_if<AgreedNumbers>(&column);
  if (numbers != nullptr &&
      !(numbers->at_least.empty() && numbers->at_most.empty() && !numbers->range.has_value())) {
    return base::InvalidArgument(
        "\"{}\": limits and ranges are the same at all sites, so all of them agree on these", text);
  }
  return column;
}

void WriteAsAgreed(const std::vector<AgreedColumn>& spellings, std::string_view column,
                   DecimalMark mark, std::string& field) {
  for (const AgreedColumn& spelling : spellings) {
    if (const auto* numbers = std::get_if<AgreedNumbers>(&spelling); numbers != nullptr) {
      if (numbers->column == column) numbers->WritePlain(mark, field);
      continue;
    }
    const auto& list = std::get<AgreedValues>(spelling);
    if (list.column != column) continue;
    const std::optional<size_t> value = list.values.Find(field, mark);
    if (!value.has_value()) continue;
    field = list.values.name(*value);
    return;
  }
}

}  // namespace tacet::table
