#include "tacet/ring/crt.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"

namespace tacet::ring {
namespace {

std::vector<Uint128> ValuesBelowQ() {
  std::vector<Uint128> values = {0,
                                 1,
                                 kPrime1 - 1,
                                 kPrime1,
                                 kPrime0 - 1,
                                 kPrime0,
                                 (kModulusQ - 1) / 2,
                                 (kModulusQ + 1) / 2,
                                 kModulusQ - 2,
                                 kModulusQ - 1};
  crypto::InsecureSeededEntropy entropy(1, "crt");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  for (int i = 0; i < 10000; ++i) {
    values.push_back(((static_cast<Uint128>(random.NextU64()) << 64) + random.NextU64()) %
                     kModulusQ);
  }
  return values;
}

TEST(CrtTest, ComposeUndoesResidues) {
  for (const Uint128 x : ValuesBelowQ()) {
    EXPECT_TRUE(
        ComposeCrt(static_cast<uint64_t>(x % kPrime0), static_cast<uint64_t>(x % kPrime1)) == x);
  }
}

TEST(CrtTest, ReduceHoldsUpTo127Bits) {
  const Uint128 largest = (Uint128{1} << 127) - 1;
  for (const Uint128 x : ValuesBelowQ()) {
    const Uint128 multiples = (largest - x) / kModulusQ;
    for (const Uint128 multiple : {Uint128{0}, Uint128{1}, Uint128{2}, multiples / 2, multiples}) {
      EXPECT_TRUE(ReduceQ(x + multiple * kModulusQ) == x);
    }
  }
  EXPECT_TRUE(ReduceQ(largest) == largest % kModulusQ);
}

TEST(CrtTest, CentredRepresentativeIsWithinHalfQ) {
  const Int128 half = static_cast<Int128>((kModulusQ - 1) / 2);
  const Int128 q = static_cast<Int128>(kModulusQ);
  EXPECT_TRUE(CentreQ((kModulusQ - 1) / 2) == half);
  EXPECT_TRUE(CentreQ((kModulusQ + 1) / 2) == -half);
  EXPECT_TRUE(CentreQ(kModulusQ - 1) == -1);
  for (const Uint128 x : ValuesBelowQ()) {
    const Int128 centred = CentreQ(x);
    EXPECT_TRUE(centred >= -half && centred <= half);
    EXPECT_TRUE(static_cast<Uint128>((centred + q) % q) == x);
  }
}

TEST(CrtTest, LogarithmOfTheModulus) {
  EXPECT_NEAR(kLog2ModulusQ,
              std::log2(static_cast<double>(kPrime0)) + std::log2(static_cast<double>(kPrime1)),
              1e-12);
}

}  // namespace
}  // namespace tacet::ring
