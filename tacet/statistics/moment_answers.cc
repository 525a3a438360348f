#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tacet/statistics/answer_parts.h"

namespace tacet::statistics {
namespace {

constexpr double kAnyLow = -std::numeric_limits<double>::infinity();
constexpr double kAnyHigh = std::numeric_limits<double>::infinity();

// Estimates of one column with y = (1.5 n, sum t, 0.83 sum (2 t^2 - 1)) a + noise.
void AddColumn(const Measurements& measured, const BoundedColumn& bounded,
               std::span<const double> y, const std::string& label, Answer& answer) {
  const double a = measured.plan.amplitude;
  const double sigma = measured.noise_stddev / a;
  const double n = y[0] / a / kMomentCount;
  const double n_error = sigma / kMomentCount;
  const double sum = y[1] / a;
  const double middle = (bounded.low + bounded.high) / 2;
  const double half = (bounded.high - bounded.low) / 2;
  const auto add = [&](std::string_view quantity, double value, double noise, double error,
                       Range range) {
    Estimate labels{.quantity = std::string(quantity), .group = label};
    if (n < measured.floor || !(n > 0)) {
      answer.estimates.push_back(std::move(labels));
      return;
    }
    answer.estimates.push_back(
        MakeEstimate(labels, value, noise, error, measured.confidence, range));
  };
  add("count", n, n_error, n_error, {0, kAnyHigh});
  add("sum", middle * n + half * sum, std::hypot(middle * n_error, half * sigma),
      std::hypot(middle * n_error, half * sigma), {kAnyLow, kAnyHigh});
  // Of m = sum / n and q = E t^2: numerator and denominator have independent noise.
  const double m = sum / n;
  const double mean_noise = std::hypot(sigma, m * n_error) / n;
  const double q = (y[2] / a / kMomentSquare / n + 1) / 2;
  const double v = q - m * m;
  const double spread = std::clamp(v, 0.0, 1 - std::min(m * m, 1.0));  // [-1, 1] allows no more
  add("mean", middle + half * m, half * mean_noise,
      half * std::sqrt(mean_noise * mean_noise + spread / n), {bounded.low, bounded.high});
  if (measured.plan.spec.kind == QuestionKind::kMean) return;
  // dv = dQ / (2 n) - (q - 1/2) dn / n - 2 m (dT - m dn) / n
  const double of_count = (-(q - 0.5) + 2 * m * m) / n * n_error;
  const double noise = std::sqrt(std::pow(sigma / kMomentSquare / (2 * n), 2) +
                                 std::pow(2 * m * sigma / n, 2) + of_count * of_count);
  const double sampling = std::max(v, 0.0) * std::sqrt(2 / n);  // of a normal sample
  const double scale = half * half;
  add("variance", scale * v, scale * noise, scale * std::hypot(noise, sampling), {0, scale});
  const double root = std::sqrt(std::max(v, 0.0));
  add("standard deviation", half * root, half * noise / (2 * root),
      half * std::hypot(noise, sampling) / (2 * root), {0, half});
}

}  // namespace

Answer AnswerMoments(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  Answer answer;
  if (plan.spec.kind == QuestionKind::kSum) {
    const BoundedColumn& bounded = plan.spec.columns[0];
    const double largest = std::max(std::abs(bounded.low), std::abs(bounded.high));
    const double scale = largest / plan.amplitude;
    const double error = scale * measured.noise_stddev;
    answer.estimates.push_back(MakeEstimate({.quantity = "sum"}, scale * measured.values[0], error,
                                            error, measured.confidence));
    answer.methods = {"unbiased sum of values cut to their bounds"};
    return answer;
  }
  answer.methods = {"values cut to their bounds; ratios of unbiased sums",
                    "errors by the delta method"};
  if (plan.spec.kind != QuestionKind::kMean) {
    answer.methods.emplace_back("sampling error of the variance: as of a normal distribution");
  }
  const size_t values = plan.size / plan.spec.columns.size();
  for (size_t i = 0; i < plan.spec.columns.size(); ++i) {
    const BoundedColumn& bounded = plan.spec.columns[i];
    AddColumn(measured, bounded, measured.values.subspan(i * values, values),
              plan.spec.kind == QuestionKind::kNormalise ? bounded.column : "", answer);
  }
  return answer;
}

}  // namespace tacet::statistics
