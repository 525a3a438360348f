#include "tacet/ring/ntt.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"

namespace tacet::ring {
namespace {

struct Case {
  std::string name;
  const Ntt& (*ntt)();
  uint64_t root;

  friend void PrintTo(const Case& parameter, std::ostream* out) { *out << parameter.name; }
};

class NttTest : public testing::TestWithParam<Case> {
 protected:
  const Ntt& ntt() const { return GetParam().ntt(); }
  size_t degree() const { return ntt().degree(); }
  uint64_t prime() const { return ntt().modulus().prime(); }

  std::vector<uint64_t> RandomPolynomial(uint64_t seed) const {
    crypto::InsecureSeededEntropy entropy(seed, "ntt");
    crypto::Random random = crypto::Random::FromEntropy(entropy);
    std::vector<uint64_t> polynomial(degree());
    for (uint64_t& coefficient : polynomial) coefficient = random.Below(prime());
    return polynomial;
  }

  // The product in Z_p[X]/(X^N + 1) by its definition.
  std::vector<uint64_t> Schoolbook(const std::vector<uint64_t>& f,
                                   const std::vector<uint64_t>& g) const {
    std::vector<uint64_t> product(degree());
    for (size_t k = 0; k < degree(); ++k) {
      Uint128 plus = 0;
      Uint128 minus = 0;
      for (size_t i = 0; i <= k; ++i) plus += static_cast<Uint128>(f[i]) * g[k - i];
      for (size_t i = k + 1; i < degree(); ++i) {
        minus += static_cast<Uint128>(f[i]) * g[degree() + k - i];
      }
      product[k] = static_cast<uint64_t>((plus % prime() + prime() - minus % prime()) % prime());
    }
    return product;
  }
};

TEST_P(NttTest, RootIsTheSmallestPrimitiveOne) {
  const Modulus& modulus = ntt().modulus();
  const uint64_t root = GetParam().root;
  EXPECT_EQ(modulus.Power(root, degree()), prime() - 1);
  // The others are its odd powers.
  const uint64_t square = modulus.Multiply(root, root);
  uint64_t power = root;
  for (size_t i = 0; i < degree(); ++i) {
    EXPECT_GE(power, root);
    power = modulus.Multiply(power, square);
  }
}

TEST_P(NttTest, ValuesAreThoseAtOddPowersInReversedOrder) {
  const Modulus& modulus = ntt().modulus();
  const std::vector<uint64_t> f = RandomPolynomial(1);
  std::vector<uint64_t> values = f;
  ntt().Forward(values);
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{100}, degree() - 1}) {
    size_t reversed = 0;
    for (size_t bit = 1, of = degree() / 2; bit < degree(); bit *= 2, of /= 2) {
      if ((i & bit) != 0) reversed += of;
    }
    const uint64_t x = modulus.Power(GetParam().root, 2 * reversed + 1);
    uint64_t value = 0;
    for (size_t k = degree(); k-- > 0;) value = modulus.Add(modulus.Multiply(value, x), f[k]);
    EXPECT_EQ(values[i], value) << "value " << i;
  }
}

TEST_P(NttTest, InverseUndoesForward) {
  const std::vector<uint64_t> f = RandomPolynomial(2);
  std::vector<uint64_t> values = f;
  ntt().Forward(values);
  EXPECT_NE(values, f);
  ntt().Inverse(values);
  EXPECT_EQ(values, f);
}

TEST_P(NttTest, ProductOfValuesIsTheProductInTheRing) {
  const Modulus& modulus = ntt().modulus();
  const std::vector<uint64_t> f = RandomPolynomial(3);
  const std::vector<uint64_t> g = RandomPolynomial(4);
  std::vector<uint64_t> f_ntt = f;
  std::vector<uint64_t> g_ntt = g;
  ntt().Forward(f_ntt);
  ntt().Forward(g_ntt);
  for (size_t i = 0; i < degree(); ++i) f_ntt[i] = modulus.Multiply(f_ntt[i], g_ntt[i]);
  ntt().Inverse(f_ntt);
  EXPECT_EQ(f_ntt, Schoolbook(f, g));
}

// The largest input that is guaranteed to work, in both directions.
TEST_P(NttTest, LargestInputsDoNotOverflow) {
  const std::vector<uint64_t> largest(degree(), 2 * prime() - 1);
  const std::vector<uint64_t> reduced(degree(), prime() - 1);
  std::vector<uint64_t> lazy = largest;
  std::vector<uint64_t> canonical = reduced;
  ntt().Forward(lazy);
  ntt().Forward(canonical);
  EXPECT_EQ(lazy, canonical);
  for (const uint64_t value : lazy) EXPECT_LT(value, prime());
  lazy = reduced;
  ntt().Inverse(lazy);
  // All values equal: a constant polynomial.
  EXPECT_EQ(lazy[0], prime() - 1);
  EXPECT_TRUE(std::all_of(lazy.begin() + 1, lazy.end(), [](uint64_t c) { return c == 0; }));
}

// c X^(N/2) with c psi^(N/2) = 1: the first product is 1, for which the lazy one is p + 1, and is
// subtracted from 0. All values are 1 or -1.
TEST_P(NttTest, LazyProductsAboveThePrimeDoNotUnderflow) {
  const Modulus& modulus = ntt().modulus();
  const uint64_t root = modulus.Power(GetParam().root, degree() / 2);
  const uint64_t c = modulus.Inverse(root);
  ASSERT_EQ(modulus.MultiplyLazy(c, modulus.Shoup(root)), prime() + 1);
  std::vector<uint64_t> f(degree());
  f[degree() / 2] = c;
  ntt().Forward(f);
  for (size_t i = 0; i < degree(); ++i) ASSERT_EQ(f[i], i < degree() / 2 ? 1 : prime() - 1) << i;
}

INSTANTIATE_TEST_SUITE_P(
    OfTheFormats, NttTest,
    testing::Values(Case{"p0_4096", []() -> const Ntt& { return CompactNtt(0); }, 856596136628},
                    Case{"p1_4096", []() -> const Ntt& { return CompactNtt(1); }, 935425415354},
                    Case{"p0_8192", []() -> const Ntt& { return PaperNtt(); }, 3135627360}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tacet::ring
