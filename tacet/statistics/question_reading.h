// Reading of a table's columns for one question: from a row to its place in the question's vector.
#ifndef TACET_STATISTICS_QUESTION_READING_H_
#define TACET_STATISTICS_QUESTION_READING_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/statistics/query.h"
#include "tacet/statistics/site_table.h"

namespace tacet::statistics {

// The reading of one column's cells by one use. Each distinct text is looked at once.
template <typename T>
class CellReading {
 public:
  using OfText = std::function<std::optional<T>(std::string_view)>;
  using OfNumber = std::function<std::optional<T>(double)>;

  // For cells that are not missing. `of_number` gets numbers that IsOrdinary; infinite ones are
  // texts.
  CellReading(const table::Column& column, const QuerySpec& query, const OfText& of_text,
              OfNumber of_number)
      : column_(column), of_number_(std::move(of_number)) {
    const auto read = [&](std::string_view text) {
      return query.IsMissing(text) ? std::optional<T>() : of_text(text);
    };
    if (column.is_numbers()) {
      of_infinity_ = {read("-inf"), read("inf")};
      return;
    }
    of_code_.resize(column.distinct());
    for (uint32_t code = 0; code < of_code_.size(); ++code)
      of_code_[code] = read(column.text(code));
  }

  // None: the cell is missing, or none that this use knows.
  std::optional<T> operator()(uint32_t row) const {
    if (!column_.is_numbers()) return of_code_[column_.code(row)];
    const double number = column_.number(row);
    if (IsOrdinary(number)) return of_number_(number);
    return std::isinf(number) ? of_infinity_[number > 0 ? 1 : 0] : std::nullopt;
  }

 private:
  table::Column column_;
  std::vector<std::optional<T>> of_code_;
  std::array<std::optional<T>, 2> of_infinity_ = {};
  OfNumber of_number_;
};

// The meaning of a row to a question.
enum class RowUse {
  kOther,    // a condition excludes it
  kCounts,   // in one of its columns at least
  kLeftOut,  // a field that decides cannot be read
};

class QuestionReading {
 public:
  // `place`: of the question in the query, which must outlive the reading. The table has the
  // columns of the question.
  QuestionReading(const Query& query, size_t place, const SiteTable& table);

  size_t place() const { return place_; }
  RowUse UseOf(uint32_t row) const;
  // Adds the row's part, scaled by `weight`, to the histogram of a question that has one, or to the
  // moments; of a model with several releases at its coefficients. `plan` is the
  // question's; `part` has plan.size values, of a histogram the last for rows that are left out.
  void AddRow(const QuestionPlan& plan, std::span<const double> coefficients, uint32_t row,
              double weight, std::span<double> part) const;

 private:
  // End of a row's follow-up.
  struct End {
    double time = 0;
    bool event = false;
  };

  // Whether the conditions hold. One that fails decides; else none where a field cannot be read.
  std::optional<bool> IsAsked(uint32_t row) const;
  // 0 where the question has no groups; none where the field is in none of them.
  std::optional<uint32_t> GroupOf(uint32_t row) const;
  // For a model; none where a field cannot be read.
  std::optional<std::vector<double>> FactorsOf(uint32_t row) const;
  std::optional<uint32_t> CellOfRisk(uint32_t row) const;
  // In the histogram; none where a field cannot be read.
  std::optional<uint32_t> PlaceOf(uint32_t row) const;
  // None where a field cannot be read, or the time is below 0.
  std::optional<End> EndOf(uint32_t row) const;
  // False where a field cannot be read: then nothing is added.
  bool AddRegressionRow(const QuestionPlan& plan, uint32_t row, double weight,
                        std::span<double> part) const;

  // The same of a model.
  bool AddDesignRow(const QuestionPlan& plan, std::span<const double> coefficients, uint32_t row,
                    double weight, std::span<double> part) const;

  size_t place_ = 0;
  const QuestionPlan* plan_;   // of the query
  size_t strategy_cells_ = 0;  // of a histogram's segment; 0 for moments
  std::vector<CellReading<bool>> where_;
  std::vector<CellReading<uint32_t>> cells_;   // crosstab: the rows, then the columns
  std::vector<CellReading<uint32_t>> groups_;  // at most one
  std::vector<CellReading<double>> times_;     // survival, cox: one
  double horizon_ = 0;                         // of survival, where its last interval ends
  size_t stratum_ = 0;                     // cox by site: the place of the table among the sites
  std::vector<CellReading<bool>> is_yes_;  // event or label: at most one
  size_t last_cells_ = 0;                  // of the last of cells_
  // t of moments, x / largest of a sum, of each column. Of a model, or of an evaluation of one's
  // risks: of each factor (Design::Fill).
  std::vector<CellReading<double>> values_;
};

// Numbers of column `name`, a derived one not among them.
CellReading<double> ReadNumbers(const table::Column& column, const QuerySpec& query,
                                const std::string& name);
// The table with the derived columns of the query. InvalidArgument where it has a column with the
// name of one, NotFound where it lacks a column that one follows from.
absl::StatusOr<SiteTable> WithDerivedColumns(const QuerySpec& query, SiteTable table);
// `cells` must outlive the reading.
CellReading<uint32_t> ReadCells(const table::Column& column, const QuerySpec& query,
                                const ColumnCells& cells);
// None for a text that is neither an agreed value of the column nor, without such values, a number.
CellReading<bool> ReadCondition(const table::Column& column, const QuerySpec& query,
                                const RowCondition& condition);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_QUESTION_READING_H_
