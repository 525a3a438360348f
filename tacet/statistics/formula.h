// Formula of a regression model, as R writes it: "bmi ~ age * sex + log(crp)".
#ifndef TACET_STATISTICS_FORMULA_H_
#define TACET_STATISTICS_FORMULA_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "fmt/format.h"

namespace tacet::statistics {

// A column, or its natural logarithm.
struct FormulaFactor {
  std::string column;
  bool is_log = false;

  // "age", "log(crp)"
  std::string Text() const { return is_log ? fmt::format("log({})", column) : column; }
  friend bool operator==(const FormulaFactor&, const FormulaFactor&) = default;
};

// Product of distinct factors, in the order of the formula.
using FormulaTerm = std::vector<FormulaFactor>;

struct Formula {
  FormulaFactor response;
  // Distinct as sets of factors. Main effects come first, then products of two, then of three.
  std::vector<FormulaTerm> terms;
};

inline constexpr size_t kMaxFormulaFactors = 3;  // of a term
inline constexpr size_t kMaxFormulaTerms = 32;

// RESPONSE ~ TERM + TERM ..., or without a response TERM + TERM ..., where a term is a factor,
// `a:b` a product, and `a * b` stands for a + b + a:b. A factor is a column or log(column). A
// column with other characters than letters, digits, `_` and `.` is written between backticks.
// Every model has an intercept.
//
// InvalidArgument quotes the formula and says what is wrong: also where a product lacks one of the
// terms that it contains, or the response is among the factors.
absl::StatusOr<Formula> ParseFormula(std::string_view text, bool has_response = true);

// Whether both have the same factors.
bool IsSameTerm(const FormulaTerm& a, const FormulaTerm& b);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_FORMULA_H_
