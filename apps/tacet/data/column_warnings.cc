#include "apps/tacet/data/column_warnings.h"

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

  void Add(bool is_found, const std::string& text) {
    ++all;
    if (is_found && count++ == 0) example = text;
  }
  std::string OfAll(std::string_view what) const {
    return fmt::format("{} of {} {}{}", count, all, what, all == 1 ? "" : "s");
  }
};

std::optional<std::string> OutsideBounds(const QuerySpec& query, const BoundedColumn& bounded,
                                         const std::vector<SiteTable>& tables) {
  Found found;
  for (const SiteTable& table : tables) {
    const std::optional<size_t> place = table.Find(bounded.column);
    if (!place.has_value()) continue;
    const auto number = ReadNumbers(table.cells[*place], query, bounded.column);
    for (uint32_t row = 0; row < table.rows; ++row) {
      const std::optional<double> value = number(row);
      if (!value.has_value()) continue;
      found.Add(*value < bounded.low || *value > bounded.high, table.cells[*place].TextOf(row));
    }
  }
  if (found.count == 0) return std::nullopt;
  return fmt::format(
      "column \"{}\": {} {} outside of {}..{}, such as \"{}\"; each counts as the nearest bound: "
      "correct them, or agree on a range in `data.values`, as in \"height range=30..250\"",
      bounded.column, found.OfAll("value"), found.count == 1 ? "is" : "are", bounded.low,
      bounded.high, found.example);
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
      found.Add(*from_day > *to_day, table.cells[*first].TextOf(row));
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
    for (const BoundedColumn& bounded : plan.spec.columns) {
      if (!plan.is_moments() || !known.emplace(bounded.column, bounded.low, bounded.high).second) {
        continue;
      }
      add(OutsideBounds(query.spec(), bounded, tables));
    }
  }
  for (const DerivedColumn& derived : query.spec().derived) {
    add(InWrongOrder(query.spec(), derived, tables));
  }
  return warnings;
}

}  // namespace tacet::app::data
