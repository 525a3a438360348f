#include "tacet/statistics/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tacet::statistics {

double NormalDeviate(double confidence) {
  // Newton's method on erf(z / sqrt 2), which is concave for z > 0: it ascends to the root.
  double z = 0;
  for (int step = 0; step < 200; ++step) {
    const double miss = confidence - std::erf(z / std::numbers::sqrt2);
    const double slope = std::sqrt(2 / std::numbers::pi) * std::exp(-z * z / 2);
    const double move = miss / slope;
    z += move;
    if (!(std::abs(move) > 1e-13)) break;
  }
  return z;
}

double ChiSquaredTail(double x, size_t freedom) {
  // Q(a, h) for a = freedom / 2 and h = x / 2, from Q(a + 1, h) = Q(a, h) + h^a e^-h / Gamma(a +
  // 1).
  if (!(x > 0)) return 1;
  const double h = x / 2;
  double a = freedom % 2 == 1 ? 0.5 : 1;
  double tail = freedom % 2 == 1 ? std::erfc(std::sqrt(h)) : std::exp(-h);
  for (; 2 * a < static_cast<double>(freedom); ++a) {
    tail += std::exp(a * std::log(h) - h - std::lgamma(a + 1));
  }
  return std::min(tail, 1.0);
}

double CriticalValue(double apart, double confidence) {
  const auto below = [](double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; };
  double least = 0, most = NormalDeviate(confidence);
  for (int step = 0; step < 50; ++step) {
    const double middle = (least + most) / 2;
    (below(middle + apart) - below(-middle) < confidence ? least : most) = middle;
  }
  return most;
}

Range IntervalOfBounds(Range bounds, double low_error, double high_error, double confidence) {
  const double error = std::isinf(bounds.high) ? low_error : std::max(low_error, high_error);
  const double apart = error > 0 ? std::max(bounds.high - bounds.low, 0.0) / error : 0;
  const double critical = CriticalValue(apart, confidence);
  return {.low = bounds.low - critical * low_error,
          .high = std::isinf(bounds.high) ? bounds.high : bounds.high + critical * high_error};
}

Estimate ShareEstimate(const Estimate& labels, NoisedCount yes, NoisedCount no, double deviate) {
  constexpr double kNobody = 1e-6;  // a count without noise that only rounding keeps from 0
  const double y = yes.value, all = yes.value + no.value;
  if (!(all > kNobody)) return labels;
  const double share = std::clamp(y / all, 0.0, 1.0);
  const double z2 = deviate * deviate;
  const double yes2 = yes.noise_error * yes.noise_error, no2 = no.noise_error * no.noise_error;
  // a s^2 - 2 b s + c <= 0
  const double a = all * all - z2 * (yes2 + no2 - all);
  const double b = y * all + z2 * (all / 2 - yes2);
  const double c = y * y - z2 * yes2;
  const double root = b * b - a * c;
  Range interval = {.low = 0, .high = 1};
  if (a > 0 && root >= 0) {
    interval = {.low = (b - std::sqrt(root)) / a, .high = (b + std::sqrt(root)) / a};
  }
  const double noise = std::hypot((1 - share) * yes.noise_error, share * no.noise_error) / all;
  return MakeEstimate(labels, share, noise, std::sqrt(noise * noise + share * (1 - share) / all),
                      interval, Range{.low = 0, .high = 1});
}

Estimate MakeEstimate(const Estimate& labels, double value, double noise_error,
                      double standard_error, double confidence, std::optional<Range> range) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double half = NormalDeviate(confidence) * standard_error;
  return MakeEstimate(labels, value, noise_error, standard_error,
                      Range{.low = value - half, .high = value + half},
                      range.value_or(Range{.low = -kInfinity, .high = kInfinity}));
}

Estimate MakeEstimate(const Estimate& labels, double value, double noise_error,
                      double standard_error, Range interval, Range range) {
  Estimate estimate = labels;
  if (!std::isfinite(value) || !std::isfinite(standard_error)) return estimate;
  const double shown = std::clamp(value, range.low, range.high);
  estimate.value = shown;
  estimate.noise_error = noise_error;
  estimate.standard_error = standard_error;
  estimate.interval = {.low = std::min(std::clamp(interval.low, range.low, range.high), shown),
                       .high = std::max(std::clamp(interval.high, range.low, range.high), shown)};
  return estimate;
}

}  // namespace tacet::statistics
