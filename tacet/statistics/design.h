// Design of a regression model: from a row's fields to bounded values, and back to coefficients of
// the columns.
#ifndef TACET_STATISTICS_DESIGN_H_
#define TACET_STATISTICS_DESIGN_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/statistics/formula.h"
#include "tacet/table/category_list.h"

namespace tacet::statistics {

struct QuerySpec;
struct QuestionSpec;

// A column as the model uses it: a number with public bounds, or a category.
//   number    t = (2 x - low - high) / (high - low) in [-1, 1], of x or its logarithm, cut to the
//             bounds
//   category  of k agreed values: one of k points of R^(k-1) with norm 1 and inner products
//             -1 / (k-1), the corners of a regular simplex; for two values -1 and 1
struct DesignFactor {
  FormulaFactor factor;
  double low = 0;  // of the column itself
  double high = 0;
  table::CategoryList values = {};  // empty: a number

  bool is_number() const { return values.empty(); }
  size_t width() const { return is_number() ? 1 : values.size() - 1; }
  // t of a number.
  double Scaled(double number) const;
  double middle() const;  // of x or its logarithm
  double half() const;
};

// Design columns, one after the other: the terms of the formula in turn, each with the products of
// its factors' values, the last factor's fastest. The vector of a term has a norm of at most 1, so
// that of the design has at most sqrt(terms).
class Design {
 public:
  static constexpr size_t kMaxColumns = 16;

  // InvalidArgument names the formula, the column and what to change: a column without bounds or
  // agreed values, one that the formula does not use, a logarithm of numbers that are not above 0.
  static absl::StatusOr<Design> Create(const QuestionSpec& question, const QuerySpec& query);

  // Distinct ones, the exposure's among them; the response is the last, where there is one.
  const std::vector<DesignFactor>& factors() const { return factors_; }
  const DesignFactor& response() const { return factors_.back(); }
  bool has_response() const { return has_response_; }
  size_t terms() const { return terms_.size(); }
  // Without the intercept.
  size_t columns() const { return labels_.size(); }
  // "age", "sex = F", "age:sex = F"; those of the coefficients behind the intercept.
  const std::vector<std::string>& labels() const { return labels_; }
  // The design columns, then a response in [-1, 1], of two values -1 and 1. `of_factors`: t of a
  // number, the place of a category, of each factor.
  void Fill(std::span<const double> of_factors, std::span<double> values) const;
  // The same terms in the units of the columns: x or its logarithm, indicators of each category but
  // the first, products of these.
  void FillColumns(std::span<const double> of_factors, std::span<double> values) const;
  // `of_factors` of a row whose columns of numbers are in the middle of their bounds, so that all
  // functions of a column are those of one number, and whose categories are the first ones.
  std::vector<double> MiddleRow() const;
  // The same of a row that is told, "age = 50, sex = f"; the rest is that of MiddleRow.
  // InvalidArgument quotes the text: a column that the formula does not use, a number beyond its
  // bounds, no agreed value.
  absl::StatusOr<std::vector<double>> RowOf(std::string_view told, const QuerySpec& query) const;
  // In (0, 1]: part of its upper bound; 1 without an exposure.
  double ExposureOf(std::span<const double> of_factors) const;
  // Logarithm of the least of them, 0 or less.
  double least_log_exposure() const;
  // For a rate: upper bound of the response over that of the exposure.
  double RateUnit() const;
  // Matrix U, row by row, of which column and row 0 are the intercept's: U gamma are the
  // coefficients of the columns themselves, of indicators of each category but the first, and of
  // products of these, where gamma are those of the design columns.
  std::vector<double> ToColumns() const;

 private:
  // Places in factors_.
  using Term = std::vector<size_t>;

  absl::Status AddFactor(const FormulaFactor& factor, const QuestionSpec& question,
                         const QuerySpec& query);
  // Whether the response is one of the family's.
  absl::Status CheckResponse(const QuestionSpec& question) const;
  absl::Status AddExposure(const QuestionSpec& question, const QuerySpec& query);
  void AddLabels(const Term& term);
  size_t WidthOf(const Term& term) const;
  // Products of value(factor, place among its own) of each term.
  template <typename Value>
  void FillTerms(const Value& value, std::span<double> values) const;
  // Value `column` of the design's part of a factor, as shift + sum of scale times the factor's own
  // values: of x, or of indicators.
  double Shift(size_t factor, size_t column) const;
  double Scale(size_t factor, size_t column, size_t own) const;

  std::vector<DesignFactor> factors_;
  std::optional<size_t> exposure_;  // in factors_
  bool has_response_ = true;
  std::vector<std::vector<double>> corners_;  // of each factor with categories: k (k-1) values
  std::vector<Term> terms_;
  std::vector<std::string> labels_;
};

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_DESIGN_H_
