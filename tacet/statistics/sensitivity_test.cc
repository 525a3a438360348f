// Attacks on the sensitivity of a query: over neighbouring tables, a site's vector must not move
// farther than the agreement charges.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/statistics/query.h"
#include "tacet/statistics/site_sum_for_test.h"
#include "tacet/statistics/site_table_for_test.h"
#include "tacet/statistics/site_units.h"

namespace tacet::statistics {
namespace {

using accounting::Neighbouring;
using accounting::Unit;

const std::vector<std::string> kColumns = {"person", "age", "sex", "time", "dead", "score"};

// Rows of extreme, middle, missing and outlying values.
std::vector<std::vector<std::string>> RowDomain() {
  std::vector<std::vector<std::string>> rows;
  for (const char* age : {"", "0", "50", "61.8", "100", "1e30", "-7"}) {
    for (const char* sex : {"f", "m", "x"}) {
      for (const char* time : {"0", "9", "30", ""}) {
        for (const char* dead : {"0", "1", ""}) {
          for (const char* score : {"0", "0.5", "1"})
            rows.push_back({"p", age, sex, time, dead, score});
        }
      }
    }
  }
  return rows;
}

QuestionSpec Mean() {
  return {.name = "mean", .kind = QuestionKind::kMean, .columns = {{"age", 0, 100}}};
}
QuestionSpec Variance() {
  return {.name = "variance", .kind = QuestionKind::kVariance, .columns = {{"age", 0, 100}}};
}
QuestionSpec Normalise() {
  return {.name = "normalise",
          .kind = QuestionKind::kNormalise,
          .columns = {{"age", 0, 100}, {"time", 0, 20}}};
}
QuestionSpec Sum(double low, double high) {
  return {.name = fmt::format("sum {} {}", low, high),
          .kind = QuestionKind::kSum,
          .columns = {{"age", low, high}}};
}
QuestionSpec Histogram() {
  return {.name = "histogram",
          .kind = QuestionKind::kHistogram,
          .cells = {.column = "age", .edges = EqualEdges(0, 100, 4)}};
}
QuestionSpec Crosstab() {
  return {.name = "crosstab",
          .kind = QuestionKind::kCrosstab,
          .where = {{"dead", Comparison::kEqual, "1"}},
          .cells = {.column = "sex", .categories = {"f", "m"}},
          .across = {.column = "age", .edges = {0, 50, 100}}};
}
QuestionSpec Quantiles() {
  return {.name = "quantiles",
          .kind = QuestionKind::kQuantiles,
          .cells = {.column = "age", .edges = EqualEdges(0, 100, 16)}};
}
QuestionSpec Survival() {
  return {.name = "survival",
          .kind = QuestionKind::kSurvival,
          .cells = {.column = "time", .edges = EqualEdges(0, 20, 5)},
          .groups = {.column = "sex", .categories = {"f", "m"}},
          .yes = {"dead", "1"}};
}
QuestionSpec Evaluation() {
  return {.name = "evaluation",
          .kind = QuestionKind::kEvaluation,
          .cells = {.column = "score", .edges = EqualEdges(0, 1, 4)},
          .yes = {"dead", "1"}};
}
QuestionSpec Regression() {
  return {.name = "regression",
          .kind = QuestionKind::kRegression,
          .columns = {{"age", 0, 100}, {"time", 0, 20}, {"score", 0, 1}},
          .yes = {"dead", "1"}};
}
// For two numbers, one as its logarithm, and their product.
QuestionSpec LinearModel() {
  return {.name = "linear model",
          .kind = QuestionKind::kGlm,
          .variables = {{.column = "age", .bounds = BoundedColumn{"age", 0, 100}},
                        {.column = "time", .bounds = BoundedColumn{"time", 1, 30}},
                        {.column = "score", .bounds = BoundedColumn{"score", 0, 1}}},
          .formula = "score ~ age * log(time)"};
}
QuestionSpec Proportion() {
  return {.name = "proportion", .kind = QuestionKind::kProportion, .yes = {"dead", "1"}};
}
QuestionSpec Median() {
  return {.name = "median",
          .kind = QuestionKind::kMedian,
          .cells = {.column = "age", .edges = EqualEdges(0, 100, 16)}};
}
// The same question of each sex.
QuestionSpec BySex(QuestionSpec question) {
  question.name += " by sex";
  question.groups = {.column = "sex", .categories = {"f", "m"}};
  return question;
}
std::vector<std::vector<QuestionSpec>> AllQueries() {
  return {{{.name = "count", .where = {{"age", Comparison::kAtLeast, "50"}}}},
          {{.name = "one cell",
            .kind = QuestionKind::kHistogram,
            .cells = {.column = "age", .edges = {0, 100}}}},
          {Sum(0, 100)},
          {Sum(-1, 1)},
          {Sum(40, 60)},
          {Mean()},
          {Variance()},
          {Normalise()},
          {Histogram()},
          {Crosstab()},
          {Quantiles()},
          {Survival()},
          {Evaluation()},
          {Regression()},
          {LinearModel()},
          {Proportion()},
          {BySex(Sum(0, 100))},
          {BySex(Sum(-1, 1))},
          {BySex(Mean())},
          {BySex(Variance())},
          {BySex(Histogram())},
          {BySex(Median())},
          {BySex(Proportion())},
          {{.name = "count"},
           Mean(),
           Histogram(),
           Quantiles(),
           Survival(),
           Evaluation(),
           Regression(),
           LinearModel()},
          {{.name = "little", .share = 0.001}, Variance()}};
}

// Without models, which unit client has none of.
std::vector<std::vector<QuestionSpec>> QueriesOf(Unit unit) {
  std::vector<std::vector<QuestionSpec>> queries = AllQueries();
  if (unit != Unit::kClient) return queries;
  for (std::vector<QuestionSpec>& questions : queries) {
    std::erase_if(questions,
                  [](const QuestionSpec& one) { return one.kind == QuestionKind::kGlm; });
  }
  std::erase_if(queries, [](const auto& questions) { return questions.empty(); });
  return queries;
}

std::shared_ptr<const Query> QueryOf(QuerySpec spec) {
  auto query = Query::Create(std::move(spec));
  EXPECT_TRUE(query.ok()) << query.status();
  return std::make_shared<const Query>(*std::move(query));
}

std::vector<float> VectorOf(const std::shared_ptr<const Query>& query,
                            const std::vector<std::vector<std::string>>& rows) {
  return SumOfSite(query, TableOfRows("site", kColumns, rows), "person");
}

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0;
  for (size_t i = 0; i < a.size(); ++i) square += std::pow(double{a[i]} - double{b[i]}, 2);
  return std::sqrt(square);
}

// The largest distance of the vectors of sites that differ in one row, and the largest norm of a
// row, over all pairs of the domain. Other rows are the same and their sum is large.
struct Moves {
  double replace_one = 0;
  double zero_out = 0;
};
Moves LargestMoves(const std::shared_ptr<const Query>& query) {
  std::vector<std::vector<std::string>> domain = RowDomain();
  std::vector<std::vector<float>> vectors;
  std::vector<std::vector<std::string>> others;
  for (int i = 0; i < 300; ++i) others.push_back(domain[(37 * i) % domain.size()]);
  const std::vector<float> without = VectorOf(query, others);
  for (const auto& row : domain) {
    others.push_back(row);
    std::vector<float> with = VectorOf(query, others);
    others.pop_back();
    if (std::ranges::find(vectors, with) == vectors.end()) vectors.push_back(std::move(with));
  }
  Moves moves;
  for (const auto& a : vectors) {
    moves.zero_out = std::max(moves.zero_out, Distance(a, without));
    for (const auto& b : vectors) moves.replace_one = std::max(moves.replace_one, Distance(a, b));
  }
  return moves;
}

TEST(SensitivityTest, NoRecordMovesASiteFartherThanIsCharged) {
  for (const auto& questions : AllQueries()) {
    for (const Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
      const auto query = QueryOf({.questions = questions, .neighbouring = neighbouring});
      const Moves moves = LargestMoves(query);
      const bool replaced = neighbouring == Neighbouring::kReplaceOne;
      SCOPED_TRACE(questions.back().name);
      if (replaced) {
        EXPECT_LE(moves.replace_one, 2 * query->clip_norm());
      } else {
        EXPECT_LE(moves.zero_out, query->clip_norm());
      }
      // The bound is used: an amplitude that is 1.5 times as large would be seen.
      const double used = replaced ? moves.replace_one / 2 : moves.zero_out;
      if (questions.size() == 1) {
        EXPECT_GE(used, 0.66) << replaced;
      }
      for (const QuestionPlan& plan : query->questions()) {
        EXPECT_LE(plan.replace_one, replaced ? 2 : 2 * query->clip_norm());
      }
    }
  }
}

// Two rows of different groups have no value in common. Were a query charged for the distance
// within one group, a row that is replaced by one of the other sex would move it too far.
TEST(SensitivityTest, RowsOfTwoGroupsAreFartherApartThanThoseOfOne) {
  for (const QuestionSpec& question : {Sum(0, 100), Mean(), Variance()}) {
    SCOPED_TRACE(question.name);
    const auto of_all = QueryOf({.questions = {question}});
    const auto by_sex = QueryOf({.questions = {BySex(question)}});
    const QuestionPlan& one = of_all->questions()[0];
    const QuestionPlan& two = by_sex->questions()[0];
    // In amplitudes, without the room for rounding and for rows that are left out.
    const double farthest = LargestMoves(by_sex).replace_one / two.amplitude;
    const double within_one = LargestMoves(of_all).replace_one / one.amplitude;
    EXPECT_GT(farthest, 1.35 * within_one);
    EXPECT_LE(farthest, two.replace_one / two.amplitude);
    EXPECT_GT(farthest, 1.35 * one.replace_one / one.amplitude);  // the weaker plan's charge
  }
}

// The bound of a regression is one of all numbers of columns. Rows at the corners and in the middle
// of the bounds come near it: opposite labels, and values whose inner product is 0.
TEST(SensitivityTest, NoRowMovesARegressionFartherHoweverManyColumnsItHas) {
  for (const size_t columns : {1, 2, 3, 4, 8, 16}) {
    QuestionSpec question{.name = "r", .kind = QuestionKind::kRegression, .yes = {"ill", "1"}};
    std::vector<std::string> names = {"ill"};
    for (size_t i = 0; i < columns; ++i) {
      names.push_back(fmt::format("x{}", i));
      question.columns.push_back({names.back(), -1, 1});
    }
    for (const Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
      const auto query =
          QueryOf({.questions = {question}, .neighbouring = neighbouring, .max_units = 100});
      crypto::Random random = crypto::SeededRandom(columns, "sensitivity-test");
      std::vector<std::vector<double>> vectors = {std::vector<double>(query->dimension())};
      for (int row = 0; row < 300; ++row) {
        std::vector<std::string> fields = {row % 2 == 0 ? "1" : "0"};
        for (size_t i = 0; i < columns; ++i) {
          const bool corner = row < 200 || random.Below(2) == 0;
          const double t =
              corner ? (random.Below(2) == 0 ? -1 : 1) : 2 * crypto::Uniform(random) - 1;
          fields.push_back(std::to_string(t));
        }
        const auto site = SiteUnits::Create(query, TableOfRows("site", names, {fields}));
        ASSERT_TRUE(site.ok()) << site.status();
        std::vector<float> sum(query->dimension());
        site->SumUnits(std::vector<uint32_t>{0}, sum);
        vectors.emplace_back(sum.begin(), sum.end());
      }
      const bool replaced = neighbouring == Neighbouring::kReplaceOne;
      double farthest = 0;
      for (const auto& a : vectors) {
        for (const auto& b : std::span(vectors).first(replaced ? vectors.size() : 1)) {
          double square = 0;
          for (size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
          farthest = std::max(farthest, std::sqrt(square));
        }
      }
      const double bound = replaced ? 2 : 1;
      EXPECT_LE(farthest, bound * query->clip_norm()) << columns;
      EXPECT_GE(farthest, 0.9 * bound * query->clip_norm()) << columns;
    }
  }
}

// Climbs from rows at corners and in the middle of the bounds: one value of one of the two rows
// moves at a time, to any other within its bounds, while the distance grows. The bound of a linear
// model is never passed, and nearly reached, however many columns, categories and products it has.
TEST(SensitivityTest, NoClimbMovesALinearModelFartherThanIsCharged) {
  struct Shape {
    const char* formula;
    std::vector<const char*> numbers;
    std::vector<const char*> categories;
    double reached;
  };
  const std::vector<Shape> shapes = {
      {"y ~ a", {"a", "y"}, {}, 0.97},
      {"y ~ s", {"y"}, {"s"}, 0.9},
      {"y ~ a + b + c", {"a", "b", "c", "y"}, {}, 0.97},
      {"y ~ a * s + log(b)", {"a", "b", "y"}, {"s"}, 0.85},
      {"y ~ a + b + c + d + e + f", {"a", "b", "c", "d", "e", "f", "y"}, {}, 0.97},
      {"y ~ a * b * c", {"a", "b", "c", "y"}, {}, 0.85},
  };
  for (const Shape& shape : shapes) {
    QuestionSpec question{.name = "m", .kind = QuestionKind::kGlm, .formula = shape.formula};
    std::vector<std::string> names;
    for (const char* name : shape.numbers) {
      question.variables.push_back({.column = name, .bounds = BoundedColumn{name, 1, 3}});
      names.emplace_back(name);
    }
    std::vector<table::AgreedValues> values;
    for (const char* name : shape.categories) {
      question.variables.push_back({.column = name});
      names.emplace_back(name);
      values.push_back(*table::ParseAgreedValues(fmt::format("{} one-of=0,1,2,3", name)));
    }
    for (const Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
      const bool replaced = neighbouring == Neighbouring::kReplaceOne;
      const auto query = QueryOf({.questions = {question},
                                  .neighbouring = neighbouring,
                                  .max_units = 100,
                                  .values = values});
      crypto::Random random = crypto::SeededRandom(names.size(), "sensitivity-test");
      const auto draw = [&](size_t place) {
        if (place >= shape.numbers.size()) return std::to_string(random.Below(4));
        const uint64_t kind = random.Below(4);
        return kind == 0   ? std::string("1")
               : kind == 1 ? std::string("3")
               : kind == 2 ? std::string("2")
                           : std::to_string(1 + 2 * crypto::Uniform(random));
      };
      const auto distance = [&](const TextRows& pair) {
        const auto site = SiteUnits::Create(query, TableOfRows("site", names, pair));
        EXPECT_TRUE(site.ok()) << site.status();
        std::vector<float> one(query->dimension()), other(query->dimension());
        site->SumUnits(std::vector<uint32_t>{0}, one);
        if (replaced) site->SumUnits(std::vector<uint32_t>{1}, other);
        return Distance(one, other);
      };
      double farthest = 0;
      for (int climb = 0; climb < 6; ++climb) {
        TextRows pair(2);
        for (size_t i = 0; i < names.size(); ++i) {
          pair[0].push_back(draw(i));
          pair[1].push_back(draw(i));
        }
        double reached = distance(pair);
        for (int step = 0; step < 120; ++step) {
          TextRows moved = pair;
          const size_t place = random.Below(names.size());
          moved[random.Below(2)][place] = draw(place);
          const double now = distance(moved);
          if (now <= reached) continue;
          reached = now;
          pair = std::move(moved);
        }
        farthest = std::max(farthest, reached);
      }
      const double bound = (replaced ? 2 : 1) * query->clip_norm();
      EXPECT_LE(farthest, bound) << shape.formula;
      EXPECT_GE(farthest, shape.reached * bound) << shape.formula << " " << replaced;
    }
  }
}

// The claims of single questions are those of their parts, not only of their sum.
TEST(SensitivityTest, EachQuestionKeepsToItsShare) {
  const auto query = QueryOf({.questions = {{.name = "small", .share = 1},
                                            {.name = "large",
                                             .kind = QuestionKind::kHistogram,
                                             .share = 3,
                                             .cells = Histogram().cells}}});
  ASSERT_EQ(query->questions().size(), 2u);
  const double small = query->questions()[0].replace_one;
  const double large = query->questions()[1].replace_one;
  EXPECT_NEAR(large * large / (small * small), 3, 0.05);
  EXPECT_LE(small * small + large * large, 4);
  EXPECT_GT(small * small + large * large, 3.99);
}

// Persons and clients with many rows: a hundred rows of one extreme against a hundred of another.
TEST(SensitivityTest, ManyRowsOfOneUnitCountAsFewAsWasAgreed) {
  const std::vector<std::vector<std::string>> domain = RowDomain();
  for (const Unit unit : {Unit::kPerson, Unit::kClient}) {
    for (const uint64_t rows_per_unit : {1, 3}) {
      for (const auto& questions : QueriesOf(unit)) {
        const auto query = QueryOf({.questions = questions,
                                    .unit = unit,
                                    .max_units = 20,
                                    .rows_per_unit = rows_per_unit});
        std::vector<std::vector<float>> vectors;
        for (size_t first = 0; first < domain.size(); first += 5) {
          for (const int repeats : {0, 1, 3, 4, 100}) {
            std::vector<std::vector<std::string>> rows(repeats, domain[first]);
            if (repeats == 4) rows.push_back(domain[(first + 13) % domain.size()]);
            for (auto& row : rows) row[0] = "victim";
            if (unit == Unit::kPerson) {
              for (int other = 0; other < 15; ++other) {
                rows.push_back(domain[(17 * other) % domain.size()]);
                rows.back()[0] = std::to_string(other);
              }
              // A person without rows is one whose rows hold nothing: the number of units is
              // public.
            }
            std::vector<float> vector = VectorOf(query, rows);
            if (std::ranges::find(vectors, vector) == vectors.end()) vectors.push_back(vector);
          }
        }
        double farthest = 0;
        double longest = 0;
        for (const auto& a : vectors) {
          longest = std::max(longest, Distance(a, std::vector<float>(a.size(), 0.0F)));
          for (const auto& b : vectors) farthest = std::max(farthest, Distance(a, b));
        }
        SCOPED_TRACE(questions.back().name);
        EXPECT_LE(farthest, 2 * query->clip_norm());
        if (unit == Unit::kClient) {
          EXPECT_LE(longest, query->clip_norm());
        }
      }
    }
  }
}

// Sums of the largest site are exact but for one rounding of each: floats would otherwise move by
// more than a row's change and a step.
TEST(SensitivityTest, SumsAreExactUpToTheLargestSite) {
  const auto query = QueryOf({.questions = {Histogram(), Variance()}, .max_units = 100000});
  const std::vector<std::string> row = {"p", "61.8", "f", "9", "1", "0.5"};
  std::vector<std::vector<std::string>> rows(99999, row);
  const std::vector<float> without = VectorOf(query, rows);
  rows.push_back(row);
  const std::vector<float> with = VectorOf(query, rows);
  const std::vector<float> one = VectorOf(query, {row});
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_LE(std::abs(double{with[i]} - double{without[i]} - double{one[i]}), query->grid()) << i;
    EXPECT_EQ(std::remainder(double{with[i]}, query->grid()), 0) << i;
    EXPECT_LE(std::abs(with[i]), query->coordinate_bound());
  }
  EXPECT_LE(query->coordinate_bound(), 0x1p24 * query->grid());
}

// The sum of all units is rounded, not each unit: equal rows would share one error. A unit that is
// replaced moves no value by more than itself and one step, whatever the others hold.
TEST(SensitivityTest, RoundingMovesASumByOneStepAtMost) {
  const auto coarse = QueryOf({.questions = {Variance()}, .max_units = 500000});
  const auto fine = QueryOf({.questions = {Variance()}, .max_units = 1});
  const double grid = coarse->grid();
  const QuestionPlan& plan = coarse->questions()[0];
  const double finer = plan.amplitude / fine->questions()[0].amplitude;
  crypto::Random random = crypto::SeededRandom(1, "rounding-test");
  const auto draw = [&random]() -> std::vector<std::string> {
    return {"p", std::to_string(20 + 60 * crypto::Uniform(random)), "f", "9", "1", "0.5"};
  };
  double most = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::vector<std::string>> rows;
    for (int i = 0; i < 7; ++i) rows.push_back(draw());
    const std::vector<float> before = VectorOf(coarse, rows);
    const std::vector<float> old_alone = VectorOf(fine, {rows[3]});
    rows[3] = draw();
    const std::vector<float> after = VectorOf(coarse, rows);
    const std::vector<float> new_alone = VectorOf(fine, {rows[3]});
    // t and its square, by their scales.
    for (size_t i = 1; i < 3; ++i) {
      const double scale = i == 1 ? finer : plan.square / fine->questions()[0].square;
      const double moved = scale * (double{new_alone[i]} - double{old_alone[i]});
      const double beyond = std::abs(double{after[i]} - double{before[i]} - moved);
      most = std::max(most, beyond / grid);
      EXPECT_LE(beyond, grid * (1 + 1e-3));
    }
  }
  EXPECT_GT(most, 0.8);
  const std::vector<std::string> row = draw();
  const std::vector<float> of_many = VectorOf(coarse, std::vector(20000, row));
  const std::vector<float> alone = VectorOf(fine, {row});
  EXPECT_NEAR(of_many[1], 20000 * finer * alone[1], 0.5 * grid + 1e-4 * 20000);
}

// One person under four spellings: what the site sends for the person stays within the charge of
// one, for every kind and either relation.
TEST(SensitivityTest, SpellingsOfOnePersonAreChargedAsOne) {
  for (const Neighbouring neighbouring : {Neighbouring::kReplaceOne, Neighbouring::kZeroOut}) {
    for (const std::vector<QuestionSpec>& questions : AllQueries()) {
      const auto query = QueryOf({.questions = questions,
                                  .unit = Unit::kPerson,
                                  .neighbouring = neighbouring,
                                  .max_units = 100});
      std::vector<std::vector<std::string>> rows;
      for (const char* spelling : {"1007", "00001007", "1007.0", " 1007\xC2\xA0"}) {
        rows.push_back({spelling, "61.8", "f", "9", "1", "0.5"});
      }
      const std::vector<float> of_person = VectorOf(query, rows);
      const double norm = Distance(of_person, std::vector<float>(of_person.size(), 0));
      EXPECT_LE(norm, neighbouring == Neighbouring::kZeroOut ? 1 : 2) << questions[0].name;
    }
  }
}

std::vector<float> SumOf(const std::shared_ptr<const Query>& query, const SiteTable& table,
                         std::vector<uint64_t>& counts) {
  const auto site = SiteUnits::Create(query, table, "person");
  EXPECT_TRUE(site.ok()) << site.status();
  counts.clear();
  for (size_t question = 0; question < query->questions().size(); ++question) {
    counts.push_back(site->RowsOf(question));
  }
  counts.push_back(site->UnitsBeyond(1));
  std::vector<uint32_t> units(site->units());
  std::iota(units.begin(), units.end(), 0u);
  std::vector<float> sum(query->dimension());
  site->SumUnits(units, sum);
  return sum;
}

// A file's texts, and the numbers of an array: the same bits for every kind and unit.
TEST(SensitivityTest, NumbersCountAsTheirTextsDo) {
  std::vector<std::vector<std::string>> rows = RowDomain();
  for (size_t row = 0; row < rows.size(); ++row) rows[row][0] = std::to_string(row % 97);
  const SiteTable texts = TableOfRows("site", kColumns, rows);
  const SiteTable numbers = TypedTableOfRows("site", kColumns, rows);
  for (size_t i = 0; i < kColumns.size(); ++i) {
    EXPECT_EQ(numbers.cells[i].is_numbers(), kColumns[i] != "sex") << kColumns[i];
  }
  std::vector<std::vector<QuestionSpec>> all = AllQueries();
  all.push_back({{.name = "equal", .where = {{"age", Comparison::kEqual, "50.0"}}},
                 {.name = "unequal", .where = {{"age", Comparison::kUnequal, "61.80"}}},
                 {.name = "categories",
                  .kind = QuestionKind::kHistogram,
                  .cells = {.column = "age", .categories = {"f|0", "100.0", "50", "61.8"}}}});
  size_t moved = 0, asked = 0;
  for (const std::vector<QuestionSpec>& questions : all) {
    for (const Unit unit : {Unit::kRecord, Unit::kPerson, Unit::kClient}) {
      const bool has_model = std::ranges::any_of(
          questions, [](const auto& one) { return one.kind == QuestionKind::kGlm; });
      if (unit == Unit::kClient && has_model) continue;
      ++asked;
      const auto query = QueryOf({.questions = questions,
                                  .unit = unit,
                                  .max_units = 1000,
                                  .rows_per_unit = unit == Unit::kRecord ? 1u : 3u});
      std::vector<uint64_t> of_texts, of_numbers;
      const std::vector<float> sum = SumOf(query, texts, of_texts);
      EXPECT_EQ(sum, SumOf(query, numbers, of_numbers)) << questions[0].name;
      EXPECT_EQ(of_texts, of_numbers) << questions[0].name;
      moved += std::ranges::count_if(sum, [](float value) { return value != 0; }) > 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(moved, asked);
}

TEST(SensitivityTest, MoreUnitsThanAgreedAreRefused) {
  const auto query = QueryOf({.questions = {{.name = "count"}}, .max_units = 3});
  const std::vector<std::string> row = {"p", "1", "f", "9", "1", "0.5"};
  const auto site = SiteUnits::Create(query, TableOfRows("Ulm", kColumns, TextRows(4, row)));
  EXPECT_EQ(site.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(base::Message(site.status()),
            "Ulm: the table has more units (records) than the query's max_units, which is 3: the "
            "query has to be made for larger sites");
}

}  // namespace
}  // namespace tacet::statistics
