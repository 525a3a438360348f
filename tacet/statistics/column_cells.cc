#include "tacet/statistics/column_cells.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/statistics/site_table.h"
#include "tacet/table/calendar_day.h"

namespace tacet::statistics {

std::vector<double> EqualEdges(double low, double high, size_t cells) {
  std::vector<double> edges(cells + 1);
  for (size_t i = 0; i <= cells; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(cells);
    edges[i] = i == cells ? high : low + (high - low) * share;
  }
  return edges;
}

std::vector<double> FollowUpEdges(double high) { return {0, high / 6, high / 3, high}; }

absl::StatusOr<ColumnCells> ColumnCells::Create(ColumnCellsSpec spec,
                                                const table::CategoryList* agreed) {
  if (spec.column.empty()) return base::InvalidArgument("the name of the column is missing");
  if (agreed != nullptr && !spec.edges.empty()) {
    return base::InvalidArgument(
        "column \"{}\" has edges, and its agreed values in `data.values` are {}: remove one of "
        "them",
        spec.column, agreed->Listed());
  }
  const bool has_list = agreed != nullptr || !spec.categories.empty();
  if (spec.edges.empty() != has_list) {
    return base::InvalidArgument(
        "column \"{}\": give its edges (or low, high and bins) or its categories, one of them",
        spec.column);
  }
  if (spec.edges.size() > kMaxCells) {
    return base::InvalidArgument("column \"{}\" has {} cells, expected at most {}", spec.column,
                                 spec.edges.size(), kMaxCells);
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
  ColumnCells cells(std::move(spec));
  TACET_RETURN_IF_ERROR(
      base::Annotate(cells.FindNames(agreed), fmt::format("column \"{}\"", cells.column())));
  return cells;
}

absl::Status ColumnCells::FindNames(const table::CategoryList* agreed) {
  if (is_ordered()) return absl::OkStatus();
  if (agreed == nullptr) {
    TACET_ASSIGN_OR_RETURN(list_, table::CategoryList::Create(spec_.categories));
  } else {
    list_ = *agreed;
  }
  cell_of_.resize(list_.size());
  const auto add = [this](size_t category) {
    cell_of_[category] = static_cast<uint32_t>(names_.size());
    names_.emplace_back(list_.name(category));
  };
  if (agreed == nullptr || spec_.categories.empty()) {
    for (size_t category = 0; category < list_.size(); ++category) add(category);
    return absl::OkStatus();
  }
  for (const std::string& text : spec_.categories) {
    const std::optional<size_t> category = list_.Find(text, table::DecimalMark::kPoint);
    if (!category.has_value()) {
      return base::InvalidArgument("category {}: see `data.values`", list_.NotAmong(text).what);
    }
    if (cell_of_[*category].has_value()) {
      return base::InvalidArgument("category \"{}\" is there twice", text);
    }
    add(*category);
  }
  return absl::OkStatus();
}

std::optional<uint32_t> ColumnCells::CellOf(std::string_view field) const {
  if (is_ordered()) {
    const std::optional<double> value = NumberOf(field);
    return value.has_value() ? CellOf(*value) : std::nullopt;
  }
  const std::optional<size_t> category = list_.Find(field, table::DecimalMark::kPoint);
  return category.has_value() ? cell_of_[*category] : std::nullopt;
}

std::optional<uint32_t> ColumnCells::CellOf(double value) const {
  if (!is_ordered()) {
    const std::optional<size_t> category = list_.Find(value);
    return category.has_value() ? cell_of_[*category] : std::nullopt;
  }
  if (spec_.is_cut) value = std::clamp(value, spec_.edges.front(), spec_.edges.back());
  if (!(value >= spec_.edges.front() && value <= spec_.edges.back())) return std::nullopt;
  const auto above = std::ranges::upper_bound(spec_.edges, value);
  const auto cell = static_cast<size_t>(above - spec_.edges.begin()) - 1;
  return static_cast<uint32_t>(std::min(cell, size() - 1));
}

std::string ColumnCells::Label(size_t cell) const {
  if (!is_ordered()) return names_[cell];
  const auto edge = [this](size_t place) {
    return spec_.has_dates ? table::DayText(table::DayOf(spec_.edges[place]))
                           : fmt::format("{:g}", spec_.edges[place]);
  };
  return fmt::format("[{}, {}{}", edge(cell), edge(cell + 1), cell + 1 == size() ? ']' : ')');
}

}  // namespace tacet::statistics
