#include "tacet/table/problem_summary.h"

#include "fmt/format.h"
#include "gtest/gtest.h"

#include "tacet/table/number_text.h"

namespace tacet::table {
namespace {

TableProblem Wrong(uint64_t line, const char* value, uint64_t column = 1) {
  return {.file = "a.csv",
          .line = line,
          .column = column,
          .column_name = column == 1 ? "age" : "chol",
          .fault = NotANumber(value, DecimalMark::kPoint)};
}

TEST(ProblemSummaryTest, OneFaultOfAColumnIsOneLineWithItsMostFrequentValues) {
  ProblemSummary summary;
  EXPECT_TRUE(summary.empty());
  for (uint64_t line = 14; line < 17; ++line) summary.Add(Wrong(line, "36y"));
  for (uint64_t line = 17; line < 57; ++line) summary.Add(Wrong(line, "> 89"));
  summary.Add(Wrong(57, "12.03.1960"));
  summary.Add(Wrong(58, "12 mg", 2));
  summary.Add(
      {.file = "a.csv", .line = 60, .fault = {.what = "3 columns, expected 4", .remedy = ""}});
  summary.Add(
      {.file = "a.csv", .line = 61, .fault = {.what = "3 columns, expected 4", .remedy = ""}});
  EXPECT_EQ(summary.count(), 47u);
  const std::vector<ProblemGroup> groups = summary.Groups();
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].first.line, 14u);
  EXPECT_EQ(groups[0].What(),
            "44 values are no finite numbers: \"> 89\" (40), \"36y\" (3), \"12.03.1960\" (1)");
  ASSERT_EQ(groups[0].remedies.size(), 2u);
  EXPECT_EQ(groups[0].remedies[0], "write the number alone, without unit or remark");
  EXPECT_EQ(groups[1].What(), "\"12 mg\" is not a finite number");
  EXPECT_EQ(groups[2].What(), "3 columns, expected 4 (2 times)");
}

TEST(ProblemSummaryTest, AMillionDistinctValuesNeedTheMemoryOfAThousand) {
  ProblemSummary summary;
  for (int i = 0; i < 100'000; ++i) summary.Add(Wrong(2 + i, fmt::format("x{}", i % 5000).c_str()));
  const std::vector<ProblemGroup> groups = summary.Groups();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].count, 100'000u);
  EXPECT_EQ(groups[0].values.size(), ProblemGroup::kMaxValues);
  EXPECT_TRUE(groups[0].What().ends_with("\"x4\" (20), ...")) << groups[0].What();
  // Kinds of faults are bounded, too.
  for (int i = 0; i < 20'000; ++i) summary.Add({.file = fmt::format("{}.csv", i), .fault = {}});
  EXPECT_EQ(summary.Groups().size(), 10'000u);
  EXPECT_EQ(summary.count(), 120'000u);
}

}  // namespace
}  // namespace tacet::table
