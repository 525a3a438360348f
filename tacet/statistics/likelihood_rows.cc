#include "tacet/statistics/likelihood_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tacet::statistics {
namespace {

// No mean needs a larger logarithm, and a product of 0 and its exponential is a number.
constexpr double kLargestLinear = 300;

// Without the baseline's.
double LinearOf(const LikelihoodRow& row) {
  const std::span<const double> slopes = row.coefficients.subspan(row.plan.baselines);
  return std::inner_product(slopes.begin(), slopes.end(), row.x.begin() + 1, 0.0);
}

// A release of the model: the count, the gradient, the information.
//   residuals  of each baseline
//   means      the information's weights of each baseline
// Returns the place behind them.
size_t AddGradientAndInformation(const LikelihoodRow& row, std::span<const double> residuals,
                                 std::span<const double> means) {
  const auto& [plan, x, coefficients, weight, part] = row;
  const double residual = std::accumulate(residuals.begin(), residuals.end(), 0.0);
  const double mean = std::accumulate(means.begin(), means.end(), 0.0);
  size_t place = 0;
  part[place++] += weight * plan.count;
  for (const double of : residuals) part[place++] += weight * plan.amplitude * of;
  for (size_t i = 1; i < x.size(); ++i) part[place++] += weight * plan.amplitude * residual * x[i];
  for (const double of : means) {
    part[place++] += weight * plan.square * of;
    for (size_t i = 1; i < x.size(); ++i) part[place++] += weight * plan.cross * of * x[i];
  }
  for (size_t i = 1; i < x.size(); ++i) {
    part[place++] += weight * plan.square * mean * x[i] * x[i];
    for (size_t j = i + 1; j < x.size(); ++j) {
      part[place++] += weight * plan.cross * mean * x[i] * x[j];
    }
  }
  return place;
}

}  // namespace

std::vector<double> FirstCoefficients(const QuestionPlan& plan) {
  std::vector<double> first(plan.baselines + plan.design->columns());
  if (plan.is_rate()) std::fill_n(first.begin(), plan.baselines, std::log(plan.most_mean));
  return first;
}

double LatenessOf(const QuestionPlan& plan, size_t interval) {
  return 2 * static_cast<double>(interval) /
             std::max(static_cast<double>(plan.cells->size()) - 1, 1.0) -
         1;
}

void AddLogisticRow(const LikelihoodRow& row, double y) {
  const double mean = 1 / (1 + std::exp(-row.coefficients[0] - LinearOf(row)));
  AddGradientAndInformation(row, std::vector{y - mean}, std::vector{mean * (1 - mean)});
}

void AddPoissonRow(const LikelihoodRow& row, double y, double exposure) {
  const auto& [plan, x, coefficients, weight, part] = row;
  const double linear = std::min(coefficients[0] + LinearOf(row), kLargestLinear);
  const double wanted = exposure * std::exp(linear);
  const double mean = std::min(wanted, plan.most_mean);
  const double residual = y - mean;
  size_t place = AddGradientAndInformation(row, std::vector{residual}, std::vector{mean});
  const double square = residual * residual;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = i; j < x.size(); ++j) {
      const double scale = j == 0 ? plan.dispersion : i == j ? plan.robust : plan.robust_cross;
      part[place++] += weight * scale * square * x[i] * x[j];
    }
  }
  part[place++] += weight * (wanted > plan.most_mean ? plan.cut : 0);
  const double surprise = y > 0 ? y * std::log(y / exposure) : 0;
  part[place] += weight * plan.saturated * surprise;
}

void AddCoxRow(const LikelihoodRow& row, double time, bool event, size_t stratum) {
  const QuestionPlan& plan = row.plan;
  const std::vector<double>& edges = plan.cells->edges();
  const size_t first = stratum * plan.cells->size();
  const double linear = LinearOf(row);
  std::vector<double> residuals(plan.baselines), hazards(plan.baselines);
  double rest = plan.most_mean;
  double change = 0;  // residuals of late intervals less those of early ones
  for (size_t j = 0; j < plan.cells->size(); ++j) {
    if (j > 0 && time <= edges[j]) break;
    const double followed = std::min(time, edges[j + 1]) - edges[j];
    const double wanted = followed / edges.back() *
                          std::exp(std::min(row.coefficients[first + j] + linear, kLargestLinear));
    const double hazard = hazards[first + j] = std::min(wanted, rest);
    residuals[first + j] = -hazard;
    const bool ends = wanted > rest;
    if (!ends && event && time <= edges[j + 1]) residuals[first + j] += 1;
    change += LatenessOf(plan, j) * residuals[first + j];
    if (ends) break;
    rest -= hazard;
  }
  size_t place = AddGradientAndInformation(row, residuals, hazards);
  if (!plan.spec.checks_hazards) return;
  for (size_t i = 1; i < row.x.size(); ++i) {
    row.part[place++] += row.weight * plan.change * change * row.x[i];
  }
}

}  // namespace tacet::statistics
