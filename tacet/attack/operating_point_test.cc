#include "tacet/attack/operating_point.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"

#include "tacet/crypto/seeded_random.h"

namespace tacet::attack {
namespace {

TEST(PointAtTest, ClaimsTheMostMembersThatTheFalsePositiveRateAllows) {
  // 1 % and 0.1 % of 1000 non-members are 10 and 1.
  MembershipScores scores;
  for (int i = 0; i < 1000; ++i) scores.non_members.push_back(i);
  scores.members = {2000, 998.5, 995, 989.5, 989, 3};
  const OperatingPoint percent = PointAt(scores, 0.01);
  EXPECT_EQ(percent.false_positives, 10u);
  EXPECT_EQ(percent.true_positives, 4u);
  EXPECT_DOUBLE_EQ(percent.false_positive_rate(), 0.01);
  EXPECT_DOUBLE_EQ(percent.true_positive_rate(), 4.0 / 6);
  const OperatingPoint mille = PointAt(scores, 0.001);
  EXPECT_EQ(mille.false_positives, 1u);
  EXPECT_EQ(mille.true_positives, 2u);
  EXPECT_EQ(PointAt(scores, 0).true_positives, 1u);
  EXPECT_EQ(PointAt(scores, 1).true_positives, 6u);
}

TEST(PointAtTest, TiesFallOnOneSide) {
  const MembershipScores scores{.members = {5, 5, 9}, .non_members = {1, 5, 5, 5}};
  EXPECT_EQ(PointAt(scores, 0.5).true_positives, 1u);
  EXPECT_EQ(PointAt(scores, 0.5).false_positives, 0u);
  EXPECT_EQ(PointAt(scores, 0.75).true_positives, 3u);
  EXPECT_EQ(PointAt(scores, 0.75).false_positives, 3u);
}

TEST(PointAtTest, FewNonMembersAndNoNumbers) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const MembershipScores few{.members = {3, 1, kNan}, .non_members = {2, 0, kNan}};
  const OperatingPoint point = PointAt(few, 0.01);
  EXPECT_EQ(point.true_positives, 1u);
  EXPECT_EQ(point.false_positives, 0u);
  EXPECT_GT(point.FalsePositiveInterval(0.95).high, 0.5) << "two non-members say little";
  EXPECT_EQ(PointAt({}, 0.01).true_positive_rate(), 0);
}

TEST(OperatingPointTest, OneSidedLimitsAreEndsOfTheExactIntervals) {
  const OperatingPoint point{.members = 40,
                             .non_members = 200,
                             .true_positives = 7,
                             .false_positives = 2,
                             .allowed_false_positives = 2};
  EXPECT_DOUBLE_EQ(point.TruePositiveRateAtLeast(0.975), ExactInterval(7, 40, 0.95).low);
  EXPECT_DOUBLE_EQ(point.FalsePositiveRateAtMost(0.975), ExactInterval(2, 200, 0.95).high);
  // Ties below the threshold leave fewer false positives than it was chosen for.
  OperatingPoint tied = point;
  tied.false_positives = 0;
  EXPECT_DOUBLE_EQ(tied.FalsePositiveRateAtMost(0.975), point.FalsePositiveRateAtMost(0.975));
  EXPECT_EQ(OperatingPoint{}.FalsePositiveRateAtMost(0.9), 1);
  EXPECT_EQ(OperatingPoint{}.TruePositiveRateAtLeast(0.9), 0);
}

// The threshold is chosen by the same non-members that the rate is measured on, and the limit is
// right all the same. It is passed in a tenth of 20,000 samples; 6.2 deviations on either side are
// a false alarm of 6e-10. The limit for one false positive fewer is passed in more than a third.
TEST(OperatingPointTest, TheChosenThresholdsFalsePositiveRateIsBelowItsLimit) {
  constexpr int kSamples = 20'000;
  constexpr size_t kNonMembers = 200;
  crypto::Random random = crypto::SeededRandom(1, "non-members");
  int passed = 0;
  int passed_with_one_fewer = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    MembershipScores scores;
    for (size_t i = 0; i < kNonMembers; ++i) {
      scores.non_members.push_back(crypto::Uniform(random));
    }
    OperatingPoint point = PointAt(scores, 0.01);
    ASSERT_EQ(point.false_positives, 2u);
    std::ranges::sort(scores.non_members);
    const double rate = 1 - scores.non_members[kNonMembers - 3];
    passed += rate > point.FalsePositiveRateAtMost(0.9) ? 1 : 0;
    point.false_positives = point.allowed_false_positives = 1;
    passed_with_one_fewer += rate > point.FalsePositiveRateAtMost(0.9) ? 1 : 0;
  }
  EXPECT_NEAR(passed, 0.1 * kSamples, 6.2 * std::sqrt(0.1 * 0.9 * kSamples));
  EXPECT_GT(passed_with_one_fewer, 0.2 * kSamples);
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
