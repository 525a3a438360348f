#include "tacet/attack/auc.h"

#include <vector>

#include "gtest/gtest.h"

namespace tacet::attack {
namespace {

TEST(AucTest, CountsOrderedPairs) {
  const std::vector<double> scores = {0.1, 0.4, 0.35, 0.8, 0.4};
  const std::vector<uint32_t> labels = {0, 0, 1, 1, 1};
  // Pairs (1, 0): 0.35 beats 0.1; 0.8 beats both; 0.4 beats 0.1 and ties with 0.4.
  EXPECT_DOUBLE_EQ(*AreaUnderCurve(scores, labels), 4.5 / 6);
  EXPECT_DOUBLE_EQ(*AreaUnderCurve(std::vector<double>{1, 2}, std::vector<uint32_t>{0, 1}), 1.0);
  EXPECT_DOUBLE_EQ(*AreaUnderCurve(std::vector<double>{2, 1}, std::vector<uint32_t>{0, 1}), 0.0);
  EXPECT_DOUBLE_EQ(*AreaUnderCurve(std::vector<double>{7, 7}, std::vector<uint32_t>{0, 1}), 0.5);
}

TEST(AucTest, NothingWithoutPairs) {
  EXPECT_FALSE(AreaUnderCurve({}, {}).has_value());
  EXPECT_FALSE(AreaUnderCurve(std::vector<double>{1, 2}, std::vector<uint32_t>{1, 1}).has_value());
  EXPECT_FALSE(AreaUnderCurve(std::vector<double>{std::nan(""), 2}, std::vector<uint32_t>{0, 1})
                   .has_value());
}

}  // namespace
}  // namespace tacet::attack
