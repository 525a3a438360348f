#include "tacet/dp/discrete_laplace.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {
namespace {

using Uint128 = unsigned __int128;

constexpr Uint128 kLargest = ~Uint128{0};
constexpr double kLargestRate = 50;
// The table ends where less than this of the law is left.
constexpr long double kTail = 0x1p-120L;
// A margin kept back of every entry, so that rounding does not make their sum larger than 1.
constexpr long double kKept = 1 - 0x1p-40L;

// f(0), f(1), ..., until less than kTail is left. Of the law of shape r <= 1 the ratio of
// neighbours is at most p, so at most f(k) p / (1 - p) lies beyond k.
std::vector<long double> NegativeBinomial(double rate, uint32_t shares) {
  const long double r = 1 / static_cast<long double>(shares);
  const long double p = std::exp(-static_cast<long double>(rate));
  const long double rest = -std::expm1(-static_cast<long double>(rate));
  std::vector<long double> law = {std::pow(rest, r)};
  while (law.back() * p >= kTail * rest) {
    const auto k = static_cast<long double>(law.size());
    law.push_back(law.back() * p * ((k - 1 + r) / k));
  }
  return law;
}

Uint128 FixedPoint(long double probability) {
  return static_cast<Uint128>(std::ldexp(probability, 128));
}

}  // namespace

double DiscreteLaplaceStddev(double rate) { return 1 / (std::sqrt(2.0) * std::sinh(rate / 2)); }

double DiscreteLaplaceRate(double stddev) { return 2 * std::asinh(1 / (std::sqrt(2.0) * stddev)); }

double DiscreteLaplaceTail(double rate, double laws, double log_probability) {
  const double level = std::numbers::ln2 - log_probability;
  const double rest = std::log(-std::expm1(-rate));
  double distance = std::numeric_limits<double>::infinity();
  // Any theta gives a bound; neighbours of the best are within 1 % of it.
  for (double left = 1; left > 1e-6; left *= 0.93) {
    const double theta = rate * (1 - left);
    if (theta <= 0) continue;
    const double log_moment = laws * (2 * rest - std::log(-std::expm1(theta - rate)) -
                                      std::log(-std::expm1(-theta - rate)));
    distance = std::min(distance, (level + log_moment) / theta);
  }
  return distance * (1 + 1e-9);
}

absl::StatusOr<DiscreteLaplaceShares> DiscreteLaplaceShares::Create(double rate, uint32_t shares) {
  if (!(rate >= kLeastRate && rate <= kLargestRate)) {
    return base::InvalidArgument(
        "the rate of discrete Laplace noise must lie in [{}, {}] a step, got {}", kLeastRate,
        kLargestRate, rate);
  }
  if (shares == 0) return base::InvalidArgument("shares of noise must be at least 1, got 0");
  const std::vector<long double> law = NegativeBinomial(rate, shares);
  std::vector<Uint128> table(std::bit_ceil(law.size() + 1), kLargest);
  Uint128 sum = 0;
  for (size_t k = 0; k < law.size(); ++k) table[k] = sum += FixedPoint(law[k] * kKept);
  // The rest to 1, in the proportion of the entries; a few units are left for the first.
  const long double missing = std::ldexp(static_cast<long double>(kLargest - sum), -128);
  Uint128 added = 0;
  for (size_t k = 0; k < law.size(); ++k) table[k] += added += FixedPoint(law[k] * missing);
  const Uint128 left = kLargest - table[law.size() - 1];
  for (size_t k = 0; k < law.size(); ++k) table[k] += left;

  DiscreteLaplaceShares result;
  result.bound_ = static_cast<uint32_t>(law.size() - 1);
  const auto entries = static_cast<double>(law.size());
  // Each entry was rounded down twice by a unit, the first took what was left, and the tail.
  result.truncation_ = entries * 0x1p-125 + 0x1p-119;
  // An entry takes the ratio of neighbours (five roundings of 2^-64, the power's included) once for
  // each before it, and both passes round; twice, since the sum is brought to 1.
  result.rounding_ = (12 * entries + 128) * 0x1p-64;
  result.table_ = std::make_shared<const std::vector<Uint128>>(std::move(table));
  return result;
}

uint32_t DiscreteLaplaceShares::Find(Uint128 uniform) const {
  const Uint128* at = table_->data();
  for (size_t half = table_->size() / 2; half > 0; half /= 2) {
    at += at[half - 1] <= uniform ? half : 0;
  }
  return std::min(static_cast<uint32_t>(at - table_->data()), bound_);
}

void DiscreteLaplaceShares::Fill(crypto::Random& random, std::span<int32_t> shares) const {
  UniformWords words(random);
  const auto draw = [&] {
    const Uint128 high = words.Next();
    return static_cast<int32_t>(Find(high << 64 | words.Next()));
  };
  for (int32_t& share : shares) {
    const int32_t up = draw();
    share = up - draw();
  }
}

}  // namespace tacet::dp
