// Questions by groups: each group's numbers against its rows, and what is left out or hidden.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/statistics/answers_for_test.h"

namespace tacet::statistics {
namespace {

// By ward, of which those that are called "closed" are none of the groups.
QuestionSpec ByWard(QuestionSpec question) {
  question.groups = {.column = "ward", .categories = {"A", "B", "empty"}};
  return question;
}
const std::vector<std::string> kWardColumns = {"ward", "stay", "sex"};

std::vector<QuestionSpec> WardQuestions() {
  return {
      ByWard({.name = "sum", .kind = QuestionKind::kSum, .columns = {{"stay", 0, 40}}}),
      ByWard({.name = "mean", .kind = QuestionKind::kMean, .columns = {{"stay", 0, 40}}}),
      ByWard({.name = "variance", .kind = QuestionKind::kVariance, .columns = {{"stay", 0, 40}}}),
      ByWard({.name = "sexes",
              .kind = QuestionKind::kHistogram,
              .cells = {.column = "sex", .categories = {"f", "m"}}}),
      ByWard({.name = "quartiles",
              .kind = QuestionKind::kQuantiles,
              .cells = {.column = "stay", .edges = EqualEdges(0, 40, 40)}}),
      ByWard({.name = "median",
              .kind = QuestionKind::kMedian,
              .cells = {.column = "stay", .edges = EqualEdges(0, 40, 40)}}),
  };
}

// 100 stays of 1 to 10 days in A, 50 of 20 or 24 in B; three rows that cannot be read.
TextRows WardRows() {
  TextRows rows = {{"closed", "5", "f"}, {"", "5", "f"}, {"A", "long", "?"}};
  for (int i = 0; i < 100; ++i)
    rows.push_back({"A", std::to_string(1 + i % 10), i % 4 ? "f" : "m"});
  for (int i = 0; i < 50; ++i) rows.push_back({"B", i % 2 ? "20" : "24", i < 3 ? "m" : "f"});
  return rows;
}

// But for the rounding of each row to the grid.
TEST(GroupsTest, NumbersOfEachGroupAreThoseOfItsRows) {
  const auto query = MakeQuery(WardQuestions());
  const auto answers = Answers(*query, SumOf(query, kWardColumns, WardRows()), 0);
  EXPECT_NEAR(*Find(answers[0], "sum", "A").value, 550, 1);
  EXPECT_NEAR(*Find(answers[0], "sum", "B").value, 1100, 2);
  for (const size_t place : {1, 2}) {
    EXPECT_NEAR(*Find(answers[place], "count", "A").value, 100, 0.1);
    EXPECT_NEAR(*Find(answers[place], "mean", "A").value, 5.5, 0.02);
    EXPECT_NEAR(*Find(answers[place], "mean", "B").value, 22, 0.02);
    EXPECT_FALSE(Find(answers[place], "mean", "empty").value.has_value());
  }
  EXPECT_NEAR(*Find(answers[2], "variance", "A").value, 8.25, 0.2);
  EXPECT_NEAR(*Find(answers[2], "variance", "B").value, 4, 0.5);
  EXPECT_NEAR(*Find(answers[3], "count", "A").value, 100, 1e-6);
  EXPECT_NEAR(*Find(answers[3], "count", "A", "m").value, 25, 1e-6);
  EXPECT_NEAR(*Find(answers[3], "proportion", "B", "m").value, 0.06, 1e-9);
  EXPECT_NEAR(*Find(answers[4], "quantile", "A", "0.5").value, 6, 0.1);
  EXPECT_NEAR(*Find(answers[5], "median", "A").value, 6, 0.1);
  EXPECT_NEAR(*Find(answers[5], "median", "B").value, 22, 2.1);  // half of them 20, half 24
  // "closed" and the empty ward; the row with "long" of the numbers, with "?" of the sexes.
  for (const Answer& answer : answers) EXPECT_NEAR(*Find(answer, "left out").value, 3, 1e-6);
  EXPECT_NEAR(*Find(answers[1], "left-out share").value, 3 / 153.0, 1e-4);
}

// Among the numbers of B's 3 men and 47 women neither is shown, since one follows from the other.
TEST(GroupsTest, EachGroupKeepsTheFloorByItself) {
  const auto query = MakeQuery(WardQuestions(), 60);
  const auto answers = Answers(*query, SumOf(query, kWardColumns, WardRows()), 0);
  EXPECT_TRUE(Find(answers[1], "mean", "A").value.has_value());
  EXPECT_FALSE(Find(answers[1], "mean", "B").value.has_value());
  EXPECT_FALSE(Find(answers[5], "median", "B").value.has_value());
  const auto lower = MakeQuery(WardQuestions(), 20);
  const Answer sexes = Answers(*lower, SumOf(lower, kWardColumns, WardRows()), 0)[3];
  EXPECT_TRUE(Find(sexes, "count", "A", "m").value.has_value());
  EXPECT_TRUE(Find(sexes, "count", "B").value.has_value());
  EXPECT_FALSE(Find(sexes, "count", "B", "f").value.has_value());
  EXPECT_FALSE(Find(sexes, "proportion", "B", "f").value.has_value());
}

// All groups of a question cost what two of them do.
TEST(GroupsTest, TheErrorDoesNotGrowWithTheNumberOfGroups) {
  const auto amplitude = [](size_t groups) {
    QuestionSpec mean{.name = "mean", .kind = QuestionKind::kMean, .columns = {{"stay", 0, 40}}};
    mean.groups.column = "ward";
    for (size_t i = 0; i < groups; ++i) mean.groups.categories.push_back(fmt::format("w{}", i));
    return MakeQuery({mean})->questions()[0].amplitude;
  };
  EXPECT_NEAR(amplitude(20), amplitude(2), 0.01 * amplitude(2));
  EXPECT_NEAR(amplitude(1), 1.4 * amplitude(2), 0.02);
}

TEST(GroupsTest, RefusalsNameTheColumn) {
  QuestionSpec question = WardQuestions()[1];
  question.groups.categories.clear();
  const auto query = Query::Create({.questions = {question}});
  EXPECT_EQ(base::Message(query.status()),
            "question \"mean\": column \"ward\": give its edges (or low, high and bins) or its "
            "categories, one of them");
}

}  // namespace
}  // namespace tacet::statistics
