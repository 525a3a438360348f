#include "tacet/dp/precision.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"

#include "tacet/crypto/random.h"
#include "tacet/dp/gaussian_forms.h"
#include "tacet/dp/poisson_trial.h"
#include "tacet/dp/uniform.h"

namespace tacet::dp {
namespace {

// d T K at the published setting.
constexpr double kDraws = 486654.0 * 100 * 1000;

TEST(PrecisionTest, CostOfRoundingAtThePublishedSetting) {
  EXPECT_NEAR(kDraws, 4.87e10, 0.01e10);
  EXPECT_NEAR(PrecisionEpsilon(4.7e-13, kDraws, 1e-30), 1.2e-6, 0.03e-6);
  // Linear composition of the same error would cost 0.02, a union bound more than delta.
  EXPECT_GT(4.7e-13 * kDraws, 0.02);
  // An error of single precision's size: no guarantee at all.
  EXPECT_NEAR(PrecisionEpsilon(1.53e-4, kDraws, 1e-30), 966, 2);
}

TEST(PrecisionTest, CostInDelta) {
  const double epsilon1 = PrecisionEpsilon(4.7e-13, kDraws, 1e-30);
  EXPECT_NEAR(PrecisionDelta(epsilon1, 4.5, 1e-5, 1e-30), 1.22e-11, 0.02e-11);
  // At a very large epsilon the failure probability delta_1 weighs.
  EXPECT_GT(PrecisionDelta(epsilon1, 60, 1e-5, 1e-30), 1e-5);
  EXPECT_EQ(PrecisionDelta(0, 0, 1e-5, 0), 0);
}

TEST(PrecisionTest, CostOfTruncation) {
  EXPECT_NEAR(TruncationTerm(kDraws, 9.42, 4.5), 2e-8, 0.05e-8);
  EXPECT_NEAR(TruncationTerm(kDraws, 9.42, 19.13), 0.045, 0.0006);
  EXPECT_NEAR(TruncationTerm(kDraws, 13.27, 19.13), 3.4e-21, 0.1e-21);
}

// The first value of Box and Muller's pair in extended precision (64 bits).
long double ExactNormal(long double unit, uint64_t angle) {
  const long double turn = static_cast<long double>(angle >> 62) / 4 +
                           static_cast<long double>(static_cast<int64_t>(angle << 2)) * 0x1p-66L;
  return std::sqrt(-2 * std::log(unit)) * std::cos(2 * std::acos(-1.0L) * turn);
}

// The error of log P of a draw by rounding: the rate of one coordinate from the product's
// arithmetic against the same words in extended precision, times (k - L)/L at |k - L| = 5 sqrt L.
struct Rounding {
  double in_double = 0;
  double in_float = 0;
};

// `place` is the update over the bound: from -1 to 1, and 2 for one drawn at random.
Rounding MeasureRounding(double coordinate_bound, double stddev, double scale, double place,
                         int draws) {
  crypto::InsecureSeededEntropy entropy(1, "rounding");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  const double z = std::sqrt(2 * 128 * std::log(2.0));
  const double offset = std::ceil((coordinate_bound + z * stddev) / scale) + 1;
  Rounding worst;
  for (int i = 0; i < draws; ++i) {
    const uint64_t word = std::max(random.NextU64(), kWholeWord);
    const uint64_t angle = random.NextU64();
    const double drawn = static_cast<double>(random.NextU64() >> 11) * 0x1p-52 - 1.0;
    const float u = static_cast<float>(coordinate_bound * (place <= 1 ? place : drawn));
    const double x = static_cast<double>(u) + stddev * BoxMuller(FixedPointUnit(word), angle).first;
    const double rate = x * (1.0 / scale) + offset;
    const long double exact =
        (u + stddev * ExactNormal((static_cast<long double>(word) + 1) * 0x1p-64L, angle)) / scale +
        offset;
    const double deviations = 5;
    const auto moved = [&](double computed) {
      return deviations * static_cast<double>(std::abs(computed - exact) / std::sqrt(exact));
    };
    worst.in_double = std::max(worst.in_double, moved(rate));
    worst.in_float = std::max(
        worst.in_float, moved(static_cast<double>(static_cast<float>(x)) * (1.0 / scale) + offset));
  }
  return worst;
}

// The model of RoundingOfDraw lies above what is measured, and not by orders of magnitude; float
// lies far above it.
TEST(PrecisionTest, RoundingOfADrawIsBelowItsModel) {
  const struct {
    double bound, stddev, scale;
  } settings[] = {
      {0.1, 6 / std::sqrt(1000.0), 1e-4},
      {1.0, 6 / std::sqrt(1000.0), 1e-4},
      {0.1, 1.0, 1e-4},
      {0.4, 1.2, 1e-2},
      {0.1, 6 / std::sqrt(1000.0), 1e-6},
      {64.0, 4 / std::sqrt(3.0), 1e-2},
      // Rates near 2^31.
      {0.1, 0.19, 2.6e-9},
      {1.0, 3e-4, 2e-9},
      // Noise far below the bound: an update of -b meets a small rate.
      {1.0, 0.02, 1e-4},
      {1.0, 3e-4, 1e-4},
      {1.0, 1e-4, 1e-4},
      {100.0, 1e-3, 1e-6},
  };
  for (const auto& setting : settings) {
    const double z = 13.33;
    const DrawRates rates{
        .largest = 2 * (setting.bound + z * setting.stddev) / setting.scale + 2,
        .bound = setting.bound / setting.scale,
        .least = std::max(1.0, (z - 5) * setting.stddev / setting.scale),
    };
    const double model = RoundingOfDraw(rates);
    Rounding worst;
    for (const double place : {-1.0, -0.9, 0.0, 1.0, 2.0}) {
      const Rounding measured =
          MeasureRounding(setting.bound, setting.stddev, setting.scale, place, 20000);
      worst.in_double = std::max(worst.in_double, measured.in_double);
      worst.in_float = std::max(worst.in_float, measured.in_float);
    }
    EXPECT_LT(worst.in_double, model) << setting.stddev << " " << setting.scale;
    EXPECT_GT(worst.in_double, model / 30) << setting.stddev << " " << setting.scale;
    EXPECT_GT(worst.in_float, 1e6 * model) << setting.stddev << " " << setting.scale;
  }
  // The published setting with the default sampler, b = 0.1.
  EXPECT_NEAR(RoundingOfDraw({.largest = 52550, .bound = 1000, .least = 15800}), 4.7e-13, 0.03e-13);
}

// Rounding moves the borders between candidates: a border off by e counts, and its neighbour off by
// another e, change the probability of the count between them by at most 2 e, relatively (cells are
// one count wide). A border is a line in the plane of a pair of normal draws: it moves by the mean
// error of the draws along it. Measured against extended precision as the mean of absolute errors
// over strips of a quarter of a deviation, in units of 2^-53 (sqrt L + 2.25), the hat's width.
TEST(PrecisionTest, BordersOfCandidatesAreRightToAFewRoundings) {
  crypto::InsecureSeededEntropy entropy(1, "borders");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  for (const double rate : {10.7, 300.3, 8192.5, 26277.4, 4e4, 1.7e6, 2.1e9}) {
    const long double width = static_cast<long double>(PoissonRoot(rate)) + kPoissonWidening;
    constexpr size_t kStrips = 20;
    double errors[kStrips] = {};
    double draws[kStrips] = {};
    for (int i = 0; i < 250000; ++i) {
      // Far strips, too: half of the radii are larger than those of a normal pair. That does not
      // make the mean smaller, since errors grow with the radius there.
      const uint64_t word = random.NextU64() >> (i % 2 == 0 ? 0 : random.Below(24));
      const uint64_t low = random.NextU64();
      const uint64_t angle = random.NextU64();
      const bool wide = word < kWholeWord;
      const double unit = wide ? WideUnit(word, low) : FixedPointUnit(word);
      const long double exact_unit =
          (static_cast<long double>(word) + (wide ? static_cast<long double>(low) * 0x1p-64L : 1)) *
          0x1p-64L;
      const double normal = BoxMuller(unit, angle).first;
      const long double fraction = (static_cast<long double>(rate) - std::floor(rate)) + 0.5L;
      const long double exact = width * ExactNormal(exact_unit, angle) + fraction;
      const size_t strip = static_cast<size_t>(4 * std::abs(normal));
      if (strip >= kStrips) continue;
      errors[strip] += static_cast<double>(std::abs(PoissonStep(rate, normal) - exact)) /
                       (0x1p-53 * static_cast<double>(width));
      draws[strip] += 1;
    }
    double within_1 = 0;
    double within_5 = 0;
    for (size_t strip = 0; strip < kStrips; ++strip) {
      ASSERT_GT(draws[strip], 20) << strip;
      const double mean = errors[strip] / draws[strip];
      if (strip < 4) within_1 = std::max(within_1, mean);
      within_5 = std::max(within_5, mean);
    }
    EXPECT_LT(within_1, 1.0) << rate;
    EXPECT_LT(within_5, 4.0) << rate;
    EXPECT_GT(within_1, 0.3) << rate;
    RecordProperty("within_1", std::to_string(within_1));
    RecordProperty("within_5", std::to_string(within_5));
  }
}

}  // namespace
}  // namespace tacet::dp
