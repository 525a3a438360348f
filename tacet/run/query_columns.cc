#include "tacet/run/query_columns.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"

#include "tacet/table/column.h"
#include "tacet/table/person_text.h"

namespace tacet::run {
namespace {

using table::DecimalMark;
using table::ValueFault;
using tacet::statistics::Query;
using tacet::statistics::QueryFile;

// An empty field is missing, so `empty` is never said.
constexpr table::NumberSettings kSettings = {
    .empty = "",
    .missing = "`data.missing` of the query, or leave the field empty",
    .comma =
        "if the file writes numbers with a decimal comma, set `data.decimal = \"comma\"` in the "
        "query, or as a site of a federation `data.csv_decimal = \"comma\"` in its own settings",
    .date =
        "that is a date: list the column in `data.values` of the query, as in \"admitted date\", "
        "and derive a number from it in `data.derived` where one is meant",
    .unit =
        "write the number alone, or agree on its unit in `data.values` of the query, as in \"dose "
        "unit=mg\"",
    .thousands = "set `data.thousands` in the query, or `data.csv_thousands` of the site",
    .point = "it has a point where numbers have a decimal comma: write them with a comma"};

ValueFault MissingPerson() {
  return {.what = "the person is missing, so the row is nobody's and counts nowhere",
          .remedy = "fill it in"};
}

std::optional<ValueFault> BeyondLimits(double number, std::string_view text) {
  if (tacet::statistics::IsOrdinary(number)) return std::nullopt;
  return ValueFault{
      .what = fmt::format("\"{}\" is beyond 3.4e38, the largest number of a table", text),
      .remedy = "correct it, or leave the field empty if the value is missing",
      .value = std::string(text),
      .of_many = "are beyond 3.4e38, the largest number of a table"};
}

std::set<std::string> NumberColumns(const Query& query) {
  std::set<std::string> names;
  for (const tacet::statistics::QuestionPlan& plan : query.questions()) {
    if (plan.is_moments()) {
      for (const auto& bounded : plan.spec.columns) names.insert(bounded.column);
    }
    if (plan.design.has_value()) {
      for (const auto& factor : plan.design->factors()) {
        if (factor.is_number()) names.insert(factor.factor.column);
      }
    }
    for (const auto* cells : {&plan.cells, &plan.across, &plan.groups}) {
      if (cells == &plan.cells && plan.has_risks()) continue;
      if (cells->has_value() && (*cells)->is_ordered()) names.insert((*cells)->column());
    }
    for (const auto& condition : plan.conditions()) {
      if (query.spec().ValuesOf(condition.column) == nullptr) names.insert(condition.column);
    }
  }
  return names;
}

// Faults of a column in memory. Each distinct text is judged once.
class ColumnFaults {
 public:
  ColumnFaults(const QueryColumns& columns, const std::string& name, const table::Column& column)
      : columns_(columns),
        name_(name),
        column_(column),
        judges_numbers_(columns.HasValues(name) || columns.HasNumbers(name)) {
    if (column.is_numbers()) return;
    for (uint32_t code = 0; code < column.distinct(); ++code) {
      is_wrong_.push_back(FaultOf(column.text(code)).has_value());
    }
  }

  std::optional<ValueFault> OfRow(size_t row) const {
    if (!column_.is_numbers()) {
      const uint32_t code = column_.code(row);
      return is_wrong_[code] ? FaultOf(column_.text(code)) : std::nullopt;
    }
    const double number = column_.number(row);
    return judges_numbers_ || !tacet::statistics::IsOrdinary(number)
               ? columns_.FaultOf(name_, number)
               : std::nullopt;
  }

 private:
  std::optional<ValueFault> FaultOf(std::string_view text) const {
    return columns_.FaultOf(name_, text, DecimalMark::kPoint);
  }

  const QueryColumns& columns_;
  const std::string& name_;
  const table::Column& column_;
  bool judges_numbers_;
  std::vector<bool> is_wrong_;
};

}  // namespace

QueryColumns::QueryColumns(const QueryFile& file, const Query& query)
    : read_(query.columns().begin(), query.columns().end()),
      needed_(read_),
      numbers_(NumberColumns(query)),
      person_column_(file.person_column),
      query_(query.spec()) {
  for (const tacet::statistics::QuestionPlan& plan : query.questions()) {
    for (const auto& condition : plan.conditions()) {
      if (condition.is_equality()) compared_.insert(condition.column);
    }
  }
  if (file.person_column.empty()) return;
  read_.insert(file.person_column);
  if (query.spec().unit != accounting::Unit::kPerson) return;
  needed_.insert(file.person_column);
  person_ = file.person_column;
}

std::optional<double> QueryColumns::NumberIn(const std::string& column, std::string_view field,
                                             DecimalMark mark) const {
  const table::AgreedNumbers* agreed = query_.NumbersOf(column);
  return agreed != nullptr ? agreed->Find(field, mark) : table::ParseDecimal(field, mark);
}

// For a number that can be read.
std::optional<ValueFault> QueryColumns::FaultOfNumber(const std::string& column, double number,
                                                      std::string_view text) const {
  const table::AgreedNumbers* agreed = query_.NumbersOf(column);
  if (agreed != nullptr && agreed->range.has_value() && !agreed->range->Holds(number)) {
    return table::OutsideRange(text, *agreed->range);
  }
  return BeyondLimits(number, text);
}

ValueFault QueryColumns::NotANumber(const std::string& column, std::string_view field,
                                    DecimalMark mark) const {
  ValueFault fault = table::NotANumber(field, mark, kSettings);
  if (const auto stated = table::ParseLimit(field, mark); stated.has_value()) {
    fault.remedy = fmt::format(
        "agree how to read it in `data.values` of the query, as in \"{} {}={}\"", column,
        stated->is_lower ? "at-least" : "at-most", table::NearestNumber(*stated));
  }
  if (fault.remedy.empty() && compared_.contains(column)) {
    fault.remedy =
        "if the column holds texts, list its values with their spellings in `data.values` of the "
        "query, as in \"died one-of=1|TRUE|yes,0|FALSE|no\"";
  }
  return fault;
}

std::optional<ValueFault> QueryColumns::FaultOf(const std::string& column, std::string_view field,
                                                DecimalMark mark) const {
  const bool missing = query_.IsMissing(field);
  if (IsPerson(column) && (missing || table::PersonKey(field).empty())) return MissingPerson();
  if (missing) return std::nullopt;
  const table::CategoryList* values = query_.ValuesOf(column);
  if (values != nullptr) {
    return values->Find(field, mark).has_value() ? std::nullopt
                                                 : std::optional(values->NotAmong(field));
  }
  const table::AgreedNumbers* agreed = query_.NumbersOf(column);
  if (agreed == nullptr && !IsNumber(column)) return std::nullopt;
  const std::optional<double> value =
      agreed != nullptr ? agreed->Read(field, mark) : table::ParseDecimal(field, mark);
  if (value.has_value()) return FaultOfNumber(column, *value, field);
  return HoldsDates(column) ? table::NotADate(field, *agreed->dates)
                            : NotANumber(column, field, mark);
}

std::optional<ValueFault> QueryColumns::FaultOf(const std::string& column, double number) const {
  if (std::isnan(number)) {
    return IsPerson(column) ? std::optional<ValueFault>(MissingPerson()) : std::nullopt;
  }
  const table::CategoryList* values = query_.ValuesOf(column);
  if (values != nullptr) {
    return values->Find(number).has_value()
               ? std::nullopt
               : std::optional(values->NotAmong(table::ShownNumber(number)));
  }
  const std::string text = table::ShownNumber(number);
  if (HoldsDates(column)) return table::NotADate(text, *query_.NumbersOf(column)->dates);
  if (!IsNumber(column)) return std::nullopt;
  if (std::isinf(number)) return NotANumber(column, text, DecimalMark::kPoint);
  return FaultOfNumber(column, number, text);
}

void CheckTable(const QueryColumns& columns, const tacet::statistics::SiteTable& table,
                table::ProblemSummary& problems) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnFaults faults(columns, table.columns[i], table.cells[i]);
    for (size_t row = 0; row < table.rows; ++row) {
      std::optional<ValueFault> fault = faults.OfRow(row);
      if (!fault.has_value()) continue;
      problems.Add({.file = fmt::format("site \"{}\"", table.name),
                    .column = i,
                    .column_name = table.columns[i],
                    .fault = *std::move(fault)});
    }
  }
}

}  // namespace tacet::run
