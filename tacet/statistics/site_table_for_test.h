// Tables of tests, written as rows of texts.
#ifndef TACET_STATISTICS_SITE_TABLE_FOR_TEST_H_
#define TACET_STATISTICS_SITE_TABLE_FOR_TEST_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tacet/statistics/site_table.h"

namespace tacet::statistics {

using TextRows = std::vector<std::vector<std::string>>;

// For columns of texts.
inline SiteTable TableOfRows(std::string name, std::vector<std::string> columns,
                             const TextRows& rows) {
  SiteTable table{
      .name = std::move(name), .columns = std::move(columns), .cells = {}, .rows = rows.size()};
  for (size_t i = 0; i < table.columns.size(); ++i) {
    table::ColumnBuilder cells = table::ColumnBuilder::OfTexts();
    for (const std::vector<std::string>& row : rows) cells.AddText(row[i]);
    table.cells.push_back(std::move(cells).Finish());
  }
  return table;
}

// The same with numbers where every text of a column is one or empty.
inline SiteTable TypedTableOfRows(std::string name, std::vector<std::string> columns,
                                  const TextRows& rows) {
  SiteTable table = TableOfRows(std::move(name), std::move(columns), rows);
  for (table::Column& column : table.cells) {
    table::ColumnBuilder numbers;
    for (size_t row = 0; row < table.rows; ++row) {
      const std::string text = column.TextOf(row);
      const std::optional<double> number = NumberOf(text);
      if (number.has_value()) {
        numbers.AddNumber(*number);
      } else {
        numbers.AddText(text);
      }
    }
    table::Column typed = std::move(numbers).Finish();
    if (typed.is_numbers()) column = std::move(typed);
  }
  return table;
}

inline TextRows RowsOf(const SiteTable& table) {
  TextRows rows(table.rows);
  for (size_t row = 0; row < table.rows; ++row) {
    for (const table::Column& column : table.cells) rows[row].push_back(column.TextOf(row));
  }
  return rows;
}

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_SITE_TABLE_FOR_TEST_H_
