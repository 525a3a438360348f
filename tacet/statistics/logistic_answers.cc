#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/logistic_steps.h"

namespace tacet::statistics {
namespace {

// The least information in any direction, in deviations of its noise. Below, the coefficients are
// suppressed.
constexpr double kClearInformation = 2.5;
// The information of the intercept alone, which all others are measured against.
constexpr double kClearIntercept = 4;
// Further steps may add this many last steps: the intervals allow for it.
constexpr double kFurtherStep = 0.35;
constexpr double kAnyCount = std::numeric_limits<double>::infinity();

// Least eigenvalue of the information without what the intercept explains.
double LeastInformation(const std::vector<double>& information, size_t size) {
  const size_t columns = size - 1;
  std::vector<double> rest(columns * columns);
  for (size_t i = 0; i < columns; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      rest[i * columns + j] = information[(i + 1) * size + j + 1] -
                              information[i + 1] * information[j + 1] / information[0];
    }
  }
  return LeastEigenvalue(rest, columns);
}

struct LogisticCoefficient {
  double value = 0;
  double noise_error = 0;
  double standard_error = 0;
};

// In the units of the columns, the intercept first. The noise moves gradient and information, and
// the latter the last step. `clear` is the least information, in deviations of its noise.
std::vector<LogisticCoefficient> LogisticCoefficients(const Measurements& measured,
                                                      const LogisticSteps& steps,
                                                      const Cholesky& factor, double clear) {
  const QuestionPlan& plan = measured.plan;
  const size_t size = steps.coefficients.size();
  const std::vector<double> to_columns = plan.design->ToColumns();
  const double of_gradient = measured.noise.stddev / plan.amplitude;
  const double of_square = steps.pooled * measured.noise.stddev / plan.square;
  const double of_cross = steps.pooled * measured.noise.stddev / plan.cross;
  const double second_order = 1 + static_cast<double>(size) / (clear * clear);
  std::vector<LogisticCoefficient> all;
  for (size_t i = 0; i < size; ++i) {
    const std::vector<double> direction(to_columns.begin() + i * size,
                                        to_columns.begin() + (i + 1) * size);
    const std::vector<double> solved = factor.Solve(direction);
    double value = 0, sampling = 0, further = 0, noise = 0;
    for (size_t j = 0; j < size; ++j) {
      value += direction[j] * steps.coefficients[j];
      sampling += direction[j] * solved[j];
      further += kFurtherStep * direction[j] * steps.step[j];
      noise +=
          std::pow(solved[j] * of_gradient, 2) + std::pow(solved[j] * steps.step[j] * of_square, 2);
      for (size_t k = 0; k < j; ++k) {
        noise += std::pow((solved[j] * steps.step[k] + solved[k] * steps.step[j]) * of_cross, 2);
      }
    }
    noise *= second_order;
    all.push_back({.value = value,
                   .noise_error = std::sqrt(noise),
                   .standard_error = std::sqrt(noise + sampling + further * further)});
  }
  return all;
}

}  // namespace

Answer AnswerLogistic(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const Design& design = *plan.design;
  const LogisticSteps steps = StepsOf(plan, measured.releases);
  const size_t size = steps.coefficients.size();
  const double n = LogisticRelease(plan, measured.values).rows();
  const double n_error = measured.noise.stddev / plan.count;
  const bool enough = n > 0 && n >= measured.floor;
  const double noise = steps.pooled * measured.noise.stddev / plan.square;
  const double intercept = steps.information[0];
  double clear = 0;
  if (enough && intercept > kClearIntercept * noise) {
    const double least = std::max(LeastInformation(steps.information, size), 0.0);
    clear = noise > 0 ? least / noise : (least > 0 ? kAnyCount : 0);
  }
  const std::optional<Cholesky> factor =
      clear >= kClearInformation ? Cholesky::Of(steps.information, size) : std::nullopt;
  Answer answer;
  answer.methods = {
      fmt::format("binomial family: logistic curve of {}, by {} Newton steps on a release of "
                  "gradient and information each; values cut to their bounds; rows without a "
                  "missing value",
                  plan.spec.formula, plan.rounds()),
      fmt::format("errors by the delta method, widened by its second order; sampling errors from "
                  "the information; intervals allow for a further step of {} last ones",
                  kFurtherStep)};
  const auto add = [&](std::string quantity, std::string group, const LogisticCoefficient& of,
                       bool shown) {
    const Estimate labels{.quantity = std::move(quantity), .group = std::move(group)};
    answer.estimates.push_back(shown ? MakeEstimate(labels, of.value, of.noise_error,
                                                    of.standard_error, measured.confidence)
                                     : labels);
  };
  const Estimate count{.quantity = "count"};
  answer.estimates.push_back(
      enough ? MakeEstimate(count, n, n_error, n_error, measured.confidence, Range{0, kAnyCount})
             : count);
  std::vector<LogisticCoefficient> coefficients(size);
  if (factor.has_value()) {
    coefficients = LogisticCoefficients(measured, steps, *factor, clear);
  }
  for (size_t i = 0; i < size; ++i) {
    add(i == 0 ? "intercept" : "coefficient", i == 0 ? "" : design.labels()[i - 1], coefficients[i],
        factor.has_value());
  }
  for (size_t i = 1; i < size; ++i) {
    const auto& [value, of_noise, error] = coefficients[i];
    const Estimate labels{.quantity = "odds ratio", .group = design.labels()[i - 1]};
    const double ratio = std::exp(value);
    const double reach = NormalDeviate(measured.confidence) * error;
    answer.estimates.push_back(
        factor.has_value() ? MakeEstimate(labels, ratio, ratio * of_noise, ratio * error,
                                          Range{std::exp(value - reach), std::exp(value + reach)},
                                          Range{0, kAnyCount})
                           : labels);
  }
  if (enough && !factor.has_value()) {
    answer.methods.push_back(fmt::format(
        "coefficients suppressed: in some direction the information is {:.2g} deviations of its "
        "noise, and {} are needed; ask with a larger epsilon or share, of more rows, with narrower "
        "bounds or log(), or with fewer columns",
        clear, kClearInformation));
  }
  return answer;
}

}  // namespace tacet::statistics
