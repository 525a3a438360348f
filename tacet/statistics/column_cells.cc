#include "tacet/statistics/column_cells.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/statistics/row_condition.h"
#include "tacet/statistics/site_table.h"

namespace tacet::statistics {

std::vector<double> EqualEdges(double low, double high, size_t cells) {
  std::vector<double> edges(cells + 1);
  for (size_t i = 0; i <= cells; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(cells);
    edges[i] = i == cells ? high : low + (high - low) * share;
  }
  return edges;
}

absl::StatusOr<ColumnCells> ColumnCells::Create(ColumnCellsSpec spec) {
  if (spec.column.empty()) return base::InvalidArgument("the name of the column is missing");
  if (spec.edges.empty() == spec.categories.empty()) {
    return base::InvalidArgument(
        "column \"{}\": give its edges (or low, high and bins) or its categories, one of them",
        spec.column);
  }
  if (std::max(spec.edges.size(), spec.categories.size()) > kMaxCells) {
    return base::InvalidArgument("column \"{}\" has {} cells, expected at most {}", spec.column,
                                 std::max(spec.edges.size(), spec.categories.size()), kMaxCells);
  }
  if (spec.edges.size() == 1) {
    return base::InvalidArgument("column \"{}\": one edge, expected two or more", spec.column);
  }
  for (size_t i = 0; i < spec.edges.size(); ++i) {
    if (!std::isfinite(spec.edges[i]) || (i > 0 && !(spec.edges[i] > spec.edges[i - 1]))) {
      return base::InvalidArgument(
          "column \"{}\": edge {} follows {}, expected finite numbers that increase", spec.column,
          spec.edges[i], i > 0 ? spec.edges[i - 1] : 0.0);
    }
  }
  std::set<std::string> seen;
  for (const std::string& category : spec.categories) {
    if (category.empty() || !seen.insert(category).second) {
      return base::InvalidArgument(
          "column \"{}\": category \"{}\" is {}", spec.column, category,
          category.empty() ? "empty: an empty field counts as missing" : "there twice");
    }
  }
  return ColumnCells(std::move(spec));
}

std::optional<uint32_t> ColumnCells::CellOf(std::string_view field) const {
  if (is_ordered()) {
    const std::optional<double> value = NumberOf(field);
    return value.has_value() ? CellOfNumber(*value) : std::nullopt;
  }
  RowCondition equal{.column = spec_.column};
  for (size_t i = 0; i < spec_.categories.size(); ++i) {
    equal.value = spec_.categories[i];
    if (equal.Holds(field)) return static_cast<uint32_t>(i);
  }
  return std::nullopt;
}

std::optional<uint32_t> ColumnCells::CellOfNumber(double value) const {
  if (!(value >= spec_.edges.front() && value <= spec_.edges.back())) return std::nullopt;
  const auto above = std::ranges::upper_bound(spec_.edges, value);
  const auto cell = static_cast<size_t>(above - spec_.edges.begin()) - 1;
  return static_cast<uint32_t>(std::min(cell, size() - 1));
}

std::string ColumnCells::Label(size_t cell) const {
  if (!is_ordered()) return spec_.categories[cell];
  return fmt::format("[{:g}, {:g}{}", spec_.edges[cell], spec_.edges[cell + 1],
                     cell + 1 == size() ? ']' : ')');
}

}  // namespace tacet::statistics
