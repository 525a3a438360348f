#include "tacet/statistics/design.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/statistics/query.h"
#include "tacet/statistics/row_condition.h"
#include "tacet/table/agreed_values.h"

namespace tacet::statistics {
namespace {

// Corners of a regular simplex, row by row: k points of R^(k-1).
std::vector<double> SimplexCorners(size_t k) {
  const size_t width = k - 1;
  const double apart = -1 / static_cast<double>(width);
  std::vector<double> corners(k * width);
  for (size_t j = 0; j < width; ++j) {
    double rest = 1;
    for (size_t i = 0; i < j; ++i) rest -= corners[j * width + i] * corners[j * width + i];
    const double own = corners[j * width + j] = std::sqrt(rest);
    for (size_t other = j + 1; other < k; ++other) {
      double product = apart;
      for (size_t i = 0; i < j; ++i) product -= corners[j * width + i] * corners[other * width + i];
      corners[other * width + j] = product / own;
    }
  }
  return corners;
}

// Places of the factors' values in one product, of which `place` counts the last factor's fastest.
std::vector<size_t> Digits(size_t place, const std::vector<size_t>& widths) {
  std::vector<size_t> digits(widths.size());
  for (size_t i = widths.size(); i-- > 0;) {
    digits[i] = place % widths[i];
    place /= widths[i];
  }
  return digits;
}

}  // namespace

double DesignFactor::Scaled(double number) const {
  const double cut = std::clamp(number, low, high);
  return std::clamp(((factor.is_log ? std::log(cut) : cut) - middle()) / half(), -1.0, 1.0);
}

double DesignFactor::middle() const {
  return factor.is_log ? (std::log(low) + std::log(high)) / 2 : (low + high) / 2;
}

double DesignFactor::half() const {
  return factor.is_log ? (std::log(high) - std::log(low)) / 2 : (high - low) / 2;
}

absl::StatusOr<Design> Design::Create(const QuestionSpec& question, const QuerySpec& query) {
  Design design;
  design.has_response_ = question.kind == QuestionKind::kGlm;
  TACET_ASSIGN_OR_RETURN(const Formula formula,
                         ParseFormula(question.formula, design.has_response_));
  const auto place_of = [&design](const FormulaFactor& factor) -> std::optional<size_t> {
    const auto found = std::ranges::find(design.factors_, factor, &DesignFactor::factor);
    if (found == design.factors_.end()) return std::nullopt;
    return found - design.factors_.begin();
  };
  for (const FormulaTerm& factors : formula.terms) {
    Term term;
    for (const FormulaFactor& factor : factors) {
      if (!place_of(factor).has_value()) {
        TACET_RETURN_IF_ERROR(design.AddFactor(factor, question, query));
      }
      term.push_back(*place_of(factor));
    }
    const size_t width = design.WidthOf(term);
    if (width > kMaxColumns || design.columns() + width > kMaxColumns) {
      return base::InvalidArgument(
          "formula \"{}\": more than {} coefficients besides the intercept; a category of k values "
          "has k - 1: use fewer terms, or fewer values",
          question.formula, kMaxColumns);
    }
    design.AddLabels(term);
    design.terms_.push_back(std::move(term));
  }
  if (!question.exposure.empty()) {
    TACET_RETURN_IF_ERROR(design.AddExposure(question, query));
  }
  if (design.has_response_) {
    TACET_RETURN_IF_ERROR(design.AddFactor(formula.response, question, query));
    TACET_RETURN_IF_ERROR(design.CheckResponse(question));
  }
  for (const TableVariable& variable : question.variables) {
    const auto uses = [&variable](const DesignFactor& factor) {
      return factor.factor.column == variable.column;
    };
    if (std::ranges::any_of(design.factors_, uses)) continue;
    return base::InvalidArgument("`columns` has \"{}\", which the formula \"{}\" does not use",
                                 variable.column, question.formula);
  }
  return design;
}

absl::Status Design::CheckResponse(const QuestionSpec& question) const {
  const DesignFactor& y = response();
  const auto wrong = [&](std::string_view what) {
    return base::InvalidArgument("formula \"{}\": the response \"{}\" {}", question.formula,
                                 y.factor.Text(), what);
  };
  if (question.family == GlmFamily::kBinomial) {
    const bool is_share = y.is_number() && y.low == 0 && y.high == 1 && !y.factor.is_log;
    if (is_share || y.values.size() == 2) return absl::OkStatus();
    return wrong(
        "of family binomial is neither a column of two agreed values, of which the second is the "
        "event, nor one of numbers with the bounds 0..1");
  }
  if (!y.is_number()) return wrong("has agreed values, expected a column of numbers with bounds");
  if (question.family == GlmFamily::kPoisson && (y.low != 0 || y.factor.is_log)) {
    return wrong("of family poisson is no count: expected a column of numbers with bounds from 0");
  }
  return absl::OkStatus();
}

absl::Status Design::AddExposure(const QuestionSpec& question, const QuerySpec& query) {
  const FormulaFactor factor{.column = question.exposure};
  if (question.family != GlmFamily::kPoisson) {
    return base::InvalidArgument("`exposure` is of family poisson alone");
  }
  TACET_ASSIGN_OR_RETURN(const Formula formula, ParseFormula(question.formula));
  if (formula.response.column == question.exposure) {
    return base::InvalidArgument("column \"{}\" is the response and the exposure, too",
                                 question.exposure);
  }
  const auto found = std::ranges::find(factors_, factor, &DesignFactor::factor);
  exposure_ = found - factors_.begin();
  if (found == factors_.end()) {
    TACET_RETURN_IF_ERROR(AddFactor(factor, question, query));
  }
  const DesignFactor& made = factors_[*exposure_];
  if (made.is_number() && made.low > 0 && std::isfinite(made.high / made.low)) {
    return absl::OkStatus();
  }
  return base::InvalidArgument(
      "`exposure` is \"{0}\": expected a column of numbers with bounds above 0 in `columns`, as in "
      "\"{0} 0.1..10\"",
      question.exposure);
}

absl::Status Design::AddFactor(const FormulaFactor& factor, const QuestionSpec& question,
                               const QuerySpec& query) {
  const std::string& column = factor.column;
  const auto is_column = [&column](const TableVariable& variable) {
    return variable.column == column;
  };
  const auto count = std::ranges::count_if(question.variables, is_column);
  if (count != 1) {
    return base::InvalidArgument(
        "the formula uses \"{0}\", and `columns` has it {1}: write a column of numbers with its "
        "bounds, as in \"{0} 0..100\", and one with agreed values by its name",
        column, count == 0 ? "not" : "twice");
  }
  DesignFactor made{.factor = factor};
  const auto& bounds = std::ranges::find_if(question.variables, is_column)->bounds;
  const table::CategoryList* values = query.ValuesOf(column);
  corners_.emplace_back();
  if (bounds.has_value()) {
    made.low = bounds->low;
    made.high = bounds->high;
    if (!std::isfinite(made.high - made.low) || !(made.low < made.high)) {
      return base::InvalidArgument(
          "column \"{}\" has the bounds {} and {}, expected finite numbers, the lower first",
          column, made.low, made.high);
    }
    if (factor.is_log && !(made.low > 0)) {
      return base::InvalidArgument(
          "the formula uses {}, and column \"{}\" begins at {}: expected a bound above 0",
          factor.Text(), column, made.low);
    }
    if (!(made.half() > 0)) {
      return base::InvalidArgument("column \"{}\": the bounds {} and {} are too near", column,
                                   made.low, made.high);
    }
  } else {
    if (values == nullptr || factor.is_log) {
      return base::InvalidArgument(
          "`columns` has \"{0}\": write the bounds of a column of numbers, as in \"{0} 0..100\", "
          "or list the values of one of texts in `data.values`",
          column);
    }
    if (values->size() < 2) {
      return base::InvalidArgument("column \"{}\" has one agreed value, expected two or more",
                                   column);
    }
    made.values = *values;
    // A wider one is refused as a term.
    if (made.width() <= kMaxColumns) corners_.back() = SimplexCorners(values->size());
  }
  factors_.push_back(std::move(made));
  return absl::OkStatus();
}

size_t Design::WidthOf(const Term& term) const {
  size_t width = 1;
  for (const size_t factor : term) width *= factors_[factor].width();
  return width;
}

void Design::AddLabels(const Term& term) {
  std::vector<size_t> widths;
  for (const size_t factor : term) widths.push_back(factors_[factor].width());
  for (size_t place = 0; place < WidthOf(term); ++place) {
    const std::vector<size_t> digits = Digits(place, widths);
    std::string label;
    for (size_t i = 0; i < term.size(); ++i) {
      const DesignFactor& factor = factors_[term[i]];
      if (i > 0) label += ":";
      label += factor.factor.Text();
      if (!factor.is_number()) label += fmt::format(" = {}", factor.values.name(digits[i] + 1));
    }
    labels_.push_back(std::move(label));
  }
}

template <typename Value>
void Design::FillTerms(const Value& value, std::span<double> values) const {
  size_t first = 0;
  for (const Term& term : terms_) {
    size_t width = 1;
    values[first] = 1;
    // Beginning with the first factor, each value becomes as many as the factor has.
    for (const size_t factor : term) {
      const size_t own = factors_[factor].width();
      for (size_t place = width * own; place-- > 0;) {
        values[first + place] = values[first + place / own] * value(factor, place % own);
      }
      width *= own;
    }
    first += width;
  }
}

void Design::Fill(std::span<const double> of_factors, std::span<double> values) const {
  FillTerms(
      [&](size_t factor, size_t own) {
        if (factors_[factor].is_number()) return of_factors[factor];
        const auto category = static_cast<size_t>(of_factors[factor]);
        return corners_[factor][category * factors_[factor].width() + own];
      },
      values);
  if (!has_response_) return;
  values[columns()] = response().is_number() ? of_factors.back() : 2 * of_factors.back() - 1;
}

void Design::FillColumns(std::span<const double> of_factors, std::span<double> values) const {
  FillTerms(
      [&](size_t factor, size_t own) {
        const DesignFactor& of = factors_[factor];
        if (of.is_number()) return of.middle() + of.half() * of_factors[factor];
        return of_factors[factor] == static_cast<double>(own + 1) ? 1.0 : 0.0;
      },
      values);
}

std::vector<double> Design::MiddleRow() const {
  std::vector<double> of_factors;
  for (const DesignFactor& factor : factors_) {
    of_factors.push_back(factor.is_number() ? factor.Scaled((factor.low + factor.high) / 2) : 0);
  }
  return of_factors;
}

absl::StatusOr<std::vector<double>> Design::RowOf(std::string_view told,
                                                  const QuerySpec& query) const {
  const auto wrong = [&told](std::string_view what) {
    return base::InvalidArgument("profile \"{}\": {}", told, what);
  };
  const auto parts = table::SplitOutsideQuotes(told, ',');
  if (!parts.has_value()) return wrong("a quote is not closed");
  std::vector<double> of_factors = MiddleRow();
  std::set<std::string> named;
  for (const std::string_view part : *parts) {
    TACET_ASSIGN_OR_RETURN(const RowCondition given, ParseRowCondition(part));
    const std::string column = table::Unquoted(given.column), value = table::Unquoted(given.value);
    if (given.comparison != Comparison::kEqual) {
      return wrong(fmt::format("expected COLUMN = VALUE in place of \"{}\"", part));
    }
    if (!named.insert(column).second) return wrong(fmt::format("\"{}\" comes twice", column));
    bool is_used = false;
    for (size_t i = 0; i < factors_.size(); ++i) {
      const DesignFactor& factor = factors_[i];
      if (factor.factor.column != column) continue;
      is_used = true;
      if (factor.is_number()) {
        const std::optional<double> number = query.NumberIn(column, value);
        if (!number.has_value() || *number < factor.low || *number > factor.high) {
          return wrong(fmt::format("\"{}\" is no number from {:g} to {:g}, the bounds of \"{}\"",
                                   value, factor.low, factor.high, column));
        }
        of_factors[i] = factor.Scaled(*number);
      } else {
        const std::optional<size_t> place = factor.values.Find(value, table::DecimalMark::kPoint);
        if (!place.has_value()) {
          return wrong(fmt::format("\"{}\" is none of the agreed values of \"{}\"", value, column));
        }
        of_factors[i] = static_cast<double>(*place);
      }
    }
    if (!is_used) return wrong(fmt::format("the formula does not use \"{}\"", column));
  }
  return of_factors;
}

double Design::ExposureOf(std::span<const double> of_factors) const {
  if (!exposure_.has_value()) return 1;
  const DesignFactor& exposure = factors_[*exposure_];
  const double value = exposure.middle() + exposure.half() * of_factors[*exposure_];
  return std::clamp(value, exposure.low, exposure.high) / exposure.high;
}

double Design::least_log_exposure() const {
  if (!exposure_.has_value()) return 0;
  return std::log(factors_[*exposure_].low / factors_[*exposure_].high);
}

double Design::RateUnit() const {
  return response().high / (exposure_.has_value() ? factors_[*exposure_].high : 1);
}

double Design::Shift(size_t factor, size_t column) const {
  if (factors_[factor].is_number()) return -factors_[factor].middle() / factors_[factor].half();
  return corners_[factor][column];  // of the first category
}

double Design::Scale(size_t factor, size_t column, size_t own) const {
  if (factors_[factor].is_number()) return 1 / factors_[factor].half();
  const size_t width = factors_[factor].width();
  return corners_[factor][(own + 1) * width + column] - corners_[factor][column];
}

std::vector<double> Design::ToColumns() const {
  const size_t size = columns() + 1;
  std::vector<double> matrix(size * size);
  matrix[0] = 1;
  const auto widths_of = [this](const Term& term) {
    std::vector<size_t> widths;
    for (const size_t factor : term) widths.push_back(factors_[factor].width());
    return widths;
  };
  // A product of shift + scale x over the factors of a term is a sum over its parts: the factors of
  // the part give scale x, the others their shift.
  size_t from = 1;
  for (const Term& term : terms_) {
    const std::vector<size_t> widths = widths_of(term);
    const auto add = [&](const Term& part, size_t to) {
      for (size_t column = 0; column < WidthOf(term); ++column) {
        const std::vector<size_t> digits = Digits(column, widths);
        for (size_t own = 0; own < WidthOf(part); ++own) {
          const std::vector<size_t> of_part = Digits(own, widths_of(part));
          double product = 1;
          for (size_t i = 0; i < term.size(); ++i) {
            const auto found = std::ranges::find(part, term[i]);
            product *= found == part.end()
                           ? Shift(term[i], digits[i])
                           : Scale(term[i], digits[i], of_part[found - part.begin()]);
          }
          matrix[(to + own) * size + from + column] += product;
        }
      }
    };
    add({}, 0);
    size_t to = 1;
    for (const Term& part : terms_) {
      const auto is_in_term = [&term](size_t factor) {
        return std::ranges::find(term, factor) != term.end();
      };
      if (std::ranges::all_of(part, is_in_term)) add(part, to);
      to += WidthOf(part);
    }
    from += WidthOf(term);
  }
  return matrix;
}

}  // namespace tacet::statistics
