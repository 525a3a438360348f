// Distribution of the one-time keys of scheme compact, and the information about a key in the sum
// of two.
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/he/attempt_for_test.h"
#include "tacet/ring/ntt.h"
#include "tacet/ring/sampling.h"

namespace tacet::he {
namespace {

constexpr size_t kN = ring::kCompactDegree;
constexpr int kBound = ring::kErrorBound;

// The keys of so many seals by the product's encryptor, one after the other. For a committee of one
// seat the share without its mask is the key.
std::vector<int8_t> KeysOfSeals(size_t seals, uint64_t seed) {
  const AggregationParams params = MustCreate({.dimension = 1,
                                               .max_participants = 2,
                                               .offset = 1,
                                               .sum_bound = 2,
                                               .committee = {.seats = 1, .corrupt = 0}});
  crypto::InsecureSeededEntropy entropy(seed, "one-time keys");
  std::vector<int8_t> keys;
  keys.reserve(seals * kN);
  const crypto::SecretBytes public_seed = entropy.Draw(32);
  const auto encryptor = *NewCompactEncryptor(params, public_seed.Expose());
  const std::vector<uint32_t> counts = {1};
  const std::vector<uint16_t> no_masks(params.mask_words());
  base::Bytes ciphertext;
  for (size_t i = 0; i < seals; ++i) {
    const crypto::SecretBytes key = entropy.Draw(32);
    EXPECT_TRUE(encryptor->Encrypt(counts, {}, {.key = key, .masks = no_masks}, ciphertext).ok());
    const auto shares = std::span(ciphertext).last(params.share_bytes());
    EXPECT_EQ(shares.size(), 2 * (kN + kCheckWords));
    for (size_t c = 0; c < kN; ++c) {
      const int word = shares[2 * c] | shares[2 * c + 1] << 8;
      keys.push_back(static_cast<int8_t>(word > 32760 ? word - 65521 : word));
    }
  }
  return keys;
}

std::vector<int8_t> TernaryKeys(size_t keys, uint64_t seed) {
  crypto::InsecureSeededEntropy entropy(seed, "ternary keys");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<int8_t> drawn(keys * kN);
  ring::SampleTernary(random, drawn);
  return drawn;
}

// Mean and variance within 6.3 of their standard errors, and a chi-squared statistic over the cells
// with at least 20 expected draws below k + 2 sqrt(k t) + 2 t, t = ln 1e9 (Laurent, Massart 2000):
// each is a false alarm with probability < 1e-9. Ternary keys (variance 0.67) always fail; CBD(20)
// or CBD(22) would give a statistic above 1000.
TEST(OneTimeKeyTest, HasTheLawOfTheError) {
  const std::vector<int8_t> keys = KeysOfSeals(256, 1);
  const auto n = static_cast<double>(keys.size());
  std::array<double, 2 * kBound + 1> counts{};
  double sum = 0;
  double squares = 0;
  for (const int8_t value : keys) {
    ASSERT_LE(std::abs(value), kBound);
    ++counts[static_cast<size_t>(value + kBound)];
    sum += value;
    squares += double{1} * value * value;
  }
  EXPECT_NEAR(sum / n, 0, 6.3 * std::sqrt(10.5 / n));
  EXPECT_NEAR(squares / n, 10.5, 6.3 * 10.5 * std::sqrt(2 / n));

  double statistic = 0;
  double cells = 0;
  double expected = n * std::ldexp(1.0, -2 * kBound);  // of 0 bits among 42
  for (int bits = 0; bits <= 2 * kBound; ++bits) {
    if (expected >= 20) {
      const double difference = counts[static_cast<size_t>(bits)] - expected;
      statistic += difference * difference / expected;
      ++cells;
    }
    expected *= static_cast<double>(2 * kBound - bits) / (bits + 1);
  }
  EXPECT_GT(cells, 20);
  const double t = std::log(1e9);
  EXPECT_LT(statistic, cells + 2 * std::sqrt(cells * t) + 2 * t);
}

// The attack: two contributors' keys k1, k2 in [-bound, bound], their sum is known. A coefficient
// is determined when only one pair of values has that sum.
struct Revealed {
  double determined = 0;   // share of the coefficients
  double at_most_two = 0;  // share of those with at most two possible values
  double mean_square = 0;  // of k1 - (k1 + k2) / 2, what is left to be found
};
Revealed FromSumsOfTwo(const std::vector<int8_t>& keys, int bound) {
  const size_t pairs = keys.size() / (2 * kN);
  size_t determined = 0;
  size_t at_most_two = 0;
  double squares = 0;
  for (size_t pair = 0; pair < pairs; ++pair) {
    for (size_t i = 0; i < kN; ++i) {
      const int k1 = keys[2 * pair * kN + i];
      const int sum = k1 + keys[(2 * pair + 1) * kN + i];
      int possible = 0;
      int found = 0;
      for (int guess = -bound; guess <= bound; ++guess) {
        if (std::abs(sum - guess) > bound) continue;
        ++possible;
        found = guess;
      }
      if (possible == 1) {
        EXPECT_EQ(found, k1);
        ++determined;
      }
      at_most_two += possible <= 2 ? 1 : 0;
      squares += (k1 - sum / 2.0) * (k1 - sum / 2.0);
    }
  }
  const auto n = static_cast<double>(pairs * kN);
  return {.determined = static_cast<double>(determined) / n,
          .at_most_two = static_cast<double>(at_most_two) / n,
          .mean_square = squares / n};
}

// With ternary keys 2/9 of the coefficients come out and 4/9 more are one of two. Of the product's
// keys a coefficient comes out when the sum is +-42, with probability 2^-83, and is one of two with
// probability below 2^-76: none among half a million. Shares and variances within 6.3 standard
// errors: false violations < 1e-9 each. With ternary keys in the product the last three always
// fail.
TEST(OneTimeKeyTest, TheSumOfTwoDeterminesNoCoefficient) {
  constexpr size_t kKeys = 256;
  const double n = kKeys / 2 * kN;
  const auto within = [n](double share) { return 6.3 * std::sqrt(share * (1 - share) / n); };
  const Revealed ternary = FromSumsOfTwo(TernaryKeys(kKeys, 2), 1);
  EXPECT_NEAR(ternary.determined, 2.0 / 9, within(2.0 / 9));
  EXPECT_NEAR(ternary.at_most_two, 6.0 / 9, within(6.0 / 9));

  const Revealed product = FromSumsOfTwo(KeysOfSeals(kKeys, 2), kBound);
  EXPECT_EQ(product.determined, 0);
  EXPECT_EQ(product.at_most_two, 0);
  EXPECT_NEAR(product.mean_square, 5.25, 6.3 * 5.25 * std::sqrt(2 / n));
}

}  // namespace
}  // namespace tacet::he
