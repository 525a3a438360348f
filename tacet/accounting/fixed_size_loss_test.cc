// Masses of corners against integration in the plane and against a fine sum over lines.
#include "tacet/accounting/fixed_size_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <string>

#include "fmt/format.h"
#include <gtest/gtest.h>

#include "tacet/accounting/log_math.h"
#include "tacet/accounting/planar_reference_for_test.h"

namespace tacet::accounting {
namespace {

struct Setting {
  double q = 1;
  Corner corner;
  double t = 0;
};

class CornerLossTest : public testing::Test {
 protected:
  double Uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator_);
  }
  double LogUniform(double low, double high) {
    return std::exp(Uniform(std::log(low), std::log(high)));
  }
  Setting Draw(double least_cosine) {
    Setting setting{.q = LogUniform(1e-6, 1),
                    .corner = {.rest = LogUniform(1e-2, 14),
                               .moved = LogUniform(1e-2, 14),
                               .cosine = Uniform(least_cosine, 1)},
                    .t = Uniform(0, 1) < 0.1 ? 0 : LogUniform(1e-3, 8)};
    if (Uniform(0, 1) < 0.1) setting.q = 1;
    if (Uniform(0, 1) < 0.2) setting.corner.cosine = least_cosine;
    if (Uniform(0, 1) < 0.2) setting.corner.cosine = 1 - LogUniform(1e-12, 0.1);
    return setting;
  }
  std::mt19937_64 generator_{1};
};

std::string Words(const Setting& s) {
  return fmt::format("q {} rest {} moved {} cosine {} t {}", s.q, s.corner.rest, s.corner.moved,
                     s.corner.cosine, s.t);
}

TEST_F(CornerLossTest, ProfilesAreThoseOfThePlane) {
  for (int i = 0; i < 300; ++i) {
    Setting s = Draw(i % 3 == 0 ? -0.95 : 0);
    s.corner.rest = std::min(s.corner.rest, 8.0);
    s.corner.moved = std::min(s.corner.moved, 8.0);
    const LossSides sides = CornerLoss(s.q, s.corner)->At(s.t);
    const PlaneTriple triple =
        TripleAt(s.corner.rest, s.corner.moved, s.corner.rest * s.corner.moved * s.corner.cosine);
    EXPECT_NEAR(sides.p_above - std::exp(s.t) * sides.q_above,
                PlanarProfile(s.q, triple, std::exp(s.t)), 1e-10)
        << Words(s);
  }
}

// P(L > t), line by line: u lies at 0, v at (moved, 0); lines run in the direction of the bisector,
// so the set is a ray on each of them, whose end is found by halving.
double FineAbove(const Setting& s) {
  const double half = 0.5 * std::acos(std::min(1.0, s.corner.cosine));
  const double w[] = {s.corner.rest * std::cos(half), s.corner.rest * std::sin(half)};
  const double v[] = {s.corner.moved * std::cos(half), -s.corner.moved * std::sin(half)};
  const auto log_ratio = [](const double* m, double x, double y) {
    return m[0] * x + m[1] * y - 0.5 * (m[0] * m[0] + m[1] * m[1]);
  };
  const double log_alpha = s.q < 1 && s.t > 0 ? std::log(std::expm1(s.t) * (1 - s.q) / s.q)
                                              : -std::numeric_limits<double>::max();
  const double step = 0.02;
  double total = 0;
  for (double y = -14 - s.corner.moved; y <= 14 + s.corner.rest; y += step) {
    double low = -60;
    double high = 60;
    for (int turn = 0; turn < 60; ++turn) {
      const double x = 0.5 * (low + high);
      const double a = log_alpha + log_ratio(w, x, y);
      const double b = s.t + log_ratio(v, x, y);
      (std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))) < 0 ? low : high) = x;
    }
    total += s.q * std::exp(-0.5 * y * y) * NormalTail(-low) +
             (1 - s.q) * std::exp(-0.5 * (y - w[1]) * (y - w[1])) * NormalTail(w[0] - low);
  }
  return total * step / std::sqrt(2 * std::numbers::pi);
}

// Delta may be 1e-15, so far tails count. A wider step loses up to half of a per cent of them, a
// shorter reach all of them.
TEST_F(CornerLossTest, TailsAreAccurateToTheirOwnSize) {
  int compared = 0;
  for (int i = 0; i < 300; ++i) {
    const Setting s = Draw(0);
    const double fine = FineAbove(s);
    if (fine < 1e-20) continue;
    ++compared;
    EXPECT_NEAR(CornerLoss(s.q, s.corner)->At(s.t).p_above / fine, 1, 1e-8) << Words(s) << fine;
  }
  EXPECT_GE(compared, 100);
}

}  // namespace
}  // namespace tacet::accounting
