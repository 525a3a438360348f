// Survival of profiles and the check of proportional hazards: against what is drawn, against
// intervals, and how far a row moves a release of a model that is checked.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/statistics/answers_for_test.h"
#include "tacet/statistics/likelihood_for_test.h"

namespace tacet::statistics {
namespace {

const std::vector<std::string> kTrialColumns = {"age", "arm", "years", "dead"};
const std::vector<double> kTrialYears = {0, 1, 2, 6};

QuerySpec TrialSpec(uint64_t max_units) {
  QuestionSpec question{.name = "death",
                        .kind = QuestionKind::kCox,
                        .cells = {.column = "years", .edges = kTrialYears},
                        .yes = {"dead", "1"}};
  question.formula = "age + arm";
  question.variables = {{.column = "age", .bounds = BoundedColumn{"age", 40, 80}},
                        {.column = "arm"}};
  question.profiles = {"age = 70, arm = drug", "age = 50"};
  question.checks_hazards = true;
  return {.questions = {question},
          .max_units = max_units,
          .values = {ValuesOf("arm one-of=placebo,drug")}};
}

std::shared_ptr<const Query> QueryOfTrial(QuerySpec spec) {
  auto query = Query::Create(std::move(spec));
  EXPECT_TRUE(query.ok()) << query.status();
  return std::make_shared<const Query>(*std::move(query));
}

// The drug's log hazard ratio is -0.7 + change * -1, 0, 1 in the three intervals. `shape` is that
// of a Weibull law, whose hazard is constant in no interval, where nothing changes; else 1.
TextRows DrawTrial(size_t count, double change, double shape, crypto::Random& random) {
  TextRows rows;
  for (size_t i = 0; i < count; ++i) {
    const double age = std::clamp(std::round(60 + 9 * NormalForTest(random)), 40.0, 80.0);
    const double drug = random.Below(2) == 1 ? 1 : 0;
    double left = -std::log(1 - crypto::Uniform(random)), end = 0;
    if (shape != 1) {
      end = std::pow(left / (0.2 * std::exp(0.05 * (age - 60) - 0.7 * drug)), 1 / shape);
    }
    for (size_t j = 0; shape == 1 && left > 0 && j < 3; ++j) {
      const double hazard =
          std::vector{0.25, 0.3, 0.2}[j] *
          std::exp(0.05 * (age - 60) + (-0.7 + change * (static_cast<double>(j) - 1)) * drug);
      const double length = kTrialYears[j + 1] - kTrialYears[j];
      end += left < hazard * length ? left / hazard : length + (j == 2 ? 1 : 0);
      left -= hazard * length;
    }
    const double seen = 1 + 6 * crypto::Uniform(random);
    rows.push_back({fmt::format("{}", age), drug == 1 ? "drug" : "placebo",
                    fmt::format("{}", std::min(end, seen)), end <= seen ? "1" : "0"});
  }
  return rows;
}

Answer AnswerOfTrial(const std::shared_ptr<const Query>& query, const TextRows& rows, double noise,
                     crypto::Random& random) {
  const std::vector<double> releases =
      ReleasesOf(query, TypedTableOfRows("site", kTrialColumns, rows), noise, random);
  return Answers(*query, releases, noise)[0];
}

TEST(HazardAnswersTest, WithoutNoiseTheyAreWhatWasDrawn) {
  crypto::Random random = crypto::SeededRandom(1, "hazard-answers");
  const auto query = QueryOfTrial(TrialSpec(20000));
  EXPECT_EQ(query->round_dimension(), 1u + 5 + 3 + 6 + 3 + 2 + 1);
  const Answer answer = AnswerOfTrial(query, DrawTrial(20000, 0.3, 1, random), 0, random);
  // Survival within an interval, too. Within six standard errors: 2e-9.
  for (const auto& [at, hazard] :
       {std::pair{"0.5", 0.125}, {"1", 0.25}, {"2", 0.55}, {"4", 0.95}}) {
    const Estimate& survival = Find(answer, "survival", "age = 50", at);
    ASSERT_TRUE(survival.value.has_value()) << at;
    EXPECT_NEAR(*survival.value, std::exp(-hazard * std::exp(-0.5)), 6 * *survival.standard_error);
    EXPECT_LT(*survival.standard_error, 0.02);
  }
  const Estimate& drug = Find(answer, "change of coefficient", "arm = drug");
  EXPECT_NEAR(*drug.value, 0.6, 5 * *drug.standard_error);
  EXPECT_EQ(*drug.noise_error, 0);
  EXPECT_LT(*drug.standard_error, 0.12);
  EXPECT_LT(*Find(answer, "proportional hazards p").value, 1e-4);
  EXPECT_FALSE(Find(answer, "proportional hazards p").interval.has_value());
  // The baseline is a profile without words.
  QuerySpec spec = TrialSpec(20000);
  spec.questions[0].profiles = {"arm = placebo"};
  crypto::Random again = crypto::SeededRandom(1, "hazard-answers");
  const Answer baseline =
      AnswerOfTrial(QueryOfTrial(spec), DrawTrial(20000, 0.3, 1, again), 0, again);
  for (const char* at : {"1", "2", "6"}) {
    const Estimate& own = Find(baseline, "baseline survival", "", at);
    const Estimate& told = Find(baseline, "survival", "arm = placebo", at);
    EXPECT_EQ(*own.value, *told.value);
    EXPECT_EQ(own.interval->low, told.interval->low);
  }
}

// Rows are drawn again for each release, with the noise of some epsilon 4 at 1,500 rows. A test
// that rejects in 5 % does so in more than 20 of 80 releases with probability 3e-10. One that
// rejects in 95 % does so in fewer than 60 with 3e-10, and so do intervals that cover in 95 %.
// Hazards of a Weibull law are proportional, and constant in no interval.
TEST(HazardAnswersTest, TheCheckHasItsLevelAndFindsChangesAndIntervalsHold) {
  crypto::Random random = crypto::SeededRandom(2, "hazard-answers");
  constexpr size_t kRows = 1500;
  const auto query = QueryOfTrial(TrialSpec(kRows));
  uint64_t rejected = 0, found = 0, survived = 0, changed = 0;
  for (uint64_t release = 0; release < 80; ++release) {
    const auto answer_of = [&](double change, double shape) {
      return AnswerOfTrial(query, DrawTrial(kRows, change, shape, random), 0.75, random);
    };
    const Estimate same = Find(answer_of(0, 0.7), "proportional hazards p");
    ASSERT_TRUE(same.value.has_value());
    rejected += *same.value < 0.05 ? 1 : 0;
    const Answer answer = answer_of(0.5, 1);
    found += Find(answer, "proportional hazards p").value.value_or(1) < 0.05 ? 1 : 0;
    const auto [low, high] = *Find(answer, "survival", "age = 50", "4").interval;
    const double truth = std::exp(-0.95 * std::exp(-0.5));
    survived += low <= truth && truth <= high ? 1 : 0;
    EXPECT_LT(high - low, 0.2);
    const auto [least, most] = *Find(answer, "change of coefficient", "arm = drug").interval;
    changed += least <= 1 && 1 <= most ? 1 : 0;
  }
  EXPECT_LE(rejected, 20u);
  EXPECT_GE(found, 60u);
  EXPECT_GE(survived, 60u);
  EXPECT_GE(changed, 60u);
}

TEST(HazardAnswersTest, WhatTheNoiseHidesIsNotTold) {
  crypto::Random random = crypto::SeededRandom(4, "hazard-answers");
  const TextRows rows = DrawTrial(4000, 0.5, 1, random);
  const auto query = QueryOfTrial(TrialSpec(4000));
  const Answer none = AnswerOfTrial(query, rows, 200, random);
  EXPECT_FALSE(Find(none, "survival", "age = 50", "4").value.has_value());
  EXPECT_FALSE(Find(none, "change of coefficient", "age").value.has_value());
  EXPECT_FALSE(Find(none, "proportional hazards p").value.has_value());
  EXPECT_TRUE(none.covariance.empty());
  // The coefficient is shown, and the check has too little.
  QuerySpec spec = TrialSpec(4000);
  spec.questions[0].formula = "age";
  spec.questions[0].variables.pop_back();
  spec.questions[0].profiles.clear();
  spec.values.clear();
  Answer some;
  do {
    some = AnswerOfTrial(QueryOfTrial(spec), rows, 16, random);
  } while (!Find(some, "coefficient", "age").value.has_value());
  EXPECT_TRUE(Find(some, "coefficient", "age").value.has_value());
  EXPECT_TRUE(Find(some, "change of coefficient", "age").value.has_value());
  EXPECT_FALSE(Find(some, "proportional hazards p").value.has_value());
  const auto tells = [](const std::string& line) {
    return line.starts_with("proportional hazards: the noise leaves nothing to tell");
  };
  EXPECT_TRUE(std::ranges::any_of(some.methods, tells));
}

TEST(HazardAnswersTest, NoClimbMovesACheckedReleaseFartherThanIsCharged) {
  QuerySpec spec = TrialSpec(100);
  spec.questions[0].profiles.clear();
  spec.questions[0].formula = "age * arm";
  ClimbReleases(
      spec, kTrialColumns,
      [](size_t column, crypto::Random& random) -> std::string {
        if (column == 1) return random.Below(2) == 0 ? "drug" : "placebo";
        if (column == 3) return random.Below(2) == 0 ? "0" : "1";
        if (column == 2) return DrawNumber(0, 6, random);
        return DrawNumber(40, 80, random);
      },
      0.85);
}

TEST(HazardAnswersTest, ProfilesThatCannotBeAreRefused) {
  const auto refusal = [](const std::string& profile) {
    QuerySpec spec = TrialSpec(100);
    spec.questions[0].profiles = {profile};
    return base::Message(Query::Create(spec).status());
  };
  EXPECT_EQ(
      refusal("age = 90"),
      "question \"death\": profile \"age = 90\": \"90\" is no number from 40 to 80, the bounds "
      "of \"age\"");
  EXPECT_EQ(refusal("arm = sham"),
            "question \"death\": profile \"arm = sham\": \"sham\" is none of the agreed values of "
            "\"arm\"");
  EXPECT_EQ(refusal("sex = f"),
            "question \"death\": profile \"sex = f\": the formula does not use \"sex\"");
  EXPECT_EQ(refusal("age = 50, age = 60"),
            "question \"death\": profile \"age = 50, age = 60\": \"age\" comes twice");
  EXPECT_EQ(refusal("age > 50"),
            "question \"death\": profile \"age > 50\": expected COLUMN = VALUE in place of "
            "\"age > 50\"");
  QuerySpec spec = TrialSpec(100);
  spec.questions[0].cells.edges = {0, 6};
  EXPECT_EQ(base::Message(Query::Create(spec).status()),
            "question \"death\": a check of proportional hazards compares intervals, and there is "
            "one: choose more edges");
  spec.questions[0].checks_hazards = false;
  spec.questions[0].profiles.assign(17, "age = 50");
  EXPECT_EQ(base::Message(Query::Create(spec).status()),
            "question \"death\": 17 profiles, expected at most 16");
}

}  // namespace
}  // namespace tacet::statistics
