// Columns that a query reads from tables, and the faults of their fields.
#ifndef TACET_RUN_QUERY_COLUMNS_H_
#define TACET_RUN_QUERY_COLUMNS_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "tacet/data/number_text.h"
#include "tacet/data/table_problem.h"
#include "tacet/statistics/query.h"
#include "tacet/statistics/query_text.h"
#include "tacet/statistics/site_table.h"

namespace tacet::run {

// Immutable. A field of a number column is missing or a number from -3.4e38 to 3.4e38, as binary32
// has them. Text columns hold anything. The person column is never missing for unit person.
class QueryColumns {
 public:
  QueryColumns(const tacet::statistics::QueryFile& file, const tacet::statistics::Query& query);

  // Those of the questions, and the person column where the query has one.
  const std::set<std::string>& read() const { return read_; }
  // Those without which a table cannot answer: without the person column for other units.
  const std::set<std::string>& needed() const { return needed_; }
  bool IsNumber(const std::string& column) const { return numbers_.contains(column); }
  // Of a field as the table writes it; none where it can be read.
  std::optional<data::ValueFault> FaultOf(const std::string& column, std::string_view field,
                                          data::DecimalMark mark) const;

 private:
  std::set<std::string> read_, needed_, numbers_;
  std::string person_;  // empty: persons do not matter
  tacet::statistics::QuerySpec query_;
};

// The first fault of a table in memory, with a decimal point: InvalidArgument names site, row (from
// 0), column and what to change.
absl::Status CheckTable(const QueryColumns& columns, const tacet::statistics::SiteTable& table);

}  // namespace tacet::run

#endif  // TACET_RUN_QUERY_COLUMNS_H_
