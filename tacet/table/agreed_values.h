// Values of a column on which the sites agree, in words of a configuration or a query.
#ifndef TACET_TABLE_AGREED_VALUES_H_
#define TACET_TABLE_AGREED_VALUES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/table/category_list.h"

namespace tacet::table {

// Pieces between separators outside of single quotes; none where a quote is not closed.
std::optional<std::vector<std::string_view>> SplitOutsideQuotes(std::string_view text,
                                                                char separator);
// Without single quotes, where two in a row within quotes are one.
std::string Unquoted(std::string_view text);

// "F|f|w,'M, men'|m": categories with commas between, each with its spellings. None for a list that
// CategoryList refuses.
std::optional<CategoryList> ParseCategories(std::string_view text);

struct AgreedValues {
  std::string column;
  CategoryList values = {};

  friend bool operator==(const AgreedValues&, const AgreedValues&) = default;
};

// "COLUMN one-of=A,B,...", as a feature of a training with categories: "sex one-of=F|f|w,M|m",
// "'smokes now' one-of=yes|1,no|0". InvalidArgument quotes the text.
absl::StatusOr<AgreedValues> ParseAgreedValues(std::string_view text);

// A site's own spellings: the first text of each value is one on which the sites agree, and the
// others are what its files hold. A field that is one of them becomes the first. `lists` may have
// several lists of a column.
void WriteAsAgreed(const std::vector<AgreedValues>& lists, std::string_view column,
                   DecimalMark mark, std::string& field);

}  // namespace tacet::table

#endif  // TACET_TABLE_AGREED_VALUES_H_
