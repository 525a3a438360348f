// Logistic models: releases against the likelihood of single rows, and how far a row moves one.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/statistics/answers_for_test.h"
#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/logistic_steps.h"
#include "tacet/statistics/query_learner.h"

namespace tacet::statistics {
namespace {

double LogisticNormal(crypto::Random& random) {
  const double u = 1 - crypto::Uniform(random);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * crypto::Uniform(random));
}

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
      const double nodes =
          std::clamp(std::round(std::exp(0.7 * LogisticNormal(random))), 1.0, 30.0);
      raw.push_back({1, age, man, std::log(nodes), age * man});
      const double linear = -4 + 0.06 * age + 1.2 * man + 0.9 * std::log(nodes) - 0.02 * age * man;
      ill.push_back(crypto::Uniform(random) < 1 / (1 + std::exp(-linear)) ? 1 : 0);
      rows.push_back({std::to_string(age), man == 1 ? "m" : "f", std::to_string(nodes),
                      ill.back() == 1 ? "yes" : "no"});
    }
  }
};

struct LikelihoodFit {
  std::vector<double> coefficients, errors;
};

// Largest likelihood of single rows.
LikelihoodFit FitPatients(const Patients& data) {
  const size_t size = data.raw[0].size();
  LikelihoodFit fit{.coefficients = std::vector<double>(size), .errors = {}};
  for (int step = 0; step < 40; ++step) {
    std::vector<double> gradient(size), information(size * size);
    for (size_t row = 0; row < data.raw.size(); ++row) {
      const std::vector<double>& x = data.raw[row];
      const double linear = std::inner_product(x.begin(), x.end(), fit.coefficients.begin(), 0.0);
      const double mean = 1 / (1 + std::exp(-linear));
      for (size_t i = 0; i < size; ++i) {
        gradient[i] += (data.ill[row] - mean) * x[i];
        for (size_t j = 0; j < size; ++j) {
          information[i * size + j] += mean * (1 - mean) * x[i] * x[j];
        }
      }
    }
    const auto factor = Cholesky::Of(information, size);
    EXPECT_TRUE(factor.has_value());
    const std::vector<double> moved = factor->Solve(gradient);
    for (size_t i = 0; i < size; ++i) fit.coefficients[i] += moved[i];
    fit.errors.clear();
    for (size_t i = 0; i < size; ++i) {
      std::vector<double> unit(size);
      unit[i] = 1;
      fit.errors.push_back(std::sqrt(factor->Solve(unit)[i]));
    }
  }
  return fit;
}

// The releases of all rounds, each summed as a site does after the ones before.
std::vector<double> ReleasesOf(const std::shared_ptr<const Query>& query, const SiteTable& table,
                               double noise, crypto::Random& random) {
  std::vector<SiteUnits> sites;
  auto site = SiteUnits::Create(query, table);
  EXPECT_TRUE(site.ok()) << site.status();
  std::vector<uint32_t> units(site->units());
  std::iota(units.begin(), units.end(), 0u);
  sites.push_back(*std::move(site));
  const QueryLearner learner(query, std::move(sites));
  const auto trainer = learner.NewTrainer();
  EXPECT_TRUE(trainer.ok());
  std::vector<float> model = learner.InitialModel();
  const size_t values = query->round_dimension();
  for (uint32_t round = 0; round < query->rounds(); ++round) {
    std::vector<float> sum(model.size());
    EXPECT_TRUE((*trainer)->SumClippedGradients(model, 0, units, query->clip_norm(), sum).ok());
    for (size_t i = 0; i < sum.size(); ++i) {
      if (i / values == round) {
        model[i] = static_cast<float>(sum[i] + noise * LogisticNormal(random));
      } else {
        EXPECT_EQ(sum[i], 0);  // of another round
      }
    }
  }
  std::vector<float> sum(model.size());
  EXPECT_EQ((*trainer)->SumClippedGradients(model, 0, units, query->clip_norm(), sum).code(),
            absl::StatusCode::kFailedPrecondition);
  return {model.begin(), model.end()};
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
}

// Rows drawn again for each release, with noise in each round. An interval that covers in 95 %
// holds the truth in fewer than 160 of 200 releases with probability 6e-16; one that covers in 70 %
// passes with probability 1e-3.
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
    EXPECT_GE(held[i] + kReleases - shown, 160u) << kTerms[i];
  }
}

// A round is summed at coefficients that others chose by the releases before. Climbs over two rows
// and the coefficients: no release moves farther than is charged, and the bound is nearly reached.
TEST(LogisticTest, NoClimbMovesAReleaseFartherThanIsCharged) {
  for (const auto neighbouring :
       {accounting::Neighbouring::kReplaceOne, accounting::Neighbouring::kZeroOut}) {
    const bool replaced = neighbouring == accounting::Neighbouring::kReplaceOne;
    QuerySpec spec = IllnessQuery(100)->spec();
    spec.neighbouring = neighbouring;
    auto made = Query::Create(spec);
    ASSERT_TRUE(made.ok()) << made.status();
    const auto query = std::make_shared<const Query>(*std::move(made));
    crypto::Random random = crypto::SeededRandom(5, "logistic-test");
    const auto draw = [&](size_t column) -> std::string {
      if (column == 1) return random.Below(2) == 0 ? "f" : "m";
      if (column == 3) return random.Below(2) == 0 ? "no" : "yes";
      const double low = column == 0 ? 20 : 1, high = column == 0 ? 90 : 30;
      const uint64_t kind = random.Below(3);
      return std::to_string(kind == 0   ? low
                            : kind == 1 ? high
                                        : low + (high - low) * crypto::Uniform(random));
    };
    const auto distance = [&](const TextRows& pair, const std::vector<double>& at) {
      const auto site = SiteUnits::Create(query, TableOfRows("site", kPatientColumns, pair));
      EXPECT_TRUE(site.ok()) << site.status();
      std::vector<float> one(query->round_dimension()), other(query->round_dimension());
      site->SumUnits(std::vector<uint32_t>{0}, one, {at});
      if (replaced) site->SumUnits(std::vector<uint32_t>{1}, other, {at});
      double square = 0;
      for (size_t i = 0; i < one.size(); ++i) square += std::pow(double{one[i]} - other[i], 2);
      return std::sqrt(square);
    };
    double farthest = 0;
    for (int climb = 0; climb < 20; ++climb) {
      TextRows pair(2);
      std::vector<double> at(5);
      for (double& coefficient : at) coefficient = 4 * LogisticNormal(random);
      for (size_t i = 0; i < kPatientColumns.size(); ++i) {
        pair[0].push_back(draw(i));
        pair[1].push_back(draw(i));
      }
      double reached = distance(pair, at);
      for (int step = 0; step < 250; ++step) {
        TextRows moved = pair;
        std::vector<double> moved_at = at;
        if (random.Below(2) == 0) {
          const size_t column = random.Below(kPatientColumns.size());
          moved[random.Below(2)][column] = draw(column);
        } else {
          moved_at[random.Below(5)] += (random.Below(2) == 0 ? 8 : 1) * LogisticNormal(random);
        }
        const double now = distance(moved, moved_at);
        if (now <= reached) continue;
        reached = now;
        pair = std::move(moved);
        at = std::move(moved_at);
      }
      farthest = std::max(farthest, reached);
    }
    const double bound = (replaced ? 2 : 1) * query->clip_norm();
    EXPECT_LE(farthest, bound) << replaced;
    EXPECT_GE(farthest, 0.9 * bound) << replaced;
  }
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

TEST(LogisticTest, QuestionsOfOtherRoundsAndOtherResponsesAreRefused) {
  QuerySpec spec = IllnessQuery(100)->spec();
  spec.questions.push_back({.name = "rows"});
  EXPECT_EQ(base::Message(Query::Create(spec).status()),
            "question \"ill\" needs 4 and question \"rows\" 1 releases: ask logistic models and "
            "other questions in queries of their own");
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
