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

namespace tacet::statistics {

inline constexpr size_t kMaxCells = 65536;

// Unchecked. Cells are constants of the query, never chosen from data. Exactly one of `edges` and
// `categories` is given.
struct ColumnCellsSpec {
  std::string column;
  // m + 1 increasing numbers for m cells [e_0, e_1), ..., [e_{m-1}, e_m]; the last holds both ends.
  std::vector<double> edges = {};
  std::vector<std::string> categories = {};  // distinct; compared as RowCondition compares with =

  friend bool operator==(const ColumnCellsSpec&, const ColumnCellsSpec&) = default;
};

// low, low + (high - low) / cells, ..., high. `cells` >= 1.
std::vector<double> EqualEdges(double low, double high, size_t cells);

class ColumnCells {
 public:
  // InvalidArgument names the column and the wrong value.
  static absl::StatusOr<ColumnCells> Create(ColumnCellsSpec spec);

  const std::string& column() const { return spec_.column; }
  const std::vector<double>& edges() const { return spec_.edges; }
  bool is_ordered() const { return !spec_.edges.empty(); }
  size_t size() const { return is_ordered() ? spec_.edges.size() - 1 : spec_.categories.size(); }
  // The cell of a field that is not missing; absent when it is in none.
  std::optional<uint32_t> CellOf(std::string_view field) const;
  // The same for a field that is a finite number.
  std::optional<uint32_t> CellOf(double value) const;
  // "[40, 50)", or the category.
  std::string Label(size_t cell) const;

 private:
  explicit ColumnCells(ColumnCellsSpec spec);

  ColumnCellsSpec spec_;
  std::vector<std::pair<double, uint32_t>> numbers_;  // among the categories, sorted
};

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_COLUMN_CELLS_H_
