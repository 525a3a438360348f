// Covariances of a model's coefficients: of sums of them, against models that have these sums as
// coefficients, and against what sampling and noise do.
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/statistics/answers_for_test.h"
#include "tacet/statistics/likelihood_for_test.h"

namespace tacet::statistics {
namespace {

const std::vector<std::string> kStagedColumns = {"age", "stage", "ill", "visits", "years", "dead"};

// Ills, visits and hazards of patients in three stages; visits vary more with the stage.
TextRows DrawStaged(size_t count, crypto::Random& random) {
  TextRows rows;
  for (size_t i = 0; i < count; ++i) {
    const double age = 20 + static_cast<double>(random.Below(71));
    const size_t stage = random.Below(3);
    const double risk = 0.03 * (age - 55) + 0.5 * static_cast<double>(stage);
    const bool ill = crypto::Uniform(random) < 1 / (1 + std::exp(0.5 - risk));
    const double rate =
        std::exp(0.3 * risk + 0.4 * static_cast<double>(stage) * NormalForTest(random));
    double visits = -1, waited = 0;
    for (; waited < rate; ++visits) waited -= std::log(1 - crypto::Uniform(random));
    const double years = -std::log(1 - crypto::Uniform(random)) / (0.2 * std::exp(risk));
    rows.push_back({fmt::format("{}", age), std::vector{"I", "II", "III"}[stage], ill ? "1" : "0",
                    fmt::format("{}", std::min(visits, 20.0)),
                    fmt::format("{}", std::min(years, 6.0)), years < 6 ? "1" : "0"});
  }
  return rows;
}

// Models of the rows; the first of `stages` is the reference.
QuerySpec ModelOfStaged(const std::string& model, const std::string& stages, uint64_t max_units) {
  QuestionSpec question{.name = "model", .kind = QuestionKind::kGlm};
  question.formula = "age + stage";
  question.variables = {{.column = "age", .bounds = BoundedColumn{"age", 20, 90}},
                        {.column = "stage"}};
  const auto respond = [&question](const std::string& column, double high) {
    question.formula = column + " ~ age + stage";
    question.variables.push_back({.column = column, .bounds = BoundedColumn{column, 0, high}});
  };
  if (model == "cox") {
    question.kind = QuestionKind::kCox;
    question.cells = {.column = "years", .edges = {0, 1, 2, 6}};
    question.yes = {"dead", "1"};
  } else if (model == "binomial") {
    question.family = GlmFamily::kBinomial;
    respond("ill", 1);
  } else {
    if (model == "poisson") question.family = GlmFamily::kPoisson;
    respond("visits", 20);
  }
  return {.questions = {question},
          .max_units = max_units,
          .values = {ValuesOf("stage one-of=" + stages)}};
}

std::vector<double> StagedValuesIn(const Answer& answer) {
  std::vector<double> values;
  for (const Estimate& estimate : answer.estimates) {
    if (estimate.quantity != "intercept" && estimate.quantity != "coefficient") continue;
    EXPECT_TRUE(estimate.value.has_value()) << estimate.group;
    values.push_back(estimate.value.value_or(0));
  }
  return values;
}

TEST(CovarianceTest, ADifferenceHasTheErrorThatAnotherReferenceGivesIt) {
  crypto::Random random = crypto::SeededRandom(1, "covariance");
  const TextRows rows = DrawStaged(3000, random);
  for (const std::string model : {"gaussian", "binomial", "poisson", "cox"}) {
    const auto answer_of = [&](const std::string& stages) {
      auto query = Query::Create(ModelOfStaged(model, stages, 3000));
      EXPECT_TRUE(query.ok()) << query.status();
      const auto shared = std::make_shared<const Query>(*std::move(query));
      return Answers(*shared,
                     ReleasesOf(shared, TypedTableOfRows("site", kStagedColumns, rows), 0, random),
                     0)[0];
    };
    const Answer by_one = answer_of("I,II,III"), by_two = answer_of("II,I,III");
    const std::vector<double>& covariance = by_one.covariance;
    const size_t size = model == "cox" ? 3 : 4;
    ASSERT_EQ(covariance.size(), size * size) << model;
    size_t place = 0;
    for (const Estimate& estimate : by_one.estimates) {
      if (estimate.quantity != "intercept" && estimate.quantity != "coefficient") continue;
      EXPECT_NEAR(std::sqrt(covariance[place]), *estimate.standard_error, 1e-12) << model;
      place += size + 1;
    }
    // The last two are stages II and III.
    const double variance = covariance[(size - 2) * (size + 1)] + covariance[size * size - 1] -
                            2 * covariance[size * size - 2];
    const Estimate& difference = Find(by_two, "coefficient", "stage = III");
    EXPECT_NEAR(std::sqrt(variance), *difference.standard_error, 0.03 * *difference.standard_error)
        << model;
    EXPECT_GT(covariance[size * size - 2], 0.1 * covariance[size * size - 1]) << model;
  }
}

// Rows are drawn again for each release, with noise. Two differences and a sum that the covariance
// matters for. 95 % cover in fewer than 77 of 100 with probability 1e-9; without covariances the
// intervals of the differences are too wide, and that of the sum is wrong.
TEST(CovarianceTest, SumsOfCoefficientsAreHeld) {
  crypto::Random random = crypto::SeededRandom(2, "covariance");
  const TextRows people = DrawStaged(1000, random);
  constexpr uint64_t kReleases = 100;
  for (const std::string model : {"gaussian", "binomial", "poisson", "cox"}) {
    auto made = Query::Create(ModelOfStaged(model, "I,II,III", 1000));
    ASSERT_TRUE(made.ok()) << made.status();
    const auto query = std::make_shared<const Query>(*std::move(made));
    const auto release_of = [&](const TextRows& rows, double noise) {
      return Answers(
          *query, ReleasesOf(query, TypedTableOfRows("site", kStagedColumns, rows), noise, random),
          noise)[0];
    };
    const std::vector<double> truth = StagedValuesIn(release_of(people, 0));
    const size_t size = truth.size();
    // Stage III against II, III at 90 against I at 20, and the mean of both stages at 55.
    std::vector<std::vector<double>> sums(3, std::vector<double>(size));
    sums[0][size - 2] = -1, sums[0][size - 1] = 1;
    sums[1][size - 3] = 70, sums[1][size - 1] = 1;
    sums[2][size - 2] = sums[2][size - 1] = 0.5;
    if (size == 4) sums[2][0] = 1, sums[2][1] = 55;
    std::vector<uint64_t> held(sums.size());
    std::vector<double> stated(sums.size()), seen(sums.size());
    for (uint64_t release = 0; release < kReleases; ++release) {
      TextRows rows;
      for (size_t i = 0; i < people.size(); ++i)
        rows.push_back(people[random.Below(people.size())]);
      const Answer answer = release_of(rows, 0.35);
      const std::vector<double> values = StagedValuesIn(answer);
      for (size_t s = 0; s < sums.size(); ++s) {
        double distance = 0, variance = 0;
        for (size_t i = 0; i < size; ++i) {
          distance += sums[s][i] * (values[i] - truth[i]);
          for (size_t j = 0; j < size; ++j) {
            variance += sums[s][i] * answer.covariance[i * size + j] * sums[s][j];
          }
        }
        ASSERT_GT(variance, 0);
        held[s] += std::abs(distance) <= 1.96 * std::sqrt(variance) ? 1 : 0;
        stated[s] += variance / kReleases;
        seen[s] += distance * distance / kReleases;
      }
    }
    for (size_t s = 0; s < sums.size(); ++s) {
      EXPECT_GE(held[s], 77u) << model << " " << s;
      EXPECT_LT(std::sqrt(stated[s] / seen[s]), 1.6) << model << " " << s;
    }
  }
}

}  // namespace
}  // namespace tacet::statistics
