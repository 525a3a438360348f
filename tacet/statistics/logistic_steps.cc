#include "tacet/statistics/logistic_steps.h"

#include <algorithm>
#include <cmath>

namespace tacet::statistics {

void AddLogisticRow(const QuestionPlan& plan, std::span<const double> x, double y,
                    std::span<const double> coefficients, double weight, std::span<double> part) {
  double linear = 0;
  for (size_t i = 0; i < coefficients.size(); ++i) linear += coefficients[i] * x[i];
  const double mean = 1 / (1 + std::exp(-linear));
  const double information = mean * (1 - mean);
  size_t place = 0;
  part[place++] += weight * plan.count;
  for (const double value : x) part[place++] += weight * plan.amplitude * (y - mean) * value;
  for (size_t i = 0; i < x.size(); ++i) {
    part[place++] += weight * plan.square * information * x[i] * x[i];
    for (size_t j = i + 1; j < x.size(); ++j) {
      part[place++] += weight * plan.cross * information * x[i] * x[j];
    }
  }
}

std::vector<double> LogisticRelease::Information() const {
  std::vector<double> matrix(size() * size());
  size_t place = 1 + size();
  for (size_t i = 0; i < size(); ++i) {
    for (size_t j = i; j < size(); ++j) {
      const double value = values_[place++] / (i == j ? plan_.square : plan_.cross);
      matrix[i * size() + j] = matrix[j * size() + i] = value;
    }
  }
  return matrix;
}

LogisticSteps StepsOf(const QuestionPlan& plan,
                      const std::vector<std::span<const double>>& releases) {
  const size_t size = plan.design->columns() + 1;
  LogisticSteps steps{.coefficients = std::vector<double>(size),
                      .step = std::vector<double>(size),
                      .information = {}};
  std::vector<double> pool(size * size);
  double pooled_rows = 0, pooled = 0;
  for (size_t round = 0; round < releases.size(); ++round) {
    const LogisticRelease release(plan, releases[round]);
    std::vector<double> information = release.Information();
    if (round > 0) {
      ++pooled;
      pooled_rows += release.rows();
      for (size_t i = 0; i < pool.size(); ++i) pool[i] += information[i];
      const double share = pooled_rows > 0 ? release.rows() / pooled_rows : 1 / pooled;
      for (size_t i = 0; i < pool.size(); ++i) information[i] = share * pool[i];
      steps.information = information;
      steps.pooled = share * std::sqrt(pooled);
    }
    std::ranges::fill(steps.step, 0.0);
    if (!(information[0] > 0)) continue;
    const bool is_last = round + 1 == plan.rounds();
    const double wanted = kLeastInformation * information[0];
    const double least = LeastEigenvalue(information, size);
    const double raised = is_last && least > 0 ? 0 : std::max(wanted - least, 0.0);
    const auto factor = Cholesky::Of(information, size, -raised);
    if (!factor.has_value()) continue;
    std::vector<double> gradient;
    for (size_t i = 0; i < size; ++i) gradient.push_back(release.Gradient(i));
    steps.step = factor->Solve(gradient);
    for (size_t i = 0; i < size; ++i) {
      steps.step[i] = std::clamp(steps.step[i], -kLongestStep, kLongestStep);
      steps.coefficients[i] += steps.step[i];
    }
  }
  return steps;
}

QueryState StateAfter(const Query& query, std::span<const float> model) {
  QueryState state;
  const size_t values = query.round_dimension();
  const auto is_released = [&](uint32_t round) {
    return std::ranges::any_of(model.subspan(round * values, values),
                               [](float value) { return value != 0; });
  };
  while (state.released < query.rounds() && is_released(state.released)) ++state.released;
  if (state.released == 0) return state;
  const std::vector<double> released(model.begin(), model.end());
  for (const QuestionPlan& plan : query.questions()) {
    std::vector<double>& coefficients = state.coefficients.emplace_back();
    if (!plan.is_logistic()) continue;
    std::vector<std::span<const double>> releases;
    for (uint32_t round = 0; round < state.released; ++round) {
      releases.push_back(std::span(released).subspan(round * values + plan.first, plan.measured()));
    }
    coefficients = StepsOf(plan, releases).coefficients;
  }
  return state;
}

}  // namespace tacet::statistics
