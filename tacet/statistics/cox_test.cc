// Proportional hazards: releases against the likelihood of single rows, and how far a row moves
// one.
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

const std::vector<std::string> kFollowedColumns = {"person", "age", "sex", "days", "dead"};
const std::vector<std::string> kHazardTerms = {"age", "sex = m"};
const std::vector<double> kDays = {0, 500, 1000, 3000};

QuerySpec HazardSpec(uint64_t max_units) {
  QuestionSpec question{.name = "death",
                        .kind = QuestionKind::kCox,
                        .cells = {.column = "days", .edges = kDays},
                        .yes = {"dead", "yes"}};
  question.formula = "age + sex";
  question.variables = {{.column = "age", .bounds = BoundedColumn{"age", 20, 90}},
                        {.column = "sex"}};
  return {.questions = {question},
          .max_units = max_units,
          .values = {ValuesOf("sex one-of=f,m"), ValuesOf("dead one-of=no,yes")}};
}

std::shared_ptr<const Query> MadeQuery(QuerySpec spec) {
  auto query = Query::Create(std::move(spec));
  EXPECT_TRUE(query.ok()) << query.status();
  return std::make_shared<const Query>(*std::move(query));
}

struct Followed {
  TextRows rows;
  std::vector<std::vector<double>> raw;  // age and man
  std::vector<double> days;
  std::vector<bool> dead;

  // Hazards of each interval, per 1,000 days at age 0.
  Followed(size_t count, double level, uint64_t seed) {
    crypto::Random random = crypto::SeededRandom(seed, "cox-test");
    for (size_t i = 0; i < count; ++i) {
      const double age = 20 + static_cast<double>(random.Below(71));
      const double man = random.Below(3) == 0 ? 1 : 0;
      raw.push_back({age, man});
      const double factor = level * std::exp(0.04 * age + 0.6 * man) / 1000;
      double left = -std::log(1 - crypto::Uniform(random)) / factor, end = 0;
      const double censored = std::floor(3500 * crypto::Uniform(random));
      for (const auto& [until, rate] : {std::pair{500.0, 0.5}, {1000.0, 1.0}, {1e9, 0.7}}) {
        const double here = std::min(left / rate, until - end);
        end += here;
        left -= here * rate;
        if (left <= 0) break;
      }
      end = std::floor(end);
      dead.push_back(end <= censored);
      days.push_back(std::min(end, censored));
      rows.push_back({std::to_string(i), std::to_string(age), man == 1 ? "m" : "f",
                      std::to_string(days.back()), dead.back() ? "yes" : "no"});
    }
  }
};

// Cumulative hazard of a row at the end of its follow-up, which is where it reaches `most`, and by
// interval. Logarithms of the hazards a day, then age and man.
struct FollowUp {
  std::vector<double> hazards, residuals;
};
FollowUp FollowUpOf(const Followed& data, size_t row, const std::vector<double>& at, double most) {
  FollowUp made{.hazards = {0, 0, 0}, .residuals = {0, 0, 0}};
  const double factor = std::exp(at[3] * data.raw[row][0] + at[4] * data.raw[row][1]);
  double sum = 0;
  for (size_t j = 0; j < 3 && (j == 0 || data.days[row] > kDays[j]); ++j) {
    const double hazard =
        (std::min(data.days[row], kDays[j + 1]) - kDays[j]) * std::exp(at[j]) * factor;
    made.hazards[j] = std::min(hazard, most - sum);
    made.residuals[j] = -made.hazards[j];
    if (sum + hazard > most) break;
    sum += hazard;
    if (data.dead[row] && data.days[row] <= kDays[j + 1]) made.residuals[j] += 1;
  }
  return made;
}

LikelihoodFit FitFollowed(const Followed& data, double most) {
  return FitByNewton(5, {-11, -11, -11, 0.04, 0.5},
                     [&](const std::vector<double>& at, std::vector<double>& gradient,
                         std::vector<double>& information) {
                       for (size_t row = 0; row < data.raw.size(); ++row) {
                         const FollowUp of = FollowUpOf(data, row, at, most);
                         for (size_t j = 0; j < 3; ++j) {
                           std::vector<double> z(5);
                           z[j] = 1;
                           std::ranges::copy(data.raw[row], z.begin() + 3);
                           for (size_t i = 0; i < 5; ++i) {
                             gradient[i] += of.residuals[j] * z[i];
                             for (size_t k = 0; k < 5; ++k) {
                               information[i * 5 + k] += of.hazards[j] * z[i] * z[k];
                             }
                           }
                         }
                       }
                     });
}

const Estimate& HazardOf(const Answer& answer, size_t i) {
  return Find(answer, "coefficient", kHazardTerms[i]);
}

TEST(CoxTest, WithoutNoiseItIsTheLargestLikelihoodOfTheRows) {
  const Followed data(1500, 0.05, 1);
  const LikelihoodFit fit = FitFollowed(data, 1e9);
  const auto query = MadeQuery(HazardSpec(1500));
  EXPECT_EQ(query->rounds(), 4u);
  EXPECT_EQ(query->round_dimension(), 1u + 5 + 3 + 6 + 3 + 1);
  crypto::Random random = crypto::SeededRandom(2, "cox-test");
  const std::vector<double> releases =
      ReleasesOf(query, TableOfRows("site", kFollowedColumns, data.rows), 0, random);
  const Answer answer = Answers(*query, releases, 0)[0];
  EXPECT_NEAR(*Find(answer, "count").value, 1500, 1e-6);
  for (size_t i = 0; i < kHazardTerms.size(); ++i) {
    const Estimate& estimate = HazardOf(answer, i);
    ASSERT_TRUE(estimate.value.has_value()) << kHazardTerms[i];
    // The follow-up of few rows is cut.
    EXPECT_NEAR(*estimate.value, fit.coefficients[3 + i], 0.2 * fit.errors[3 + i]);
    EXPECT_NEAR(*estimate.standard_error, std::sqrt(1.2) * fit.errors[3 + i],
                0.05 * fit.errors[3 + i]);
    const Estimate& ratio = Find(answer, "hazard ratio", kHazardTerms[i]);
    EXPECT_NEAR(*ratio.value, std::exp(*estimate.value), 1e-9);
    EXPECT_NEAR(ratio.interval->low, std::exp(estimate.interval->low), 1e-9);
  }
  double hazard = 0;
  for (size_t j = 0; j < 3; ++j) {
    hazard += (kDays[j + 1] - kDays[j]) * std::exp(fit.coefficients[j] + 55 * fit.coefficients[3]);
    const Estimate& survival =
        Find(answer, "baseline survival", "", fmt::format("{:g}", kDays[j + 1]));
    EXPECT_NEAR(*survival.value, std::exp(-hazard), 0.01);
    EXPECT_LT(survival.interval->low, std::exp(-hazard));
    EXPECT_GT(survival.interval->high, std::exp(-hazard));
  }
}

// Nine of ten rows reach the most hazard: an end that depends on nothing but the design leaves the
// coefficients as they are.
TEST(CoxTest, FollowUpThatIsCutLeavesNoBias) {
  const Followed data(20000, 0.8, 3);
  size_t cut = 0;
  const std::vector<double> truth = {std::log(0.0004), std::log(0.0008), std::log(0.00056), 0.04,
                                     0.6};
  for (size_t row = 0; row < data.raw.size(); ++row) {
    Followed whole(0, 0, 0);
    whole.raw = {data.raw[row]};
    whole.days = {3000};
    whole.dead = {false};
    const FollowUp of = FollowUpOf(whole, 0, truth, 1e9);
    cut += of.hazards[0] + of.hazards[1] + of.hazards[2] > kMostHazard ? 1 : 0;
  }
  EXPECT_GT(cut, 18000u);
  const auto query = MadeQuery(HazardSpec(20000));
  crypto::Random random = crypto::SeededRandom(4, "cox-test");
  const std::vector<double> releases =
      ReleasesOf(query, TypedTableOfRows("site", kFollowedColumns, data.rows), 0, random);
  const Answer answer = Answers(*query, releases, 0)[0];
  // Within six standard errors: 2e-9.
  for (size_t i = 0; i < kHazardTerms.size(); ++i) {
    const Estimate& estimate = HazardOf(answer, i);
    EXPECT_NEAR(*estimate.value, truth[3 + i], 6 * *estimate.standard_error) << kHazardTerms[i];
    EXPECT_LT(*estimate.standard_error, 0.05 * truth[3 + i]);
  }
}

// Rows drawn again for each release, with noise in each round. Suppressed releases count for
// nothing. An interval that covers in 95 % holds the truth in fewer than four of five of 180
// releases with probability 1e-14; one that covers in 70 % passes with probability 2e-3.
TEST(CoxTest, IntervalsHoldTheFitOfTheWholeTable) {
  const Followed people(2000, 0.05, 5);
  const LikelihoodFit truth = FitFollowed(people, kMostHazard);
  constexpr size_t kDrawn = 1500;
  constexpr double kNoise = 1;
  const auto query = MadeQuery(HazardSpec(kDrawn));
  crypto::Random random = crypto::SeededRandom(6, "cox-test");
  constexpr uint64_t kReleases = 200;
  std::vector<uint64_t> held(kHazardTerms.size());
  uint64_t shown = 0, held_survival = 0;
  double hazard = 0;
  for (size_t j = 0; j < 3; ++j) {
    hazard +=
        (kDays[j + 1] - kDays[j]) * std::exp(truth.coefficients[j] + 55 * truth.coefficients[3]);
  }
  for (uint64_t release = 0; release < kReleases; ++release) {
    TextRows rows;
    for (size_t i = 0; i < kDrawn; ++i) rows.push_back(people.rows[random.Below(2000)]);
    const std::vector<double> releases =
        ReleasesOf(query, TypedTableOfRows("site", kFollowedColumns, rows), kNoise, random);
    const Answer answer = Answers(*query, releases, kNoise)[0];
    if (!HazardOf(answer, 0).value.has_value()) continue;
    ++shown;
    for (size_t i = 0; i < kHazardTerms.size(); ++i) {
      const auto [low, high] = *HazardOf(answer, i).interval;
      held[i] += low <= truth.coefficients[3 + i] && truth.coefficients[3 + i] <= high ? 1 : 0;
    }
    const auto [low, high] = *Find(answer, "baseline survival", "", "3000").interval;
    held_survival += low <= std::exp(-hazard) && std::exp(-hazard) <= high ? 1 : 0;
  }
  EXPECT_GE(shown, kReleases * 9 / 10);
  for (size_t i = 0; i < kHazardTerms.size(); ++i) {
    EXPECT_GE(5 * held[i], 4 * shown) << kHazardTerms[i];
  }
  EXPECT_GE(5 * held_survival, 4 * shown);
}

TEST(CoxTest, NoClimbMovesAReleaseFartherThanIsCharged) {
  QuerySpec spec = HazardSpec(100);
  spec.questions[0].formula = "age * sex";
  ClimbReleases(spec, kFollowedColumns, [](size_t column, crypto::Random& random) -> std::string {
    if (column == 2) return random.Below(2) == 0 ? "f" : "m";
    if (column == 4) return random.Below(2) == 0 ? "no" : "yes";
    if (column == 3) return DrawNumber(0, 3000, random);
    return DrawNumber(20, 90, random);
  });
}

// Each site has hazards of its own. Sites whose level differs tell nothing about the columns.
TEST(CoxTest, BySiteEachHasItsHazards) {
  QuerySpec spec = HazardSpec(1500);
  spec.questions[0].sites = {"north", "south"};
  spec.questions[0].by_site = true;
  const auto query = MadeQuery(spec);
  EXPECT_EQ(query->questions()[0].baselines, 6u);
  const Followed north(1500, 0.04, 7), south(1500, 0.12, 8);
  std::vector<SiteUnits> sites;
  for (const auto& [name, data] : {std::pair{"north", &north}, {"south", &south}}) {
    auto site = SiteUnits::Create(query, TableOfRows(name, kFollowedColumns, data->rows));
    ASSERT_TRUE(site.ok()) << site.status();
    sites.push_back(*std::move(site));
  }
  std::vector<uint32_t> units(1500);
  std::iota(units.begin(), units.end(), 0u);
  std::vector<float> model(query->dimension());
  const size_t values = query->round_dimension();
  for (uint32_t round = 0; round < query->rounds(); ++round) {
    const QueryState state = StateAfter(*query, model);
    for (const SiteUnits& site : sites) {
      std::vector<float> sum(values);
      site.SumUnits(units, sum, state.coefficients);
      for (size_t i = 0; i < values; ++i) model[round * values + i] += sum[i];
    }
  }
  const Answer answer = Answers(*query, {model.begin(), model.end()}, 0)[0];
  const std::vector<double> truth = {0.04, 0.6};
  for (size_t i = 0; i < kHazardTerms.size(); ++i) {
    EXPECT_NEAR(*HazardOf(answer, i).value, truth[i], 6 * *HazardOf(answer, i).standard_error);
  }
  const double of_north = -std::log(*Find(answer, "baseline survival", "north", "1000").value);
  const double of_south = -std::log(*Find(answer, "baseline survival", "south", "1000").value);
  EXPECT_NEAR(of_south / of_north, 3, 0.75);
}

TEST(CoxTest, APersonsRowsCountAsOne) {
  QuerySpec spec = HazardSpec(10);
  spec.unit = accounting::Unit::kPerson;
  const auto query = MadeQuery(spec);
  const TextRows rows = {{"a", "50", "m", "700", "no"}, {"a", "60", "m", "900", "yes"}};
  const auto site = SiteUnits::Create(query, TableOfRows("site", kFollowedColumns, rows), "person");
  ASSERT_TRUE(site.ok()) << site.status();
  EXPECT_EQ(site->units(), 1u);
  std::vector<float> sum(query->round_dimension());
  site->SumUnits(std::vector<uint32_t>{0}, sum);
  const QuestionPlan& plan = query->questions()[0];
  EXPECT_NEAR(sum[0] / plan.count, 1, 1e-3);
  // Half of the event in its interval, and half of both hazards there.
  const double hazard = kMostHazard * (200 + 400) / 3000 / 2;
  EXPECT_NEAR(sum[2] / plan.amplitude, 0.5 - hazard, 1e-3);
}

TEST(CoxTest, RowsWhoseEndCannotBeReadAreLeftOut) {
  const auto query = MadeQuery(HazardSpec(10));
  const TextRows rows = {{"a", "50", "m", "", "no"},
                         {"b", "60", "m", "-1", "yes"},
                         {"c", "60", "m", "10", "perhaps"},
                         {"d", "60", "m", "0", "yes"}};
  const auto site = SiteUnits::Create(query, TableOfRows("site", kFollowedColumns, rows));
  ASSERT_TRUE(site.ok()) << site.status();
  EXPECT_EQ(site->RowsOf(0, RowUse::kLeftOut), 3u);
  EXPECT_EQ(site->RowsOf(0, RowUse::kCounts), 1u);
  std::vector<float> sum(query->round_dimension());
  site->SumUnits(std::vector<uint32_t>{0, 1, 2, 3}, sum);
  const QuestionPlan& plan = query->questions()[0];
  EXPECT_NEAR(sum.back() / plan.left_out, 3, 1e-6);
  EXPECT_NEAR(sum[1] / plan.amplitude, 1, 1e-6);  // an event at once
}

TEST(CoxTest, WhatTheNoiseHidesIsSuppressedWithTheRemedy) {
  const Followed data(300, 0.05, 9);
  const auto query = MadeQuery(HazardSpec(300));
  crypto::Random random = crypto::SeededRandom(10, "cox-test");
  const std::vector<double> releases =
      ReleasesOf(query, TableOfRows("site", kFollowedColumns, data.rows), 8, random);
  const Answer answer = Answers(*query, releases, 8)[0];
  EXPECT_FALSE(HazardOf(answer, 0).value.has_value());
  EXPECT_FALSE(Find(answer, "baseline survival", "", "500").value.has_value());
  EXPECT_TRUE(
      answer.methods[3].starts_with("coefficients suppressed: the information of an interval is "))
      << answer.methods[3];
  const Answer none = Answers(*query, std::vector<double>(query->dimension(), 0.0), 1)[0];
  EXPECT_FALSE(HazardOf(none, 0).value.has_value());
}

// Persons of two groups, with hazards a day of `women` and `men`, followed to the last edge.
Answer AnswerOfGroups(size_t count, uint64_t max_units, std::vector<double> edges, double women,
                      double men, double noise, uint64_t seed) {
  QuerySpec spec = HazardSpec(max_units);
  const double horizon = edges.back();
  spec.questions[0].cells.edges = std::move(edges);
  spec.questions[0].variables = {{.column = "sex"}};
  spec.questions[0].formula = "sex";
  const auto query = MadeQuery(spec);
  crypto::Random random = crypto::SeededRandom(seed, "cox-groups");
  TextRows rows;
  for (size_t i = 0; i < count; ++i) {
    const bool man = crypto::Uniform(random) < 0.3;
    const double hazard = man ? men : women;
    const double end = hazard > 0 ? -std::log(1 - crypto::Uniform(random)) / hazard : horizon + 1;
    rows.push_back({std::to_string(i), "50", man ? "m" : "f",
                    std::to_string(std::min(end, horizon)), end <= horizon ? "yes" : "no"});
  }
  const std::vector<double> releases =
      ReleasesOf(query, TypedTableOfRows("site", kFollowedColumns, rows), noise, random);
  return Answers(*query, releases, noise)[0];
}

// No largest likelihood is there to step to: its hazard ratio is 0.
TEST(CoxTest, AGroupWithoutEventsIsSuppressed) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Answer answer = AnswerOfGroups(10000, 10000, kDays, 0.0003, 0, 1, seed);
    EXPECT_FALSE(Find(answer, "coefficient", "sex = m").value.has_value());
    EXPECT_TRUE(
        answer.methods[3].starts_with("coefficients suppressed: too few events at sex = m for this "
                                      "noise, of which 4 deviations "))
        << answer.methods[3];
    const Answer some = AnswerOfGroups(10000, 10000, kDays, 0.0003, 0.0002, 1, seed);
    EXPECT_TRUE(Find(some, "coefficient", "sex = m").value.has_value());
  }
}

// The noise of epsilon 2 is larger than the events that the group would have.
TEST(CoxTest, AGroupWithoutEventsUnderNoiseIsSuppressed) {
  uint64_t shown = 0, shown_rare = 0, shown_some = 0;
  const auto shows = [](double men, uint64_t seed) {
    const Answer answer = AnswerOfGroups(4000, 4000, kDays, 0.0003, men, 10, seed);
    return Find(answer, "coefficient", "sex = m").value.has_value() ? 1 : 0;
  };
  for (uint64_t seed = 20; seed < 45; ++seed) {
    shown += shows(0, seed);
    shown_rare += shows(0.000006, seed);
    shown_some += shows(0.0002, seed);
  }
  EXPECT_LE(shown, 1u);
  EXPECT_LE(shown_rare, 1u);
  EXPECT_GE(shown_some, 24u);
}

// All events lie in the first hundredth of the interval: four steps do not lead there.
TEST(CoxTest, AHorizonFarBeyondTheEventsIsSuppressed) {
  for (const double noise : {0.0, 1.0}) {
    const Answer far = AnswerOfGroups(10000, 10000, {0, 36500}, 1.0 / 80, 1.0 / 40, noise, 5);
    EXPECT_FALSE(Find(far, "coefficient", "sex = m").value.has_value());
    const Answer near = AnswerOfGroups(10000, 10000, {0, 200}, 1.0 / 80, 1.0 / 40, noise, 5);
    EXPECT_NEAR(*Find(near, "coefficient", "sex = m").value, std::log(2.0), 0.15);
  }
}

// An interval without events has a hazard of 0, and no information.
TEST(CoxTest, AnIntervalWithoutEventsIsSuppressed) {
  const Answer answer = AnswerOfGroups(10000, 10000, {0, 300, 3000}, 1.0, 0.5, 1, 6);
  EXPECT_FALSE(Find(answer, "coefficient", "sex = m").value.has_value());
}

// Equal rows under a coarse grid: each of them would be rounded alike.
TEST(CoxTest, ACoarseGridLeavesNoBias) {
  const Answer answer =
      AnswerOfGroups(20000, 200000, {0, 1000}, 0.0001, 0.0001 * std::exp(0.674), 0, 7);
  const Estimate& ratio = Find(answer, "coefficient", "sex = m");
  // Six standard errors.
  EXPECT_NEAR(*ratio.value, 0.674, 6 * *ratio.standard_error);
  EXPECT_NEAR(*Find(answer, "baseline survival", "", "1000").value, std::exp(-0.1), 0.015);
}

// A row of which all functions of a column are those of one number.
TEST(CoxTest, TheBaselineIsARowThatCanBe) {
  QuerySpec spec = HazardSpec(5000);
  spec.questions[0].formula = "age + log(age)";
  spec.questions[0].variables = {{.column = "age", .bounds = BoundedColumn{"age", 20, 90}}};
  spec.values = {ValuesOf("dead one-of=no,yes")};
  const Followed data(5000, 0.05, 9);
  const auto query = MadeQuery(spec);
  crypto::Random random = crypto::SeededRandom(10, "cox-test");
  const std::vector<double> releases =
      ReleasesOf(query, TypedTableOfRows("site", kFollowedColumns, data.rows), 0, random);
  const Answer answer = Answers(*query, releases, 0)[0];
  double hazard = 0;  // a man's share of 1/3 has e^0.6 times the hazard
  for (const double part : {0.5 * 500, 1.0 * 500}) {
    hazard += part * 0.05 / 1000 * std::exp(0.04 * 55) * (2 + std::exp(0.6)) / 3;
  }
  EXPECT_NEAR(*Find(answer, "baseline survival", "", "1000").value, std::exp(-hazard), 0.02);
}

TEST(CoxTest, QuestionsThatCannotBeAreRefused) {
  const auto refusal = [](auto change) {
    QuerySpec spec = HazardSpec(100);
    change(spec);
    return base::Message(Query::Create(spec).status());
  };
  EXPECT_EQ(refusal([](QuerySpec& spec) {
              spec.questions[0].cells.edges = {1, 2};
            }),
            "question \"death\": times begin at 1, expected 0");
  EXPECT_EQ(refusal([](QuerySpec& spec) { spec.questions[0].by_site = true; }),
            "question \"death\": strata of sites need `sites`, the names of all that are asked");
  EXPECT_EQ(
      refusal([](QuerySpec& spec) {
        spec.questions[0].formula = "age + days";
        spec.questions[0].variables[1] = {.column = "days", .bounds = BoundedColumn{"days", 0, 9}};
      }),
      "question \"death\": column \"days\" is the time or the event, and explains it, too");
  EXPECT_NE(refusal([](QuerySpec& spec) {
              spec.questions[0].formula = "dead ~ age + sex";
            }).find("formula \"dead ~ age + sex\""),
            std::string::npos);
  EXPECT_NE(refusal([](QuerySpec& spec) { spec.questions[0].formula = "~"; }).find("no terms"),
            std::string::npos);
  EXPECT_NE(refusal([](QuerySpec& spec) {
              spec.unit = accounting::Unit::kClient;
            }).find("a model needs many units, and with unit client each site is one"),
            std::string::npos);
}

}  // namespace
}  // namespace tacet::statistics
