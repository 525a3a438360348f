#include "tacet/statistics/likelihood_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tacet/statistics/likelihood_rows.h"

namespace tacet::statistics {
namespace {

// A first release tells at least this share of rows with the event, and without.
constexpr double kLeastFirstShare = 1e-3;
// For the rate that a first release is summed at.
constexpr double kLeastRate = 1e-3;
constexpr double kLargestRate = 10;
// A step of d in its longest coordinate is wrong by this times d^2: rows with several columns move
// by more than one coordinate.
constexpr double kCurvature = 2;
// Added to a variance, where there is neither noise nor a step.
constexpr double kNoVariance = 1e-12;

// Moves the first release of rates to the rates of its baselines: their logarithms, by which the
// coefficients grow. The information of the design's columns moves with the mean rate.
std::vector<double> MoveToRates(const QuestionPlan& plan, LikelihoodStep& first) {
  const size_t size = first.gradient.size(), baselines = plan.baselines;
  std::vector<double> logs(baselines);
  double events = 0, means = 0;
  for (size_t j = 0; j < baselines; ++j) {
    double& mean = first.information[j * size + j];
    const double rate =
        mean > 0 ? std::clamp((first.gradient[j] + mean) / mean, kLeastRate, kLargestRate) : 1;
    logs[j] = std::log(rate);
    events += rate * mean;
    means += mean;
    // 0 but for a rate that is clamped, up to rounding.
    first.gradient[j] += (1 - rate) * mean;
    mean *= rate;
    for (size_t i = baselines; i < size; ++i) {
      double& cross = first.information[j * size + i];
      first.gradient[i] += (1 - rate) * cross;
      cross *= rate;
      first.information[i * size + j] = cross;
    }
  }
  const double rate = means > 0 ? events / means : 1;
  for (size_t i = baselines; i < size; ++i) {
    for (size_t k = baselines; k < size; ++k) first.information[i * size + k] *= rate;
  }
  first.noise = std::hypot(1.0, (1 - rate) * plan.amplitude / plan.cross);
  return logs;
}

// Moves the first release of a logistic model, of even odds, to the share of the rows that have the
// event, as if the design had no effect. Returns the logarithm of its odds.
double MoveToShare(const QuestionPlan& plan, LikelihoodStep& first) {
  const size_t size = first.gradient.size();
  // At even odds a quarter of the rows' sums of products.
  const double rows = 4 * first.information[0];
  if (!(rows > 0)) return 0;
  const double share =
      std::clamp(0.5 + first.gradient[0] / rows, kLeastFirstShare, 1 - kLeastFirstShare);
  for (size_t i = 0; i < size; ++i) first.gradient[i] += (2 - 4 * share) * first.information[i];
  for (double& value : first.information) value *= 4 * share * (1 - share);
  first.noise = std::hypot(1.0, (2 - 4 * share) * plan.amplitude / plan.cross);
  return std::log(share / (1 - share));
}

// Scales the information of rates to as many events as there are: their means add up to the events
// at the largest likelihood, and each release is some steps away from it. Returns the factor.
double ScaleToEvents(const QuestionPlan& plan, const std::vector<double>& gradient,
                     std::vector<double>& information) {
  double events = 0, means = 0;
  for (size_t j = 0; j < plan.baselines; ++j) {
    means += information[j * gradient.size() + j];
    events += gradient[j] + information[j * gradient.size() + j];
  }
  if (!(means > 0 && events > 0)) return 1;
  for (double& value : information) value *= events / means;
  return events / means;
}

// Shortens the first step of a Poisson model. Newton's step takes a mean to 1 + d times itself by
// adding d to its logarithm, where log(1 + d) would do. `step` adds up to d in the row that it
// moves most.
void ShortenFirstStep(size_t baselines, std::vector<double>& step) {
  double most = 0;
  for (size_t i = 0; i < step.size(); ++i) {
    most = i < baselines ? std::max(most, std::abs(step[i])) : most + std::abs(step[i]);
  }
  if (most <= 1) return;
  for (double& value : step) value *= std::log1p(most) / most;
}

// Sum of the baselines' informations.
double SumOfBaselines(const std::vector<double>& information, size_t baselines, size_t size) {
  double sum = 0;
  for (size_t j = 0; j < baselines; ++j) sum += information[j * size + j];
  return sum;
}

}  // namespace

std::vector<double> LikelihoodRelease::Gradient() const {
  std::vector<double> gradient;
  for (size_t i = 0; i < size(); ++i) gradient.push_back(values_[1 + i] / plan_.amplitude);
  return gradient;
}

std::vector<double> LikelihoodRelease::Information() const {
  std::vector<double> matrix(size() * size());
  size_t place = 1 + size();
  const auto take = [&](size_t i, size_t j) {
    const double value = values_[place++] / (i == j ? plan_.square : plan_.cross);
    matrix[i * size() + j] = matrix[j * size() + i] = value;
  };
  for (size_t j = 0; j < plan_.baselines; ++j) {
    take(j, j);
    for (size_t i = plan_.baselines; i < size(); ++i) take(j, i);
  }
  for (size_t i = plan_.baselines; i < size(); ++i) {
    for (size_t j = i; j < size(); ++j) take(i, j);
  }
  return matrix;
}

std::vector<double> LikelihoodRelease::Squares() const {
  std::vector<double> matrix(size() * size());
  size_t place = 1 + size() + size() * (size() + 1) / 2;
  for (size_t i = 0; i < size(); ++i) {
    for (size_t j = i; j < size(); ++j) {
      const double scale = j == 0 ? plan_.dispersion : i == j ? plan_.robust : plan_.robust_cross;
      matrix[i * size() + j] = matrix[j * size() + i] = values_[place++] / scale;
    }
  }
  return matrix;
}

std::vector<double> LikelihoodRelease::Changes() const {
  std::vector<double> changes;
  for (const double value : values_.last(plan_.design->columns())) {
    changes.push_back(value / plan_.change);
  }
  return changes;
}

double LikelihoodRelease::Surprise() const { return values_.back() / plan_.saturated; }

LikelihoodSteps StepsOf(const QuestionPlan& plan,
                        const std::vector<std::span<const double>>& releases) {
  LikelihoodSteps steps;
  steps.coefficients = FirstCoefficients(plan);
  const size_t size = steps.coefficients.size();
  const bool has_squares = plan.dispersion > 0;
  std::vector<double> pool(size * size), squares(size * size);
  double pooled_rows = 0, pooled = 0, scaled = 0;  // `scaled`: sum of the squared factors
  for (size_t round = 0; round < releases.size(); ++round) {
    const LikelihoodRelease release(plan, releases[round]);
    LikelihoodStep& at = steps.path.emplace_back(LikelihoodStep{
        .gradient = release.Gradient(), .information = release.Information(), .step = {}});
    if (round == 0 && !plan.is_rate()) steps.coefficients[0] += MoveToShare(plan, at);
    if (round == 0 && plan.is_rate()) {
      const std::vector<double> logs = MoveToRates(plan, at);
      for (size_t j = 0; j < logs.size(); ++j) steps.coefficients[j] += logs[j];
    }
    std::vector<double> information = at.information;
    if (round > 0) {
      const double factor = plan.is_rate() ? ScaleToEvents(plan, at.gradient, information) : 1;
      scaled += factor * factor;
      ++pooled;
      pooled_rows += release.rows();
      const double share = pooled_rows > 0 ? release.rows() / pooled_rows : 1 / pooled;
      const auto add = [share](std::vector<double>& sum, const std::vector<double>& values) {
        std::vector<double> mean;
        for (size_t i = 0; i < sum.size(); ++i) mean.push_back(share * (sum[i] += values[i]));
        return mean;
      };
      information = steps.information = add(pool, information);
      if (has_squares) steps.squares = add(squares, release.Squares());
      steps.pooled = share * std::sqrt(scaled);
      steps.pooled_squares = share * std::sqrt(pooled);
    }
    at.step.assign(size, 0);
    const double of_baselines = SumOfBaselines(information, plan.baselines, size);
    if (!(of_baselines > 0)) continue;
    const bool is_last = round + 1 == plan.rounds();
    const double wanted = kLeastInformation * of_baselines;
    const double least = LeastEigenvalue(information, size);
    const double raised = is_last && least > 0 ? 0 : std::max(wanted - least, 0.0);
    const auto factor = Cholesky::Of(information, size, -raised);
    if (!factor.has_value()) continue;
    at.step = factor->Solve(at.gradient);
    if (round == 0 && plan.is_poisson()) ShortenFirstStep(plan.baselines, at.step);
    for (size_t i = 0; i < size; ++i) {
      at.step[i] = std::clamp(at.step[i], -kLongestStep, kLongestStep);
      steps.coefficients[i] += at.step[i];
    }
  }
  return steps;
}

std::vector<double> NoiseOfSteps(const QuestionPlan& plan, double noise, const Cholesky& factor) {
  const size_t size = plan.baselines + plan.design->columns();
  std::vector<double> deviations;
  for (size_t j = 0; j < size; ++j) {
    std::vector<double> unit(size);
    unit[j] = 1;
    const std::vector<double> solved = factor.Solve(std::move(unit));
    const double square = std::inner_product(solved.begin(), solved.end(), solved.begin(), 0.0);
    deviations.push_back(noise / plan.amplitude * std::sqrt(square));
  }
  return deviations;
}

void CombineReleases(const QuestionPlan& plan, double noise, const Cholesky& factor,
                     LikelihoodSteps& steps) {
  const size_t size = steps.coefficients.size();
  const std::vector<double> deviations = NoiseOfSteps(plan, noise, factor);
  std::vector<double> at = steps.coefficients;  // of each release, the last one first
  std::vector<double> mean(size), mean_step(size);
  double sum = 0, squares = 0;
  for (size_t round = steps.path.size(); round-- > 1;) {
    for (size_t i = 0; i < size; ++i) at[i] -= steps.path[round].step[i];
    std::vector<double> step = factor.Solve(steps.path[round].gradient);
    size_t longest = 0;
    for (size_t i = 0; i < size; ++i) {
      step[i] = std::clamp(step[i], -kLongestStep, kLongestStep);
      if (std::abs(step[i]) > std::abs(step[longest])) longest = i;
    }
    const double weight =
        1 / (std::pow(deviations[longest], 2) +
             std::pow(kCurvature * step[longest] * step[longest], 2) + kNoVariance);
    if (round + 1 == steps.path.size()) steps.last_weight = weight;
    sum += weight;
    squares += weight * weight;
    for (size_t i = 0; i < size; ++i) {
      mean[i] += weight * (at[i] + step[i]);
      mean_step[i] += weight * step[i];
    }
  }
  steps.last_weight /= sum;
  steps.mean_noise = std::sqrt(squares) / sum;
  for (size_t i = 0; i < size; ++i) {
    mean[i] /= sum;
    mean_step[i] /= sum;
    // The last release leads to the mean.
    steps.path.back().step[i] += mean[i] - steps.coefficients[i];
  }
  steps.coefficients = std::move(mean);
  steps.mean_step = std::move(mean_step);
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
    if (!plan.has_steps()) continue;
    std::vector<std::span<const double>> releases;
    for (uint32_t round = 0; round < state.released; ++round) {
      releases.push_back(std::span(released).subspan(round * values + plan.first, plan.measured()));
    }
    coefficients = StepsOf(plan, releases).coefficients;
  }
  return state;
}

}  // namespace tacet::statistics
