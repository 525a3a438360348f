// Evaluations whose scores are the risks of a model: against a column with the same scores.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/statistics/answers_for_test.h"
#include "tacet/statistics/likelihood_for_test.h"

namespace tacet::statistics {
namespace {

QuerySpec RiskSpec() {
  QuestionSpec question{.name = "risks",
                        .kind = QuestionKind::kEvaluation,
                        .cells = {.column = "", .edges = EqualEdges(0, 1, 20)},
                        .yes = {"ill", "1"}};
  question.groups.column = "arm";
  return {.questions = {question},
          .max_units = 1000,
          .values = {ValuesOf("arm one-of=a,b,c"), ValuesOf("ill one-of=0,1")}};
}

TEST(RisksTest, AreScoresThatEachSiteComputes) {
  const std::vector<std::string> columns = {"age", "crp", "arm", "ill", "score"};
  QuerySpec by_model = RiskSpec(), by_column = RiskSpec();
  QuestionSpec& asked = by_model.questions[0];
  asked.formula = "age * arm + log(crp)";
  asked.variables = {{.column = "age", .bounds = BoundedColumn{"age", 20, 90}},
                     {.column = "arm"},
                     {.column = "crp", .bounds = BoundedColumn{"crp", 0.5, 300}}};
  // The intercept, age, arms b and c, log(crp), age in arms b and c.
  asked.coefficients = {-3, 0.03, 0.5, -1, 0.4, 0.01, 0.02};
  by_column.questions[0].cells.column = "score";
  const auto risks = Query::Create(by_model);
  ASSERT_TRUE(risks.ok()) << risks.status();
  EXPECT_EQ(risks->columns(), (std::vector<std::string>{"age", "arm", "crp", "ill"}));
  const auto scores = Query::Create(by_column);
  ASSERT_TRUE(scores.ok()) << scores.status();
  crypto::Random random = crypto::SeededRandom(1, "risks");
  TextRows rows;
  for (int i = 0; i < 500; ++i) {
    // Some beyond the bounds, which count as the nearest one.
    const double age = 10 + static_cast<double>(random.Below(90));
    const double crp = std::exp(2 + 2 * NormalForTest(random));
    const size_t arm = random.Below(3);
    const double years = std::clamp(age, 20.0, 90.0);
    const double linear = -3 + 0.03 * years + std::vector{0.0, 0.5, -1.0}[arm] +
                          0.4 * std::log(std::clamp(crp, 0.5, 300.0)) +
                          std::vector{0.0, 0.01, 0.02}[arm] * years;
    const double risk = 1 / (1 + std::exp(-linear));
    // A score at an edge may be rounded to either side.
    if (std::abs(20 * risk - std::round(20 * risk)) < 1e-6) continue;
    rows.push_back({fmt::format("{:.17g}", age), fmt::format("{:.17g}", crp),
                    std::vector{"a", "b", "c"}[arm], random.Below(2) == 1 ? "1" : "0",
                    fmt::format("{:.17g}", risk)});
  }
  // Fields that a model cannot read leave their rows out, as a missing score does.
  for (const auto& [age, crp] : {std::pair{"", "1"}, {"50", "?"}, {"x", "1"}}) {
    rows.push_back({age, crp, "a", "1", ""});
  }
  EXPECT_EQ(SumOf(std::make_shared<const Query>(*risks), columns, rows),
            SumOf(std::make_shared<const Query>(*scores), columns, rows));
}

// Calibrated risks lie on the diagonal: those of the coefficients by which outcomes were drawn.
TEST(RisksTest, ShowWhetherAModelIsCalibrated) {
  QuerySpec spec = RiskSpec();
  spec.max_units = 5000;
  spec.questions[0].cells.edges = EqualEdges(0, 1, 5);
  spec.questions[0].threshold = 0.4;
  spec.questions[0].groups = {};
  spec.questions[0].formula = "age";
  spec.questions[0].variables = {{.column = "age", .bounds = BoundedColumn{"age", 20, 90}}};
  spec.values = {ValuesOf("ill one-of=0,1")};
  crypto::Random random = crypto::SeededRandom(2, "risks");
  TextRows rows;
  std::vector<double> mean(5), count(5);
  for (int i = 0; i < 5000; ++i) {
    const double age = 20 + static_cast<double>(random.Below(71));
    const double risk = 1 / (1 + std::exp(5 - 0.1 * age));
    mean[static_cast<size_t>(5 * risk)] += risk;
    ++count[static_cast<size_t>(5 * risk)];
    rows.push_back({fmt::format("{}", age), crypto::Uniform(random) < risk ? "1" : "0"});
  }
  for (const bool is_right : {true, false}) {
    spec.questions[0].coefficients = {is_right ? -5.0 : -6.5, 0.1};
    const auto query = Query::Create(spec);
    ASSERT_TRUE(query.ok()) << query.status();
    const auto shared = std::make_shared<const Query>(*query);
    std::vector<double> sum = SumOf(shared, {"age", "ill"}, rows);
    for (double& value : sum) value += 2 * NormalForTest(random);
    const Answer answer = Answers(*query, sum, 2)[0];
    const Estimate& share = Find(answer, "observed share", "", "[0.4, 0.6)");
    const auto [low, high] = *share.interval;
    // For wrong risks the observed share is above 0.75.
    if (is_right) {
      EXPECT_NEAR(*share.value, mean[2] / count[2], 6 * *share.standard_error);
    } else {
      EXPECT_GT(low, 0.6);
    }
    EXPECT_LT(high - low, 0.2);
  }
}

}  // namespace
}  // namespace tacet::statistics
