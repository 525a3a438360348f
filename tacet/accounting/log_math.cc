#include "tacet/accounting/log_math.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tacet::accounting {

double LogAddExp(double a, double b) {
  const double high = std::max(a, b);
  const double low = std::min(a, b);
  if (low == -kInfinity) {
    return high;
  }
  if (high == kInfinity) {
    return kInfinity;
  }
  return high + std::log1p(std::exp(low - high));
}

double LogSubExp(double a, double b) {
  if (b == -kInfinity) {
    return a;
  }
  const double gap = b - a;
  if (gap >= 0) {
    return -kInfinity;
  }
  return a + (gap > -std::numbers::ln2 ? std::log(-std::expm1(gap)) : std::log1p(-std::exp(gap)));
}

double LogExpm1(double x) { return x > 40 ? x : std::log(std::expm1(x)); }

double LogOnePlusExp(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

double LogMix(double q, double y) {
  if (q <= 0) {
    return 0;
  }
  if (q >= 1) {
    return y;
  }
  if (y > 30) {
    return LogAddExp(std::log1p(-q), std::log(q) + y);
  }
  return std::log1p(q * std::expm1(y));
}

double NormalTail(double x) { return 0.5 * std::erfc(x * std::numbers::sqrt2 / 2); }

double LogNormalTail(double x) {
  if (x < -1) {
    return std::log1p(-NormalTail(-x));
  }
  if (x < 25) {
    return std::log(NormalTail(x));
  }
  // Laplace's continued fraction for Mills' ratio: P(Z > x) = phi(x) / (x + 1/(x + 2/(x + ...))).
  double denominator = x;
  for (int k = 30; k >= 1; --k) {
    denominator = x + k / denominator;
  }
  return -0.5 * x * x - 0.5 * std::log(2 * std::numbers::pi) - std::log(denominator);
}

double LogNormalInterval(double a, double b) {
  if (!(a < b)) {
    return -kInfinity;
  }
  if (a >= 0) {
    return LogSubExp(LogNormalTail(a), b == kInfinity ? -kInfinity : LogNormalTail(b));
  }
  if (b <= 0) {
    return LogSubExp(LogNormalTail(-b), a == -kInfinity ? -kInfinity : LogNormalTail(-a));
  }
  const double outside =
      (a == -kInfinity ? 0 : NormalTail(-a)) + (b == kInfinity ? 0 : NormalTail(b));
  // Both ends near 0: the mass is small and 1 - outside would cancel.
  if (outside > 0.5) {
    const double root = std::numbers::sqrt2 / 2;
    return std::log(0.5 * (std::erf(b * root) - std::erf(a * root)));
  }
  return std::log1p(-outside);
}

}  // namespace tacet::accounting
