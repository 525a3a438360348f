#include "tacet/dp/elementary.h"

#include <cmath>

#include "gtest/gtest.h"

#include "tacet/crypto/seeded_random.h"
#include "tacet/dp/reference_for_test.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {
namespace {

using testing::Real;

double RelativeError(double value, const Real& exact) {
  return static_cast<double>(abs((Real(value) - exact) / exact));
}

TEST(ElementaryTest, LogIsRightToTwoUnitsInTheLastPlace) {
  crypto::Random random = crypto::SeededRandom(1, "log");
  double worst = 0;
  for (int i = 0; i < 3000; ++i) {
    // Magnitudes from 2^-128 to 2^128, and values close to 1 where the logarithm is small.
    const double mantissa = 1.0 + static_cast<double>(random.NextU64() >> 12) * 0x1p-52;
    const double spread = std::ldexp(mantissa, static_cast<int>(random.Below(256)) - 128);
    const double near = 1.0 - static_cast<double>(random.NextU64() >> 12) * 0x1p-52 *
                                  std::ldexp(1.0, -static_cast<int>(random.Below(40)));
    for (const double x : {spread, near}) {
      if (x == 1.0 || x == 0.0) continue;
      worst = std::max(worst, RelativeError(Log(x), log(Real(x))));
    }
  }
  EXPECT_LT(worst, 2 * 0x1p-53 * 1.5);
  EXPECT_EQ(Log(1.0), 0.0);
}

TEST(ElementaryTest, ExpIsRightOverTheRatesDrawnByProduct) {
  crypto::Random random = crypto::SeededRandom(1, "exp");
  double worst = 0;
  for (int i = 0; i < 2000; ++i) {
    const double x = -10.0 * static_cast<double>(random.NextU64() >> 11) * 0x1p-53;
    worst = std::max(worst, RelativeError(Exp(x), exp(Real(x))));
  }
  EXPECT_LT(worst, 4e-16);
  EXPECT_EQ(Exp(0.0), 1.0);
}

TEST(ElementaryTest, CircleIsRightInEveryQuadrant) {
  crypto::Random random = crypto::SeededRandom(1, "circle");
  double worst = 0;
  const Real two_pi = 2 * boost::math::constants::pi<Real>();
  for (int i = 0; i < 2000; ++i) {
    uint64_t word = random.NextU64();
    // Half of the words close to the middle of a quadrant's cell, where the sine is small.
    if (i % 2 == 0) word = (word & 0xc000000000000000ULL) | ((word & 0x3fff) << (i % 40));
    const CirclePoint point = Circle(word);
    const uint64_t quadrant = word >> 62;
    const Real angle =
        two_pi * (Real(quadrant) / 4 + Real(static_cast<int64_t>(word << 2)) /
                                           boost::multiprecision::ldexp(Real(1), 66));
    const Real cosine = cos(angle);
    const Real sine = sin(angle);
    // An angle of exactly 0, a quarter, ... makes one of the two vanish.
    if ((word << 2) == 0) continue;
    worst = std::max({worst, RelativeError(point.cosine, cosine), RelativeError(point.sine, sine)});
  }
  EXPECT_LT(worst, 4e-16);
  EXPECT_EQ(Circle(0).cosine, 1.0);
  EXPECT_EQ(Circle(uint64_t{1} << 62).sine, 1.0);
  EXPECT_EQ(Circle(uint64_t{2} << 62).cosine, -1.0);
  EXPECT_EQ(Circle(uint64_t{3} << 62).sine, -1.0);
}

TEST(UniformTest, KeepsFiftyThreeBitsNearZero) {
  EXPECT_EQ(FixedPointUnit(0), 0x1p-64);
  EXPECT_EQ(FixedPointUnit(~uint64_t{0}), 1.0);
  EXPECT_EQ(WideUnit(0, 0), 0x1p-128);
  EXPECT_EQ(WideUnit(0, ~uint64_t{0}), 0x1p-64);
  EXPECT_EQ(WideUnit(1, 0), 0x1p-64 + 0x1p-128);
  // The fixed-point form knows 3 bits of a word this small, the wide one 53.
  EXPECT_NE(WideUnit(5, uint64_t{1} << 20), WideUnit(5, uint64_t{1} << 30));
}

TEST(UniformTest, DrawsTheSecondWordOnlyForSmallOnes) {
  crypto::Random random = crypto::SeededRandom(1, "words");
  UniformWords words(random);
  crypto::Random same = crypto::SeededRandom(1, "words");
  UniformWords twin(same);
  EXPECT_EQ(words.Unit(kWholeWord), FixedPointUnit(kWholeWord));
  EXPECT_EQ(words.Next(), twin.Next());
  const double wide = words.Unit(kWholeWord - 1);
  EXPECT_EQ(wide, WideUnit(kWholeWord - 1, twin.Next()));
  EXPECT_EQ(words.Next(), twin.Next());
}

}  // namespace
}  // namespace tacet::dp
