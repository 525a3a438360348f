#include "tacet/accounting/count_laws.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tacet::accounting {
namespace {

// Chernoff's bound in Bernstein's form: a sum of independent 0-1 variables, or of draws without
// replacement, with this variance is this far from its mean on either side with less than 1e-31.
double ReachOf(double variance) {
  constexpr double kLogOutside = 72;
  return std::sqrt(2 * variance * kLogOutside) + 2.0 / 3 * kLogOutside + 1;
}

// The law with P(k + 1) / P(k) = ratio(k), within `reach` of its mean. Its values are products away
// from the mean: logarithms of factorials would lose seven digits at 1e8.
template <typename Ratio>
CountLaw LawAround(double mean, double reach, double least, double most, const Ratio& ratio) {
  const double first = std::max(least, std::floor(mean - reach));
  const double last = std::min(most, std::ceil(mean + reach));
  const double middle = std::clamp(std::round(mean), first, last);
  std::vector<double> law(static_cast<size_t>(last - first) + 1);
  const auto at = [&](double k) -> double& { return law[static_cast<size_t>(k - first)]; };
  at(middle) = 1;
  for (double k = middle; k < last; ++k) at(k + 1) = at(k) * ratio(k);
  for (double k = middle; k > first; --k) at(k - 1) = at(k) / ratio(k - 1);
  double total = 0;
  for (const double p : law) total += p;
  for (double& p : law) p /= total;
  return {.first = static_cast<uint64_t>(first),
          .probability = std::move(law),
          .above = last < most ? 1e-30 : 0};
}

}  // namespace

CountLaw BinomialLaw(uint64_t trials, double q) {
  if (q <= 0 || trials == 0) return {.first = 0, .probability = {1}};
  if (q >= 1) return {.first = trials, .probability = {1}};
  const auto n = static_cast<double>(trials);
  const double odds = q / (1 - q);
  return LawAround(n * q, ReachOf(n * q * (1 - q)), 0, n,
                   [=](double k) { return (n - k) / (k + 1) * odds; });
}

CountLaw HypergeometricLaw(uint64_t pool, uint64_t colluders, uint64_t cohort) {
  const auto n = static_cast<double>(pool);
  const auto c = static_cast<double>(colluders);
  const auto k = static_cast<double>(cohort);
  const double variance = std::min(k * (c / n) * (1 - c / n), c * (k / n) * (1 - k / n));
  return LawAround(k * c / n, ReachOf(variance), std::max(0.0, k - (n - c)), std::min(c, k),
                   [=](double j) { return (c - j) / (j + 1) * ((k - j) / (n - c - k + j + 1)); });
}

uint64_t PoissonMinParticipants(uint64_t pool, double q, double missed) {
  const CountLaw law = BinomialLaw(pool, q);
  double below = 0;
  size_t i = 0;
  while (i + 1 < law.probability.size() && below + law.probability[i] < missed) {
    below += law.probability[i];
    ++i;
  }
  return std::max<uint64_t>(law.first + i, 1);
}

}  // namespace tacet::accounting
