// Public cells of a column: intervals of numbers, or categories.
#ifndef TACET_STATISTICS_COLUMN_CELLS_H_
#define TACET_STATISTICS_COLUMN_CELLS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/table/category_list.h"

namespace tacet::statistics {

inline constexpr size_t kMaxCells = 65536;

// Unchecked. Cells are constants of the query, never chosen from data. At most one of `edges` and
// `categories` is given; neither means all agreed values of the column.
struct ColumnCellsSpec {
  std::string column;
  // m + 1 increasing numbers for m cells [e_0, e_1), ..., [e_{m-1}, e_m]; the last holds both ends.
  std::vector<double> edges = {};
  bool has_dates = false;  // edges are days since 1970-01-01
  bool is_cut = false;     // values outside of the edges count as the nearest one
  // As in table::CategoryList; of a column with agreed values some of these.
  std::vector<std::string> categories = {};

  friend bool operator==(const ColumnCellsSpec&, const ColumnCellsSpec&) = default;
};

// low, low + (high - low) / cells, ..., high. `cells` >= 1.
std::vector<double> EqualEdges(double low, double high, size_t cells);
// 0, a sixth and a third of `high`, and `high`: most rows are followed early in a study.
std::vector<double> FollowUpEdges(double high);

class ColumnCells {
 public:
  // `agreed`: the values of the column on which the sites agree, or null. InvalidArgument names the
  // column and the wrong value.
  static absl::StatusOr<ColumnCells> Create(ColumnCellsSpec spec,
                                            const table::CategoryList* agreed = nullptr);

  const std::string& column() const { return spec_.column; }
  const std::vector<double>& edges() const { return spec_.edges; }
  bool is_ordered() const { return !spec_.edges.empty(); }
  bool has_dates() const { return spec_.has_dates; }
  size_t size() const { return is_ordered() ? spec_.edges.size() - 1 : names_.size(); }
  // For categories, the first spelling of each; empty where the cells are ordered.
  const std::vector<std::string>& names() const { return names_; }
  // The cell of a field that is not missing; absent when it is in none.
  std::optional<uint32_t> CellOf(std::string_view field) const;
  // The same for a field that is a finite number.
  std::optional<uint32_t> CellOf(double value) const;
  // The remedy for a field that is in no cell; "" where nothing is known (table::CategoryList).
  std::string RemedyFor(std::string_view field) const { return list_.RemedyFor(field); }
  // "[40, 50)", "[2024-01-01, 2025-01-01)", or the category.
  std::string Label(size_t cell) const;

 private:
  explicit ColumnCells(ColumnCellsSpec spec) : spec_(std::move(spec)) {}

  ColumnCellsSpec spec_;
  absl::Status FindNames(const table::CategoryList* agreed);

  std::vector<std::string> names_;
  table::CategoryList list_;                      // of all texts that a category may have
  std::vector<std::optional<uint32_t>> cell_of_;  // of each category of list_
};

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_COLUMN_CELLS_H_
