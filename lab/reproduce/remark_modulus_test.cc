#include "lab/reproduce/remark_modulus.h"

#include <gtest/gtest.h>

namespace tacet::app::reproduce {
namespace {

// The paper found that 26 bits are enough and 25 are not: K m is 4.0e7, between 2^25 and 2^26.
TEST(RemarkModulusTest, FindsThePapersEdgeAndOurs) {
  const auto study = StudyModulus(1.0, 200);
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_NEAR(study->mean, 4.0e7, 0.05e7);
  EXPECT_NEAR(study->deviation, 6.03e4, 0.05e4);
  EXPECT_EQ(study->plain_bits, 26u);
  for (const ModulusPoint& point : study->points) {
    EXPECT_EQ(point.plain_wrong, point.bits >= 26 ? 0 : 1) << point.bits;
    // 2^19 is 8.7 deviations; 2^16, half the range of 17 bits, is 1.1.
    if (point.bits >= 20) {
      EXPECT_EQ(point.centred_wrong, 0) << point.bits;
    } else if (point.bits <= 17) {
      EXPECT_GT(point.centred_wrong, 0.1) << point.bits;
    }
  }
  const auto bounded = StudyModulus(0.1, 200);
  ASSERT_TRUE(bounded.ok()) << bounded.status();
  EXPECT_EQ(bounded->centred_bits, 22u);
  EXPECT_GT(bounded->plain_bits, 24u);
}

}  // namespace
}  // namespace tacet::app::reproduce
