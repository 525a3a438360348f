#include "tacet/ring/sampling.h"

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/ring/modulus.h"

namespace tacet::ring {
namespace {

crypto::Random SeededRandom(uint64_t seed) {
  crypto::InsecureSeededEntropy entropy(seed, "sampling");
  return crypto::Random::FromEntropy(entropy);
}

std::vector<int8_t> Draw(void (*sample)(crypto::Random&, std::span<int8_t>), size_t count) {
  crypto::Random random = SeededRandom(7);
  std::vector<int8_t> values(count);
  sample(random, values);
  return values;
}

// A chi-squared statistic with k degrees of freedom is above this with probability < 1e-9
// (Laurent and Massart 2000: k + 2 sqrt(k t) + 2 t with t = ln 1e9).
double ChiSquaredLimit(double k) {
  const double t = std::log(1e9);
  return k + 2 * std::sqrt(k * t) + 2 * t;
}

// The group's secret is expanded by several parties: which word makes which value is a format.
TEST(SamplingTest, TernaryTakesTheHighPartOfThreeTimesEachWord) {
  crypto::Random random = SeededRandom(1);
  std::vector<uint64_t> words(5000);
  random.FillU64(words);
  crypto::Random again = SeededRandom(1);
  std::vector<int8_t> values(words.size());
  SampleTernary(again, values);
  for (size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(values[i], static_cast<int>((Uint128{3} * words[i]) >> 64) - 1);
  }
}

TEST(SamplingTest, ErrorCountsTheBitsOfEachWord) {
  crypto::Random random = SeededRandom(1);
  std::vector<uint64_t> words(5000);
  random.FillU64(words);
  crypto::Random again = SeededRandom(1);
  std::vector<int8_t> values(words.size());
  SampleError(again, values);
  for (size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(values[i], std::popcount(words[i] & ((uint64_t{1} << 42) - 1)) - 21);
  }
}

// False alarm < 1e-9. A value whose probability is off by 2 % of itself adds about 200 to the
// statistic, against a limit of 57: noticed with probability > 0.999.
TEST(SamplingTest, TernaryIsUniform) {
  const std::vector<int8_t> values = Draw(SampleTernary, size_t{1} << 20);
  std::array<double, 3> counts{};
  for (const int8_t value : values) {
    ASSERT_GE(value, -1);
    ASSERT_LE(value, 1);
    ++counts[static_cast<size_t>(value + 1)];
  }
  const double expected = static_cast<double>(values.size()) / 3;
  double statistic = 0;
  for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
  EXPECT_LT(statistic, ChiSquaredLimit(2));
}

// False alarm < 1e-9: every cell with at least 20 expected draws against Binomial(42, 1/2) - 21.
// CBD(20) or CBD(22) in its place would give a statistic above 1000.
TEST(SamplingTest, ErrorIsCentredBinomial) {
  const std::vector<int8_t> values = Draw(SampleError, size_t{1} << 20);
  std::array<double, 2 * kErrorBound + 1> counts{};
  for (const int8_t value : values) {
    ASSERT_LE(std::abs(value), kErrorBound);
    ++counts[static_cast<size_t>(value + kErrorBound)];
  }
  double statistic = 0;
  double cells = 0;
  double probability = std::ldexp(1.0, -2 * kErrorBound);  // of 0 bits among 42
  for (int bits = 0; bits <= 2 * kErrorBound; ++bits) {
    const double expected = probability * static_cast<double>(values.size());
    if (expected >= 20) {
      const double difference = counts[static_cast<size_t>(bits)] - expected;
      statistic += difference * difference / expected;
      ++cells;
    }
    probability *= static_cast<double>(2 * kErrorBound - bits) / (bits + 1);
  }
  EXPECT_GT(cells, 20);
  EXPECT_LT(statistic, ChiSquaredLimit(cells));
}

// Mean and variance within 6.3 of their standard errors: false alarm < 1e-9 together. A variance
// off by 1.5 % would be noticed with probability > 0.99.
TEST(SamplingTest, ErrorHasTheVarianceOfTheNoiseBound) {
  const std::vector<int8_t> values = Draw(SampleError, size_t{1} << 20);
  const double n = static_cast<double>(values.size());
  double sum = 0;
  double squares = 0;
  for (const int8_t value : values) {
    sum += value;
    squares += double{1} * value * value;
  }
  EXPECT_NEAR(sum / n, 0, 6.3 * std::sqrt(kErrorVariance / n));
  EXPECT_NEAR(squares / n, kErrorVariance, 6.3 * kErrorVariance * std::sqrt(2 / n));
}

}  // namespace
}  // namespace tacet::ring
