// Values of a column on which the sites agree, in words of a configuration or a query.
#ifndef TACET_TABLE_AGREED_VALUES_H_
#define TACET_TABLE_AGREED_VALUES_H_

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/table/agreed_numbers.h"
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

// The agreement of the sites about one column.
using AgreedColumn = std::variant<AgreedValues, AgreedNumbers>;

// That, or the column with the words of ParseAgreedNumbers: "admitted date", "age at-least=90".
absl::StatusOr<AgreedColumn> ParseAgreedColumn(std::string_view text);

// The form of a column in a site's own files: "sex one-of=F|femme,M|homme", where the first text of
// each value is one on which the sites agree and the others are what the files hold; "admitted
// date=day.month.year"; "dose unit=mg". What a limit means is agreed, so it is refused here.
absl::StatusOr<AgreedColumn> ParseSpelling(std::string_view text);

// Makes the field of a column what the sites agree on: the first text of its value, a date as
// year-month-day, a number without its unit. A field that is none of the spellings stays unchanged.
// `spellings` may have several of a column.
void WriteAsAgreed(const std::vector<AgreedColumn>& spellings, std::string_view column,
                   DecimalMark mark, std::string& field);

}  // namespace tacet::table

#endif  // TACET_TABLE_AGREED_VALUES_H_
