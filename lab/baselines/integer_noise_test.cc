#include "lab/baselines/integer_noise.h"

#include <cmath>
#include <map>
#include <vector>

#include "gtest/gtest.h"

namespace tacet::app::baselines {
namespace {

constexpr size_t kDraws = 200'000;

crypto::Random Seeded(uint64_t seed) {
  crypto::InsecureSeededEntropy entropy(seed, "integer noise");
  return crypto::Random::FromEntropy(entropy);
}

// Frequencies of each value against P; a false alarm with probability below 10^-9 in all, since
// every value is allowed 7 deviations. A share that is wrong by 1 % at P = 0.2 is 11 deviations.
void ExpectLaw(const std::vector<int64_t>& draws, const std::map<int64_t, double>& law) {
  std::map<int64_t, double> counts;
  for (const int64_t value : draws) ++counts[value];
  const auto n = static_cast<double>(draws.size());
  for (const auto& [value, probability] : law) {
    if (n * probability < 20) continue;
    const double deviation = std::sqrt(n * probability * (1 - probability));
    EXPECT_NEAR(counts[value], n * probability, 7 * deviation) << value;
  }
}

std::map<int64_t, double> Normalised(std::map<int64_t, double> law) {
  double sum = 0;
  for (const auto& [value, weight] : law) sum += weight;
  for (auto& [value, weight] : law) weight /= sum;
  return law;
}

TEST(IntegerNoiseTest, DiscreteGaussianHasItsLaw) {
  for (const double stddev : {0.3, 1.0, 3.7}) {
    crypto::Random random = Seeded(1);
    std::vector<int64_t> draws(kDraws);
    FillDiscreteGaussian(stddev, random, draws);
    std::map<int64_t, double> law;
    for (int64_t k = -60; k <= 60; ++k) {
      const auto x = static_cast<double>(k);
      law[k] = std::exp(-x * x / (2 * stddev * stddev));
    }
    ExpectLaw(draws, Normalised(law));
  }
}

TEST(IntegerNoiseTest, SkellamHasItsLaw) {
  for (const double variance : {0.5, 9.0}) {
    crypto::Random random = Seeded(2);
    std::vector<int64_t> draws(kDraws);
    FillSkellam(variance, random, draws);
    std::map<int64_t, double> law;
    const auto poisson = [rate = variance / 2](int64_t k) {
      const auto x = static_cast<double>(k);
      return std::exp(x * std::log(rate) - rate - std::lgamma(x + 1));
    };
    for (int64_t a = 0; a < 80; ++a) {
      for (int64_t b = 0; b < 80; ++b) law[a - b] += poisson(a) * poisson(b);
    }
    ExpectLaw(draws, law);
  }
}

TEST(IntegerNoiseTest, CentredBinomialHasItsLaw) {
  for (const uint32_t trials : {2U, 64U, 130U, 10'000U}) {
    crypto::Random random = Seeded(3);
    std::vector<int64_t> draws(kDraws);
    FillCentredBinomial(trials, random, draws);
    std::map<int64_t, double> law;
    for (uint32_t k = 0; k <= trials; ++k) {
      law[static_cast<int64_t>(k) - trials / 2] =
          std::exp(std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) -
                   std::lgamma(trials - k + 1.0) - trials * std::log(2.0));
    }
    ExpectLaw(draws, law);
  }
}

TEST(IntegerNoiseTest, RoundingKeepsTheMeanAndTheNorm) {
  crypto::Random random = Seeded(4);
  const std::vector<float> x(50'000, 0.3F);
  std::vector<int64_t> rounded(x.size());
  EXPECT_EQ(RoundConditionally(x, 1, 1e9, random, rounded), 1U);
  double sum = 0;
  for (const int64_t value : rounded) {
    EXPECT_TRUE(value == 0 || value == 1);
    sum += static_cast<double>(value);
  }
  // 7 deviations of sqrt(0.21 n).
  EXPECT_NEAR(sum, 0.3 * 50'000, 7 * std::sqrt(0.21 * 50'000));

  // Among eight halves about four become 1; a norm of at most 1 needs some draws.
  const std::vector<float> halves(8, 0.5F);
  rounded.resize(8);
  for (int i = 0; i < 50; ++i) {
    RoundConditionally(halves, 1, 1, random, rounded);
    int64_t squares = 0;
    for (const int64_t value : rounded) squares += value * value;
    EXPECT_LE(squares, 1);
  }
  // A bound that no rounding meets ends with zeros.
  const std::vector<float> ones(8, 1.0F);
  EXPECT_EQ(RoundConditionally(ones, 1, 1, random, rounded), 1000U);
  EXPECT_EQ(rounded, std::vector<int64_t>(8, 0));
}

}  // namespace
}  // namespace tacet::app::baselines
