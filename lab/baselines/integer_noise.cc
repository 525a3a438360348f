#include "lab/baselines/integer_noise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tacet/dp/poisson.h"

namespace tacet::app::baselines {
namespace {

constexpr uint32_t kMaxDraws = 1000;
constexpr uint32_t kMaxCountedTrials = 1U << 12;

// Uniform on (0, 1).
double Uniform(crypto::Random& random) {
  return (static_cast<double>(random.NextU64() >> 11) + 0.5) * 0x1p-53;
}

// Words of a generator for the standard library's distributions.
struct Words {
  using result_type = uint64_t;
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return std::numeric_limits<uint64_t>::max(); }
  uint64_t operator()() { return random->NextU64(); }

  crypto::Random* random;
};

}  // namespace

void FillDiscreteGaussian(double stddev, crypto::Random& random, std::span<int64_t> noise) {
  const double variance = stddev * stddev;
  const double t = std::floor(stddev) + 1;  // scale of the Laplace law
  for (int64_t& value : noise) {
    for (;;) {
      // |k| geometric of ratio exp(-1/t); zero of either sign counts once.
      const double magnitude = std::floor(-t * std::log(Uniform(random)));
      const bool negative = (random.NextU64() & 1) != 0;
      if (negative && magnitude == 0) continue;
      const double distance = magnitude - variance / t;
      if (Uniform(random) >= std::exp(-distance * distance / (2 * variance))) continue;
      value = static_cast<int64_t>(negative ? -magnitude : magnitude);
      break;
    }
  }
}

void FillSkellam(double variance, crypto::Random& random, std::span<int64_t> noise) {
  const std::vector<double> rates(noise.size(), variance / 2);
  std::vector<uint32_t> counts(noise.size());
  dp::FillPoisson(rates, random, counts);
  std::ranges::copy(counts, noise.begin());
  dp::FillPoisson(rates, random, counts);
  for (size_t i = 0; i < noise.size(); ++i) noise[i] -= counts[i];
}

void FillCentredBinomial(uint32_t trials, crypto::Random& random, std::span<int64_t> noise) {
  if (trials > kMaxCountedTrials) {
    std::binomial_distribution<int64_t> law(trials, 0.5);
    Words words{&random};
    for (int64_t& value : noise) value = law(words) - trials / 2;
    return;
  }
  for (int64_t& value : noise) {
    int64_t ones = 0;
    for (uint32_t left = trials; left > 0;) {
      const uint32_t bits = std::min<uint32_t>(left, 64);
      ones += std::popcount(random.NextU64() >> (64 - bits));
      left -= bits;
    }
    value = ones - trials / 2;
  }
}

uint32_t RoundConditionally(std::span<const float> x, double scale, double norm_bound,
                            crypto::Random& random, std::span<int64_t> rounded) {
  for (uint32_t draws = 1; draws <= kMaxDraws; ++draws) {
    double squares = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = static_cast<double>(x[i]) / scale;
      const double below = std::floor(exact);
      const double value = below + (Uniform(random) < exact - below ? 1 : 0);
      squares += value * value;
      rounded[i] = static_cast<int64_t>(value);
    }
    if (squares <= norm_bound * norm_bound) return draws;
  }
  std::ranges::fill(rounded, 0);
  return kMaxDraws;
}

}  // namespace tacet::app::baselines
