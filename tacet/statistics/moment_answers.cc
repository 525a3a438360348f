#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tacet/statistics/answer_parts.h"

namespace tacet::statistics {
namespace {

constexpr double kAnyHigh = std::numeric_limits<double>::infinity();

// E (t - m)^4, on which the sampling error of the variance depends: from the release, a deviation
// of its noise above what is measured, as far as the bounds allow. A normal distribution has 3 v^2,
// and costs, lengths of stay and other long-tailed columns have ten times as much.
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
  const double reach = 1 + std::abs(m);  // |t - m| is at most this
  return std::clamp(unbiased + noise, v * v, std::max(reach * reach * v, v * v));
}

// Variances that an estimate v does not contradict, with the error `noise` of the noise and the
// relative sampling error `relative`: all V with (v - V)^2 <= z^2 (noise^2 + (relative V)^2). A
// sample that misses a column's long tail has a small variance, and a small error of it.
Range VarianceInterval(double v, double noise, double relative, double deviate) {
  const double noise_square = std::pow(deviate * noise, 2);
  const double a = 1 - std::pow(deviate * relative, 2), c = v * v - noise_square;
  const double root = std::sqrt(std::max(v * v - a * c, 0.0));
  return {.low = v + root > 0 ? c / (v + root) : 0,
          .high = a > 0 ? (v + root) / a : std::numeric_limits<double>::infinity()};
}

// Sums that n rows within the column's bounds can have, n in `rows`.
Range SumsOf(const BoundedColumn& bounded, Range rows) {
  return {.low = std::min(bounded.low * rows.low, bounded.low * rows.high),
          .high = std::max(bounded.high * rows.low, bounded.high * rows.high)};
}

// The interval of a sum is cut to the sums that the rows can have. Their number is taken from an
// interval that is wrong a fifth as often as the sum's own.
constexpr double kWrongCount = 0.2;

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
  Estimate total{.quantity = "sum", .group = label};
  if (enough) {
    const double error = std::hypot(middle * n_error, half * sigma);
    const double reach = NormalDeviate(measured.confidence) * error;
    const double of_rows = NormalDeviate(1 - kWrongCount * (1 - measured.confidence)) * n_error;
    const Range possible = SumsOf(bounded, {n, n});
    const double value = std::clamp(middle * n + half * sum, possible.low, possible.high);
    total = MakeEstimate(total, value, error, error,
                         Range{middle * n + half * sum - reach, middle * n + half * sum + reach},
                         SumsOf(bounded, {std::max(n - of_rows, 0.0), n + of_rows}));
  }
  answer.estimates.push_back(std::move(total));
  // For m = sum / n and q = E t^2: numerator and denominator have independent noise.
  const double m = sum / n;
  const double mean_noise = std::hypot(sigma, m * n_error) / n;
  const double q = (y[2] / measured.plan.square / n + 1) / 2;
  const double v = q - m * m;
  const double spread = std::clamp(v, 0.0, 1 - std::min(m * m, 1.0));  // [-1, 1] allows no more
  add("mean", middle + half * m, half * mean_noise,
      half * std::sqrt(mean_noise * mean_noise + spread / n), {bounded.low, bounded.high});
  if (measured.plan.kind().moments < 5) return;
  // dv = dQ / (2 n) - (q - 1/2) dn / n - 2 m (dT - m dn) / n
  const double of_count = (-(q - 0.5) + 2 * m * m) / n * n_error;
  const double noise =
      std::sqrt(std::pow(measured.noise.stddev / measured.plan.square / (2 * n), 2) +
                std::pow(2 * m * sigma / n, 2) + of_count * of_count);
  const double sampling = std::sqrt(std::max(FourthMoment(measured, y, n, m, q) - v * v, 0.0) / n);
  const double error = std::hypot(noise, sampling);
  const double scale = half * half;
  const Range of_v = VarianceInterval(spread, noise, spread > 0 ? sampling / spread : 0,
                                      NormalDeviate(measured.confidence));
  const auto add_interval = [&](std::string_view quantity, double value, double of_noise,
                                double of_all, Range interval, double most) {
    const Estimate labels{.quantity = std::string(quantity), .group = label};
    answer.estimates.push_back(
        enough ? MakeEstimate(labels, value, of_noise, of_all, interval, {0, most}) : labels);
  };
  add_interval("variance", scale * spread, scale * noise, scale * error,
               {scale * of_v.low, scale * of_v.high}, scale);
  // The root of the variance's interval. The delta method has no error at 0.
  const double root = std::sqrt(spread);
  const Range interval = {.low = half * std::sqrt(std::max(of_v.low, 0.0)),
                          .high = half * std::sqrt(std::max(of_v.high, 0.0))};
  const double steepness = 2 * std::max({root, std::sqrt(error) / 2, 1e-12});
  add_interval("standard deviation", half * root, half * noise / steepness,
               half * error / steepness, interval, half);
}

}  // namespace

Answer AnswerMoments(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const size_t values = plan.kind().moments;
  Answer answer;
  if (values == 1) {
    const BoundedColumn& bounded = plan.spec.columns[0];
    const double largest = std::max(std::abs(bounded.low), std::abs(bounded.high));
    const double scale = largest / plan.amplitude;
    const double error = scale * measured.noise.stddev;
    // The number of rows is not measured, but it is not negative.
    const Range possible = {.low = bounded.low < 0 ? -kAnyHigh : 0,
                            .high = bounded.high > 0 ? kAnyHigh : 0};
    for (size_t group = 0; group < plan.group_count(); ++group) {
      answer.estimates.push_back(MakeEstimate({.quantity = "sum", .group = plan.group_label(group)},
                                              scale * measured.values[group], error, error,
                                              measured.confidence, possible));
    }
    answer.methods = {"unbiased sum of values cut to their bounds; no sum that they cannot have"};
    return answer;
  }
  answer.methods = {
      "values cut to their bounds; ratios of unbiased sums; no number that the bounds "
      "rule out",
      "errors by the delta method"};
  if (values == 5) {
    answer.methods.emplace_back(
        "sampling error of the variance: fourth moment, a deviation of its noise above the "
        "measured one, in proportion to the variance");
  }
  const size_t columns = plan.spec.columns.size();
  for (size_t block = 0; block < plan.group_count() * columns; ++block) {
    const size_t column = block % columns;
    const std::string group = plan.group_label(block / columns);
    AddColumn(measured, plan.spec.columns[column], measured.values.subspan(block * values, values),
              group.empty() ? plan.column_label(column) : group, answer);
  }
  return answer;
}

}  // namespace tacet::statistics
