// Columns that a query reads from tables, and the faults of their fields.
#ifndef TACET_RUN_QUERY_COLUMNS_H_
#define TACET_RUN_QUERY_COLUMNS_H_

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tacet/statistics/query.h"
#include "tacet/statistics/query_text.h"
#include "tacet/statistics/site_table.h"
#include "tacet/table/number_text.h"
#include "tacet/table/problem_summary.h"
#include "tacet/table/table_problem.h"

namespace tacet::run {

// Immutable. A field of a number column is missing or a number that statistics::IsOrdinary. A
// column with agreed values holds these. Other text columns hold anything. The person column is
// never missing for unit person. Everything else is a fault: the site hears of it, and the field
// counts as missing.
class QueryColumns {
 public:
  QueryColumns(const tacet::statistics::QueryFile& file, const tacet::statistics::Query& query);

  // Those of the questions, and the person column where the query has one.
  const std::set<std::string>& read() const { return read_; }
  // Those without which a table cannot answer: without the person column for other units.
  const std::set<std::string>& needed() const { return needed_; }
  bool IsNumber(const std::string& column) const { return numbers_.contains(column); }
  // Whether cells of the column are read as numbers alone. Persons are texts: 007 is
  // not 7. So are dates, since a number is nobody knows which day.
  bool HoldsNumbers(const std::string& column) const {
    return IsNumber(column) && column != person_column_ && !query_.HoldsDates(column);
  }
  bool HoldsDates(const std::string& column) const { return query_.HoldsDates(column); }
  // Whether they agreed how to read its numbers or dates.
  bool HasNumbers(const std::string& column) const { return query_.NumbersOf(column) != nullptr; }
  // The number that a field of the column is, written with the mark.
  std::optional<double> NumberIn(const std::string& column, std::string_view field,
                                 table::DecimalMark mark) const;
  // Whether the sites agreed on the values of the column.
  bool HasValues(const std::string& column) const { return query_.ValuesOf(column) != nullptr; }
  bool IsMissing(std::string_view field) const { return query_.IsMissing(field); }
  // For a field as the table writes it; none where it can be read.
  std::optional<table::ValueFault> FaultOf(const std::string& column, std::string_view field,
                                           table::DecimalMark mark) const;
  // For a number; NaN is a missing value.
  std::optional<table::ValueFault> FaultOf(const std::string& column, double number) const;

 private:
  table::ValueFault NotANumber(const std::string& column, std::string_view field,
                               table::DecimalMark mark) const;
  std::optional<table::ValueFault> FaultOfNumber(const std::string& column, double number,
                                                 std::string_view text) const;
  bool IsPerson(const std::string& column) const { return !person_.empty() && column == person_; }

  std::set<std::string> read_, needed_, numbers_;
  std::set<std::string> compared_;  // by = and != with a number
  std::string person_column_;
  std::string person_;  // empty: persons do not matter
  tacet::statistics::QuerySpec query_;
};

// Adds the faults of a table in memory, with a decimal point. The file of a problem is the site.
void CheckTable(const QueryColumns& columns, const tacet::statistics::SiteTable& table,
                table::ProblemSummary& problems);

}  // namespace tacet::run

#endif  // TACET_RUN_QUERY_COLUMNS_H_
