#include "tacet/he/truncated_planes.h"

#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"

namespace tacet::he {
namespace {

using ring::kModulusQ;
using ring::Uint128;

std::vector<Uint128> SomeCoefficients(size_t count) {
  crypto::InsecureSeededEntropy entropy(3, "planes");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<Uint128> coefficients = {0, 15, 16, kModulusQ - 1};
  while (coefficients.size() < count) {
    coefficients.push_back(((static_cast<Uint128>(random.NextU64()) << 64) + random.NextU64()) %
                           kModulusQ);
  }
  return coefficients;
}

base::Bytes Pslots(const std::vector<Uint128>& coefficients) {
  base::Bytes planes(kPlaneBytes * coefficients.size());
  for (size_t i = 0; i < coefficients.size(); ++i) {
    StoreCoefficient(coefficients[i], i, coefficients.size(), planes.data());
  }
  return planes;
}

TEST(TruncatedPlanesTest, LowMiddleAndHighWordsLieApart) {
  const Uint128 first = (Uint128{0xa1b2c3d4e} << 64) + (Uint128{0x55667788} << 36) + 0x0123456789;
  const base::Bytes planes = Pslots({first, 0});
  const Uint128 kept = first >> 4;
  EXPECT_EQ(ring::LoadWord32(&planes[0]), static_cast<uint32_t>(kept));
  EXPECT_EQ(ring::LoadWord32(&planes[8]), static_cast<uint32_t>(kept >> 32));
  EXPECT_EQ(ring::LoadWord32(&planes[16]), static_cast<uint32_t>(kept >> 64));
  EXPECT_EQ(ring::LoadWord32(&planes[4]), 0u);
}

void AddTo(PlaneSums& sums, const base::Bytes& planes) {
  const uint8_t* const start = planes.data();
  WordSums words;
  sums.Add({&start, 1}, {&words, 1});
}

TEST(TruncatedPlanesTest, SumsGiveTheResiduesOfTheTruncatedSum) {
  const std::vector<Uint128> a = SomeCoefficients(50);
  const std::vector<Uint128> b(50, kModulusQ - 1);
  PlaneSums sums(50);
  PlaneSums other(50);
  Uint128 times = 0;
  for (; times < 1000; ++times) {
    AddTo(sums, Pslots(a));
    AddTo(other, Pslots(b));
  }
  sums.Merge(other);
  AddTo(sums, Pslots(b));
  sums.Subtract(Pslots(b).data());
  std::vector<uint8_t> residues(16 * 50);
  sums.WriteResidues(residues);
  for (size_t i = 0; i < 50; ++i) {
    const Uint128 sum = times * ((a[i] >> 4 << 4) + (b[i] >> 4 << 4));
    for (size_t prime = 0; prime < 2; ++prime) {
      const auto expected = static_cast<uint64_t>(sum % ring::kPrimes[prime]);
      EXPECT_EQ(sums.Residue(i, ring::kModuli[prime]), expected);
      EXPECT_EQ(ring::LoadWord64(&residues[8 * (50 * prime + i)]), expected);
    }
  }
}

TEST(TruncatedPlanesTest, OnlyTruncationsOfValuesBelowQAreCanonical) {
  std::vector<Uint128> coefficients = SomeCoefficients(20);
  EXPECT_EQ(FindNonCanonical(Pslots(coefficients)), std::nullopt);
  // The next multiple of 16 above Q - 1, then everything set.
  coefficients[7] = kModulusQ - 1 + 16;
  EXPECT_EQ(FindNonCanonical(Pslots(coefficients)), 7u);
  coefficients[7] = (Uint128{1} << 100) - 1;
  EXPECT_EQ(FindNonCanonical(Pslots(coefficients)), 7u);
  coefficients[3] = coefficients[7];
  EXPECT_EQ(FindNonCanonical(Pslots(coefficients)), 3u);
}

}  // namespace
}  // namespace tacet::he
