#include "tacet/statistics/likelihood_errors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "tacet/statistics/robust_variance.h"

namespace tacet::statistics {
namespace {

using Weights = std::vector<double>;

// Part of size / clear^2 that variances of the noise grow by. Where the least information was 1.5
// to 2.2 deviations, intervals with this part held in 98 to 100 %.
constexpr double kSecondOrder = 0.5;

double SumOfProducts(const Weights& a, const Weights& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

LikelihoodErrors::LikelihoodErrors(const Measurements& measured, const LikelihoodSteps& steps,
                                   const Cholesky& factor, double clear)
    : measured_(measured),
      steps_(steps),
      factor_(factor),
      second_order_(1 + kSecondOrder * static_cast<double>(steps.coefficients.size()) /
                            (clear * clear)) {}

LikelihoodCoefficient LikelihoodErrors::Of(const Weights& weights) const {
  const Weights solved = factor_.Solve(weights);
  return {.value = SumOfProducts(weights, steps_.coefficients),
          .noise_error = std::sqrt(NoiseCovariance(solved, solved)),
          .standard_error = std::sqrt(CovarianceOf({weights})[0])};
}

std::vector<double> LikelihoodErrors::CovarianceOf(const std::vector<Weights>& sums) const {
  const size_t size = sums.size();
  std::vector<Weights> solved;
  for (const Weights& weights : sums) solved.push_back(factor_.Solve(weights));
  std::vector<double> equal(size * size);
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) equal[i * size + j] = SumOfProducts(sums[i], solved[j]);
  }
  std::vector<double> covariance = SamplingCovariance(solved, std::move(equal));
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      // Rows of one unit may be alike: then as many rows tell no more than one.
      double& value = covariance[i * size + j] *= measured_.plan.rows_per_unit;
      value += NoiseCovariance(solved[i], solved[j]) + Further(sums[i]) * Further(sums[j]);
    }
  }
  return covariance;
}

double LikelihoodErrors::Further(const Weights& weights) const {
  return kFurtherStep * SumOfProducts(weights, steps_.mean_step);
}

double LikelihoodErrors::NoiseCovariance(const Weights& solved, const Weights& other) const {
  const QuestionPlan& plan = measured_.plan;
  const Weights& step = steps_.mean_step;
  const double of_gradient =
      std::pow(steps_.mean_noise * measured_.noise.stddev / plan.amplitude, 2);
  const double of_square = std::pow(steps_.pooled * measured_.noise.stddev / plan.square, 2);
  const double of_cross = std::pow(steps_.pooled * measured_.noise.stddev / plan.cross, 2);
  double noise = 0;
  for (size_t j = 0; j < solved.size(); ++j) {
    noise += solved[j] * other[j] * (of_gradient + step[j] * step[j] * of_square);
    for (size_t k = 0; k < j; ++k) {
      noise += (solved[j] * step[k] + solved[k] * step[j]) *
               (other[j] * step[k] + other[k] * step[j]) * of_cross;
    }
  }
  return noise * second_order_;
}

std::vector<double> LikelihoodErrors::SamplingCovariance(const std::vector<Weights>& solved,
                                                         std::vector<double> equal) const {
  const QuestionPlan& plan = measured_.plan;
  if (plan.is_cox()) {
    for (double& value : equal) value *= kHazardSampling;
  }
  if (steps_.squares.empty()) return equal;
  // For a Poisson model: counts vary more than their means, and not alike. Noise may hide the
  // squares: then the dispersion of all rows counts.
  const size_t size = solved.size();
  const double noise = steps_.pooled_squares * measured_.noise.stddev;
  const double of_dispersion = noise / plan.dispersion;
  const double dispersion =
      std::max(steps_.squares[0] + of_dispersion, of_dispersion) / steps_.information[0];
  for (double& value : equal) value *= dispersion;
  Weights values(size * size), variances;
  double kept = 1;
  for (size_t a = 0; a < size; ++a) {
    for (size_t b = 0; b < size; ++b) {
      const auto [value, unclear] = SandwichOf(solved[a], solved[b], noise);
      values[a * size + b] = value;
      if (a != b) continue;
      variances.push_back(RobustVariance(value, unclear, equal[a * size + b]));
      kept = std::min(kept, KeptPart(unclear, equal[a * size + b]));
    }
  }
  return RobustCovariance(variances, values, kept, std::move(equal));
}

LikelihoodErrors::Sandwich LikelihoodErrors::SandwichOf(const Weights& solved, const Weights& other,
                                                        double noise) const {
  const QuestionPlan& plan = measured_.plan;
  Sandwich sum;
  for (size_t i = 0; i < solved.size(); ++i) {
    for (size_t j = i; j < solved.size(); ++j) {
      const double weight =
          i == j ? solved[i] * other[i] : solved[i] * other[j] + solved[j] * other[i];
      const double scale = j == 0 ? plan.dispersion : i == j ? plan.robust : plan.robust_cross;
      sum.value += weight * steps_.squares[i * solved.size() + j];
      sum.unclear += std::pow(weight * noise / scale, 2);
    }
  }
  return sum;
}

}  // namespace tacet::statistics
