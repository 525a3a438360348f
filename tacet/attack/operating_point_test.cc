#include "tacet/attack/operating_point.h"

#include <limits>

#include "gtest/gtest.h"

namespace tacet::attack {
namespace {

TEST(PointAtTest, AccusesTheMostMembersThatTheFalseOnesAllow) {
  // 1 % and 0.1 % of 1000 non-members are 10 and 1.
  MembershipScores scores;
  for (int i = 0; i < 1000; ++i) scores.non_members.push_back(i);
  scores.members = {2000, 998.5, 995, 989.5, 989, 3};
  const OperatingPoint percent = PointAt(scores, 0.01);
  EXPECT_EQ(percent.accused_non_members, 10u);
  EXPECT_EQ(percent.accused_members, 4u);
  EXPECT_DOUBLE_EQ(percent.false_positive_rate(), 0.01);
  EXPECT_DOUBLE_EQ(percent.true_positive_rate(), 4.0 / 6);
  const OperatingPoint mille = PointAt(scores, 0.001);
  EXPECT_EQ(mille.accused_non_members, 1u);
  EXPECT_EQ(mille.accused_members, 2u);
  EXPECT_EQ(PointAt(scores, 0).accused_members, 1u);
  EXPECT_EQ(PointAt(scores, 1).accused_members, 6u);
}

TEST(PointAtTest, TiesAreAccusedTogetherOrSparedTogether) {
  const MembershipScores scores{.members = {5, 5, 9}, .non_members = {1, 5, 5, 5}};
  EXPECT_EQ(PointAt(scores, 0.5).accused_members, 1u);
  EXPECT_EQ(PointAt(scores, 0.5).accused_non_members, 0u);
  EXPECT_EQ(PointAt(scores, 0.75).accused_members, 3u);
  EXPECT_EQ(PointAt(scores, 0.75).accused_non_members, 3u);
}

TEST(PointAtTest, FewNonMembersAndNoNumbers) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const MembershipScores few{.members = {3, 1, kNan}, .non_members = {2, 0, kNan}};
  const OperatingPoint point = PointAt(few, 0.01);
  EXPECT_EQ(point.accused_members, 1u);
  EXPECT_EQ(point.accused_non_members, 0u);
  EXPECT_GT(point.false_positives(0.95).high, 0.5) << "two innocents say little";
  EXPECT_EQ(PointAt({}, 0.01).true_positive_rate(), 0);
}

TEST(AreaUnderCurveTest, CountsPairs) {
  EXPECT_EQ(AreaUnderCurve({.members = {2, 3}, .non_members = {1, 2}}), 0.875);
  EXPECT_EQ(AreaUnderCurve({.members = {2}, .non_members = {}}), std::nullopt);
}

TEST(SplitScoresTest, FollowsTheMembers) {
  const std::vector<double> scores = {1, 2, 3};
  const MembershipScores split = SplitScores(scores, {true, false, true});
  EXPECT_EQ(split.members, (std::vector<double>{1, 3}));
  EXPECT_EQ(split.non_members, (std::vector<double>{2}));
}

}  // namespace
}  // namespace tacet::attack
