#include "tacet/table/category_list.h"

#include <algorithm>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "tacet/base/nearest_word.h"
#include "tacet/base/status.h"
#include "tacet/table/table_text.h"

namespace tacet::table {
namespace {

// The text without case and without punctuation at the end: "<=50k" of "<=50K.".
std::string BareText(std::string_view text) {
  constexpr std::string_view kPunctuation = ".,;:!? ";
  std::string bare(text.substr(0, text.find_last_not_of(kPunctuation) + 1));
  for (char& letter : bare) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return bare;
}

}  // namespace

absl::Status CategoryList::Add(std::string_view category) {
  if (categories_.size() == kMaxCategories) {
    return base::InvalidArgument("there are more than {} categories", kMaxCategories);
  }
  const size_t index = categories_.size();
  std::vector<Text> added;
  for (std::string_view rest = category;;) {
    const size_t end = rest.find('|');
    const std::string_view text = TrimField(rest.substr(0, end));
    if (text.empty()) return base::InvalidArgument("\"{}\" holds an empty text", category);
    added.push_back({.text = std::string(text),
                     .number = ParseDecimal(text, DecimalMark::kPoint),
                     .category = index});
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  for (auto text = added.begin(); text != added.end(); ++text) {
    const auto same = [&](const Text& other) {
      return other.text == text->text || (text->number.has_value() && other.number == text->number);
    };
    if (std::ranges::any_of(texts_, same) || std::any_of(added.begin(), text, same)) {
      return base::InvalidArgument("\"{}\" occurs twice", text->text);
    }
  }
  categories_.emplace_back(category);
  std::ranges::move(added, std::back_inserter(texts_));
  return absl::OkStatus();
}

absl::StatusOr<CategoryList> CategoryList::Create(const std::vector<std::string>& categories) {
  CategoryList list;
  for (const std::string& category : categories) TACET_RETURN_IF_ERROR(list.Add(category));
  return list;
}

std::optional<size_t> CategoryList::Find(std::string_view field, DecimalMark mark) const {
  const auto same = std::ranges::find(texts_, field, &Text::text);
  if (same != texts_.end()) return same->category;
  const std::optional<double> number = ParseDecimal(field, mark);
  return number.has_value() ? Find(*number) : std::nullopt;
}

std::optional<size_t> CategoryList::Find(double number) const {
  const auto equal = std::ranges::find(texts_, std::optional(number), &Text::number);
  return equal != texts_.end() ? std::optional(equal->category) : std::nullopt;
}

std::string_view CategoryList::name(size_t index) const {
  return std::ranges::find(texts_, index, &Text::category)->text;
}

std::string CategoryList::Listed() const { return fmt::format("{}", fmt::join(categories_, ", ")); }

std::string CategoryList::RemedyFor(std::string_view field) const {
  std::vector<std::string_view> words;
  const std::string bare = BareText(field);
  for (const Text& text : texts_) {
    if (!bare.empty() && BareText(text.text) == bare) {
      return fmt::format(
          "write \"{0}\" if that is meant, or allow both by \"{0}|{1}\": agreed by all, or in the "
          "site's own `data.csv_spellings`",
          text.text, field);
    }
    words.push_back(text.text);
  }
  const std::optional<std::string> near = base::NearestWord(field, words);
  return near ? fmt::format("write \"{}\" if that is meant", *near) : "";
}

ValueFault CategoryList::NotAmong(std::string_view field) const {
  return {.what = fmt::format("\"{}\" is none of the agreed {}", field, Listed()),
          .remedy = RemedyFor(field),
          .value = std::string(field),
          .of_many = fmt::format("are none of the agreed {}", Listed())};
}

}  // namespace tacet::table
