// Poisson models: releases against the likelihood of single rows, and how far a row moves one.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/statistics/answers_for_test.h"
#include "tacet/statistics/likelihood_for_test.h"

namespace tacet::statistics {
namespace {

const std::vector<std::string> kVisitColumns = {"age", "sex", "years", "visits"};
const std::vector<std::string> kVisitTerms = {"", "age", "sex = m", "age:sex = m"};

std::shared_ptr<const Query> VisitQuery(uint64_t max_units, double most_visits = 12) {
  QuestionSpec question{.name = "visits", .kind = QuestionKind::kGlm};
  question.formula = "visits ~ age * sex";
  question.family = GlmFamily::kPoisson;
  question.exposure = "years";
  question.variables = {{.column = "age", .bounds = BoundedColumn{"age", 20, 90}},
                        {.column = "years", .bounds = BoundedColumn{"years", 0.5, 2}},
                        {.column = "sex"},
                        {.column = "visits", .bounds = BoundedColumn{"visits", 0, most_visits}}};
  auto query = Query::Create(
      {.questions = {question}, .max_units = max_units, .values = {ValuesOf("sex one-of=f,m")}});
  EXPECT_TRUE(query.ok()) << query.status();
  return std::make_shared<const Query>(*std::move(query));
}

uint64_t DrawPoisson(double mean, crypto::Random& random) {
  uint64_t count = 0;
  for (double product = crypto::Uniform(random); product > std::exp(-mean);
       product *= crypto::Uniform(random)) {
    ++count;
  }
  return count;
}

struct Visitors {
  TextRows rows;
  std::vector<std::vector<double>> raw;  // what R's model.matrix has
  std::vector<double> years, visits;

  // With `spread` the rates of equal rows differ: counts vary more than their means.
  Visitors(size_t count, double spread, uint64_t seed) {
    crypto::Random random = crypto::SeededRandom(seed, "poisson-test");
    for (size_t i = 0; i < count; ++i) {
      const double age = 20 + static_cast<double>(random.Below(71));
      const double man = random.Below(3) == 0 ? 1 : 0;
      raw.push_back({1, age, man, age * man});
      years.push_back(0.5 + 0.25 * static_cast<double>(random.Below(7)));
      const double rate =
          std::exp(-2 + 0.03 * age + 0.8 * man - 0.01 * age * man + spread * NormalForTest(random));
      const uint64_t drawn = DrawPoisson(rate * years.back(), random);
      visits.push_back(static_cast<double>(std::min<uint64_t>(drawn, 12)));
      rows.push_back({std::to_string(age), man == 1 ? "m" : "f", std::to_string(years.back()),
                      std::to_string(drawn)});
    }
  }
};

double MeanOf(const Visitors& data, size_t row, const std::vector<double>& at) {
  const std::vector<double>& x = data.raw[row];
  return data.years[row] * std::exp(std::inner_product(x.begin(), x.end(), at.begin(), 0.0));
}

// The largest likelihood, with errors of the sandwich.
LikelihoodFit FitVisitors(const Visitors& data) {
  const size_t size = data.raw[0].size();
  std::vector<double> information_of;
  std::vector<double> squares;
  LikelihoodFit fit = FitByNewton(size, {-1, 0, 0, 0},
                                  [&](const std::vector<double>& at, std::vector<double>& gradient,
                                      std::vector<double>& information) {
                                    squares.assign(size * size, 0);
                                    for (size_t row = 0; row < data.raw.size(); ++row) {
                                      const std::vector<double>& x = data.raw[row];
                                      const double mean = MeanOf(data, row, at);
                                      for (size_t i = 0; i < size; ++i) {
                                        gradient[i] += (data.visits[row] - mean) * x[i];
                                        for (size_t j = 0; j < size; ++j) {
                                          information[i * size + j] += mean * x[i] * x[j];
                                          squares[i * size + j] +=
                                              std::pow(data.visits[row] - mean, 2) * x[i] * x[j];
                                        }
                                      }
                                    }
                                    information_of = information;
                                  });
  const auto factor = Cholesky::Of(information_of, size);
  for (size_t i = 0; i < size; ++i) {
    std::vector<double> unit(size);
    unit[i] = 1;
    const std::vector<double> solved = factor->Solve(unit);
    double variance = 0;
    for (size_t j = 0; j < size; ++j) {
      for (size_t k = 0; k < size; ++k) variance += solved[j] * squares[j * size + k] * solved[k];
    }
    fit.errors[i] = std::sqrt(variance);
  }
  return fit;
}

double DevianceOfVisitors(const Visitors& data, const std::vector<double>& at) {
  double sum = 0;
  for (size_t row = 0; row < data.raw.size(); ++row) {
    const double y = data.visits[row], mean = MeanOf(data, row, at);
    sum += 2 * ((y > 0 ? y * std::log(y / mean) : 0) - (y - mean));
  }
  return sum;
}

const Estimate& TermOfVisits(const Answer& answer, size_t i) {
  return Find(answer, i == 0 ? "intercept" : "coefficient", kVisitTerms[i]);
}

TEST(PoissonTest, WithoutNoiseItIsTheLargestLikelihoodOfTheRows) {
  const Visitors data(1500, 0.4, 1);
  const LikelihoodFit fit = FitVisitors(data);
  const auto query = VisitQuery(1500);
  EXPECT_EQ(query->rounds(), 4u);
  EXPECT_EQ(query->round_dimension(), 1u + 4 + 10 + 10 + 2 + 1);
  crypto::Random random = crypto::SeededRandom(2, "poisson-test");
  const std::vector<double> releases =
      ReleasesOf(query, TableOfRows("site", kVisitColumns, data.rows), 0, random);
  const Answer answer = Answers(*query, releases, 0)[0];
  EXPECT_NEAR(*Find(answer, "count").value, 1500, 1e-6);
  for (size_t i = 0; i < kVisitTerms.size(); ++i) {
    const Estimate& estimate = TermOfVisits(answer, i);
    ASSERT_TRUE(estimate.value.has_value()) << kVisitTerms[i];
    EXPECT_NEAR(*estimate.value, fit.coefficients[i], 0.05 * fit.errors[i]) << kVisitTerms[i];
    EXPECT_NEAR(*estimate.standard_error, fit.errors[i], 0.05 * fit.errors[i]) << kVisitTerms[i];
    if (i == 0) continue;
    const Estimate& ratio = Find(answer, "rate ratio", kVisitTerms[i]);
    EXPECT_NEAR(*ratio.value, std::exp(*estimate.value), 1e-9);
    EXPECT_NEAR(ratio.interval->high, std::exp(estimate.interval->high), 1e-9);
  }
  const double deviance = DevianceOfVisitors(data, fit.coefficients);
  EXPECT_NEAR(*Find(answer, "deviance").value, deviance, 0.002 * deviance);
  double visits = std::accumulate(data.visits.begin(), data.visits.end(), 0.0);
  double years = std::accumulate(data.years.begin(), data.years.end(), 0.0);
  EXPECT_NEAR(*Find(answer, "null deviance").value,
              DevianceOfVisitors(data, {std::log(visits / years), 0, 0, 0}), 0.002 * deviance);
}

// Rows drawn again for each release, with noise in each round, and counts that vary more than their
// means. Suppressed releases count for nothing. An interval that covers in 95 % holds the truth in
// fewer than four of five of 180 releases with probability 1e-14; one that covers in 70 % passes
// with probability 2e-3. Deviances are about the rows of a release.
TEST(PoissonTest, IntervalsHoldTheFitOfTheWholeTable) {
  const Visitors people(2000, 0.4, 3);
  const LikelihoodFit truth = FitVisitors(people);
  constexpr size_t kDrawn = 1500;
  constexpr double kNoise = 1.5;
  const auto query = VisitQuery(kDrawn);
  crypto::Random random = crypto::SeededRandom(4, "poisson-test");
  constexpr uint64_t kReleases = 200;
  std::vector<uint64_t> held(kVisitTerms.size());
  uint64_t shown = 0, held_deviance = 0, held_null = 0;
  for (uint64_t release = 0; release < kReleases; ++release) {
    TextRows rows;
    Visitors drawn(0, 0, 0);
    for (size_t i = 0; i < kDrawn; ++i) {
      const size_t person = random.Below(2000);
      rows.push_back(people.rows[person]);
      drawn.raw.push_back(people.raw[person]);
      drawn.years.push_back(people.years[person]);
      drawn.visits.push_back(people.visits[person]);
    }
    const std::vector<double> releases =
        ReleasesOf(query, TypedTableOfRows("site", kVisitColumns, rows), kNoise, random);
    const Answer answer = Answers(*query, releases, kNoise)[0];
    if (!TermOfVisits(answer, 0).value.has_value()) continue;
    ++shown;
    std::vector<double> told;
    for (size_t i = 0; i < kVisitTerms.size(); ++i) {
      told.push_back(*TermOfVisits(answer, i).value);
      const auto [low, high] = *TermOfVisits(answer, i).interval;
      held[i] += low <= truth.coefficients[i] && truth.coefficients[i] <= high ? 1 : 0;
    }
    const auto holds = [&answer](std::string_view quantity, double value) {
      const Range interval = *Find(answer, quantity).interval;
      return interval.low <= value && value <= interval.high ? 1 : 0;
    };
    held_deviance += holds("deviance", DevianceOfVisitors(drawn, told));
    double visits = std::accumulate(drawn.visits.begin(), drawn.visits.end(), 0.0);
    double years = std::accumulate(drawn.years.begin(), drawn.years.end(), 0.0);
    held_null +=
        holds("null deviance", DevianceOfVisitors(drawn, {std::log(visits / years), 0, 0, 0}));
  }
  EXPECT_GE(shown, kReleases * 9 / 10);
  for (size_t i = 0; i < kVisitTerms.size(); ++i) {
    EXPECT_GE(5 * held[i], 4 * shown) << kVisitTerms[i];
  }
  EXPECT_GE(5 * held_deviance, 4 * shown);
  EXPECT_GE(5 * held_null, 4 * shown);
}

TEST(PoissonTest, NoClimbMovesAReleaseFartherThanIsCharged) {
  ClimbReleases(
      VisitQuery(100)->spec(), kVisitColumns,
      [](size_t column, crypto::Random& random) -> std::string {
        if (column == 1) return random.Below(2) == 0 ? "f" : "m";
        if (column == 0) return DrawNumber(20, 90, random);
        return column == 2 ? DrawNumber(0.5, 2, random) : DrawNumber(0, 12, random);
      },
      0.87);
}

// A bound that is half as large as most means: coefficients would be biased.
TEST(PoissonTest, CutMeansSuppressTheCoefficients) {
  const Visitors data(3000, 0, 6);
  const auto query = VisitQuery(3000, 3);
  crypto::Random random = crypto::SeededRandom(7, "poisson-test");
  const std::vector<double> releases =
      ReleasesOf(query, TableOfRows("site", kVisitColumns, data.rows), 1, random);
  const Answer answer = Answers(*query, releases, 1)[0];
  EXPECT_FALSE(TermOfVisits(answer, 1).value.has_value());
  EXPECT_FALSE(Find(answer, "deviance").value.has_value());
  EXPECT_EQ(
      answer.methods[2],
      "coefficients suppressed: means of the model are above half of the response's bound, 3, "
      "and are cut in more rows than is certain to leave no bias: raise the bound, or ask with a "
      "larger epsilon or share, or of more rows");
}

std::shared_ptr<const Query> GroupQuery(uint64_t max_units, double most_visits,
                                        accounting::Unit unit = accounting::Unit::kRecord,
                                        uint64_t rows_per_unit = 1) {
  QuestionSpec question{.name = "visits", .kind = QuestionKind::kGlm};
  question.formula = "visits ~ sex";
  question.family = GlmFamily::kPoisson;
  question.variables = {{.column = "sex"},
                        {.column = "visits", .bounds = BoundedColumn{"visits", 0, most_visits}}};
  auto query = Query::Create({.questions = {question},
                              .unit = unit,
                              .max_units = max_units,
                              .rows_per_unit = rows_per_unit,
                              .values = {ValuesOf("sex one-of=f,m")}});
  EXPECT_TRUE(query.ok()) << query.status();
  return std::make_shared<const Query>(*std::move(query));
}

// Rows of two groups: the share `men` of them has the mean `of_men`, the others 1 times `mean`.
TextRows GroupRows(size_t count, double men, double mean, double of_men, crypto::Random& random) {
  TextRows rows;
  for (size_t i = 0; i < count; ++i) {
    const bool man = crypto::Uniform(random) < men;
    rows.push_back({man ? "m" : "f", std::to_string(DrawPoisson(man ? of_men : mean, random))});
  }
  return rows;
}

// Number of `trials` releases that show the ratio of the groups.
uint64_t ShownOf(const std::shared_ptr<const Query>& query, double men, double mean, double of_men,
                 size_t count, double noise, uint64_t trials, uint64_t seed) {
  crypto::Random random = crypto::SeededRandom(seed, "poisson-groups");
  uint64_t shown = 0;
  for (uint64_t trial = 0; trial < trials; ++trial) {
    const TextRows rows = GroupRows(count, men, mean, of_men, random);
    const std::vector<double> releases =
        ReleasesOf(query, TypedTableOfRows("site", {"sex", "visits"}, rows), noise, random);
    const Answer answer = Answers(*query, releases, noise)[0];
    shown += Find(answer, "coefficient", "sex = m").value.has_value() ? 1 : 0;
  }
  return shown;
}

// Two of a hundred rows have a mean above half of the bound. Their residuals never reach 0, so the
// coefficient grows with each step: rate ratios of 200 for one of 8.
TEST(PoissonTest, FewCutRowsSuppressTheCoefficients) {
  EXPECT_LE(ShownOf(GroupQuery(4000, 10), 0.02, 1, 8, 4000, 12, 20, 10), 1u);
  EXPECT_EQ(ShownOf(GroupQuery(4000, 10), 0.02, 1, 8, 4000, 0, 1, 11), 0u);
  // So they are where far fewer rows than one of a hundred are cut: the steps do not end.
  EXPECT_EQ(ShownOf(GroupQuery(20000, 10), 0.004, 1, 8, 20000, 0.2, 2, 17), 0u);
  // Under a bound of five times the mean, nothing is cut.
  EXPECT_EQ(ShownOf(GroupQuery(4000, 40), 0.02, 1, 8, 4000, 0.5, 10, 12), 10u);
}

// A group without events has no largest likelihood.
TEST(PoissonTest, AGroupWithoutEventsIsSuppressed) {
  EXPECT_EQ(ShownOf(GroupQuery(8000, 6), 0.3, 1, 0, 8000, 1, 10, 13), 0u);
  EXPECT_EQ(ShownOf(GroupQuery(8000, 6), 0.3, 1, 0.4, 8000, 1, 10, 14), 10u);
}

// The noise of epsilon 2 is larger than the events that the group would have. Its coefficient would
// be shown with an interval that ends, or with one that four steps do not reach.
TEST(PoissonTest, AGroupWithFewEventsUnderNoiseIsSuppressed) {
  EXPECT_LE(ShownOf(GroupQuery(4000, 6), 0.1, 1, 0, 4000, 10, 30, 15), 2u);
  EXPECT_LE(ShownOf(GroupQuery(4000, 6), 0.03, 1, 0, 4000, 10, 30, 16), 2u);
  EXPECT_LE(ShownOf(GroupQuery(4000, 6), 0.3, 1, 0.02, 4000, 10, 30, 17), 2u);
  EXPECT_LE(ShownOf(GroupQuery(4000, 6), 0.1, 1, 0.05, 4000, 10, 30, 18), 4u);
  EXPECT_GE(ShownOf(GroupQuery(4000, 6), 0.3, 1, 0.5, 4000, 10, 30, 19), 28u);
}

// Equal rows under a coarse grid: each of them would be rounded alike.
TEST(PoissonTest, ACoarseGridLeavesNoBias) {
  const auto query = GroupQuery(100000, 4);
  crypto::Random random = crypto::SeededRandom(15, "poisson-groups");
  const TextRows rows = GroupRows(30000, 0.5, 0.37, 0.37, random);
  const std::vector<double> releases =
      ReleasesOf(query, TypedTableOfRows("site", {"sex", "visits"}, rows), 0, random);
  const Answer answer = Answers(*query, releases, 0)[0];
  double visits = 0;
  for (const auto& row : rows) visits += std::stod(row[0] == "f" ? row[1] : "0");
  const double women = static_cast<double>(
      std::ranges::count_if(rows, [](const auto& row) { return row[0] == "f"; }));
  EXPECT_NEAR(*Find(answer, "intercept").value, std::log(visits / women), 0.005);
}

// Five equal rows of a person tell as much as one.
TEST(PoissonTest, EqualRowsOfAPersonCountAsOne) {
  constexpr uint64_t kRows = 5;
  const auto query = GroupQuery(2000, 6, accounting::Unit::kPerson, kRows);
  crypto::Random random = crypto::SeededRandom(16, "poisson-groups");
  const TextRows persons = GroupRows(2000, 0.4, 1, 1.5, random);
  TextRows rows;
  for (size_t i = 0; i < persons.size(); ++i) {
    for (uint64_t k = 0; k < kRows; ++k) {
      rows.push_back({std::to_string(i), persons[i][0], persons[i][1]});
    }
  }
  const std::vector<double> releases = ReleasesOf(
      query, TypedTableOfRows("site", {"person", "sex", "visits"}, rows), 0, random, "person");
  const Answer answer = Answers(*query, releases, 0)[0];
  // For the difference of two logarithms.
  const double error = std::sqrt(1 / (1.0 * 1200) + 1 / (1.5 * 800));
  EXPECT_NEAR(*Find(answer, "coefficient", "sex = m").standard_error, error, 0.08 * error);
}

TEST(PoissonTest, WhatTheNoiseHidesIsSuppressedWithTheRemedy) {
  const Visitors data(200, 0, 8);
  const auto query = VisitQuery(200);
  crypto::Random random = crypto::SeededRandom(9, "poisson-test");
  const std::vector<double> releases =
      ReleasesOf(query, TableOfRows("site", kVisitColumns, data.rows), 8, random);
  const Answer answer = Answers(*query, releases, 8)[0];
  for (size_t i = 0; i < kVisitTerms.size(); ++i) {
    EXPECT_FALSE(TermOfVisits(answer, i).value.has_value());
  }
  EXPECT_TRUE(answer.methods[2].starts_with(
      "coefficients suppressed: in some direction the information is "))
      << answer.methods[2];
  const Answer none = Answers(*query, std::vector<double>(query->dimension(), 0.0), 1)[0];
  EXPECT_FALSE(TermOfVisits(none, 0).value.has_value());
}

TEST(PoissonTest, OtherResponsesAndExposuresAreRefused) {
  const auto refusal = [](auto change) {
    QuerySpec spec = VisitQuery(100)->spec();
    change(spec.questions[0]);
    return base::Message(Query::Create(spec).status());
  };
  EXPECT_EQ(
      refusal([](QuestionSpec& question) { question.variables[3].bounds->low = 1; }),
      "question \"visits\": formula \"visits ~ age * sex\": the response \"visits\" of family "
      "poisson is no count: expected a column of numbers with bounds from 0");
  EXPECT_NE(refusal([](QuestionSpec& question) {
              question.variables[1].bounds->low = 0;
            }).find("`exposure` is \"years\": expected a column of numbers with bounds above 0"),
            std::string::npos);
  EXPECT_NE(refusal([](QuestionSpec& question) {
              question.exposure = "sex";
            }).find("`exposure` is \"sex\": expected a column of numbers"),
            std::string::npos);
  EXPECT_NE(refusal([](QuestionSpec& question) {
              question.exposure = "visits";
            }).find("column \"visits\" is the response and the exposure, too"),
            std::string::npos);
  EXPECT_NE(refusal([](QuestionSpec& question) {
              question.family = GlmFamily::kGaussian;
            }).find("`exposure` is of family poisson alone"),
            std::string::npos);
}

TEST(PoissonTest, UnitClientIsRefused) {
  QuerySpec spec = VisitQuery(100)->spec();
  spec.unit = accounting::Unit::kClient;
  EXPECT_NE(base::Message(Query::Create(spec).status())
                .find("a model needs many units, and with unit client each site is one"),
            std::string::npos);
}

}  // namespace
}  // namespace tacet::statistics
