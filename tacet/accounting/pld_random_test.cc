// PLD answers at random settings against the contour integral.
#include <cmath>

#include "fmt/format.h"
#include <gtest/gtest.h>

#include "tacet/accounting/contour_reference_for_test.h"
#include "tacet/accounting/pld_accountant.h"
#include "tacet/accounting/random_settings_for_test.h"
#include "tacet/base/test_size_for_test.h"

namespace tacet::accounting {
namespace {

TEST(PldRandomTest, TheReferenceKnowsTheClosedForm) {
  // T rounds without sampling: a Gaussian pair at mu = sqrt(T) c.
  const double mu = 0.3 * 5;
  const double epsilon = 2;
  const double exact =
      0.5 * std::erfc((epsilon / mu - mu / 2) / std::sqrt(2.0)) -
      std::exp(epsilon) * 0.5 * std::erfc((epsilon / mu + mu / 2) / std::sqrt(2.0));
  const auto delta = ContourDelta(ReferencePair::kMixtureFirst, 1 - 1e-15, 0.3, 25, epsilon);
  ASSERT_TRUE(delta.has_value());
  EXPECT_NEAR(*delta / exact, 1, 1e-6);
}

// Rare sampling at little noise: single rounds' large losses forbid the tilt that belongs to the
// answer, so the integrand is 2e6 times larger than the integral. Guards the point at which the
// integral is cut off (once a fixed share of the integrand: 2.6e-4 too little here) and its digits.
// The value: the same integral with 113 bits, at three tilts and steps; sums of positive lattice
// masses squared up without a transform extrapolate to it within 1e-7.
TEST(PldRandomTest, TheReferenceHoldsWhereItsIntegrandNearlyCancels) {
  const auto delta = ContourDelta(ReferencePair::kOpposite, 0.0007523361710717953,
                                  1 / 1.0567066615540026, 3131, 0.60086767402540087);
  ASSERT_TRUE(delta.has_value());
  EXPECT_NEAR(*delta / 2.4232765352688388e-12, 1, 1e-6);
}

TEST(PldRandomTest, BracketsHoldTheContourIntegral) {
  CheckRandomSettings(base::TestSize("TACET_RANDOM_SETTINGS", 15), 1);
}

}  // namespace
}  // namespace tacet::accounting
