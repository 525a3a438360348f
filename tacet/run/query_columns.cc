#include "tacet/run/query_columns.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tacet/base/status.h"

namespace tacet::run {
namespace {

using data::DecimalMark;
using data::ValueFault;
using tacet::statistics::Comparison;
using tacet::statistics::Query;
using tacet::statistics::QueryFile;

// An empty field is missing, so `empty` is never said.
constexpr data::NumberSettings kSettings = {
    .empty = "",
    .missing = "`data.missing` of the query, or leave the field empty",
    .comma =
        "if the file writes numbers with a decimal comma, set `data.decimal = \"comma\"` in the "
        "query, or as a site of a federation `data.csv_decimal = \"comma\"` in its own settings",
    .point =
        "it has a point where numbers have a decimal comma: write numbers with a comma, and "
        "without separators of thousands"};

std::set<std::string> NumberColumns(const Query& query) {
  std::set<std::string> names;
  for (const tacet::statistics::QuestionPlan& plan : query.questions()) {
    if (plan.is_moments()) {
      for (const auto& bounded : plan.spec.columns) names.insert(bounded.column);
    }
    for (const auto* cells : {&plan.cells, &plan.across, &plan.groups}) {
      if (cells->has_value() && (*cells)->is_ordered()) names.insert((*cells)->column());
    }
    for (const auto& condition : plan.spec.where) {
      const bool is_order = condition.comparison != Comparison::kEqual &&
                            condition.comparison != Comparison::kUnequal;
      if (is_order) names.insert(condition.column);
    }
  }
  return names;
}

}  // namespace

QueryColumns::QueryColumns(const QueryFile& file, const Query& query)
    : read_(query.columns().begin(), query.columns().end()),
      needed_(read_),
      numbers_(NumberColumns(query)),
      query_(query.spec()) {
  if (file.person_column.empty()) return;
  read_.insert(file.person_column);
  if (query.spec().unit != accounting::Unit::kPerson) return;
  needed_.insert(file.person_column);
  person_ = file.person_column;
}

std::optional<ValueFault> QueryColumns::FaultOf(const std::string& column, std::string_view field,
                                                DecimalMark mark) const {
  const bool missing = query_.IsMissing(field);
  if (missing && !person_.empty() && column == person_) {
    return ValueFault{.what = "the person is missing", .remedy = "fill it in"};
  }
  if (missing || !IsNumber(column)) return std::nullopt;
  const std::optional<double> value = data::ParseDecimal(field, mark);
  if (!value.has_value()) return data::NotANumber(field, mark, kSettings);
  if (std::abs(*value) <= std::numeric_limits<float>::max()) return std::nullopt;
  return ValueFault{
      .what = fmt::format("\"{}\" is beyond 3.4e38, the largest number of a table", field),
      .remedy = "correct it, or leave the field empty if the value is missing"};
}

absl::Status CheckTable(const QueryColumns& columns, const tacet::statistics::SiteTable& table) {
  for (size_t row = 0; row < table.rows.size(); ++row) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      const std::optional<ValueFault> fault =
          columns.FaultOf(table.columns[i], table.rows[row][i], DecimalMark::kPoint);
      if (!fault.has_value()) continue;
      return base::InvalidArgument("site \"{}\", row {}, column \"{}\": {}{}{}", table.name, row,
                                   table.columns[i], fault->what, fault->remedy.empty() ? "" : "; ",
                                   fault->remedy);
    }
  }
  return absl::OkStatus();
}

}  // namespace tacet::run
