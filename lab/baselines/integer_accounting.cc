#include "lab/baselines/integer_accounting.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tacet::app::baselines {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint32_t kLargestOrder = 256;

// log(e^a + e^b).
double LogAdd(double a, double b) {
  const double larger = std::max(a, b);
  if (std::isinf(larger)) return larger;
  return larger + std::log1p(std::exp(std::min(a, b) - larger));
}

// log of the number of subsets.
double LogChoose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

}  // namespace

double RoundedNormBound(double norm, double dimension) {
  const double root = std::sqrt(dimension);
  // sqrt(2 log(1/beta)) is 1.
  const double likely = norm * norm + dimension / 4 + (norm + root / 2);
  return std::sqrt(std::min((norm + root) * (norm + root), likely));
}

Sensitivity ReplaceOne(double bound, double max, double dimension) {
  const double l2 = 2 * bound;
  return {.l1 = l2 * std::min(std::sqrt(dimension), l2), .l2 = l2, .max = 2 * max};
}

double GaussianRdp(double alpha, double l2, double variance) {
  return alpha * l2 * l2 / (2 * variance);
}

double SkellamRdp(double alpha, const Sensitivity& sensitivity, double variance) {
  const double l2 = sensitivity.l2 * sensitivity.l2;
  return alpha * l2 / (2 * variance) +
         std::min(((2 * alpha - 1) * l2 + 6 * sensitivity.l1) / (4 * variance * variance),
                  3 * sensitivity.l1 / (2 * variance));
}

double DiscreteGaussianRdp(double alpha, const Sensitivity& sensitivity, double own_stddev,
                           uint32_t participants, double dimension) {
  if (own_stddev < 0.5) return kInfinity;
  double tau = 0;
  for (uint32_t k = 1; k < participants; ++k) {
    tau += std::exp(-2 * std::numbers::pi * std::numbers::pi * own_stddev * own_stddev * k /
                    (k + 1.0));
  }
  tau *= 10;
  const double stddev = std::sqrt(static_cast<double>(participants)) * own_stddev;
  const double l1 = sensitivity.l1 / stddev;
  const double l2 = sensitivity.l2 / stddev;
  const double first = l2 * l2 + tau * dimension / 2;
  const double second = l2 * l2 + 2 * l1 * tau + tau * tau * dimension;
  const double third = (l2 + tau * std::sqrt(dimension)) * (l2 + tau * std::sqrt(dimension));
  return alpha / 2 * std::min({first, second, third});
}

double AmplifiedRdp(uint32_t alpha, double rate, const std::function<double(double)>& rdp) {
  const double log_rate = std::log(rate);
  const double second = rdp(2);
  double sum = 2 * log_rate + LogChoose(alpha, 2) +
               std::min(std::log(4 * std::expm1(second)), second + std::log(2));
  if (std::isinf(second)) return kInfinity;
  sum = LogAdd(0, sum);
  for (uint32_t j = 3; j <= alpha; ++j) {
    sum = LogAdd(sum, j * log_rate + LogChoose(alpha, j) + (j - 1) * rdp(j) + std::log(2));
  }
  return sum / (alpha - 1);
}

double EpsilonOfRdp(const std::function<double(double)>& rdp, double rate, uint32_t rounds,
                    double delta) {
  double least = kInfinity;
  for (uint32_t alpha = 2; alpha <= kLargestOrder; ++alpha) {
    const double plain = rdp(alpha);
    // Amplification never costs: the joint convexity of the divergence.
    const double round = rate < 1 ? std::min(plain, AmplifiedRdp(alpha, rate, rdp)) : plain;
    const double a = alpha;
    const double epsilon =
        rounds * round + std::log1p(-1 / a) - (std::log(delta) + std::log(a)) / (a - 1);
    least = std::min(least, std::max(0.0, epsilon));
  }
  return least;
}

double BinomialEpsilon(const Sensitivity& sensitivity, double trials, double dimension, double rate,
                       uint32_t rounds, double delta) {
  const double variance = trials / 4;
  const double b = 1.0 / 3;
  const double c = std::sqrt(2.0) * 1.75;
  const double d = 2.0 / 3;
  double least = kInfinity;
  // delta = rounds rate delta_1 + delta_2.
  for (double share = 0.02; share < 1; share += 0.02) {
    const double own = share * delta / (rounds * rate);
    if (own >= 1) continue;
    if (variance < std::max(23 * std::log(10 * dimension / own), 2 * sensitivity.max)) continue;
    const double log_own = std::log(1.25 / own);
    const double log_ten = std::log(10 / own);
    const double one = sensitivity.l2 * std::sqrt(2 * log_own) / std::sqrt(variance) +
                       (sensitivity.l2 * c * std::sqrt(log_ten) + sensitivity.l1 * b) /
                           (variance * (1 - own / 10)) +
                       (2.0 / 3 * sensitivity.max * log_own +
                        sensitivity.max * d * std::log(20 * dimension / own) * log_ten) /
                           variance;
    const double amplified = one > 500 ? one : std::log1p(rate * std::expm1(one));
    const double composed =
        amplified * std::sqrt(2 * rounds * std::log(1 / ((1 - share) * delta))) +
        rounds * amplified * std::expm1(amplified);
    least = std::min({least, composed, rounds * amplified});
  }
  return least;
}

}  // namespace tacet::app::baselines
