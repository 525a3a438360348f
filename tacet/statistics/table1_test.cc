// Table 1: its questions, its numbers against the truth of the rows, hidden cells, and its print.
#include "tacet/statistics/table1.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/statistics/answers_for_test.h"

namespace tacet::statistics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

QuestionSpec Baseline() {
  QuestionSpec table{.name = "baseline", .kind = QuestionKind::kTable1, .share = 2};
  table.groups = {.column = "arm", .categories = {"drug", "placebo"}};
  table.variables = {{.column = "age", .bounds = BoundedColumn{"age", 18, 100}},
                     {.column = "stage"}};
  return table;
}
const std::vector<std::string> kBaselineColumns = {"arm", "age", "stage"};

std::shared_ptr<const Query> BaselineQuery(double floor = 0) {
  return MakeQuery({Baseline()}, floor, {ValuesOf("stage one-of=I,II,III|3")});
}

// In each arm ages from `first` on, one year apart.
TextRows BaselineRows(int drug, int placebo) {
  TextRows rows = {{"drug", "old", "I"}, {"none", "50", "I"}, {"placebo", "60", "?"}};
  for (int i = 0; i < drug; ++i) {
    rows.push_back({"drug", std::to_string(40 + i % 41), i % 4 == 0 ? "3" : "II"});
  }
  for (int i = 0; i < placebo; ++i) rows.push_back({"placebo", "150", i % 2 == 0 ? "I" : "II"});
  return rows;
}

TEST(Table1Test, IsSeveralQuestionsInSharesOfItsOwn) {
  const auto query = BaselineQuery();
  std::vector<std::string> names;
  double shares = 0;
  for (const QuestionPlan& plan : query->questions()) {
    names.push_back(plan.spec.name);
    shares += plan.spec.share;
    EXPECT_EQ(plan.asked_kind(), QuestionKind::kTable1);
  }
  EXPECT_THAT(names, ElementsAre("baseline: n", "baseline: age, mean (sd)",
                                 "baseline: age, median [IQR]", "baseline: stage, n (%)"));
  EXPECT_DOUBLE_EQ(shares, 2);
  // Made again from its own questions, it is the same.
  EXPECT_EQ(Query::Create(query->spec())->spec(), query->spec());
}

TEST(Table1Test, RefusalsNameTheVariable) {
  const auto refusal = [](const QuestionSpec& table, std::vector<QuestionSpec> others = {}) {
    others.insert(others.begin(), table);
    const auto query =
        Query::Create({.questions = others, .values = {ValuesOf("stage one-of=I,II,III")}});
    EXPECT_FALSE(query.ok());
    return base::Message(query.status());
  };
  QuestionSpec table = Baseline();
  table.variables.push_back({.column = "sex"});
  EXPECT_THAT(refusal(table), HasSubstr("question \"baseline\": `columns` has \"sex\": write the "
                                        "bounds of a column of numbers, as in \"sex 0..100\", or "
                                        "list the values of one of texts in `data.values`"));
  table.variables = {{.column = "age", .bounds = BoundedColumn{"age", 100, 18}}};
  EXPECT_THAT(refusal(table), HasSubstr("has the bounds 100 and 18"));
  table.variables = {{.column = "stage"}, {.column = "stage"}};
  EXPECT_THAT(refusal(table), HasSubstr("`columns` has \"stage\" twice"));
  table.variables.clear();
  EXPECT_THAT(refusal(table), HasSubstr("`columns` is empty"));
  EXPECT_THAT(refusal(Baseline(), {{.name = "baseline"}}), HasSubstr("a name of its own"));
  EXPECT_THAT(refusal(Baseline(), {{.name = "baseline: n"}}), HasSubstr("a name of its own"));
}

TEST(Table1Test, IsThatOfTheRows) {
  const auto query = BaselineQuery();
  const auto answers = Answers(*query, SumOf(query, kBaselineColumns, BaselineRows(410, 100)), 0);
  ASSERT_EQ(answers.size(), 1u);
  const Answer& table = answers[0];
  EXPECT_EQ(table.question, "baseline");
  EXPECT_EQ(table.kind, QuestionKind::kTable1);
  EXPECT_NEAR(*Find(table, "count", "drug").value, 411, 1e-6);
  EXPECT_NEAR(*Find(table, "mean", "drug", "age").value, 60, 0.01);
  EXPECT_NEAR(*Find(table, "standard deviation", "drug", "age").value, std::sqrt(140), 0.05);
  EXPECT_NEAR(*Find(table, "median", "drug", "age").value, 60, 2);
  EXPECT_NEAR(*Find(table, "lower quartile", "drug", "age").value, 50, 2);
  EXPECT_NEAR(*Find(table, "count", "drug", "stage = III").value, 103, 1e-6);
  EXPECT_NEAR(*Find(table, "proportion", "drug", "stage = III").value, 103 / 411.0, 1e-9);
  // Values beyond a bound count as the bound, in the mean and in the median.
  EXPECT_NEAR(*Find(table, "mean", "placebo", "age").value, 100 - 40 / 101.0, 0.01);
  EXPECT_NEAR(*Find(table, "median", "placebo", "age").value, 99, 1);
  EXPECT_NEAR(*Find(table, "left out", "", "age").value, 2, 1e-6);    // "old", and of no arm
  EXPECT_NEAR(*Find(table, "left out", "", "stage").value, 2, 1e-6);  // "?", and of no arm
  EXPECT_NEAR(*Find(table, "left out", "", "arm").value, 1, 1e-6);

  ASSERT_TRUE(table.table.has_value());
  EXPECT_EQ(table.table->by, "arm");
  EXPECT_THAT(table.table->groups, ElementsAre("drug", "placebo"));
  std::vector<std::string> lines;
  for (const TableRow& row : table.table->rows) {
    lines.push_back(
        fmt::format("{} | {} | {} | {}", row.name, row.cells[0], row.cells[1], row.noise));
  }
  EXPECT_THAT(lines, ElementsAre("n | 411 | 101 | 0.00",
                                 testing::StartsWith("age, mean (sd) | 60.0 (11.8) | 99.6 (3.9"),
                                 testing::StartsWith("age, median [IQR] | "),
                                 "stage = I, n (%) | 1 (0.243) | 50 (50.0) | 0.00",
                                 "stage = II, n (%) | 307 (74.7) | 50 (50.0) | 0.00",
                                 "stage = III, n (%) | 103 (25.1) | 0 (0.00) | 0.00"));
  EXPECT_THAT(AnswersJson(*query, answers).Dump(),
              HasSubstr(R"("table":{"by":"arm","groups":["drug","placebo"],"rows":[{"name":"n",)"));
}

// No hidden count of a group is what is left of the group's other counts.
TEST(Table1Test, HiddenCellsAreTwoInEachGroup) {
  const auto query = BaselineQuery(10);
  const Answer table =
      Answers(*query, SumOf(query, kBaselineColumns, BaselineRows(410, 100)), 0)[0];
  const auto is_shown = [&](const char* quantity, const char* group, const char* at) {
    return Find(table, quantity, group, at).value.has_value();
  };
  EXPECT_FALSE(is_shown("count", "drug", "stage = I"));
  EXPECT_FALSE(is_shown("count", "drug", "stage = III"));
  EXPECT_TRUE(is_shown("count", "drug", "stage = II"));
  EXPECT_FALSE(is_shown("proportion", "drug", "stage = III"));
  EXPECT_FALSE(is_shown("count", "placebo", "stage = III"));
  EXPECT_TRUE(is_shown("mean", "drug", "age"));
  const Answer small = Answers(*query, SumOf(query, kBaselineColumns, BaselineRows(410, 5)), 0)[0];
  EXPECT_FALSE(Find(small, "mean", "placebo", "age").value.has_value());
  EXPECT_EQ(small.table->rows[1].cells[1], "✕");
}

TEST(Table1Test, WithoutGroupsHasOneColumn) {
  QuestionSpec spec = Baseline();
  spec.groups = {};
  const auto query = MakeQuery({spec, {.name = "all"}}, 0, {ValuesOf("stage one-of=I,II,III|3")});
  const auto answers = Answers(*query, SumOf(query, kBaselineColumns, BaselineRows(410, 100)), 0);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[1].question, "all");
  EXPECT_THAT(answers[0].table->groups, ElementsAre("all"));
  EXPECT_EQ(answers[0].table->rows[0].cells[0], "513");
  EXPECT_NEAR(*Find(answers[0], "proportion", "", "stage = III").value, 103 / 512.0, 1e-9);
  const auto named = QuestionsToAnswer(*query);
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0].question, "baseline");
  EXPECT_EQ(named[1].question, "all");
}

TEST(Table1Test, EdgesAreRound) {
  EXPECT_EQ(TableEdges(18, 24).front(), 18);
  const std::vector<double> ages = TableEdges(18, 100);
  EXPECT_EQ(ages.size(), 42u);
  EXPECT_EQ(ages[1], 20);
  EXPECT_EQ(ages.back(), 100);
  EXPECT_EQ(TableEdges(60, 220)[1], 65);
  EXPECT_EQ(TableEdges(0, 50000).size(), 51u);
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {-1, 1}, {0, 0.003}, {-1e6, 7}, {0.1, 0.2}, {3, 3.0001}, {1e9, 1e9 + 1}}) {
    const std::vector<double> edges = TableEdges(low, high);
    EXPECT_GE(edges.size(), 10u) << low;
    EXPECT_LE(edges.size(), 53u) << low;
    for (size_t i = 1; i < edges.size(); ++i) EXPECT_LT(edges[i - 1], edges[i]) << low;
  }
}

// Counting on to the upper bound would never end here, or fill the memory.
TEST(Table1Test, EdgesOfAnyBoundsAreFew) {
  const double least = std::numeric_limits<double>::denorm_min();
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {1e17, 1e17 + 64}, {-1e308, 1e308}, {0, least}, {1, std::nextafter(1, 2)}}) {
    const std::vector<double> edges = TableEdges(low, high);
    EXPECT_LE(edges.size(), 53u) << low;
    EXPECT_EQ(edges.front(), low);
    EXPECT_EQ(edges.back(), high);
    for (size_t i = 1; i < edges.size(); ++i) EXPECT_LT(edges[i - 1], edges[i]) << low;
  }
}

TEST(Table1Test, NumbersHaveThreeDigits) {
  EXPECT_EQ(ThreeDigits(61.234), "61.2");
  EXPECT_EQ(ThreeDigits(99.96), "100");
  EXPECT_EQ(ThreeDigits(123456), "123000");
  EXPECT_EQ(ThreeDigits(-0.012345), "-0.0123");
  EXPECT_EQ(ThreeDigits(0), "0.00");
}

}  // namespace
}  // namespace tacet::statistics
