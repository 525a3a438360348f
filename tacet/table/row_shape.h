// Fields of a row next to the names of the columns.
#ifndef TACET_TABLE_ROW_SHAPE_H_
#define TACET_TABLE_ROW_SHAPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tacet/table/table_problem.h"
#include "tacet/table/table_text.h"

namespace tacet::table {

// Whether software made up the name for a column that had none: "", "Unnamed: 0" (pandas), "...1"
// (readr). Most often such a column holds the numbers of the rows.
bool IsNameless(std::string_view name);

// The fault of a first line without names, such as a remark. It has none of the `known` names, and
// another number of fields than the next record. `names`: the line, as `separator` splits it.
// `names_elsewhere` completes "if the file has no names, ".
std::optional<ValueFault> FaultOfHeader(const std::vector<std::string>& names,
                                        const std::vector<std::string>& known, char separator,
                                        TableRecords& records, std::string_view names_elsewhere);

// Three shapes differ from "one field for each name":
// - Names that are empty at the end of their line do not count, nor do empty fields in their place:
//   separators behind the last column.
// - Each row has an empty field more: a separator at the end of the rows alone.
// - Each row has a field more at its beginning, the row's number: R's write.table, and pandas with
//   index_label=False. The numbers are whole and increase. Where the separator is a comma they are
//   quoted, since 63,5 may be a number with a decimal comma.
// Nothing else is guessed: the fields of a row that were moved by one column would be wrong numbers
// without a word.
class RowShape {
 public:
  // Takes the empty ones from the end of `names`.
  static RowShape OfHeader(std::vector<std::string>& names, char separator);
  // For a file without a line of names.
  RowShape(size_t columns, char separator) : RowShape(columns, columns, separator) {}

  // Leaves one field for each column. The fault of a row that has another number of fields.
  std::optional<ValueFault> Fit(std::vector<std::string>& fields, bool first_is_quoted);
  // After the last row: the fault of a table of ten rows or more, of which fewer than half fit.
  std::optional<ValueFault> FaultOfTable() const;

 private:
  enum class Extra { kUnknown, kNone, kAtEnd, kRowNumber };

  RowShape(size_t columns, size_t named, char separator)
      : columns_(columns), with_nameless_(named), separator_(separator) {}
  bool Takes(const std::vector<std::string>& fields, bool first_is_quoted);
  Extra ExtraOf(const std::vector<std::string>& fields, bool first_is_quoted) const;

  size_t columns_;
  size_t with_nameless_;  // with the names that do not count
  char separator_;
  Extra extra_ = Extra::kUnknown;
  uint64_t rows_ = 0, fitting_ = 0;
  uint64_t next_number_ = 0;  // least number of the next row
};

}  // namespace tacet::table

#endif  // TACET_TABLE_ROW_SHAPE_H_
