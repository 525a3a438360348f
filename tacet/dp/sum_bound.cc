#include "tacet/dp/sum_bound.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tacet::dp {
namespace {

// The exponent above at theta, less theta K b.
double CentredLogMoment(const SumBoundSpec& spec, double theta) {
  const double step = theta * spec.scale;
  const double h = std::expm1(step) / spec.scale;
  // h - theta = s theta^2 (1/2 + step/6 + step^2/24 + ...): by its series where it would cancel.
  const double excess = step < 1e-3
                            ? spec.scale * theta * theta *
                                  (0.5 + step * (1.0 / 6 + step * (1.0 / 24 + step * (1.0 / 120))))
                            : h - theta;
  return 0.5 * h * h * spec.sum_stddev * spec.sum_stddev +
         spec.cohort * (spec.offset + spec.coordinate_bound) * excess;
}

double LogMoment(const SumBoundSpec& spec, double theta) {
  return theta * spec.cohort * spec.coordinate_bound + CentredLogMoment(spec, theta);
}

// Minimises a function of theta that falls, then rises, by golden section on log theta; the range
// contains every minimum that matters, and any theta in it gives a valid bound.
template <typename Function>
double MinimumOverTheta(const SumBoundSpec& spec, const Function& function) {
  const double spread = std::sqrt(spec.sum_stddev * spec.sum_stddev +
                                  spec.scale * spec.cohort * (spec.offset + spec.coordinate_bound));
  double low = std::log(1e-6 / spread);
  double high = std::min(std::log(1e6 / spread), std::log(300.0 / spec.scale));
  constexpr double ratio = 1.0 / std::numbers::phi;
  double a = high - ratio * (high - low);
  double b = low + ratio * (high - low);
  double at_a = function(std::exp(a));
  double at_b = function(std::exp(b));
  for (int step = 0; step < 100; ++step) {
    if (at_a <= at_b) {
      high = b;
      b = a;
      at_b = at_a;
      a = high - ratio * (high - low);
      at_a = function(std::exp(a));
    } else {
      low = a;
      a = b;
      at_a = at_b;
      b = low + ratio * (high - low);
      at_b = function(std::exp(b));
    }
  }
  return std::min(at_a, at_b);
}

}  // namespace

double LogSumTail(const SumBoundSpec& spec, double distance) {
  const double log_bound = MinimumOverTheta(
      spec, [&](double theta) { return LogMoment(spec, theta) - theta * distance; });
  return std::min(0.0, std::numbers::ln2 + log_bound);
}

double SumTailQuantile(const SumBoundSpec& spec, double log_probability) {
  const double level = std::numbers::ln2 - log_probability;
  const double distance = MinimumOverTheta(
      spec, [&](double theta) { return (level + LogMoment(spec, theta)) / theta; });
  return distance * (1.0 + 1e-9);
}

double SumVarianceProxy(const SumBoundSpec& spec, double theta) {
  return 2 * CentredLogMoment(spec, theta) / (theta * theta);
}

}  // namespace tacet::dp
