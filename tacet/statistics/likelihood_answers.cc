#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/likelihood_deviance.h"
#include "tacet/statistics/likelihood_doubt.h"
#include "tacet/statistics/likelihood_steps.h"
#include "tacet/statistics/robust_variance.h"

namespace tacet::statistics {
namespace {

using Vector = std::vector<double>;

// The least information in any direction, in deviations of its noise. Below, the coefficients are
// suppressed.
constexpr double kClearInformation = 2.5;
// The information of the intercept alone, which all others are measured against.
constexpr double kClearIntercept = 4;
// Further steps may add this many last steps: the intervals allow for it.
constexpr double kFurtherStep = 0.35;
// Sampling variances of hazards: in tables of patients those of a sandwich are up to this much
// larger than the information's, as hazards are not quite proportional.
constexpr double kHazardSampling = 1.2;
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

struct LikelihoodCoefficient {
  double value = 0;
  double noise_error = 0;
  double standard_error = 0;
};

// Errors of sums of the coefficients, by the delta method. `clear` is the least information, in
// deviations of its noise.
class LikelihoodErrors {
 public:
  LikelihoodErrors(const Measurements& measured, const LikelihoodSteps& steps,
                   const Cholesky& factor, double clear)
      : measured_(measured),
        steps_(steps),
        factor_(factor),
        second_order_(1 + static_cast<double>(steps.coefficients.size()) / (clear * clear)) {}

  // For the sum of the coefficients with these weights.
  LikelihoodCoefficient Of(const Vector& weights) const {
    const QuestionPlan& plan = measured_.plan;
    const Vector solved = factor_.Solve(weights);
    const Vector& step = steps_.last_step();
    const double of_gradient = measured_.noise.stddev / plan.amplitude;
    const double of_square = steps_.pooled * measured_.noise.stddev / plan.square;
    const double of_cross = steps_.pooled * measured_.noise.stddev / plan.cross;
    LikelihoodCoefficient sum;
    double equal = 0, further = 0, noise = 0;
    for (size_t j = 0; j < solved.size(); ++j) {
      sum.value += weights[j] * steps_.coefficients[j];
      equal += weights[j] * solved[j];
      further += kFurtherStep * weights[j] * step[j];
      noise += std::pow(solved[j] * of_gradient, 2) + std::pow(solved[j] * step[j] * of_square, 2);
      for (size_t k = 0; k < j; ++k) {
        noise += std::pow((solved[j] * step[k] + solved[k] * step[j]) * of_cross, 2);
      }
    }
    noise *= second_order_;
    // Rows of one unit may be alike: then as many rows tell no more than one.
    const double sampling =
        plan.rows_per_unit * (plan.is_cox()            ? kHazardSampling * equal
                              : steps_.squares.empty() ? equal
                                                       : SamplingVariance(solved, equal));
    sum.noise_error = std::sqrt(noise);
    sum.standard_error = std::sqrt(noise + sampling + further * further);
    return sum;
  }

 private:
  // For a Poisson model: counts vary more than their means, and not alike. `equal` is the variance
  // at a dispersion of 1. Noise may hide the squares: then the dispersion of all rows counts.
  double SamplingVariance(const Vector& solved, double equal) const {
    const QuestionPlan& plan = measured_.plan;
    const size_t size = solved.size();
    const double noise = steps_.pooled_squares * measured_.noise.stddev;
    const double of_dispersion = noise / plan.dispersion;
    const double dispersion =
        std::max(steps_.squares[0] + of_dispersion, of_dispersion) / steps_.information[0];
    equal *= dispersion;
    double value = 0, unclear = 0;
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = i; j < size; ++j) {
        const double weight = (i == j ? 1 : 2) * solved[i] * solved[j];
        const double scale = j == 0 ? plan.dispersion : i == j ? plan.robust : plan.robust_cross;
        value += weight * steps_.squares[i * size + j];
        unclear += std::pow(weight * noise / scale, 2);
      }
    }
    return RobustVariance(value, unclear, equal);
  }

  const Measurements& measured_;
  const LikelihoodSteps& steps_;
  const Cholesky& factor_;
  double second_order_;
};

// In the units of the columns, the intercept first; baselines have none.
std::vector<LikelihoodCoefficient> CoefficientsOf(const QuestionPlan& plan,
                                                  const LikelihoodErrors& errors) {
  const size_t size = plan.design->columns() + 1;
  const Vector to_columns = plan.design->ToColumns();
  std::vector<LikelihoodCoefficient> all;
  for (size_t i = 0; i < size; ++i) {
    Vector weights(plan.baselines - 1);
    weights.insert(weights.end(), to_columns.begin() + i * size,
                   to_columns.begin() + (i + 1) * size);
    all.push_back(errors.Of(weights));
  }
  if (plan.is_poisson()) all[0].value += std::log(plan.design->RateUnit());
  return all;
}

// Values of the design's factors in a row whose columns of numbers are in the middle of their
// bounds, so that all functions of a column are those of one number, and whose categories are the
// first ones.
Vector MiddleRow(const Design& design) {
  Vector of_factors;
  for (const DesignFactor& factor : design.factors()) {
    of_factors.push_back(factor.is_number() ? factor.Scaled((factor.low + factor.high) / 2) : 0);
  }
  return of_factors;
}

// Survival of MiddleRow, at the end of each interval. The interval is that of the logarithm of its
// hazard.
void AddBaselineSurvival(const Measurements& measured, const LikelihoodSteps& steps,
                         const LikelihoodErrors* errors, Answer& answer) {
  const QuestionPlan& plan = measured.plan;
  const std::vector<double>& edges = plan.cells->edges();
  const size_t intervals = plan.cells->size(), columns = plan.design->columns();
  Vector row(columns);
  plan.design->Fill(MiddleRow(*plan.design), row);
  const std::span<const double> slopes = std::span(steps.coefficients).subspan(plan.baselines);
  const double linear = std::inner_product(row.begin(), row.end(), slopes.begin(), 0.0);
  for (size_t first = 0; first < plan.baselines; first += intervals) {
    double hazard = 0;
    Vector weights(plan.baselines + columns);  // of the hazard, then of its logarithm
    std::ranges::copy(row, weights.begin() + plan.baselines);
    Vector hazards(plan.baselines);
    for (size_t j = 0; j < intervals; ++j) {
      const Estimate labels{.quantity = "baseline survival",
                            .group = plan.spec.by_site ? plan.spec.sites[first / intervals] : "",
                            .at = fmt::format("{:g}", edges[j + 1])};
      if (errors == nullptr) {
        answer.estimates.push_back(labels);
        continue;
      }
      hazards[first + j] = (edges[j + 1] - edges[j]) / edges.back() *
                           std::exp(steps.coefficients[first + j] + linear);
      hazard += hazards[first + j];
      for (size_t i = 0; i < plan.baselines; ++i) weights[i] = hazards[i] / hazard;
      const LikelihoodCoefficient of_log = errors->Of(weights);
      const double survival = std::exp(-hazard), slope = survival * hazard;
      const double reach = NormalDeviate(measured.confidence) * of_log.standard_error;
      answer.estimates.push_back(MakeEstimate(
          labels, survival, slope * of_log.noise_error, slope * of_log.standard_error,
          Range{std::exp(-hazard * std::exp(reach)), std::exp(-hazard * std::exp(-reach))},
          Range{0, 1}));
    }
  }
}

std::vector<std::string> MethodsOf(const QuestionPlan& plan) {
  if (plan.is_cox()) {
    return {fmt::format(
                "proportional hazards of {}, constant in each interval of \"{}\"{}, by {} Newton "
                "steps on a release of gradient and information each; values cut to their "
                "bounds; rows without a missing value, followed until their hazard adds up to "
                "{:g}",
                plan.spec.formula, plan.cells->column(), plan.spec.by_site ? " and site" : "",
                plan.rounds(), kMostHazard),
            fmt::format(
                "errors by the delta method, widened by its second order; sampling errors from "
                "the information, their variance times {}; intervals allow for a further step of "
                "{} last ones{}",
                kHazardSampling, kFurtherStep, AlikeRows(plan)),
            "baseline survival: numbers in the middle of their bounds, before log(); categories at "
            "their first value"};
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
                  "the {}; intervals allow for a further step of {} last ones{}",
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
  const LikelihoodSteps steps = StepsOf(plan, measured.releases);
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
    coefficients = CoefficientsOf(plan, *errors);
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
    AddBaselineSurvival(measured, steps, errors.has_value() ? &*errors : nullptr, answer);
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
