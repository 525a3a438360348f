#include "tacet/statistics/likelihood_deviance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tacet::statistics {
namespace {

using Vector = std::vector<double>;

// A share's logarithm stays finite.
constexpr double kLeastShare = 1e-6;

double QuadraticForm(const Vector& matrix, const Vector& step) {
  double sum = 0;
  for (size_t i = 0; i < step.size(); ++i) {
    for (size_t j = 0; j < step.size(); ++j) sum += matrix[i * step.size() + j] * step[i] * step[j];
  }
  return sum;
}

// A sum along the steps, and the variance of its noise.
struct PathIntegral {
  double value = 0;
  double variance = 0;
};

// Integral of the gradient along the steps.
PathIntegral IntegralOf(const Measurements& measured, const LikelihoodSteps& steps,
                        const Cholesky& factor) {
  const QuestionPlan& plan = measured.plan;
  const size_t size = steps.coefficients.size();
  const double of_gradient = measured.noise.stddev / plan.amplitude;
  const double of_square = measured.noise.stddev / plan.square;
  const double of_cross = measured.noise.stddev / plan.cross;
  // Deviation of the noise of a quadratic form.
  const auto noise_of = [&](const Vector& step) {
    double variance = 0;
    for (size_t i = 0; i < size; ++i) {
      variance += std::pow(step[i] * step[i] * of_square, 2);
      for (size_t j = 0; j < i; ++j) variance += std::pow(2 * step[i] * step[j] * of_cross, 2);
    }
    return std::sqrt(variance);
  };
  PathIntegral sum;
  Vector before(size);  // the step that led to a release
  for (size_t round = 0; round < steps.path.size(); ++round) {
    const LikelihoodStep& at = steps.path[round];
    const bool is_last = round + 1 == steps.path.size();
    Vector weights(size);  // of the gradient here
    for (size_t i = 0; i < size; ++i) {
      weights[i] = before[i] / 2 + (is_last ? at.step[i] : at.step[i] / 2);
      sum.value += weights[i] * at.gradient[i];
      sum.variance += std::pow(weights[i] * at.noise * of_gradient, 2);
    }
    sum.value += QuadraticForm(at.information, before) / 12;
    if (is_last) {
      sum.value -= QuadraticForm(steps.information, at.step) / 2;
      sum.variance += std::pow(noise_of(before) / 12 + steps.pooled * noise_of(at.step) / 2, 2);
    } else {
      sum.value -= QuadraticForm(at.information, at.step) / 12;
      sum.variance += std::pow((noise_of(before) + noise_of(at.step)) / 12, 2);
    }
    before = at.step;
  }
  // A gradient's noise e moves its step by I^-1 e: half of e I^-1 e. The last one's moves the last
  // step by its weight, and the whole of it counts.
  double inverse = 0;
  for (size_t i = 0; i < size; ++i) {
    Vector unit(size);
    unit[i] = 1;
    inverse += factor.Solve(unit)[i];
  }
  const auto rounds = static_cast<double>(steps.path.size());
  sum.value -= ((rounds - 1) / 2 + steps.last_weight) * of_gradient * of_gradient * inverse;
  return sum;
}

}  // namespace

NoisedDeviance NullDeviance(const Measurements& measured, double n) {
  const QuestionPlan& plan = measured.plan;
  const LikelihoodRelease first(plan, measured.releases[0]);
  const double of_gradient = measured.noise.stddev / plan.amplitude;
  const double gradient = first.Gradient()[0];
  if (!plan.is_rate()) {
    const double of_count = measured.noise.stddev / plan.count;
    const double share = std::clamp(0.5 + gradient / n, kLeastShare, 1 - kLeastShare);
    const double odds = std::log(share / (1 - share));
    return {.value = -2 * n * (share * std::log(share) + (1 - share) * std::log1p(-share)),
            .error = std::hypot(2 * odds * of_gradient, std::log(share * (1 - share)) * of_count)};
  }
  // In upper bounds of the response: means of rate times the exposures' sum.
  const double means = first.Information()[0];
  const double rate =
      std::max(plan.most_mean * (gradient + means) / means, kLeastShare * plan.most_mean);
  const double total = rate * means / plan.most_mean;
  double surprise = 0, rows = 0;
  for (const std::span<const double> values : measured.releases) {
    const LikelihoodRelease release(plan, values);
    surprise += release.Surprise();
    rows += release.rows();
  }
  surprise *= n / rows;
  const auto releases = static_cast<double>(measured.releases.size());
  const double of_surprise = measured.noise.stddev / std::sqrt(releases);
  const double slope = std::log(rate) + 1;
  const double unit = 2 * plan.design->response().high;
  return {
      .value = unit * (surprise - total * std::log(rate)),
      .error = unit * std::hypot(of_surprise / plan.saturated, slope * of_gradient,
                                 (total / means - slope) * measured.noise.stddev / plan.square)};
}

NoisedDeviance DevianceOf(const Measurements& measured, const LikelihoodSteps& steps,
                          const Cholesky& factor, double n) {
  const QuestionPlan& plan = measured.plan;
  const PathIntegral path = IntegralOf(measured, steps, factor);
  const double path_error = std::sqrt(path.variance);
  const double unit = plan.is_rate() ? 2 * plan.design->response().high : 2;
  const NoisedDeviance null = NullDeviance(measured, n);
  return {.value = null.value - unit * path.value,
          .error = std::hypot(null.error, unit * path_error)};
}

}  // namespace tacet::statistics
