#include "tacet/ring/polynomial.h"

#include <vector>

#include "gtest/gtest.h"

namespace tacet::ring {
namespace {

TEST(PolynomialTest, MultiplyingByXShiftsAndNegatesWhatPassesTheEnd) {
  for (size_t prime = 0; prime < 2; ++prime) {
    const Ntt& ntt = CompactNtt(prime);
    const uint64_t p = kPrimes[prime];
    std::vector<int8_t> x(kCompactDegree);
    x[1] = 1;
    const Multiplier by_x{std::span<const int8_t>(x), ntt};
    std::vector<uint64_t> f(kCompactDegree);
    for (size_t i = 0; i < f.size(); ++i) f[i] = 1000 + i;
    std::vector<uint64_t> f_ntt = f;
    ntt.Forward(f_ntt);
    std::vector<uint64_t> product(kCompactDegree);
    by_x.Multiply(f_ntt, product);
    EXPECT_EQ(product[0], p - f.back());
    for (size_t i = 1; i < f.size(); ++i) EXPECT_EQ(product[i], f[i - 1]);
  }
}

TEST(PolynomialTest, MultiplierTakesNegativeCoefficientsOfBothWidths) {
  const Ntt& ntt = CompactNtt(1);
  std::vector<int8_t> narrow(kCompactDegree);
  std::vector<int32_t> wide(kCompactDegree);
  for (size_t i = 0; i < narrow.size(); ++i) {
    wide[i] = static_cast<int32_t>(i % 43) - 21;
    narrow[i] = static_cast<int8_t>(wide[i]);
  }
  std::vector<uint64_t> other_ntt(kCompactDegree);
  for (size_t i = 0; i < other_ntt.size(); ++i) other_ntt[i] = (i * i * 982451653) % kPrime1;
  std::vector<uint64_t> a(kCompactDegree);
  std::vector<uint64_t> b(kCompactDegree);
  Multiplier(std::span<const int8_t>(narrow), ntt).Multiply(other_ntt, a);
  Multiplier(std::span<const int32_t>(wide), ntt).Multiply(other_ntt, b);
  EXPECT_EQ(a, b);

  // The same by values, then the inverse transform.
  std::vector<uint64_t> values_ntt(kCompactDegree);
  ForwardOfSmall(std::span<const int8_t>(narrow), ntt, std::span<uint64_t>(values_ntt));
  ValueMultiplier(values_ntt, ntt).Multiply(other_ntt, b);
  for (const uint64_t value : b) EXPECT_LT(value, kPrime1);
  ntt.Inverse(b);
  EXPECT_EQ(a, b);
}

TEST(PolynomialTest, AddInPlaceStaysCanonical) {
  std::vector<uint64_t> sum = {0, kPrime0 - 1, kPrime0 - 1, 5};
  const std::vector<uint64_t> term = {0, 1, kPrime0 - 1, 7};
  AddInPlace(sum, term, kModulus0);
  EXPECT_EQ(sum, (std::vector<uint64_t>{0, 0, kPrime0 - 2, 12}));
}

}  // namespace
}  // namespace tacet::ring
