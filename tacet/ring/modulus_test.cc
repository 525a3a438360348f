#include "tacet/ring/modulus.h"

#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"

namespace tacet::ring {
namespace {

class ModulusTest : public testing::TestWithParam<Modulus> {
 protected:
  // Canonical values: the edges and a thousand random ones.
  std::vector<uint64_t> Values() const {
    const uint64_t p = GetParam().prime();
    std::vector<uint64_t> values = {0, 1, 2, p / 2, p / 2 + 1, p - 2, p - 1};
    crypto::InsecureSeededEntropy entropy(1, "modulus");
    crypto::Random random = crypto::Random::FromEntropy(entropy);
    for (int i = 0; i < 1000; ++i) values.push_back(random.Below(p));
    return values;
  }
};

TEST_P(ModulusTest, AddsSubtractsAndMultipliesAsIntegersDo) {
  const Modulus& modulus = GetParam();
  const uint64_t p = modulus.prime();
  const std::vector<uint64_t> values = Values();
  for (const uint64_t a : values) {
    for (size_t i = 0; i < 20; ++i) {
      const uint64_t b = values[(a + i) % values.size()];
      EXPECT_EQ(modulus.Add(a, b), (a + b) % p);
      EXPECT_EQ(modulus.Subtract(a, b), (a + p - b) % p);
      EXPECT_EQ(modulus.Multiply(a, b), static_cast<uint64_t>(static_cast<Uint128>(a) * b % p));
    }
  }
}

TEST_P(ModulusTest, ShoupQuotientIsTheExactFloor) {
  const Modulus& modulus = GetParam();
  for (const uint64_t w : Values()) {
    const ShoupFactor factor = modulus.Shoup(w);
    EXPECT_EQ(factor.value, w);
    EXPECT_EQ(factor.quotient,
              static_cast<uint64_t>((static_cast<Uint128>(w) << 64) / modulus.prime()));
  }
}

TEST_P(ModulusTest, LazyProductsOfAnyWordStayBelowTwoPrimes) {
  const Modulus& modulus = GetParam();
  const uint64_t p = modulus.prime();
  for (const uint64_t w : Values()) {
    for (const uint64_t a : {uint64_t{0}, p - 1, 2 * p - 1, ~uint64_t{0}, w << 14}) {
      const uint64_t product = modulus.MultiplyLazy(a, modulus.Shoup(w));
      EXPECT_LT(product, 2 * p);
      EXPECT_EQ(product % p, static_cast<uint64_t>(static_cast<Uint128>(a % p) * w % p));
      EXPECT_EQ(modulus.Multiply(a, modulus.Shoup(w)), product % p);
    }
  }
}

TEST_P(ModulusTest, ReducesAnyWordAndAnyDoubleWord) {
  const Modulus& modulus = GetParam();
  const uint64_t p = modulus.prime();
  for (const uint64_t x : {uint64_t{0}, p - 1, p, p + 1, 2 * p - 1, 2 * p, ~uint64_t{0}}) {
    EXPECT_EQ(modulus.Reduce(x), x % p);
    for (const uint64_t high : {uint64_t{1}, p - 1, p, ~uint64_t{0}}) {
      const Uint128 wide = (static_cast<Uint128>(high) << 64) + x;
      EXPECT_EQ(modulus.Reduce(wide), static_cast<uint64_t>(wide % p));
    }
  }
}

TEST_P(ModulusTest, SignedValuesKeepTheirResidue) {
  const Modulus& modulus = GetParam();
  const auto p = static_cast<int64_t>(modulus.prime());
  for (const int64_t x : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{-21}, p - 1, 1 - p}) {
    EXPECT_EQ(modulus.FromSigned(x), static_cast<uint64_t>((x + p) % p));
  }
}

TEST_P(ModulusTest, InverseTimesValueIsOne) {
  const Modulus& modulus = GetParam();
  for (const uint64_t x : {uint64_t{1}, uint64_t{2}, uint64_t{4096}, modulus.prime() - 1}) {
    EXPECT_EQ(modulus.Multiply(x, modulus.Inverse(x)), 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(BothPrimes, ModulusTest, testing::ValuesIn(kModuli),
                         [](const auto& tested) { return tested.index == 0 ? "p0" : "p1"; });

TEST(PrimesTest, HaveTheFormThatFormatsAndPlansRelyOn) {
  EXPECT_EQ(kPrime0, (uint64_t{1} << 50) - (uint64_t{1} << 38) + 1);
  EXPECT_EQ((kPrime0 - 1) % (uint64_t{1} << 38), 0u);
  EXPECT_EQ((kPrime1 - 1) % (uint64_t{1} << 14), 0u);
  for (const uint64_t prime : kPrimes) {
    EXPECT_LT(prime, uint64_t{1} << 50);
    for (uint64_t divisor = 3; divisor < (uint64_t{1} << 25) + 1; divisor += 2) {
      if (prime % divisor == 0) FAIL() << prime << " is divisible by " << divisor;
    }
  }
}

}  // namespace
}  // namespace tacet::ring
