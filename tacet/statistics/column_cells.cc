#include "tacet/statistics/column_cells.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "tacet/base/status.h"
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

ColumnCells::ColumnCells(ColumnCellsSpec spec) : spec_(std::move(spec)) {
  for (size_t i = 0; i < spec_.categories.size(); ++i) {
    const std::optional<double> number = NumberOf(spec_.categories[i]);
    if (number.has_value()) numbers_.emplace_back(*number, static_cast<uint32_t>(i));
  }
  std::ranges::sort(numbers_);
}

std::optional<uint32_t> ColumnCells::CellOf(std::string_view field) const {
  const std::optional<double> value = NumberOf(field);
  if (value.has_value()) return CellOf(*value);
  const auto category = std::ranges::find(spec_.categories, field);
  if (category == spec_.categories.end()) return std::nullopt;
  return static_cast<uint32_t>(category - spec_.categories.begin());
}

std::optional<uint32_t> ColumnCells::CellOf(double value) const {
  if (!is_ordered()) {
    // The first of the categories that are this number: "1" and "1.0" may both be there.
    const auto category = std::ranges::lower_bound(numbers_, std::pair<double, uint32_t>(value, 0));
    if (category == numbers_.end() || category->first != value) return std::nullopt;
    return category->second;
  }
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
