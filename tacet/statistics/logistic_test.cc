// Logistic models: releases against the likelihood of single rows, and how far a row moves one.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/statistics/answers_for_test.h"
#include "tacet/statistics/likelihood_for_test.h"
#include "tacet/statistics/query_learner.h"

namespace tacet::statistics {
namespace {

const std::vector<std::string> kPatientColumns = {"age", "sex", "nodes", "ill"};

std::shared_ptr<const Query> IllnessQuery(uint64_t max_units,
                                          accounting::Unit unit = accounting::Unit::kRecord,
                                          uint64_t rows_per_unit = 1) {
  QuestionSpec question{.name = "ill", .kind = QuestionKind::kGlm};
  question.formula = "ill ~ age * sex + log(nodes)";
  question.family = GlmFamily::kBinomial;
  question.variables = {{.column = "age", .bounds = BoundedColumn{"age", 20, 90}},
                        {.column = "nodes", .bounds = BoundedColumn{"nodes", 1, 30}},
                        {.column = "sex"},
                        {.column = "ill"}};
  auto query =
      Query::Create({.questions = {question},
                     .unit = unit,
                     .max_units = max_units,
                     .rows_per_unit = rows_per_unit,
                     .values = {ValuesOf("sex one-of=f,m"), ValuesOf("ill one-of=no,yes")}});
  EXPECT_TRUE(query.ok()) << query.status();
  return std::make_shared<const Query>(*std::move(query));
}

struct Patients {
  TextRows rows;
  std::vector<std::vector<double>> raw;  // what R's model.matrix has
  std::vector<double> ill;

  Patients(size_t count, uint64_t seed) {
    crypto::Random random = crypto::SeededRandom(seed, "logistic-test");
    for (size_t i = 0; i < count; ++i) {
      const double age = 20 + static_cast<double>(random.Below(71));
      const double man = random.Below(3) == 0 ? 1 : 0;
      const double nodes = std::clamp(std::round(std::exp(0.7 * NormalForTest(random))), 1.0, 30.0);
      raw.push_back({1, age, man, std::log(nodes), age * man});
      const double linear = -4 + 0.06 * age + 1.2 * man + 0.9 * std::log(nodes) - 0.02 * age * man;
      ill.push_back(crypto::Uniform(random) < 1 / (1 + std::exp(-linear)) ? 1 : 0);
      rows.push_back({std::to_string(age), man == 1 ? "m" : "f", std::to_string(nodes),
                      ill.back() == 1 ? "yes" : "no"});
    }
  }
};

// Largest likelihood of single rows.
LikelihoodFit FitPatients(const Patients& data) {
  const size_t size = data.raw[0].size();
  return FitByNewton(size, std::vector<double>(size),
                     [&](const std::vector<double>& at, std::vector<double>& gradient,
                         std::vector<double>& information) {
                       for (size_t row = 0; row < data.raw.size(); ++row) {
                         const std::vector<double>& x = data.raw[row];
                         const double linear =
                             std::inner_product(x.begin(), x.end(), at.begin(), 0.0);
                         const double mean = 1 / (1 + std::exp(-linear));
                         for (size_t i = 0; i < size; ++i) {
                           gradient[i] += (data.ill[row] - mean) * x[i];
                           for (size_t j = 0; j < size; ++j) {
                             information[i * size + j] += mean * (1 - mean) * x[i] * x[j];
                           }
                         }
                       }
                     });
}

// Twice the logarithm of the likelihood of single rows, without its sign.
double DevianceOfPatients(const Patients& data, const std::vector<double>& at) {
  double sum = 0;
  for (size_t row = 0; row < data.raw.size(); ++row) {
    const std::vector<double>& x = data.raw[row];
    const double linear = std::inner_product(x.begin(), x.end(), at.begin(), 0.0);
    sum += 2 * (std::log1p(std::exp(linear)) - data.ill[row] * linear);
  }
  return sum;
}

const std::vector<std::string> kTerms = {"", "age", "sex = m", "log(nodes)", "age:sex = m"};

const Estimate& TermOf(const Answer& answer, size_t i) {
  return Find(answer, i == 0 ? "intercept" : "coefficient", kTerms[i]);
}

TEST(LogisticTest, WithoutNoiseItIsTheLargestLikelihoodOfTheRows) {
  const Patients data(900, 1);
  const LikelihoodFit fit = FitPatients(data);
  const auto query = IllnessQuery(900);
  EXPECT_EQ(query->rounds(), 4u);
  EXPECT_EQ(query->round_dimension(), 1u + 5 + 15 + 1);
  EXPECT_EQ(query->dimension(), 4 * query->round_dimension());
  crypto::Random random = crypto::SeededRandom(2, "logistic-test");
  const std::vector<double> releases =
      ReleasesOf(query, TableOfRows("site", kPatientColumns, data.rows), 0, random);
  const Answer answer = Answers(*query, releases, 0)[0];
  EXPECT_NEAR(*Find(answer, "count").value, 900, 1e-9);
  for (size_t i = 0; i < kTerms.size(); ++i) {
    const Estimate& estimate = TermOf(answer, i);
    ASSERT_TRUE(estimate.value.has_value()) << kTerms[i];
    EXPECT_NEAR(*estimate.value, fit.coefficients[i], 0.03 * fit.errors[i]) << kTerms[i];
    EXPECT_NEAR(*estimate.standard_error, fit.errors[i], 0.05 * fit.errors[i]) << kTerms[i];
    if (i == 0) continue;
    const Estimate& ratio = Find(answer, "odds ratio", kTerms[i]);
    EXPECT_NEAR(*ratio.value, std::exp(*estimate.value), 1e-9);
    EXPECT_NEAR(ratio.interval->low, std::exp(estimate.interval->low), 1e-9);
    EXPECT_NEAR(ratio.interval->high, std::exp(estimate.interval->high), 1e-9);
  }
  const double deviance = DevianceOfPatients(data, fit.coefficients);
  EXPECT_NEAR(*Find(answer, "deviance").value, deviance, 0.002 * deviance);
  const double share = std::accumulate(data.ill.begin(), data.ill.end(), 0.0) / 900;
  EXPECT_NEAR(*Find(answer, "null deviance").value,
              DevianceOfPatients(data, {std::log(share / (1 - share)), 0, 0, 0, 0}), 0.1);
}

// Rows drawn again for each release, with noise in each round. Suppressed releases count for
// nothing. An interval that covers in 95 % holds the truth in fewer than four of five of 180
// releases with probability 1e-14; one that covers in 70 % passes with probability 2e-3.
TEST(LogisticTest, IntervalsHoldTheFitOfTheWholeTable) {
  const Patients people(2000, 3);
  const LikelihoodFit truth = FitPatients(people);
  constexpr size_t kDrawn = 3000;
  constexpr double kNoise = 3;
  const auto query = IllnessQuery(kDrawn);
  crypto::Random random = crypto::SeededRandom(4, "logistic-test");
  constexpr uint64_t kReleases = 200;
  std::vector<uint64_t> held(kTerms.size());
  uint64_t shown = 0;
  for (uint64_t release = 0; release < kReleases; ++release) {
    TextRows rows;
    for (size_t i = 0; i < kDrawn; ++i) rows.push_back(people.rows[random.Below(2000)]);
    const std::vector<double> releases =
        ReleasesOf(query, TypedTableOfRows("site", kPatientColumns, rows), kNoise, random);
    const Answer answer = Answers(*query, releases, kNoise)[0];
    if (!TermOf(answer, 0).value.has_value()) continue;
    ++shown;
    for (size_t i = 0; i < kTerms.size(); ++i) {
      const auto [low, high] = *TermOf(answer, i).interval;
      held[i] += low <= truth.coefficients[i] && truth.coefficients[i] <= high ? 1 : 0;
    }
  }
  EXPECT_GE(shown, kReleases * 9 / 10);
  for (size_t i = 0; i < kTerms.size(); ++i) {
    EXPECT_GE(5 * held[i], 4 * shown) << kTerms[i];
  }
}

TEST(LogisticTest, NoClimbMovesAReleaseFartherThanIsCharged) {
  ClimbReleases(IllnessQuery(100)->spec(), kPatientColumns,
                [](size_t column, crypto::Random& random) -> std::string {
                  if (column == 1) return random.Below(2) == 0 ? "f" : "m";
                  if (column == 3) return random.Below(2) == 0 ? "no" : "yes";
                  return column == 0 ? DrawNumber(20, 90, random) : DrawNumber(1, 30, random);
                });
}

TEST(LogisticTest, WhatTheNoiseHidesIsSuppressedWithTheRemedy) {
  const Patients data(200, 6);
  const auto query = IllnessQuery(200);
  crypto::Random random = crypto::SeededRandom(7, "logistic-test");
  const std::vector<double> releases =
      ReleasesOf(query, TableOfRows("site", kPatientColumns, data.rows), 8, random);
  const Answer answer = Answers(*query, releases, 8)[0];
  for (size_t i = 0; i < kTerms.size(); ++i) {
    EXPECT_FALSE(TermOf(answer, i).value.has_value());
  }
  EXPECT_TRUE(answer.methods[2].starts_with(
      "coefficients suppressed: in some direction the information is "))
      << answer.methods[2];
  const Answer none = Answers(*query, std::vector<double>(query->dimension(), 0.0), 1)[0];
  for (size_t i = 0; i < kTerms.size(); ++i) EXPECT_FALSE(TermOf(none, i).value.has_value());
}

// No man is ill: there is no largest likelihood.
TEST(LogisticTest, AGroupWithoutEventsIsSuppressed) {
  Patients data(8000, 8);
  const auto query = IllnessQuery(8000);
  crypto::Random random = crypto::SeededRandom(9, "logistic-test");
  const auto shown = [&] {
    const std::vector<double> releases =
        ReleasesOf(query, TypedTableOfRows("site", kPatientColumns, data.rows), 1, random);
    return TermOf(Answers(*query, releases, 1)[0], 2).value.has_value();
  };
  EXPECT_TRUE(shown());
  for (auto& row : data.rows) {
    if (row[1] == "m") row[3] = "no";
  }
  EXPECT_FALSE(shown());
}

// Releases of 30 that are shown, of 4,000 rows under the noise of epsilon 2. `change` edits a row.
uint64_t ShownUnderNoise(
    uint64_t seed, const std::function<void(TextRows::value_type&, crypto::Random&)>& change) {
  constexpr double kNoise = 9;
  const auto query = IllnessQuery(4000);
  crypto::Random random = crypto::SeededRandom(seed, "logistic-test");
  uint64_t shown = 0;
  for (uint64_t release = 0; release < 30; ++release) {
    Patients data(4000, seed + 100 * release);
    for (auto& row : data.rows) change(row, random);
    const std::vector<double> releases =
        ReleasesOf(query, TypedTableOfRows("site", kPatientColumns, data.rows), kNoise, random);
    shown += TermOf(Answers(*query, releases, kNoise)[0], 2).value.has_value() ? 1 : 0;
  }
  return shown;
}

// The noise is larger than a group of a tenth would have events, or rows without. An effect that is
// finite by its noise alone would be shown.
TEST(LogisticTest, AGroupWithoutEventsUnderNoiseIsSuppressed) {
  for (const char* const all : {"no", "yes"}) {
    EXPECT_LE(ShownUnderNoise(14,
                              [all](auto& row, crypto::Random& random) {
                                row[1] = random.Below(10) == 0 ? "m" : "f";
                                if (row[1] == "m") row[3] = all;
                              }),
              1u)
        << all;
  }
  // Half of the group has the event.
  EXPECT_GE(ShownUnderNoise(15,
                            [](auto& row, crypto::Random& random) {
                              row[1] = random.Below(2) == 0 ? "m" : "f";
                              row[3] = random.Below(2) == 0 ? "no" : "yes";
                            }),
            27u);
}

// Two of a hundred rows have the event. From even odds, four steps do not lead there.
TEST(LogisticTest, RareEventsAreReached) {
  Patients data(6000, 10);
  crypto::Random random = crypto::SeededRandom(11, "logistic-test");
  for (size_t i = 0; i < data.rows.size(); ++i) {
    const double linear = -5.4 + 0.02 * data.raw[i][1] + 0.3 * data.raw[i][2];
    data.ill[i] = crypto::Uniform(random) < 1 / (1 + std::exp(-linear)) ? 1 : 0;
    data.rows[i][3] = data.ill[i] == 1 ? "yes" : "no";
  }
  const LikelihoodFit fit = FitPatients(data);
  const auto query = IllnessQuery(6000);
  const std::vector<double> releases =
      ReleasesOf(query, TypedTableOfRows("site", kPatientColumns, data.rows), 0, random);
  const Answer answer = Answers(*query, releases, 0)[0];
  for (size_t i = 0; i < kTerms.size(); ++i) {
    EXPECT_NEAR(*TermOf(answer, i).value, fit.coefficients[i], 0.05 * fit.errors[i]) << kTerms[i];
  }
  const double deviance = DevianceOfPatients(data, fit.coefficients);
  EXPECT_NEAR(*Find(answer, "deviance").value, deviance, 0.002 * deviance);
}

// Releases of the size that the record is about: 4,000 rows and the noise of epsilon 2. Of 50, more
// than 10 are suppressed with probability 4e-12 at a rate of 1 %, and fewer with 1e-5 at one of a
// half.
TEST(LogisticTest, FewReleasesAreSuppressed) {
  const Patients people(2000, 12);
  constexpr size_t kDrawn = 4000;
  const auto query = IllnessQuery(kDrawn);
  crypto::Random random = crypto::SeededRandom(13, "logistic-test");
  uint64_t shown = 0;
  for (uint64_t release = 0; release < 50; ++release) {
    TextRows rows;
    for (size_t i = 0; i < kDrawn; ++i) rows.push_back(people.rows[random.Below(2000)]);
    const std::vector<double> releases =
        ReleasesOf(query, TypedTableOfRows("site", kPatientColumns, rows), 6, random);
    shown += TermOf(Answers(*query, releases, 6)[0], 0).value.has_value() ? 1 : 0;
  }
  EXPECT_GE(shown, 40u);
}

TEST(LogisticTest, QuestionsOfOtherRoundsAndOtherResponsesAreRefused) {
  QuerySpec spec = IllnessQuery(100)->spec();
  spec.questions.push_back({.name = "rows"});
  EXPECT_EQ(
      base::Message(Query::Create(spec).status()),
      "question \"ill\" needs 4 and question \"rows\" 1 releases: ask models of several releases "
      "and other questions in queries of their own");
  spec = IllnessQuery(100)->spec();
  spec.questions[0].formula = "age ~ ill * sex + log(nodes)";
  EXPECT_NE(base::Message(Query::Create(spec).status())
                .find("the response \"age\" of family binomial is neither"),
            std::string::npos);
}

TEST(LogisticTest, AgreementsHaveTheQuerysRounds) {
  const auto query = IllnessQuery(100);
  agreement::ManifestSpec terms;
  terms.sampling.clients = 4;
  terms.privacy.target_epsilon = 2;
  const auto agreed = QueryTerms(*query, terms);
  ASSERT_TRUE(agreed.ok()) << agreed.status();
  EXPECT_EQ(agreed->rounds, 4u);
  EXPECT_EQ(agreed->dimension, query->dimension());
  EXPECT_TRUE(CheckQueryTerms(*query, *agreed).ok());
  agreement::ManifestSpec other = *agreed;
  other.rounds = 1;
  EXPECT_NE(base::Message(CheckQueryTerms(*query, other))
                .find("number of rounds is 1, the query needs 4"),
            std::string::npos);
  terms.rounds = 5;
  EXPECT_EQ(base::Message(QueryTerms(*query, terms).status()),
            "the query has 4 rounds, the terms have 5");
}

}  // namespace
}  // namespace tacet::statistics
