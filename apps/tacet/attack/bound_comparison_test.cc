#include "apps/tacet/attack/bound_comparison.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"

namespace tacet::app::attack {
namespace {

using tacet::attack::OperatingPoint;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// As epsilon = ln 2 allows it where the false-positive rate is small.
absl::StatusOr<double> Twice(double false_positive_rate) {
  return std::min(1.0, 2 * false_positive_rate);
}

OperatingPoint PointOf(uint64_t true_positives, uint64_t false_positives) {
  return {.members = 1000,
          .non_members = 1000,
          .true_positives = true_positives,
          .false_positives = false_positives,
          .allowed_false_positives = false_positives};
}

BoundComparison Compare(const OperatingPoint& point, double confidence) {
  const auto comparison = CompareWithBound(point, Twice, confidence);
  EXPECT_TRUE(comparison.ok()) << comparison.status();
  return comparison.value_or(BoundComparison{});
}

TEST(BoundComparisonTest, AllLimitsTogetherHoldAtTheJointConfidence) {
  EXPECT_DOUBLE_EQ(LimitConfidence(0.999, 1), 0.9995);
  EXPECT_DOUBLE_EQ(LimitConfidence(0.999, 12), 1 - 0.001 / 24);
}

TEST(BoundComparisonTest, TheVerdictFollowsFromTheNumbersOfItsRow) {
  for (const uint64_t found : {0, 10, 20, 30, 40, 50, 60, 80, 100, 200}) {
    const BoundComparison row = Compare(PointOf(found, 10), 0.9995);
    EXPECT_DOUBLE_EQ(row.bound, 2 * row.false_positive_rate_at_most);
    const double measured = static_cast<double>(found) / 1000;
    EXPECT_LE(row.true_positive_rate_at_least, measured);
    const BoundVerdict expected = row.true_positive_rate_at_least > row.bound
                                      ? BoundVerdict::kExceeded
                                  : measured > row.bound ? BoundVerdict::kUndecided
                                                         : BoundVerdict::kWithin;
    EXPECT_EQ(row.verdict, expected) << found;
  }
  // 10 false positives of 1000: at most 2.46 % of all non-members, so at most 4.91 % of members.
  EXPECT_EQ(Compare(PointOf(45, 10), 0.9995).verdict, BoundVerdict::kWithin);
  EXPECT_EQ(Compare(PointOf(60, 10), 0.9995).verdict, BoundVerdict::kUndecided);
  EXPECT_EQ(Compare(PointOf(90, 10), 0.9995).verdict, BoundVerdict::kExceeded);
  // A result that is beyond chance in one comparison is not in the largest of a dozen.
  EXPECT_EQ(Compare(PointOf(81, 10), LimitConfidence(0.999, 1)).verdict, BoundVerdict::kExceeded);
  EXPECT_EQ(Compare(PointOf(81, 10), LimitConfidence(0.999, 12)).verdict, BoundVerdict::kUndecided);
}

TEST(BoundComparisonTest, NobodyToCompareWithDecidesNothing) {
  const OperatingPoint nobody{.members = 1000, .true_positives = 1000};
  const BoundComparison row = Compare(nobody, 0.99);
  EXPECT_EQ(row.bound, 1);
  EXPECT_EQ(row.verdict, BoundVerdict::kWithin);
}

TEST(BoundComparisonTest, TheConclusionFollowsFromTheRows) {
  std::vector<BoundComparison> rows(3);
  EXPECT_EQ(ConclusionOf(rows, 0.999),
            "the measured true-positive rate is within the bound in all 3 comparisons");
  rows[1].verdict = BoundVerdict::kUndecided;
  EXPECT_THAT(ConclusionOf(rows, 0.999),
              AllOf(StartsWith("no comparison exceeds the bound at the joint confidence of 99.9 %"),
                    HasSubstr("in 1 of 3 the measured rate is above the bound")));
  rows[2].verdict = BoundVerdict::kExceeded;
  EXPECT_THAT(ConclusionOf(rows, 0.999),
              StartsWith("THE BOUND IS EXCEEDED in 1 of 3 comparisons, at a joint confidence of "
                         "99.9 %"));
}

// Tables of 12 comparisons of attacks that find just as many members as the bound allows. At a
// joint confidence of 80 % at most a fifth of 2,000 tables has a false alarm; 6.2 deviations above
// are 6e-10. Without the correction for 12 comparisons more than a fifth of them has one.
TEST(BoundComparisonTest, ADozenComparisonsMakeFewFalseAlarms) {
  constexpr int kTables = 2000;
  constexpr int kComparisons = 12;
  crypto::Random random = crypto::SeededRandom(1, "tables");
  const auto heads = [&random](double probability) {
    uint64_t count = 0;
    for (int i = 0; i < 1000; ++i) count += crypto::Uniform(random) < probability ? 1 : 0;
    return count;
  };
  int violations = 0;
  int uncorrected = 0;
  for (int table = 0; table < kTables; ++table) {
    bool alarm = false;
    bool alarm_uncorrected = false;
    for (int i = 0; i < kComparisons; ++i) {
      const OperatingPoint point = PointOf(heads(0.2), heads(0.1));
      alarm |=
          Compare(point, LimitConfidence(0.8, kComparisons)).verdict == BoundVerdict::kExceeded;
      alarm_uncorrected |=
          Compare(point, LimitConfidence(0.8, 1)).verdict == BoundVerdict::kExceeded;
    }
    violations += alarm ? 1 : 0;
    uncorrected += alarm_uncorrected ? 1 : 0;
  }
  EXPECT_LT(violations, 0.2 * kTables + 6.2 * 0.4 * std::sqrt(kTables));
  EXPECT_GT(uncorrected, 0.2 * kTables + 6.2 * 0.4 * std::sqrt(kTables));
}

}  // namespace
}  // namespace tacet::app::attack
