#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/hazard_answers.h"
#include "tacet/statistics/likelihood_deviance.h"
#include "tacet/statistics/likelihood_doubt.h"
#include "tacet/statistics/likelihood_errors.h"
#include "tacet/statistics/likelihood_steps.h"

namespace tacet::statistics {
namespace {

using Vector = std::vector<double>;

// The least information in any direction, in deviations of its noise. Below, the coefficients are
// suppressed.
constexpr double kClearInformation = 1.5;
// The information of the intercept alone, which all others are measured against.
constexpr double kClearIntercept = 4;
constexpr double kAnyCount = std::numeric_limits<double>::infinity();

// Least eigenvalue of the information without what the baselines explain, each of which has some.
double LeastInformation(const Vector& information, size_t baselines, size_t size) {
  const size_t columns = size - baselines;
  Vector rest(columns * columns);
  for (size_t i = 0; i < columns; ++i) {
    for (size_t k = 0; k < columns; ++k) {
      double& value = rest[i * columns + k];
      value = information[(baselines + i) * size + baselines + k];
      for (size_t j = 0; j < baselines; ++j) {
        value -= information[j * size + baselines + i] * information[j * size + baselines + k] /
                 information[j * size + j];
      }
    }
  }
  return LeastEigenvalue(rest, columns);
}

// Weights of the coefficients in the units of the columns, the intercept first; baselines have
// none.
std::vector<Vector> ColumnWeights(const QuestionPlan& plan) {
  const size_t size = plan.design->columns() + 1;
  const Vector to_columns = plan.design->ToColumns();
  std::vector<Vector> all;
  for (size_t i = 0; i < size; ++i) {
    Vector weights(plan.baselines - 1);
    weights.insert(weights.end(), to_columns.begin() + i * size,
                   to_columns.begin() + (i + 1) * size);
    all.push_back(std::move(weights));
  }
  return all;
}

std::vector<std::string> MethodsOf(const QuestionPlan& plan) {
  if (plan.is_cox()) {
    return {
        fmt::format("proportional hazards of {}, constant in each interval of \"{}\"{}, by the "
                    "mean of {} Newton "
                    "steps on a release of gradient and information each; values cut to their "
                    "bounds; rows without a missing value, followed until their hazard adds up to "
                    "{:g}",
                    plan.spec.formula, plan.cells->column(), plan.spec.by_site ? " and site" : "",
                    plan.rounds(), kMostHazard),
        fmt::format(
            "errors by the delta method, widened by its second order; sampling errors from "
            "the information, their variance times {}; intervals allow for a further step of "
            "{} mean ones{}",
            kHazardSampling, kFurtherStep, AlikeRows(plan)),
        "survival: numbers that are not told in the middle of their bounds, before log(); "
        "categories at their first value"};
  }
  const std::string& exposure = plan.spec.exposure;
  const std::string curve =
      plan.is_rate()
          ? fmt::format("poisson family: logarithm of the rates{} of {}",
                        exposure.empty() ? "" : fmt::format(" per {}", exposure), plan.spec.formula)
          : fmt::format("binomial family: logistic curve of {}", plan.spec.formula);
  return {
      fmt::format("{}, by {} Newton steps on a release of gradient and information each; values "
                  "cut to their bounds{}; rows without a missing value",
                  curve, plan.rounds(),
                  plan.is_rate() ? ", and means to half of the response's" : ""),
      fmt::format("errors by the delta method, widened by its second order; sampling errors from "
                  "the {}; intervals allow for a further step of {} mean ones{}",
                  plan.is_rate() ? "squares of residuals (sandwich), as far as the noise shows them"
                                 : "information",
                  kFurtherStep, AlikeRows(plan))};
}

}  // namespace

std::string AlikeRows(const QuestionPlan& plan) {
  if (plan.rows_per_unit == 1) return "";
  return fmt::format(
      "; sampling variances are {:g} times those of single rows, since rows of one unit may "
      "be alike",
      plan.rows_per_unit);
}

Answer AnswerLikelihood(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const Design& design = *plan.design;
  LikelihoodSteps steps = StepsOf(plan, measured.releases);
  const LikelihoodRelease last(plan, measured.values);
  const size_t size = steps.coefficients.size();
  const double n = last.rows();
  const double n_error = measured.noise.stddev / plan.count;
  const bool enough = n > 0 && n >= measured.floor;
  const double noise = steps.pooled * measured.noise.stddev / plan.square;
  double clear = 0;
  double baseline = kAnyCount;  // the least information of one
  for (size_t j = 0; j < plan.baselines; ++j) {
    baseline = std::min(baseline, steps.information[j * size + j]);
  }
  if (enough && baseline > kClearIntercept * noise) {
    const double least = std::max(LeastInformation(steps.information, plan.baselines, size), 0.0);
    clear = noise > 0 ? least / noise : (least > 0 ? kAnyCount : 0);
  }
  std::optional<Cholesky> factor =
      clear >= kClearInformation ? Cholesky::Of(steps.information, size) : std::nullopt;
  if (factor.has_value()) CombineReleases(plan, measured.noise.stddev, *factor, steps);
  const std::string doubt = factor.has_value() ? DoubtAbout(measured, steps, *factor) : "";
  if (!doubt.empty()) factor.reset();
  Answer answer;
  answer.methods = MethodsOf(plan);
  const auto add = [&](const Estimate& labels, const LikelihoodCoefficient& of, bool shown,
                       std::optional<Range> range = std::nullopt) {
    answer.estimates.push_back(shown ? MakeEstimate(labels, of.value, of.noise_error,
                                                    of.standard_error, measured.confidence, range)
                                     : labels);
  };
  add({.quantity = "count"}, {n, n_error, n_error}, enough, Range{0, kAnyCount});
  std::vector<LikelihoodCoefficient> coefficients(design.columns() + 1);
  std::optional<LikelihoodErrors> errors;
  if (factor.has_value()) {
    errors.emplace(measured, steps, *factor, clear);
    std::vector<Vector> weights = ColumnWeights(plan);
    std::ranges::transform(weights, coefficients.begin(),
                           [&errors](const Vector& of) { return errors->Of(of); });
    if (plan.is_poisson()) coefficients[0].value += std::log(design.RateUnit());
    if (plan.is_cox()) weights.erase(weights.begin());
    answer.covariance = errors->CovarianceOf(weights);
  }
  for (size_t i = plan.is_cox() ? 1 : 0; i < coefficients.size(); ++i) {
    add({.quantity = i == 0 ? "intercept" : "coefficient",
         .group = i == 0 ? "" : design.labels()[i - 1]},
        coefficients[i], factor.has_value());
  }
  for (size_t i = 1; i < coefficients.size(); ++i) {
    const auto& [value, of_noise, error] = coefficients[i];
    const Estimate labels{.quantity = plan.is_cox()       ? "hazard ratio"
                                      : plan.is_poisson() ? "rate ratio"
                                                          : "odds ratio",
                          .group = design.labels()[i - 1]};
    const double ratio = std::exp(value);
    const double reach = NormalDeviate(measured.confidence) * error;
    answer.estimates.push_back(
        factor.has_value() ? MakeEstimate(labels, ratio, ratio * of_noise, ratio * error,
                                          Range{std::exp(value - reach), std::exp(value + reach)},
                                          Range{0, kAnyCount})
                           : labels);
  }
  const auto add_deviance = [&](std::string quantity, const NoisedDeviance& of, bool shown) {
    add({.quantity = std::move(quantity)}, {of.value, of.error, of.error}, shown,
        Range{0, kAnyCount});
  };
  if (plan.is_cox()) {
    const LikelihoodErrors* const known = errors.has_value() ? &*errors : nullptr;
    AddModelSurvival(measured, steps, known, answer);
    if (plan.spec.checks_hazards) AddHazardsCheck(measured, steps, known, answer);
  } else {
    add_deviance("deviance",
                 factor.has_value() ? DevianceOf(measured, steps, *factor, n) : NoisedDeviance{},
                 factor.has_value());
    const bool has_rows = clear > 0;
    add_deviance("null deviance", has_rows ? NullDeviance(measured, n) : NoisedDeviance{},
                 has_rows);
  }
  if (!doubt.empty()) {
    answer.methods.push_back(doubt);
  } else if (enough && plan.is_cox() && !(baseline > kClearIntercept * noise)) {
    answer.methods.push_back(fmt::format(
        "coefficients suppressed: the information of an interval is {:.2g} deviations of its "
        "noise, "
        "and {} are needed; ask with fewer intervals, a larger epsilon or share, or of more rows",
        baseline / noise, kClearIntercept));
  } else if (enough && !factor.has_value()) {
    answer.methods.push_back(fmt::format(
        "coefficients suppressed: in some direction the information is {:.2g} deviations of its "
        "noise, and {} are needed; ask with a larger epsilon or share, of more rows, with narrower "
        "bounds or log(), or with fewer columns",
        clear, kClearInformation));
  }
  return answer;
}

}  // namespace tacet::statistics
