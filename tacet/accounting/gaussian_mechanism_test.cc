#include "tacet/accounting/gaussian_mechanism.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tacet/accounting/log_math.h"
#include "tacet/accounting/reference_values_for_test.h"

namespace tacet::accounting {
namespace {

TEST(GaussianMechanismTest, ReproducesTheUnamplifiedReferences) {
  const std::string at = "/tight_at_paper_setting/no amplification";
  EXPECT_NEAR(GaussianEpsilon(std::sqrt(100.0) / 3, 1e-5),
              Reference(at + " (adversary knows the participant sets) nm 3, T=100"), 1e-6);
  EXPECT_NEAR(GaussianEpsilon(std::sqrt(28.0) / 3, 1e-5),
              Reference(at + " nm 3, 28 participations"), 1e-6);
  EXPECT_NEAR(GaussianEpsilon(std::sqrt(45.0) / 3, 1e-5),
              Reference(at + ", 45 participations (nm 3)"), 5e-3);
}

TEST(GaussianMechanismTest, TheAnswerKeepsDeltaAndIsTight) {
  for (const double mu : {1e-4, 0.01, 0.5, 3.0, 40.0, 1000.0}) {
    for (const double delta : {1e-3, 1e-5, 1e-15, 1e-100}) {
      const double epsilon = GaussianEpsilon(mu, delta);
      ASSERT_GE(epsilon, 0);
      EXPECT_LE(GaussianLogDelta(mu, epsilon), std::log(delta)) << mu << " " << delta;
      if (epsilon > 0) {
        EXPECT_GT(GaussianLogDelta(mu, epsilon * (1 - 1e-9)), std::log(delta))
            << mu << " " << delta;
      }
    }
  }
}

TEST(GaussianMechanismTest, ZeroOnlyWhereDeltaOfZeroSuffices) {
  // delta(0) = 2 Phi(mu/2) - 1 = erf(mu / sqrt 8), nearly mu / sqrt(2 pi).
  const double mu = 1e-3 * std::sqrt(2 * M_PI);
  EXPECT_EQ(GaussianEpsilon(mu, 1.0001e-3), 0);
  EXPECT_GT(GaussianEpsilon(mu, 0.9999e-3), 0);
  EXPECT_EQ(GaussianEpsilon(0, 1e-9), 0);
  EXPECT_EQ(GaussianEpsilon(kInfinity, 1e-9), kInfinity);
}

}  // namespace
}  // namespace tacet::accounting
