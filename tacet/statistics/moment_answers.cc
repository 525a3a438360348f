#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tacet/statistics/answer_parts.h"

namespace tacet::statistics {
namespace {

constexpr double kAnyLow = -std::numeric_limits<double>::infinity();
constexpr double kAnyHigh = std::numeric_limits<double>::infinity();

// E (t - m)^4, on which the sampling error of the variance depends: from the release, drawn to that
// of a normal distribution, 3 v^2, as much as the noise demands. The normal's is taken to be off by
// v^2, which few columns exceed; where the noise is larger than that, it also exceeds the sampling
// error.
double FourthMoment(const Measurements& measured, std::span<const double> y, double n, double m,
                    double q) {
  const double v = std::max(q - m * m, 0.0);
  const double scale = measured.plan.higher * n;
  if (!(scale > 0)) return 3 * v * v;
  const double third = y[3] / scale;   // of 4 t^3 - 3 t
  const double fourth = y[4] / scale;  // of 8 t^4 - 8 t^2 + 1
  const double t3 = (third + 3 * m) / 4;
  const double t4 = (fourth + 8 * q - 1) / 8;
  const double unbiased = t4 - 4 * m * t3 + 6 * m * m * q - 3 * m * m * m * m;
  const double noise = std::hypot(1.0 / 8, m) * measured.noise.stddev / scale;
  const double prior = v * v;
  const double weight = prior > 0 ? prior * prior / (prior * prior + noise * noise) : 0;
  const double reach = 1 + std::abs(m);  // |t - m| is at most this
  return std::clamp(weight * unbiased + (1 - weight) * 3 * v * v, v * v,
                    std::max(reach * reach * v, v * v));
}

// Estimates of one column with y = (1.5 n, sum t, 0.83 sum (2 t^2 - 1)) a + noise. For
// variances 0.1 sum (4 t^3 - 3 t) and 0.1 sum (8 t^4 - 8 t^2 + 1) follow.
void AddColumn(const Measurements& measured, const BoundedColumn& bounded,
               std::span<const double> y, const std::string& label, Answer& answer) {
  const double a = measured.plan.amplitude;
  const double sigma = measured.noise.stddev / a;
  const double n = y[0] / a / kMomentCount;
  const double n_error = sigma / kMomentCount;
  const bool enough = n > 0 && n >= measured.floor;
  const double sum = y[1] / a;
  const double middle = (bounded.low + bounded.high) / 2;
  const double half = (bounded.high - bounded.low) / 2;
  const auto add = [&](std::string_view quantity, double value, double noise, double error,
                       Range range) {
    Estimate labels{.quantity = std::string(quantity), .group = label};
    answer.estimates.push_back(
        enough ? MakeEstimate(labels, value, noise, error, measured.confidence, range) : labels);
  };
  add("count", n, n_error, n_error, {0, kAnyHigh});
  add("sum", middle * n + half * sum, std::hypot(middle * n_error, half * sigma),
      std::hypot(middle * n_error, half * sigma), {kAnyLow, kAnyHigh});
  // Of m = sum / n and q = E t^2: numerator and denominator have independent noise.
  const double m = sum / n;
  const double mean_noise = std::hypot(sigma, m * n_error) / n;
  const double q = (y[2] / measured.plan.square / n + 1) / 2;
  const double v = q - m * m;
  const double spread = std::clamp(v, 0.0, 1 - std::min(m * m, 1.0));  // [-1, 1] allows no more
  add("mean", middle + half * m, half * mean_noise,
      half * std::sqrt(mean_noise * mean_noise + spread / n), {bounded.low, bounded.high});
  if (measured.plan.spec.kind == QuestionKind::kMean) return;
  // dv = dQ / (2 n) - (q - 1/2) dn / n - 2 m (dT - m dn) / n
  const double of_count = (-(q - 0.5) + 2 * m * m) / n * n_error;
  const double noise =
      std::sqrt(std::pow(measured.noise.stddev / measured.plan.square / (2 * n), 2) +
                std::pow(2 * m * sigma / n, 2) + of_count * of_count);
  const double sampling = std::sqrt(std::max(FourthMoment(measured, y, n, m, q) - v * v, 0.0) / n);
  const double error = std::hypot(noise, sampling);
  const double scale = half * half;
  add("variance", scale * v, scale * noise, scale * error, {0, scale});
  // The root of the variance's interval. The delta method has no error at 0.
  const double reach = NormalDeviate(measured.confidence) * error;
  const double root = std::sqrt(std::max(v, 0.0));
  const Range interval = {.low = half * std::sqrt(std::max(v - reach, 0.0)),
                          .high = half * std::sqrt(std::max(v + reach, 0.0))};
  const double steepness = 2 * std::max({root, std::sqrt(error) / 2, 1e-12});
  const Estimate labels{.quantity = "standard deviation", .group = label};
  answer.estimates.push_back(enough ? MakeEstimate(labels, half * root, half * noise / steepness,
                                                   half * error / steepness, interval, {0, half})
                                    : labels);
}

}  // namespace

Answer AnswerMoments(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  Answer answer;
  if (plan.spec.kind == QuestionKind::kSum) {
    const BoundedColumn& bounded = plan.spec.columns[0];
    const double largest = std::max(std::abs(bounded.low), std::abs(bounded.high));
    const double scale = largest / plan.amplitude;
    const double error = scale * measured.noise.stddev;
    answer.estimates.push_back(MakeEstimate({.quantity = "sum"}, scale * measured.values[0], error,
                                            error, measured.confidence));
    answer.methods = {"unbiased sum of values cut to their bounds"};
    return answer;
  }
  answer.methods = {"values cut to their bounds; ratios of unbiased sums",
                    "errors by the delta method"};
  if (plan.spec.kind != QuestionKind::kMean) {
    answer.methods.emplace_back(
        "sampling error of the variance: fourth moment, drawn to that of a normal distribution as "
        "far as the noise demands");
  }
  const size_t values = MomentsOf(plan.spec.kind);
  for (size_t i = 0; i < plan.spec.columns.size(); ++i) {
    const BoundedColumn& bounded = plan.spec.columns[i];
    AddColumn(measured, bounded, measured.values.subspan(i * values, values),
              plan.spec.kind == QuestionKind::kNormalise ? bounded.column : "", answer);
  }
  return answer;
}

}  // namespace tacet::statistics
