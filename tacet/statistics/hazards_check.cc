#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "fmt/format.h"

#include "tacet/statistics/hazard_answers.h"
#include "tacet/statistics/likelihood_rows.h"

namespace tacet::statistics {
namespace {

using Matrix = std::vector<double>;

// Releases that are used, the last ones: the coefficients of earlier ones are too far from their
// end, and the scores are linear in a small distance.
constexpr size_t kCheckedReleases = 2;
// Deviations of a change that is found in four of five studies, at 5 %.
constexpr double kFound = 2.8;
// Where in no column a smaller factor of the hazard ratio between its bounds would be found, the
// test says nothing.
constexpr double kLargestFactor = 10;

// Changes of the design's coefficients, half of them from the first interval to the last: one
// Newton step from none, and the covariances of noise and of sampling.
struct Changes {
  std::vector<double> values;
  Matrix noise;
  Matrix sampling;
};

// The information of the scores of changes: with themselves, and with all coefficients, a row for
// each change. By interval only sums of x are released. Their covariance is supposed to be that of
// all intervals together, as by Grambsch and Therneau.
struct ChangeInformation {
  Matrix own;
  Matrix cross;
};

ChangeInformation InformationOf(const QuestionPlan& plan, const Matrix& information) {
  const size_t baselines = plan.baselines, columns = plan.design->columns();
  const size_t size = baselines + columns;
  const auto at = [&](size_t i, size_t j) { return information[i * size + j]; };
  double events = 0;
  for (size_t j = 0; j < baselines; ++j) events += at(j, j);
  ChangeInformation made{.own = Matrix(columns * columns), .cross = Matrix(columns * size)};
  for (size_t i = 0; i < columns; ++i) {
    for (size_t k = 0; k < columns; ++k) {
      const auto of_means = [&](size_t j) {
        return at(j, baselines + i) * at(j, baselines + k) / at(j, j);
      };
      double rest = at(baselines + i, baselines + k);
      for (size_t j = 0; j < baselines; ++j) rest -= of_means(j);
      for (size_t j = 0; j < baselines; ++j) {
        const double late = LatenessOf(plan, j % plan.cells->size());
        const double here = at(j, j) / events * rest + of_means(j);
        made.own[i * columns + k] += late * late * here;
        made.cross[i * size + baselines + k] += late * here;
      }
    }
    for (size_t j = 0; j < baselines; ++j) {
      made.cross[i * size + j] = LatenessOf(plan, j % plan.cells->size()) * at(j, baselines + i);
    }
  }
  return made;
}

// Absent where noise leaves the scores no information.
std::optional<Changes> ChangesOf(const Measurements& measured, const LikelihoodSteps& steps,
                                 const LikelihoodErrors& errors) {
  const QuestionPlan& plan = measured.plan;
  const size_t columns = plan.design->columns(), size = plan.baselines + columns;
  const auto factor = Cholesky::Of(steps.information, size);
  const ChangeInformation information = InformationOf(plan, steps.information);
  // The scores less what the coefficients explain: the first order of their distance from the end
  // of the steps is gone.
  const double rounds = kCheckedReleases;
  std::vector<double> scores(columns);
  std::vector<std::vector<double>> explained;
  for (size_t i = 0; i < columns; ++i) {
    const auto row = information.cross.begin() + static_cast<std::ptrdiff_t>(i * size);
    explained.push_back(factor->Solve({row, row + static_cast<std::ptrdiff_t>(size)}));
  }
  for (size_t used = 0; used < kCheckedReleases; ++used) {
    const size_t round = steps.path.size() - 1 - used;
    const std::vector<double> released =
        LikelihoodRelease(plan, measured.releases[round]).Changes();
    for (size_t i = 0; i < columns; ++i) {
      scores[i] += released[i] / rounds;
      for (size_t j = 0; j < size; ++j) {
        scores[i] -= explained[i][j] * steps.path[round].gradient[j] / rounds;
      }
    }
  }
  const double of_change = std::pow(measured.noise.stddev / plan.change, 2) / rounds;
  const double of_gradient = std::pow(measured.noise.stddev / plan.amplitude, 2) / rounds;
  Matrix noise(columns * columns), left(columns * columns);
  for (size_t i = 0; i < columns; ++i) {
    for (size_t k = 0; k < columns; ++k) {
      double product = 0, taken = 0;
      for (size_t j = 0; j < size; ++j) {
        product += explained[i][j] * explained[k][j];
        taken += explained[i][j] * information.cross[k * size + j];
      }
      noise[i * columns + k] =
          errors.second_order() * ((i == k ? of_change : 0) + of_gradient * product);
      left[i * columns + k] = information.own[i * columns + k] - taken;
    }
  }
  const auto own = Cholesky::Of(left, columns);
  if (!own.has_value()) return std::nullopt;
  Changes made{.values = own->Solve(scores),
               .noise = Matrix(columns * columns),
               .sampling = Matrix(columns * columns)};
  std::vector<std::vector<double>> inverse;
  for (size_t i = 0; i < columns; ++i) {
    std::vector<double> unit(columns);
    unit[i] = 1;
    inverse.push_back(own->Solve(unit));
  }
  for (size_t i = 0; i < columns; ++i) {
    for (size_t k = 0; k < columns; ++k) {
      double& sum = made.noise[i * columns + k];
      for (size_t a = 0; a < columns; ++a) {
        for (size_t b = 0; b < columns; ++b) {
          sum += inverse[i][a] * noise[a * columns + b] * inverse[k][b];
        }
      }
      // Rows of one unit may be alike.
      made.sampling[i * columns + k] = kHazardSampling * plan.rows_per_unit * inverse[i][k];
    }
  }
  return made;
}

// The form of `x` in a symmetric matrix.
double FormIn(const Matrix& matrix, const std::vector<double>& x) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t k = 0; k < x.size(); ++k) sum += matrix[i * x.size() + k] * x[i] * x[k];
  }
  return sum;
}

}  // namespace

void AddHazardsCheck(const Measurements& measured, const LikelihoodSteps& steps,
                     const LikelihoodErrors* errors, Answer& answer) {
  const QuestionPlan& plan = measured.plan;
  const Design& design = *plan.design;
  const size_t columns = design.columns();
  const std::optional<Changes> changes =
      errors != nullptr ? ChangesOf(measured, steps, *errors) : std::nullopt;
  const Matrix to_columns = design.ToColumns();
  for (size_t i = 0; i < columns; ++i) {
    const Estimate labels{.quantity = "change of coefficient", .group = design.labels()[i]};
    if (!changes.has_value()) {
      answer.estimates.push_back(labels);
      continue;
    }
    std::vector<double> weights;  // twice: from -1 to 1
    double value = 0;
    for (size_t k = 0; k < columns; ++k) {
      weights.push_back(2 * to_columns[(i + 1) * (columns + 1) + k + 1]);
      value += weights[k] * changes->values[k];
    }
    const double noise = FormIn(changes->noise, weights);
    answer.estimates.push_back(MakeEstimate(labels, value, std::sqrt(noise),
                                            std::sqrt(noise + FormIn(changes->sampling, weights)),
                                            measured.confidence));
  }
  Estimate statistic{.quantity = "proportional hazards chi-squared"};
  Estimate tail{.quantity = "proportional hazards p"};
  if (changes.has_value()) {
    Matrix covariance = changes->noise;
    double least = HUGE_VAL;  // error of a change
    for (size_t i = 0; i < covariance.size(); ++i) covariance[i] += changes->sampling[i];
    for (size_t i = 0; i < columns; ++i) {
      least = std::min(least, std::sqrt(covariance[i * columns + i]));
    }
    // Between the bounds and between the intervals, both from -1 to 1.
    const double factor = std::exp(4 * kFound * least);
    const auto of_test = Cholesky::Of(covariance, columns);
    if (of_test.has_value() && factor <= kLargestFactor) {
      const std::vector<double> solved = of_test->Solve(changes->values);
      double form = 0;
      for (size_t i = 0; i < columns; ++i) form += changes->values[i] * solved[i];
      statistic.value = form;
      tail.value = ChiSquaredTail(form, columns);
    }
    answer.methods.push_back(fmt::format(
        "proportional hazards: scores of the last {} releases for changes that are linear in the "
        "number of the interval, with the noise in their covariance; changes from the first "
        "interval to the last, by one step from none",
        kCheckedReleases));
    if (!tail.value.has_value()) {
      answer.methods.push_back(fmt::format(
          "proportional hazards: the noise leaves nothing to tell, since the smallest change of a "
          "hazard ratio between a column's bounds that would be found in four of five studies is "
          "{:.2g}-fold, above {:g}-fold; ask with a larger epsilon or share, of more rows, or with "
          "fewer columns",
          factor, kLargestFactor));
    }
  }
  answer.estimates.push_back(std::move(statistic));
  answer.estimates.push_back(std::move(tail));
}

}  // namespace tacet::statistics
