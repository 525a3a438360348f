#include "tacet/accounting/log_math.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tacet::accounting {
namespace {

TEST(LogMathTest, AddsAndSubtractsWithoutOverflowOrCancellation) {
  EXPECT_DOUBLE_EQ(LogAddExp(1000, 1000), 1000 + std::log(2.0));
  EXPECT_EQ(LogAddExp(-kInfinity, 3), 3);
  EXPECT_EQ(LogAddExp(kInfinity, 3), kInfinity);
  EXPECT_EQ(LogSubExp(5, 5), -kInfinity);
  EXPECT_EQ(LogSubExp(5, -kInfinity), 5);
  EXPECT_NEAR(LogSubExp(0, -1e-12), std::log(1e-12), 1e-11);
  EXPECT_NEAR(LogExpm1(1e-20), std::log(1e-20), 1e-13);
  EXPECT_DOUBLE_EQ(LogExpm1(800), 800);
  EXPECT_DOUBLE_EQ(LogOnePlusExp(800), 800);
  EXPECT_DOUBLE_EQ(LogOnePlusExp(-50), std::exp(-50.0));
}

TEST(LogMathTest, MixesAreAccurateAtTinyRates) {
  EXPECT_EQ(LogMix(0, 700), 0);
  EXPECT_EQ(LogMix(1, -700), -700);
  EXPECT_NEAR(LogMix(1e-12, 1) / (1e-12 * std::expm1(1.0)), 1, 1e-11);
  EXPECT_NEAR(LogMix(0.25, -800), std::log(0.75), 1e-15);
  EXPECT_NEAR(LogMix(0.5, 1000), 1000 + std::log(0.5), 1e-12);
}

// The tail's own values, to 20 digits, by quadrature at high precision.
TEST(LogMathTest, NormalTailsReachFarOut) {
  EXPECT_NEAR(LogNormalTail(0), std::log(0.5), 1e-15);
  EXPECT_NEAR(LogNormalTail(-10), -7.6198530241605260660e-24, 1e-36);
  EXPECT_NEAR(LogNormalTail(10), -53.231285150512470, 1e-11);
  EXPECT_NEAR(LogNormalTail(40), -804.60844201375380, 1e-9);
  // Both branches meet.
  EXPECT_NEAR(LogNormalTail(std::nextafter(25.0, 0.0)), LogNormalTail(25), 1e-10);
}

TEST(LogMathTest, IntervalsDoNotCancel) {
  EXPECT_EQ(LogNormalInterval(2, 2), -kInfinity);
  EXPECT_NEAR(LogNormalInterval(-kInfinity, kInfinity), 0, 1e-15);
  const double density = -0.5 * 900 - 0.5 * std::log(2 * M_PI);
  EXPECT_NEAR(LogNormalInterval(30, 30 + 1e-6), density + std::log(1e-6), 1e-4);
  EXPECT_NEAR(LogNormalInterval(-30 - 1e-6, -30), density + std::log(1e-6), 1e-4);
  EXPECT_NEAR(std::exp(LogNormalInterval(-1, 1)), std::erf(1 / std::sqrt(2.0)), 1e-15);
  EXPECT_NEAR(std::exp(LogNormalInterval(-1e-9, 1e-9)) / (2e-9 / std::sqrt(2 * M_PI)), 1, 1e-9);
}

}  // namespace
}  // namespace tacet::accounting
