// Estimators on known histograms, and their intervals over many releases.
#include "tacet/statistics/answers.h"

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/statistics/answers_for_test.h"
#include "tacet/statistics/prefix_strategy.h"

namespace tacet::statistics {
namespace {

using Rows = std::vector<std::vector<std::string>>;

double Normal(crypto::Random& random) {
  const double u = 1 - crypto::Uniform(random);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * crypto::Uniform(random));
}

// At one epsilon, which is the noise over the largest distance of two neighbours.
TEST(AnswersTest, ZeroOutHelpsCellsAndHardlyMeans) {
  const auto error = [](const QuestionSpec& question, accounting::Neighbouring neighbouring) {
    const auto query = Query::Create({.questions = {question}, .neighbouring = neighbouring});
    EXPECT_TRUE(query.ok()) << query.status();
    const bool replaced = neighbouring == accounting::Neighbouring::kReplaceOne;
    const auto shared = std::make_shared<const Query>(*query);
    const std::vector<double> sum =
        SumOf(shared, {"age"}, Rows(1000, std::vector<std::string>{"50"}));
    const Answer answer = Answers(*shared, sum, (replaced ? 2 : 1) * query->clip_norm())[0];
    if (question.kind == QuestionKind::kMean) return *Find(answer, "mean").noise_error;
    return *answer.estimates[1].noise_error;  // the first cell, behind the count of all
  };
  const auto ratio = [&](const QuestionSpec& question) {
    return error(question, accounting::Neighbouring::kReplaceOne) /
           error(question, accounting::Neighbouring::kZeroOut);
  };
  EXPECT_NEAR(ratio({.name = "ages",
                     .kind = QuestionKind::kHistogram,
                     .cells = {.column = "age", .edges = {0, 20, 40, 60, 80, 100}}}),
              std::sqrt(2), 0.01);
  EXPECT_NEAR(ratio({.name = "mean", .kind = QuestionKind::kMean, .columns = {{"age", 0, 100}}}), 1,
              0.02);
}

TEST(AnswersTest, CountsSumsAndMomentsWithoutNoiseAreExact) {
  const auto query = MakeQuery(
      {{.name = "n", .where = {{"sex", Comparison::kEqual, "f"}}},
       {.name = "sum", .kind = QuestionKind::kSum, .columns = {{"age", 20, 100}}},
       {.name = "moments", .kind = QuestionKind::kVariance, .columns = {{"age", 20, 100}}},
       {.name = "ages",
        .kind = QuestionKind::kHistogram,
        .cells = {.column = "age", .edges = {20, 50, 100}}},
       {.name = "pairs",
        .kind = QuestionKind::kCrosstab,
        .cells = {.column = "sex", .categories = {"f", "m"}},
        .across = {.column = "guess", .categories = {"f", "m"}}}},
      0, {ValuesOf("sex one-of=f,m")});
  Rows rows;
  for (int i = 0; i < 400; ++i)
    rows.push_back({"f", std::to_string(30 + i % 40), i % 4 ? "f" : "m"});
  for (int i = 0; i < 100; ++i) rows.push_back({"m", "60", "m"});
  rows.push_back({"m", "", "?"});
  const auto answers = Answers(*query, SumOf(query, {"sex", "age", "guess"}, rows), 0);
  EXPECT_NEAR(*Find(answers[0], "count").value, 400, 1e-6);
  EXPECT_NEAR(*Find(answers[1], "sum").value, 400 * 49.5 + 6000, 20);
  EXPECT_NEAR(*Find(answers[2], "count").value, 500, 0.5);
  EXPECT_NEAR(*Find(answers[2], "mean").value, 51.6, 0.05);
  // 400 of variance (40^2 - 1) / 12, 100 constant, 10.5 apart.
  EXPECT_NEAR(*Find(answers[2], "variance").value, 0.8 * 1599 / 12 + 0.16 * 10.5 * 10.5, 2);
  EXPECT_NEAR(*Find(answers[3], "count", "", "[20, 50)").value, 200, 1e-6);
  EXPECT_NEAR(*Find(answers[3], "count", "", "[50, 100]").value, 300, 1e-6);
  EXPECT_NEAR(*Find(answers[4], "count", "f", "m").value, 100, 1e-6);
  EXPECT_NEAR(*Find(answers[4], "agreement").value, 0.8, 1e-6);
}

// Were the sampling error that of the largest variance within the bounds, it would be 3.5 times as
// large.
TEST(AnswersTest, TheMeansSamplingErrorIsThatOfTheRows) {
  const auto query =
      MakeQuery({{.name = "age", .kind = QuestionKind::kMean, .columns = {{"age", 0, 100}}}});
  Rows rows;
  for (int i = 0; i < 400; ++i) rows.push_back({std::to_string(25 + i % 50)});
  const auto answers = Answers(*query, SumOf(query, {"age"}, rows), 0);
  EXPECT_NEAR(*Find(answers[0], "mean").value, 49.5, 0.05);
  EXPECT_NEAR(*Find(answers[0], "mean").standard_error, std::sqrt(2499.0 / 12 / 400), 0.01);
}

TEST(AnswersTest, SurvivalIsKaplanMeierOfTheIntervals) {
  const auto query = MakeQuery({{.name = "s",
                                 .kind = QuestionKind::kSurvival,
                                 .cells = {.column = "time", .edges = {0, 1, 2, 3}},
                                 .yes = {"dead", "1"}}});
  Rows rows;
  for (int i = 0; i < 20; ++i) rows.push_back({"0.5", "1"});  // 100 at risk
  for (int i = 0; i < 8; ++i) rows.push_back({"1.5", "1"});   // 80 at risk
  for (int i = 0; i < 12; ++i) rows.push_back({"2.5", "0"});  // censored: 72 at risk, 66 exposed
  for (int i = 0; i < 33; ++i) rows.push_back({"2.5", "1"});
  for (int i = 0; i < 27; ++i) rows.push_back({"9", "1"});  // beyond the horizon
  const auto answers = Answers(*query, SumOf(query, {"time", "dead"}, rows), 0);
  EXPECT_NEAR(*Find(answers[0], "survival", "", "1").value, 0.8, 1e-6);
  EXPECT_NEAR(*Find(answers[0], "survival", "", "2").value, 0.72, 1e-6);
  EXPECT_NEAR(*Find(answers[0], "survival", "", "3").value, 0.36, 1e-6);
  // Events one after the other: 1/100 + ... + 1/81, and so on. All at once they have 0.2 + 0.1, and
  // from 33/72 to 33/60.
  const Estimate hazard = Find(answers[0], "cumulative hazard", "", "3");
  EXPECT_NEAR(*hazard.value, std::log(100.5 / 80.5 * 80.5 / 72.5 * 66.5 / 33.5), 1e-6);
  EXPECT_LT(hazard.interval->low, 0.2 + 0.1 + 33.0 / 72);
  EXPECT_NEAR(*Find(answers[0], "at risk", "", "2").value, 72, 1e-6);
  // Greenwood: S sqrt(sum d / (n (n - d))) = 0.0449 at time 2.
  EXPECT_NEAR(*Find(answers[0], "survival", "", "2").standard_error, 0.0449, 0.01);
}

// Half of those who are censored where the last interval ends left it, and survival was 0.538.
TEST(AnswersTest, WhoIsCensoredAtTheEndWasAtRiskInEveryInterval) {
  const auto query = MakeQuery({{.name = "s",
                                 .kind = QuestionKind::kSurvival,
                                 .cells = {.column = "time", .edges = {0, 180, 365}},
                                 .yes = {"dead", "1"}}});
  Rows rows(30, {"200", "1"});
  rows.insert(rows.end(), 70, {"365", "0"});
  const auto answers = Answers(*query, SumOf(query, {"time", "dead"}, rows), 0);
  EXPECT_NEAR(*Find(answers[0], "survival", "", "365").value, 0.7, 1e-6);
  rows.push_back({"365", "1"});  // an event at the end is one
  const auto with_event = Answers(*query, SumOf(query, {"time", "dead"}, rows), 0);
  EXPECT_NEAR(*Find(with_event[0], "survival", "", "365").value, 70 / 101.0, 1e-6);
}

// Counts in an interval do not tell whether rows were censored before the events or after them.
TEST(AnswersTest, IntervalsOfSurvivalHoldForAnyOrder) {
  const auto query = MakeQuery({{.name = "s",
                                 .kind = QuestionKind::kSurvival,
                                 .cells = {.column = "time", .edges = {0, 10, 20}},
                                 .yes = {"dead", "1"}}});
  const auto at_ten = [&](const char* censored, double noise) {
    Rows rows(2000, {"5", "1"});
    rows.insert(rows.end(), 6000, {censored, "0"});
    rows.insert(rows.end(), 2000, {"15", "0"});
    return Answers(*query, SumOf(query, {"time", "dead"}, rows), noise)[0];
  };
  for (const auto& [censored, survival] : {std::pair{"1", 0.5}, std::pair{"9", 0.8}}) {
    const Answer answer = at_ten(censored, 1);
    const Estimate estimate = Find(answer, "survival", "", "10");
    EXPECT_LT(estimate.interval->low, survival);
    EXPECT_GT(estimate.interval->high, survival);
    const Estimate hazard = Find(answer, "cumulative hazard", "", "10");
    for (const double truth : {1 - survival, -std::log(survival)}) {
      EXPECT_LT(hazard.interval->low, truth);
      EXPECT_GT(hazard.interval->high, truth);
    }
    EXPECT_LT(estimate.interval->high - estimate.interval->low, 0.35);
  }
  // Where noise hides who is at risk, survival may be 0, and nothing bounds the hazard.
  const Answer hidden = at_ten("1", 5000);
  EXPECT_EQ(Find(hidden, "survival", "", "20").interval->low, 0);
  EXPECT_TRUE(std::isinf(Find(hidden, "cumulative hazard", "", "20").interval->high));
  EXPECT_NE(AnswersJson(*query, {hidden}).Dump().find(R"("high":null)"), std::string::npos);
}

// The scores of a cell may lie in any order.
TEST(AnswersTest, IntervalsOfMetricsHoldForAnyScoresWithinTheCells) {
  const auto query = MakeQuery({{.name = "model",
                                 .kind = QuestionKind::kEvaluation,
                                 .cells = {.column = "p", .edges = {0, 0.5, 1}},
                                 .yes = {"y", "1"}}});
  const auto with = [&](const char* positive, const char* negative) {
    Rows rows(3000, {positive, "1"});
    rows.insert(rows.end(), 1000, {negative, "0"});
    rows.insert(rows.end(), 1000, {"0.2", "0"});
    return Answers(*query, SumOf(query, {"p", "y"}, rows), 1)[0];
  };
  const Answer best = with("0.9", "0.6"), worst = with("0.6", "0.9");
  const auto holds = [](const Estimate& estimate, double truth) {
    return estimate.interval->low <= truth && truth <= estimate.interval->high;
  };
  // Positives above all negatives, and below the half of them.
  double least_precision = 0;
  for (int k = 1; k <= 3000; ++k) least_precision += k / (1000.0 + k) / 3000;
  for (const Answer& answer : {best, worst}) {
    EXPECT_TRUE(holds(Find(answer, "auc"), 1));
    EXPECT_TRUE(holds(Find(answer, "auc"), 0.5));
    EXPECT_TRUE(holds(Find(answer, "average precision"), 1));
    EXPECT_TRUE(holds(Find(answer, "average precision"), least_precision));
    for (const auto& [p, n] : {std::pair{0.9, 0.6}, std::pair{0.6, 0.9}}) {
      EXPECT_TRUE(holds(Find(answer, "brier score"), (3 * (1 - p) * (1 - p) + n * n + 0.04) / 5));
      EXPECT_TRUE(holds(Find(answer, "log loss"),
                        -(3 * std::log(p) + std::log(1 - n) + std::log(0.8)) / 5));
    }
    EXPECT_TRUE(std::isinf(Find(answer, "log loss").interval->high));
  }
}

TEST(AnswersTest, EvaluationAndQuantiles) {
  const auto query = MakeQuery({{.name = "model",
                                 .kind = QuestionKind::kEvaluation,
                                 .cells = {.column = "p", .edges = EqualEdges(0, 1, 10)},
                                 .yes = {"y", "1"}},
                                {.name = "p",
                                 .kind = QuestionKind::kQuantiles,
                                 .cells = {.column = "p", .edges = EqualEdges(0, 1, 10)},
                                 .quantiles = {0.5}}});
  Rows rows;
  for (int i = 0; i < 80; ++i) rows.push_back({"0.75", "1"});
  for (int i = 0; i < 20; ++i) rows.push_back({"0.25", "1"});
  for (int i = 0; i < 50; ++i) rows.push_back({"0.25", "0"});
  for (int i = 0; i < 50; ++i) rows.push_back({"0.05", "0"});
  const auto answers = Answers(*query, SumOf(query, {"p", "y"}, rows), 0);
  EXPECT_NEAR(*Find(answers[0], "auc").value, 0.8 + 0.2 * (0.5 + 0.25), 1e-6);
  EXPECT_NEAR(*Find(answers[0], "accuracy").value, 0.9, 1e-6);
  EXPECT_NEAR(*Find(answers[0], "sensitivity").value, 0.8, 1e-6);
  EXPECT_NEAR(*Find(answers[0], "specificity").value, 1, 1e-6);
  // Wilson's intervals of 80 and of 100 among 100.
  EXPECT_NEAR(Find(answers[0], "sensitivity").interval->low, 0.7112, 1e-4);
  EXPECT_NEAR(Find(answers[0], "sensitivity").interval->high, 0.8666, 1e-4);
  EXPECT_NEAR(Find(answers[0], "specificity").interval->low, 0.9630, 1e-4);
  EXPECT_EQ(Find(answers[0], "specificity").interval->high, 1);
  EXPECT_NEAR(*Find(answers[0], "brier score").value,
              (80 * 0.0625 + 20 * 0.5625 + 50 * 0.0625 + 50 * 0.0025) / 200, 1e-6);
  EXPECT_NEAR(*Find(answers[0], "observed share", "", "[0.2, 0.3)").value, 2.0 / 7, 1e-6);
  EXPECT_FALSE(Find(answers[0], "observed share", "", "[0.4, 0.5)").value.has_value());
  // Half of 200 rows are below 0.2 + 0.1 * 50 / 70.
  EXPECT_NEAR(*Find(answers[1], "quantile", "", "0.5").value, 0.2 + 0.1 * 50 / 70, 1e-6);
}

TEST(AnswersTest, SmallCountsAndWhatFollowsAreSuppressed) {
  const auto query = MakeQuery({{.name = "sex",
                                 .kind = QuestionKind::kHistogram,
                                 .cells = {.column = "sex", .categories = {"f", "m"}}},
                                {.name = "age",
                                 .kind = QuestionKind::kMean,
                                 .where = {{"sex", Comparison::kEqual, "m"}},
                                 .columns = {{"age", 0, 100}}},
                                {.name = "curve",
                                 .kind = QuestionKind::kSurvival,
                                 .cells = {.column = "age", .edges = {0, 40, 100}},
                                 .groups = {.column = "sex", .categories = {"f", "m"}},
                                 .yes = {"sex", "m"}}},
                               10, {ValuesOf("sex one-of=f,m")});
  Rows rows(50, {"f", "30"});
  rows.insert(rows.end(), 9, {"m", "50"});
  const auto answers = Answers(*query, SumOf(query, {"sex", "age"}, rows), 0);
  // The larger cell is hidden as well: the other would be what is left of the total.
  EXPECT_NEAR(*Find(answers[0], "count").value, 59, 1e-6);
  EXPECT_FALSE(Find(answers[0], "count", "", "f").value.has_value());
  EXPECT_FALSE(Find(answers[0], "count", "", "m").value.has_value());
  EXPECT_FALSE(Find(answers[1], "mean").value.has_value());
  EXPECT_TRUE(Find(answers[2], "survival", "f", "40").value.has_value());
  EXPECT_FALSE(Find(answers[2], "survival", "f", "100").value.has_value());  // nobody at risk
  EXPECT_FALSE(Find(answers[2], "survival", "m", "40").value.has_value());
  EXPECT_FALSE(Find(answers[2], "log-rank p").value.has_value());
  const std::string json = AnswersJson(*query, answers).Dump();
  EXPECT_NE(json.find(R"("quantity":"count","at":"m","value":null,"suppressed":true)"),
            std::string::npos);
  // Cells in order have edges, for pictures; categories have none.
  EXPECT_NE(json.find(R"("kind":"survival","edges":[0,40,100],"estimates")"), std::string::npos)
      << json;
  EXPECT_NE(json.find(R"("kind":"histogram","estimates")"), std::string::npos) << json;
}

// No hidden count, nor a sum of hidden ones below the floor, is what is left of the total.
TEST(AnswersTest, NoHiddenCellFollowsFromTheTotal) {
  const ColumnCellsSpec four = {.column = "x", .categories = {"a", "b", "c", "d"}};
  const ColumnCellsSpec two = {.column = "y", .categories = {"a", "b"}};
  const ColumnCellsSpec of_x = {.column = "x", .categories = {"a", "b"}};
  const auto query =
      MakeQuery({{.name = "cells", .kind = QuestionKind::kHistogram, .cells = four},
                 {.name = "pairs", .kind = QuestionKind::kCrosstab, .cells = of_x, .across = two}},
                10);
  const auto shown = [&](int a, int b, int c, int d) {
    Rows rows(a, {"a", "a"});
    rows.insert(rows.end(), b, {"b", "b"});
    rows.insert(rows.end(), c, {"c", "b"});
    rows.insert(rows.end(), d, {"d", "b"});
    std::string text;
    const auto answers = Answers(*query, SumOf(query, {"x", "y"}, rows), 0);
    for (const char* cell : {"a", "b", "c", "d"}) {
      if (Find(answers[0], "count", "", cell).value.has_value()) text += cell;
    }
    return text;
  };
  EXPECT_EQ(shown(50, 40, 30, 20), "abcd");
  EXPECT_EQ(shown(50, 40, 30, 9), "ab");
  EXPECT_EQ(shown(50, 40, 9, 9), "ab");
  EXPECT_EQ(shown(50, 40, 3, 2), "a");
  EXPECT_EQ(shown(50, 0, 0, 0), "");
  // The agreement of two columns follows from the cells of their diagonal.
  const auto agreement = [&](int first) {
    Rows rows(first, {"a", "a"});
    for (const char* x : {"a", "b"}) rows.insert(rows.end(), 30, {x, "b"});
    rows.insert(rows.end(), 30, {"b", "a"});
    return Find(Answers(*query, SumOf(query, {"x", "y"}, rows), 0)[1], "agreement").value;
  };
  EXPECT_TRUE(agreement(30).has_value());
  EXPECT_FALSE(agreement(5).has_value());
}

// An outcome that nobody has: a release printed an AUC of 0.678 and a sensitivity of 1 next to
// positives that it suppressed.
TEST(AnswersTest, WhatFollowsFromASuppressedClassIsSuppressed) {
  const auto query = MakeQuery({{.name = "model",
                                 .kind = QuestionKind::kEvaluation,
                                 .cells = {.column = "p", .edges = EqualEdges(0, 1, 10)},
                                 .yes = {"y", "1"}}},
                               10);
  Rows rows;
  for (int i = 0; i < 300; ++i) rows.push_back({fmt::format("0.{}5", i % 10), "0"});
  crypto::Random random = crypto::SeededRandom(21, "answers-test");
  int without = 0;
  for (int release = 0; release < 50; ++release) {
    std::vector<double> noised = SumOf(query, {"p", "y"}, rows);
    for (double& value : noised) value += 3 * Normal(random);
    const Answer answer = Answers(*query, noised, 3)[0];
    if (Find(answer, "positives").value.has_value()) continue;
    ++without;
    for (const Estimate& estimate : answer.estimates) {
      if (estimate.quantity == "negatives" || estimate.quantity.starts_with("left")) continue;
      EXPECT_FALSE(estimate.value.has_value()) << estimate.quantity << " " << estimate.at;
    }
  }
  EXPECT_GT(without, 25);  // the deviation of the positives is 5
}

// For a class the answer shows both parts at a threshold or neither, and no ratio of hidden parts.
TEST(AnswersTest, RatiosOfSuppressedCountsAreSuppressed) {
  const auto query = MakeQuery({{.name = "model",
                                 .kind = QuestionKind::kEvaluation,
                                 .cells = {.column = "p", .edges = EqualEdges(0, 1, 4)},
                                 .yes = {"y", "1"}}},
                               10);
  Rows rows(60, {"0.9", "1"});
  rows.insert(rows.end(), 4, {"0.3", "1"});  // false negatives
  rows.insert(rows.end(), 50, {"0.1", "0"});
  rows.insert(rows.end(), 20, {"0.6", "0"});
  const Answer answer = Answers(*query, SumOf(query, {"p", "y"}, rows), 0)[0];
  const auto is_shown = [&](std::string_view quantity, std::string_view at = "") {
    return Find(answer, quantity, "", at).value.has_value();
  };
  for (const char* quantity :
       {"true positives", "false negatives", "sensitivity", "precision", "accuracy"}) {
    EXPECT_FALSE(is_shown(quantity)) << quantity;
  }
  for (const char* quantity : {"positives", "negatives", "false positives", "true negatives",
                               "specificity", "auc", "average precision", "brier score"}) {
    EXPECT_TRUE(is_shown(quantity)) << quantity;
  }
  EXPECT_TRUE(is_shown("sensitivity", "0"));  // all rows are above it
  EXPECT_FALSE(is_shown("sensitivity", "0.5"));
  EXPECT_FALSE(is_shown("precision", "0.5"));
  EXPECT_TRUE(is_shown("false positive rate", "0.5"));
  EXPECT_FALSE(is_shown("false positive rate", "0.75"));  // nobody
  EXPECT_FALSE(is_shown("observed share", "[0.25, 0.5)"));
}

// Two men's pressures added up to -1079. Releases with much noise: no number and no end of an
// interval is one that the bounds rule out.
TEST(AnswersTest, NoNumberIsOneThatTheBoundsRuleOut) {
  const auto query =
      MakeQuery({{.name = "n", .where = {{"x", Comparison::kAtLeast, "0"}}},
                 {.name = "positive", .kind = QuestionKind::kSum, .columns = {{"x", 60, 200}}},
                 {.name = "negative", .kind = QuestionKind::kSum, .columns = {{"debt", -200, -60}}},
                 {.name = "either", .kind = QuestionKind::kSum, .columns = {{"x", -200, 200}}},
                 {.name = "moments", .kind = QuestionKind::kVariance, .columns = {{"x", 60, 200}}},
                 {.name = "curve",
                  .kind = QuestionKind::kSurvival,
                  .cells = {.column = "x", .edges = {0, 100, 200}},
                  .yes = {"y", "1"}},
                 {.name = "model",
                  .kind = QuestionKind::kEvaluation,
                  .cells = {.column = "p", .edges = EqualEdges(0, 1, 4)},
                  .yes = {"y", "1"}}});
  const Rows rows = {{"120", "-120", "0.3", "0"}, {"130", "-130", "0.6", "1"}};
  const std::vector<double> sum = SumOf(query, {"x", "debt", "p", "y"}, rows);
  crypto::Random random = crypto::SeededRandom(22, "answers-test");
  bool has_negative_sum = false;
  for (int release = 0; release < 200; ++release) {
    std::vector<double> noised = sum;
    for (double& value : noised) value += 4 * Normal(random);
    const auto answers = Answers(*query, noised, 4);
    for (const Answer& answer : answers) {
      double count = 0;
      for (const Estimate& estimate : answer.estimates) {
        if (!estimate.value.has_value() || !estimate.interval.has_value()) continue;
        const double value = *estimate.value;
        const auto [low, high] = *estimate.interval;
        EXPECT_LE(low, value);
        EXPECT_LE(value, high);
        if (estimate.quantity == "count") count = value;
        if (answer.question == "either") {
          has_negative_sum = has_negative_sum || value < 0;
          continue;
        }
        const bool is_debt = answer.question == "negative" && estimate.quantity == "sum";
        EXPECT_TRUE(is_debt ? high <= 0 : low >= 0) << answer.question << " " << estimate.quantity;
        if (answer.question != "moments") continue;
        if (estimate.quantity == "sum") {
          EXPECT_GE(value, 60 * count * (1 - 1e-9));
          EXPECT_LE(value, 200 * count * (1 + 1e-9));
        }
        const std::map<std::string, Range> allowed = {
            {"mean", {60, 200}}, {"variance", {0, 70 * 70}}, {"standard deviation", {0, 70}}};
        const auto range = allowed.find(estimate.quantity);
        if (range == allowed.end()) continue;
        EXPECT_GE(low, range->second.low) << estimate.quantity;
        EXPECT_LE(high, range->second.high) << estimate.quantity;
      }
    }
    for (const Estimate& estimate : answers[6].estimates) {
      const std::string& quantity = estimate.quantity;
      const bool is_count = quantity.ends_with("tives") || quantity.starts_with("left out");
      if (quantity == "log loss") continue;
      if (is_count || !estimate.interval.has_value()) continue;
      EXPECT_LE(estimate.interval->high, 1) << quantity;
    }
  }
  EXPECT_TRUE(has_negative_sum);
}

// A row of every kind of fault, and rows that a condition excludes whatever else they lack.
TEST(AnswersTest, RowsThatCannotBeReadAreCountedForEveryKind) {
  const std::vector<RowCondition> adults = {{"age", Comparison::kAtLeast, "18"}};
  const ColumnCellsSpec sexes = {.column = "sex", .categories = {"f", "m"}};
  const ColumnCellsSpec years = {.column = "time", .edges = {0, 1, 2}};
  const auto query = MakeQuery(
      {{.name = "count", .where = {{"age", Comparison::kAtLeast, "18"}, {"sex", {}, "f"}}},
       {.name = "sum", .kind = QuestionKind::kSum, .where = adults, .columns = {{"time", 0, 2}}},
       {.name = "mean", .kind = QuestionKind::kMean, .where = adults, .columns = {{"time", 0, 2}}},
       {.name = "both",
        .kind = QuestionKind::kNormalise,
        .where = adults,
        .columns = {{"age", 0, 90}, {"time", 0, 2}}},
       {.name = "sexes", .kind = QuestionKind::kHistogram, .where = adults, .cells = sexes},
       {.name = "pairs",
        .kind = QuestionKind::kCrosstab,
        .where = adults,
        .cells = sexes,
        .across = years},
       {.name = "times", .kind = QuestionKind::kQuantiles, .where = adults, .cells = years},
       {.name = "curve",
        .kind = QuestionKind::kSurvival,
        .where = adults,
        .cells = years,
        .groups = sexes,
        .yes = {"dead", "1"}},
       {.name = "scores",
        .kind = QuestionKind::kEvaluation,
        .where = adults,
        .cells = {.column = "time", .edges = {0, 0.5, 1}},
        .yes = {"dead", "1"}},
       {.name = "ill",
        .kind = QuestionKind::kRegression,
        .where = adults,
        .columns = {{"time", 0, 2}},
        .yes = {"dead", "1"}}},
      0, {ValuesOf("sex one-of=f,m")});
  Rows rows(100, {"40", "f", "0.5", "1"});
  rows.insert(rows.end(), 4, {"", "f", "0.5", "1"});     // nobody knows whether it is asked
  rows.insert(rows.end(), 8, {"", "m", "0.5", "1"});     // excluded by the count's second condition
  rows.insert(rows.end(), 16, {"3", "x", "?", ""});      // excluded
  rows.insert(rows.end(), 32, {"40", "x", "0.5", "1"});  // not agreed
  rows.insert(rows.end(), 64, {"40", "m", "36y", "0"});  // no number
  rows.insert(rows.end(), 128, {"40", "m", "-1", "0"});  // below all cells, within bounds once cut
  rows.insert(rows.end(), 256, {"40", "m", "0.5", "?"});  // missing
  rows.insert(rows.end(), 512, {"40", "m", "9", "0"});    // beyond all cells
  const auto answers = Answers(*query, SumOf(query, {"age", "sex", "time", "dead"}, rows), 0);
  const auto left_out = [&](size_t question, std::string_view group = "") {
    return *Find(answers[question], "left out", group).value;
  };
  EXPECT_NEAR(left_out(0), 4 + 32, 1e-6);
  EXPECT_NEAR(left_out(1), 4 + 8 + 64, 1e-6);
  EXPECT_NEAR(left_out(2), 4 + 8 + 64, 1e-6);
  EXPECT_NEAR(left_out(3, "age"), 4 + 8, 1e-6);
  EXPECT_NEAR(left_out(3, "time"), 4 + 8 + 64, 1e-6);
  EXPECT_NEAR(left_out(4), 4 + 8 + 32, 1e-6);
  EXPECT_NEAR(left_out(5), 4 + 8 + 32 + 64 + 128 + 512, 1e-6);
  EXPECT_NEAR(left_out(6), 4 + 8 + 64 + 128 + 512, 1e-6);
  EXPECT_NEAR(left_out(7), 4 + 8 + 32 + 64 + 128 + 256, 1e-6);
  EXPECT_NEAR(left_out(8), 4 + 8 + 64 + 128 + 256 + 512, 1e-6);
  EXPECT_NEAR(left_out(9), 4 + 8 + 64 + 256, 1e-6);
  const auto share = [&](size_t question, std::string_view group = "") {
    return *Find(answers[question], "left-out share", group).value;
  };
  EXPECT_NEAR(share(0), 36.0 / 136, 1e-6);
  EXPECT_NEAR(share(3, "age"), 12.0 / (12 + 100 + 32 + 64 + 128 + 256 + 512), 1e-4);
  EXPECT_NEAR(share(4), 44.0 / (44 + 100 + 64 + 128 + 256 + 512), 1e-6);
  EXPECT_NEAR(share(7), 492.0 / (492 + 100 + 512), 1e-6);
  EXPECT_NEAR(share(9), 332.0 / (332 + 100 + 32 + 128 + 512), 1e-4);
}

// The number that a false answer hides behind: above 5 %, and above what noise explains.
TEST(AnswersTest, ManyRowsThatAreLeftOutAreMarked) {
  const auto query = MakeQuery({{.name = "women", .where = {{"sex", {}, "f"}}},
                                {.name = "old", .where = {{"age", Comparison::kAtLeast, "65"}}},
                                {.name = "all"}},
                               10, {ValuesOf("sex one-of=f,m")});
  const auto with = [&](int unknown, double noise) {
    Rows rows(95, {"f", "70"});
    rows.insert(rows.end(), unknown, {"Frau", "70"});
    return Answers(*query, SumOf(query, {"sex", "age"}, rows), noise);
  };
  const auto many = with(12, 0);
  EXPECT_TRUE(Find(many[0], "left out").too_many);
  EXPECT_NEAR(*Find(many[0], "left-out share").value, 12.0 / 107, 1e-6);
  // Suppressed, as every count below the floor.
  EXPECT_FALSE(Find(many[1], "left out").value.has_value());
  EXPECT_FALSE(Find(many[1], "left out").too_many);
  EXPECT_FALSE(Find(many[1], "left-out share").value.has_value());
  // Nothing is read, so nothing can be left out.
  EXPECT_EQ(many[2].estimates.size(), 1u);
  EXPECT_FALSE(Find(with(12, 100)[0], "left out").too_many);
  EXPECT_FALSE(Find(with(4, 0)[0], "left out").too_many);
  const std::string json = AnswersJson(*query, many).Dump();
  EXPECT_NE(json.find(R"("quantity":"left out","too_many":true,"value":12)"), std::string::npos)
      << json;
  // A share that follows from a suppressed count is suppressed, and the mark stays.
  Rows rows(3, {"f", "70"});
  rows.insert(rows.end(), 40, {"Frau", "70"});
  const auto few = Answers(*query, SumOf(query, {"sex", "age"}, rows), 0);
  EXPECT_FALSE(Find(few[0], "left-out share").value.has_value());
  EXPECT_TRUE(Find(few[0], "left out").too_many);
}

// 2000 releases; the true count, mean and cell lie in 95 % of the intervals. A coverage of 0.95 has
// a deviation of 0.0049: within 0.03 but for a probability below 1e-9. An error that is 15 % too
// small (coverage 0.904) is seen with probability 0.99.
TEST(AnswersTest, IntervalsOfTheNoiseCoverAsOftenAsTheySay) {
  const auto query =
      MakeQuery({{.name = "n"},
                 {.name = "age", .kind = QuestionKind::kVariance, .columns = {{"age", 0, 100}}},
                 {.name = "ages",
                  .kind = QuestionKind::kHistogram,
                  .cells = {.column = "age", .edges = EqualEdges(0, 100, 4)}}});
  Rows rows;
  for (int i = 0; i < 4000; ++i) rows.push_back({std::to_string(i % 100)});
  const std::vector<double> sum = SumOf(query, {"age"}, rows);
  const double noise = 7.5;
  crypto::Random random = crypto::SeededRandom(5, "answers-test");
  constexpr int kReleases = 2000;
  std::vector<double> covered(4, 0.0);
  for (int release = 0; release < kReleases; ++release) {
    std::vector<double> noised = sum;
    for (double& value : noised) value += noise * Normal(random);
    const auto answers = Answers(*query, noised, noise);
    const auto in = [&](const Estimate& estimate, double truth) {
      const double half = NormalDeviate(0.95) * *estimate.noise_error;
      return std::abs(*estimate.value - truth) <= half ? 1.0 / kReleases : 0;
    };
    covered[0] += in(Find(answers[0], "count"), 4000);
    covered[1] += in(Find(answers[1], "mean"), 49.5);
    covered[2] += in(Find(answers[1], "variance"), 9999.0 / 12);
    covered[3] += in(Find(answers[2], "count", "", "[25, 50)"), 1000);
  }
  for (const double share : covered) EXPECT_NEAR(share, 0.95, 0.03);
}

// Were the sampling error that of a normal distribution, a fair coin's would be sqrt(2 / n) v, and
// it is nearly 0: kurtosis 1. A uniform column has kurtosis 1.8.
TEST(AnswersTest, TheVariancesSamplingErrorIsThatOfTheColumn) {
  const auto query =
      MakeQuery({{.name = "coin", .kind = QuestionKind::kVariance, .columns = {{"x", 0, 1}}}});
  Rows coin, uniform;
  for (int i = 0; i < 400; ++i) {
    coin.push_back({std::to_string(i % 2)});
    uniform.push_back({fmt::format("{}", (i + 0.5) / 400)});
  }
  const auto of_coin = Answers(*query, SumOf(query, {"x"}, coin), 0);
  EXPECT_NEAR(*Find(of_coin[0], "variance").value, 0.25, 1e-3);
  EXPECT_LT(*Find(of_coin[0], "variance").standard_error, 0.003);  // normal: 0.0177
  const auto of_uniform = Answers(*query, SumOf(query, {"x"}, uniform), 0);
  EXPECT_NEAR(*Find(of_uniform[0], "variance").standard_error, std::sqrt(0.8 / 400) / 12, 2e-4);
  // Noise that hides the fourth moment leaves what the bounds allow.
  const Estimate noised = Find(Answers(*query, SumOf(query, {"x"}, uniform), 1)[0], "variance");
  const double sampling =
      std::sqrt(std::pow(*noised.standard_error, 2) - std::pow(*noised.noise_error, 2));
  EXPECT_GT(sampling, std::sqrt(0.8 / 400) / 12);
  EXPECT_LT(sampling, std::sqrt((1.0 / 12) * (1 - 1.0 / 3) / 400));
}

// A sample of costs that misses the most expensive has a small variance, and a small error of it.
TEST(AnswersTest, TheIntervalOfALongTailedVarianceReachesUpwards) {
  const auto query =
      MakeQuery({{.name = "costs", .kind = QuestionKind::kVariance, .columns = {{"x", 0, 1000}}}});
  Rows rows(980, {"10"});
  rows.insert(rows.end(), 20, {"300"});
  const Answer answer = Answers(*query, SumOf(query, {"x"}, rows), 0)[0];
  const Estimate variance = Find(answer, "variance");
  EXPECT_GT(variance.interval->high - *variance.value,
            1.5 * (*variance.value - variance.interval->low));
  const Estimate deviation = Find(answer, "standard deviation");
  EXPECT_NEAR(deviation.interval->high, std::sqrt(variance.interval->high), 1e-6);
}

QuestionSpec RegressionOfIllness() {
  return {.name = "r",
          .kind = QuestionKind::kRegression,
          .columns = {{"x", -4, 6}, {"z", -5, 5}},
          .yes = {"ill", "1"}};
}

// x and z of normal classes: x around 1.5 for the ill and 0 for others, z around -0.5 and 0.5, with
// variances 1 and 2.25 and covariance 0.6. Half are ill.
struct NormalClasses {
  std::vector<double> x, z;
  Rows rows;

  NormalClasses(size_t count, crypto::Random& random) {
    for (size_t i = 0; i < count; ++i) {
      const bool ill = random.Below(2) == 1;
      const double g = Normal(random);
      x.push_back((ill ? 1.5 : 0) + g);
      z.push_back((ill ? -0.5 : 0.5) + 0.6 * g + std::sqrt(2.25 - 0.36) * Normal(random));
      rows.push_back({std::to_string(x.back()), std::to_string(z.back()), ill ? "1" : "0"});
    }
  }
};

TEST(AnswersTest, ARegressionIsTheDiscriminantOfItsClasses) {
  const auto query = Query::Create({.questions = {RegressionOfIllness()}, .max_units = 500});
  ASSERT_TRUE(query.ok()) << query.status();
  const auto shared = std::make_shared<const Query>(*query);
  crypto::Random random = crypto::SeededRandom(11, "answers-test");
  const NormalClasses data(497, random);
  // Means of the classes, and the pooled covariance within them.
  double n[2] = {}, x[2] = {}, z[2] = {}, xx = 0, xz = 0, zz = 0;
  for (size_t i = 0; i < data.rows.size(); ++i) {
    const int ill = data.rows[i][2] == "1" ? 1 : 0;
    ++n[ill];
    x[ill] += data.x[i];
    z[ill] += data.z[i];
  }
  for (int ill = 0; ill < 2; ++ill) x[ill] /= n[ill], z[ill] /= n[ill];
  for (size_t i = 0; i < data.rows.size(); ++i) {
    const int ill = data.rows[i][2] == "1" ? 1 : 0;
    xx += std::pow(data.x[i] - x[ill], 2) / 497;
    xz += (data.x[i] - x[ill]) * (data.z[i] - z[ill]) / 497;
    zz += std::pow(data.z[i] - z[ill], 2) / 497;
  }
  const double dx = x[1] - x[0], dz = z[1] - z[0], determinant = xx * zz - xz * xz;
  const double of_x = (zz * dx - xz * dz) / determinant, of_z = (xx * dz - xz * dx) / determinant;
  Rows rows = data.rows;
  rows.push_back({"NA", "1", "1"});
  rows.push_back({"1", "", "0"});
  rows.push_back({"1", "1", "?"});
  const std::vector<double> sum = SumOf(shared, {"x", "z", "ill"}, rows);
  const Answer answer = Answers(*shared, sum, 0)[0];
  EXPECT_NEAR(*Find(answer, "count").value, 497, 1e-3);
  EXPECT_NEAR(*Find(answer, "positives").value, n[1], 1e-3);
  const Estimate slope = Find(answer, "coefficient", "x");
  EXPECT_NEAR(*slope.value, of_x, 5e-3);
  EXPECT_NEAR(*Find(answer, "coefficient", "z").value, of_z, 5e-3);
  EXPECT_NEAR(*Find(answer, "intercept").value,
              std::log(n[1] / n[0]) - of_x * (x[0] + x[1]) / 2 - of_z * (z[0] + z[1]) / 2, 5e-3);
  // Its sampling error depends on the law of the columns, which nobody knows.
  EXPECT_EQ(slope.noise_error, 0);
  EXPECT_FALSE(slope.standard_error.has_value());
  EXPECT_FALSE(slope.interval.has_value());
  EXPECT_EQ(AnswersJson(*shared, {answer}).Dump().find("odds"), std::string::npos);
  // The noise's derivative: the same release, moved by a deviation in one value after the other.
  double square = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    std::vector<double> moved = sum;
    moved[i] += 0.01;
    square +=
        std::pow(*Find(Answers(*shared, moved, 0)[0], "coefficient", "x").value - *slope.value, 2);
  }
  EXPECT_NEAR(*Find(Answers(*shared, sum, 0.01)[0], "coefficient", "x").noise_error,
              std::sqrt(square), 1e-3 * std::sqrt(square));
}

TEST(AnswersTest, ARegressionThatTheReleaseDoesNotDetermineIsSuppressed) {
  crypto::Random random = crypto::SeededRandom(13, "answers-test");
  const Rows rows = NormalClasses(300, random).rows;
  const std::vector<std::string> columns = {"x", "z", "ill"};
  const auto shown = [](const Query& query, const std::vector<double>& sum, double noise) {
    const Answer answer = Answers(query, sum, noise)[0];
    return Find(answer, "coefficient", "x").value.has_value();
  };
  const auto query = MakeQuery({RegressionOfIllness()});
  EXPECT_TRUE(shown(*query, SumOf(query, columns, rows), 1));
  // As much noise as a variance of x has, a floor above a class, no row of one class, none at all.
  EXPECT_FALSE(shown(*query, SumOf(query, columns, rows), 20));
  EXPECT_FALSE(shown(*MakeQuery({RegressionOfIllness()}, 200), SumOf(query, columns, rows), 1));
  Rows all_ill = rows;
  for (auto& row : all_ill) row[2] = "1";
  EXPECT_FALSE(shown(*query, SumOf(query, columns, all_ill), 0));
  EXPECT_FALSE(shown(*query, std::vector<double>(query->dimension()), 0));
  EXPECT_FALSE(shown(*query, std::vector<double>(query->dimension()), 1));
  // Two columns that are one, and a label that a column determines.
  Rows twice = rows;
  for (auto& row : twice) row[1] = row[0];
  EXPECT_FALSE(shown(*query, SumOf(query, columns, twice), 0.1));
  Rows known = rows;
  for (auto& row : known) row[0] = row[2];
  EXPECT_FALSE(shown(*query, SumOf(query, columns, known), 0.1));
}

// 2,000 releases of a hundred rows in two cells. Intervals of a share and of a median hold the
// population's: within 0.03 of 0.95 but for a probability below 1e-9. The median lies in a nearly
// empty cell between full ones, where quantiles are far from normal.
TEST(AnswersTest, IntervalsHoldSmallSharesAndQuantilesBetweenUnequalCells) {
  const auto query = MakeQuery({{.name = "model",
                                 .kind = QuestionKind::kEvaluation,
                                 .cells = {.column = "score", .edges = {0, 0.5, 1}},
                                 .yes = {"ill", "1"}},
                                {.name = "scores",
                                 .kind = QuestionKind::kQuantiles,
                                 .cells = {.column = "score", .edges = {0, 0.5, 0.75, 1}},
                                 .quantiles = {0.5}}});
  crypto::Random random = crypto::SeededRandom(9, "answers-test");
  constexpr int kReleases = 2000;
  double shares = 0, medians = 0;
  for (int release = 0; release < kReleases; ++release) {
    Rows rows;
    for (int i = 0; i < 100; ++i) {
      const double u = crypto::Uniform(random);
      rows.push_back({u < 0.49   ? "0.2"
                      : u < 0.51 ? "0.6"
                                 : "0.9",
                      crypto::Uniform(random) < 0.15 ? "1" : "0"});
    }
    std::vector<double> noised = SumOf(query, {"score", "ill"}, rows);
    const double noise = 3;
    for (double& value : noised) value += noise * Normal(random);
    const auto answers = Answers(*query, noised, noise);
    const auto in = [&](const Estimate& estimate, double truth) {
      return estimate.interval->low <= truth && truth <= estimate.interval->high ? 1.0 / kReleases
                                                                                 : 0;
    };
    shares += in(Find(answers[0], "observed share", "", "[0.5, 1]"), 0.15);
    medians += in(Find(answers[1], "quantile", "", "0.5"), 0.625);
  }
  EXPECT_NEAR(shares, 0.95, 0.03);
  EXPECT_NEAR(medians, 0.95, 0.03);
}

// 400 samples of a population, released once each: 95 % of the intervals hold the population's
// survival, share of a cell and mean. A coverage of 0.95 has a deviation of 0.011: within 0.07 but
// for a probability below 1e-9. An error that is 30 % too small (coverage 0.83) is seen with
// probability 0.99.
TEST(AnswersTest, IntervalsAboutThePopulationCoverAsOftenAsTheySay) {
  const auto query =
      MakeQuery({{.name = "s",
                  .kind = QuestionKind::kSurvival,
                  .cells = {.column = "time", .edges = EqualEdges(0, 10, 10)},
                  .yes = {"dead", "1"}},
                 {.name = "model",
                  .kind = QuestionKind::kEvaluation,
                  .cells = {.column = "score", .edges = EqualEdges(0, 1, 4)},
                  .yes = {"dead", "1"}},
                 {.name = "time", .kind = QuestionKind::kMean, .columns = {{"time", 0, 10}}}});
  crypto::Random random = crypto::SeededRandom(8, "answers-test");
  constexpr int kReleases = 400;
  std::vector<double> covered(3, 0.0);
  for (int release = 0; release < kReleases; ++release) {
    Rows rows;
    for (int i = 0; i < 500; ++i) {
      // A tenth dies in each of eight intervals, a fifth is censored after them.
      const uint64_t time = random.Below(10);
      rows.push_back({fmt::format("{}.5", time), time < 8 ? "1" : "0",
                      fmt::format("{}", 0.125 + 0.25 * static_cast<double>(random.Below(4)))});
    }
    std::vector<double> noised = SumOf(query, {"time", "dead", "score"}, rows);
    const double noise = 6;
    for (double& value : noised) value += noise * Normal(random);
    const auto answers = Answers(*query, noised, noise);
    const auto in = [&](const Estimate& estimate, double truth) {
      return estimate.interval->low <= truth && truth <= estimate.interval->high ? 1.0 / kReleases
                                                                                 : 0;
    };
    covered[0] += in(Find(answers[0], "survival", "", "5"), 0.5);
    covered[1] += in(Find(answers[1], "observed share", "", "[0.5, 0.75)"), 0.8);
    covered[2] += in(Find(answers[2], "mean"), 5);
  }
  for (const double share : covered) EXPECT_NEAR(share, 0.95, 0.07);
}

// "!= m" held for them where the query's list of missing texts had no empty one.
TEST(AnswersTest, AnEmptyFieldIsMissingWhateverTheListSays) {
  const auto query = Query::Create(
      {.questions = {{.name = "others", .where = {{"sex", Comparison::kUnequal, "m"}}}},
       .missing = {"-9"},
       .values = {ValuesOf("sex one-of=f,m,NA")}});
  ASSERT_TRUE(query.ok()) << query.status();
  const auto shared = std::make_shared<const Query>(*query);
  const std::vector<double> sum = SumOf(shared, {"sex"}, {{"f"}, {""}, {"-9"}, {"m"}, {"NA"}});
  EXPECT_NEAR(*Find(Answers(*shared, sum, 0)[0], "count").value, 2, 1e-6);
}

// Spellings of a value, a value that nobody agreed on, and a missing one: every question reads the
// agreed spellings alike, and takes nothing else for a "no".
TEST(AnswersTest, SpellingsOfAValueAreThatValue) {
  const std::vector<table::AgreedValues> values = {
      ValuesOf("sex one-of=F|f|w|weiblich|Female,M|m|Male"),
      ValuesOf("died one-of=1|TRUE|True|ja,0|FALSE|False|nein")};
  const auto query =
      MakeQuery({{.name = "women", .where = {{"sex", Comparison::kEqual, "Female"}}},
                 {.name = "others", .where = {{"sex", Comparison::kUnequal, "w"}}},
                 {.name = "sexes", .kind = QuestionKind::kHistogram, .cells = {.column = "sex"}},
                 {.name = "men",
                  .kind = QuestionKind::kHistogram,
                  .cells = {.column = "sex", .categories = {"Male"}}},
                 {.name = "curve",
                  .kind = QuestionKind::kSurvival,
                  .cells = {.column = "days", .edges = {0, 10, 20}},
                  .groups = {.column = "sex", .categories = {"m", "f"}},
                  .yes = {"died", "ja"}}},
                0, values);
  Rows rows;
  for (const char* sex : {"F", "f", "w", "weiblich", "Female", "M", "m", "Male", "d", "NA"}) {
    for (const char* died :
         {"1", "1.0", "TRUE", "True", "ja", "0", "FALSE", "False", "nein", "T"}) {
      rows.push_back({sex, died, "5"});
    }
  }
  const auto answers = Answers(*query, SumOf(query, {"sex", "died", "days"}, rows), 0);
  EXPECT_NEAR(*Find(answers[0], "count").value, 50, 1e-6);
  EXPECT_NEAR(*Find(answers[1], "count").value, 30, 1e-6);
  EXPECT_NEAR(*Find(answers[2], "count", "", "F").value, 50, 1e-6);
  EXPECT_NEAR(*Find(answers[2], "count", "", "M").value, 30, 1e-6);
  EXPECT_NEAR(*Find(answers[3], "count", "", "M").value, 30, 1e-6);
  EXPECT_NEAR(*Find(answers[3], "count").value, 30, 1e-6);
  // 5 of 9 rows are events; the others are censored in the same interval and count half.
  for (const char* sex : {"F", "M"}) {
    EXPECT_NEAR(*Find(answers[4], "at risk", sex, "0").value, sex[0] == 'F' ? 45 : 27, 1e-6);
    EXPECT_NEAR(*Find(answers[4], "survival", sex, "10").value, 1 - 5 / 7.0, 1e-6);
  }
}

// Against the matrix that Suffixes applies, row by row.
TEST(AnswersTest, CovariancesOfSuffixesAreThoseOfTheirRows) {
  for (const Measured measured : {Measured::kCells, Measured::kSuffixes}) {
    for (const size_t cells : {1, 2, 33}) {
      const PrefixStrategy strategy(measured, cells, 1, 0x1p-20);
      std::vector<std::vector<double>> rows(cells + 1, std::vector<double>(cells, 0.0));
      for (size_t k = 0; k < cells; ++k) {
        std::vector<double> unit(cells, 0.0);
        unit[k] = 1;
        const std::vector<double> suffixes = strategy.Suffixes(unit);
        for (size_t i = 0; i < cells; ++i) rows[i][k] = suffixes[i];
      }
      for (const size_t lag : {0, 1}) {
        for (size_t i = 0; i + lag <= cells; ++i) {
          const double direct =
              std::inner_product(rows[i].begin(), rows[i].end(), rows[i + lag].begin(), 0.0);
          EXPECT_NEAR(strategy.SuffixCovariance(i, i + lag), direct, 1e-10)
              << cells << " " << lag << " " << i;
        }
      }
    }
  }
}

TEST(AnswersTest, WrongReleasesAreRefused) {
  const auto query = MakeQuery({{.name = "n"}});
  EXPECT_FALSE(AnswersOf(*query, std::vector<double>{1, 2}, {.stddev = 1}).ok());
  EXPECT_FALSE(AnswersOf(*query, std::vector<double>{std::nan("")}, {.stddev = 1}).ok());
  EXPECT_FALSE(AnswersOf(*query, std::vector<double>{1}, {.stddev = std::nan("")}).ok());
}

TEST(AnswersTest, TailsAndDeviates) {
  EXPECT_NEAR(NormalDeviate(0.95), 1.959963984540, 1e-9);
  EXPECT_NEAR(NormalDeviate(0.5), 0.674489750196, 1e-9);
  EXPECT_NEAR(ChiSquaredTail(3.841458820694, 1), 0.05, 1e-9);
  EXPECT_NEAR(ChiSquaredTail(5.991464547108, 2), 0.05, 1e-9);
  EXPECT_NEAR(ChiSquaredTail(7.814727903251, 3), 0.05, 1e-9);
  EXPECT_EQ(ChiSquaredTail(0, 1), 1);
  EXPECT_NEAR(CriticalValue(0, 0.95), NormalDeviate(0.95), 1e-9);
  EXPECT_NEAR(CriticalValue(100, 0.95), NormalDeviate(0.9), 1e-9);
  // P(X <= c + 1) - P(X <= -c) for X normal.
  const double c = CriticalValue(1, 0.95);
  EXPECT_NEAR((std::erfc(-(c + 1) / M_SQRT2) - std::erfc(c / M_SQRT2)) / 2, 0.95, 1e-9);
}

TEST(AnswersTest, AQuestionOfSomeSitesCountsTheirRowsOnly) {
  const auto query = MakeQuery({{.name = "all"},
                                {.name = "north", .sites = {"north", "west"}},
                                {.name = "none", .sites = {"south"}}});
  const auto counts = [&](const std::string& site) {
    const auto units = SiteUnits::Create(query, TableOfRows(site, {"x"}, Rows(7, {"1"})));
    EXPECT_TRUE(units.ok()) << units.status();
    std::vector<uint32_t> all(units->units());
    std::iota(all.begin(), all.end(), 0u);
    std::vector<float> sum(query->dimension());
    units->SumUnits(all, sum);
    std::vector<double> numbers;
    for (const Answer& answer : Answers(*query, {sum.begin(), sum.end()}, 0)) {
      numbers.push_back(std::round(*Find(answer, "count").value));
    }
    return numbers;
  };
  EXPECT_EQ(counts("north"), (std::vector<double>{7, 7, 0}));
  EXPECT_EQ(counts("south"), (std::vector<double>{7, 0, 7}));
  EXPECT_EQ(counts("east"), (std::vector<double>{7, 0, 0}));
  EXPECT_TRUE(query->CheckSites({"north", "south", "west"}).ok());
  EXPECT_EQ(base::Message(query->CheckSites({"north", "west"})),
            "question \"none\": there is no site \"south\"");
  EXPECT_FALSE(Query::Create({.questions = {{.name = "q", .sites = {"a", "a"}}}}).ok());
  EXPECT_FALSE(Query::Create({.questions = {{.name = "q", .sites = {""}}}}).ok());
}

}  // namespace
}  // namespace tacet::statistics
