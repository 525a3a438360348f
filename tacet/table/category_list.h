// Categories of a column, and the texts that mean each of them.
#ifndef TACET_TABLE_CATEGORY_LIST_H_
#define TACET_TABLE_CATEGORY_LIST_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/table/number_text.h"

namespace tacet::table {

// The sites agree on the list, so all of them map alike. A category is one text, or several with
// `|` between, where sites write it differently: "no|nein|0". A field belongs to the category with
// its text; where no text is equal, to the one with the same number ("1.0" belongs to "1"). Numbers
// in the list are written with a decimal point, numbers of a table as its files write them.
class CategoryList {
 public:
  static constexpr size_t kMaxCategories = 1000;

  // InvalidArgument for an empty text, a text or a number that occurs twice, more than
  // kMaxCategories.
  absl::Status Add(std::string_view category);
  static absl::StatusOr<CategoryList> Create(const std::vector<std::string>& categories);

  size_t size() const { return categories_.size(); }
  bool empty() const { return categories_.empty(); }
  // The category of a field; none where it is none of them.
  std::optional<size_t> Find(std::string_view field, DecimalMark mark) const;
  // The category of a number.
  std::optional<size_t> Find(double number) const;
  // As given, with ", " between.
  std::string Listed() const;
  const std::string& category(size_t index) const { return categories_[index]; }
  // Its first text.
  std::string_view name(size_t index) const;
  // The remedy for a field that is none of them: the text that differs in case or punctuation at
  // its end alone, as a spelling; else the nearest text; "" without one.
  std::string RemedyFor(std::string_view field) const;
  // "X is none of the agreed A, B, C", with that remedy.
  ValueFault NotAmong(std::string_view field) const;

  friend bool operator==(const CategoryList& a, const CategoryList& b) {
    return a.categories_ == b.categories_;
  }

 private:
  struct Text {
    std::string text;
    std::optional<double> number;
    size_t category = 0;
  };
  std::vector<std::string> categories_;
  std::vector<Text> texts_;
};

}  // namespace tacet::table

#endif  // TACET_TABLE_CATEGORY_LIST_H_
