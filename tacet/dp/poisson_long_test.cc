#include "gtest/gtest.h"

#include "tacet/dp/testing/acceptance_points.h"

namespace tacet::dp {
namespace {

TEST(PoissonLongTest, AcceptanceAgreesWithTwoHundredBitsAtAHundredThousandPoints) {
  const testing::AcceptanceErrors errors = testing::MeasureAcceptance(2, 100000);
  EXPECT_LT(errors.within_12, 1e-13);
  EXPECT_LT(errors.within_5, 2e-14);
  RecordProperty("within_12", std::to_string(errors.within_12 * 1e15) + "e-15");
  RecordProperty("within_5", std::to_string(errors.within_5 * 1e15) + "e-15");
}

}  // namespace
}  // namespace tacet::dp
