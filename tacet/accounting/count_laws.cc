#include "tacet/accounting/count_laws.h"

#include <algorithm>
#include <cmath>

#include "tacet/accounting/log_math.h"

namespace tacet::accounting {
namespace {

double LogChoose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

// Removes the rounding of lgamma at large arguments: the weights add to exactly 1 again.
std::vector<double> Normalised(const std::vector<double>& log_weights) {
  const double highest = *std::max_element(log_weights.begin(), log_weights.end());
  std::vector<double> law(log_weights.size());
  double total = 0;
  for (size_t j = 0; j < law.size(); ++j) {
    law[j] = std::exp(log_weights[j] - highest);
    total += law[j];
  }
  for (double& p : law) p /= total;
  return law;
}

}  // namespace

CountLaw BinomialLaw(uint64_t trials, double q) {
  if (q <= 0 || trials == 0) return {.first = 0, .probability = {1}};
  if (q >= 1) return {.first = trials, .probability = {1}};
  const auto n = static_cast<double>(trials);
  // Chernoff's bound in Bernstein's form: beyond `reach` on either side there is less than 1e-31.
  constexpr double kLogOutside = 72;
  const double variance = n * q * (1 - q);
  const double reach = std::sqrt(2 * variance * kLogOutside) + 2.0 / 3 * kLogOutside + 1;
  const auto first = static_cast<uint64_t>(std::max(0.0, std::floor(n * q - reach)));
  const auto last = static_cast<uint64_t>(std::min(n, std::ceil(n * q + reach)));
  std::vector<double> log_weights;
  log_weights.reserve(last - first + 1);
  for (uint64_t k = first; k <= last; ++k) {
    const auto heads = static_cast<double>(k);
    log_weights.push_back(LogChoose(n, heads) + heads * std::log(q) + (n - heads) * std::log1p(-q));
  }
  return {
      .first = first, .probability = Normalised(log_weights), .above = last < trials ? 1e-30 : 0};
}

CountLaw HypergeometricLaw(uint64_t pool, uint64_t colluders, uint64_t cohort) {
  const auto n = static_cast<double>(pool);
  const auto c = static_cast<double>(colluders);
  const auto k = static_cast<double>(cohort);
  std::vector<double> log_weights(std::min(colluders, cohort) + 1, -kInfinity);
  for (size_t j = 0; j < log_weights.size(); ++j) {
    const auto drawn = static_cast<double>(j);
    if (k - drawn <= n - c) {
      log_weights[j] = LogChoose(c, drawn) + LogChoose(n - c, k - drawn);
    }
  }
  return {.probability = Normalised(log_weights)};
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
