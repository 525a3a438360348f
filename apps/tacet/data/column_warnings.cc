#include "apps/tacet/data/column_warnings.h"

#include <functional>
#include <optional>
#include <set>
#include <tuple>

#include "fmt/format.h"

#include "tacet/statistics/question_reading.h"

namespace tacet::app::data {
namespace {

using tacet::statistics::BoundedColumn;
using tacet::statistics::DerivedColumn;
using tacet::statistics::QuerySpec;
using tacet::statistics::ReadNumbers;
using tacet::statistics::SiteTable;

struct Found {
  uint64_t count = 0;
  uint64_t all = 0;
  std::string example = {};

  void Add(bool is_found, const table::Column& column, uint32_t row) {
    ++all;
    if (is_found && count++ == 0) example = column.ShownAt(row);
  }
  std::string OfAll(std::string_view what) const {
    return fmt::format("{} of {} {}{}", count, all, what, all == 1 ? "" : "s");
  }
};

// Numbers of a column for which `is_found` holds, of those that can be read.
Found NumbersWhere(const QuerySpec& query, const std::string& name,
                   const std::vector<SiteTable>& tables,
                   const std::function<bool(double)>& is_found) {
  Found found;
  for (const SiteTable& table : tables) {
    const std::optional<size_t> place = table.Find(name);
    if (!place.has_value()) continue;
    const table::Column& column = table.cells[*place];
    const auto number = ReadNumbers(column, query, name);
    for (uint32_t row = 0; row < table.rows; ++row) {
      const std::optional<double> value = number(row);
      if (value.has_value()) found.Add(is_found(*value), column, row);
    }
  }
  return found;
}

std::optional<std::string> OutsideBounds(const QuerySpec& query, const BoundedColumn& bounded,
                                         const std::vector<SiteTable>& tables) {
  const Found found = NumbersWhere(query, bounded.column, tables, [&bounded](double value) {
    return value < bounded.low || value > bounded.high;
  });
  if (found.count == 0) return std::nullopt;
  return fmt::format(
      "column \"{}\": {} {} outside of {}..{}, such as \"{}\"; each counts as the nearest bound: "
      "correct them, or agree on a range in `data.values`, as in \"height range=30..250\"",
      bounded.column, found.OfAll("value"), found.count == 1 ? "is" : "are", bounded.low,
      bounded.high, found.example);
}

std::optional<std::string> BelowZero(const QuerySpec& query, const std::string& time,
                                     const std::vector<SiteTable>& tables) {
  const Found found = NumbersWhere(query, time, tables, [](double value) { return value < 0; });
  if (found.count == 0) return std::nullopt;
  return fmt::format(
      "column \"{}\": {} {} below 0, such as \"{}\"; {} left out of the curve: correct them, or "
      "leave the fields empty where nobody knows the time",
      time, found.OfAll("time"), found.count == 1 ? "is" : "are", found.example,
      found.count == 1 ? "its row is" : "their rows are");
}

std::optional<std::string> InWrongOrder(const QuerySpec& query, const DerivedColumn& derived,
                                        const std::vector<SiteTable>& tables) {
  Found found;
  for (const SiteTable& table : tables) {
    const std::optional<size_t> first = table.Find(derived.from), last = table.Find(derived.to);
    if (!first.has_value() || (derived.to.empty() == last.has_value())) continue;
    const auto from = ReadNumbers(table.cells[*first], query, derived.from);
    std::optional<tacet::statistics::CellReading<double>> to;
    if (last.has_value()) to = ReadNumbers(table.cells[*last], query, derived.to);
    for (uint32_t row = 0; row < table.rows; ++row) {
      const std::optional<double> from_day = from(row);
      const std::optional<double> to_day = to.has_value() ? (*to)(row) : derived.day;
      if (!from_day.has_value() || !to_day.has_value()) continue;
      found.Add(*from_day > *to_day, table.cells[*first], row);
    }
  }
  if (found.count == 0) return std::nullopt;
  return fmt::format(
      "column \"{}\": in {}, \"{}\" is after {}, such as \"{}\"; the column is missing there: "
      "correct "
      "the dates",
      derived.name, found.OfAll("row"), derived.from,
      derived.to.empty() ? "the agreed day" : fmt::format("\"{}\"", derived.to), found.example);
}

}  // namespace

std::vector<std::string> ColumnWarnings(const tacet::statistics::Query& query,
                                        const std::vector<SiteTable>& tables) {
  std::vector<std::string> warnings;
  const auto add = [&warnings](std::optional<std::string> warning) {
    if (warning.has_value()) warnings.push_back(*std::move(warning));
  };
  std::set<std::tuple<std::string, double, double>> known;
  for (const tacet::statistics::QuestionPlan& plan : query.questions()) {
    std::vector<BoundedColumn> cut;
    if (plan.is_moments()) cut = plan.spec.columns;
    if (plan.design.has_value()) {
      for (const tacet::statistics::DesignFactor& of : plan.design->factors()) {
        if (of.is_number()) cut.push_back({of.factor.column, of.low, of.high});
      }
    }
    for (const BoundedColumn& bounded : cut) {
      if (!known.emplace(bounded.column, bounded.low, bounded.high).second) continue;
      add(OutsideBounds(query.spec(), bounded, tables));
    }
  }
  std::set<std::string> times;
  for (const tacet::statistics::QuestionPlan& plan : query.questions()) {
    if (plan.kind().has_cell_beyond && times.insert(plan.cells->column()).second) {
      add(BelowZero(query.spec(), plan.cells->column(), tables));
    }
  }
  for (const DerivedColumn& derived : query.spec().derived) {
    add(InWrongOrder(query.spec(), derived, tables));
  }
  return warnings;
}

}  // namespace tacet::app::data
