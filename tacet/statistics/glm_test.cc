// Linear models: formula, design, estimates against least squares of single rows, and intervals.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/statistics/answers_for_test.h"
#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/design.h"
#include "tacet/statistics/formula.h"

namespace tacet::statistics {
namespace {

using RawRow = std::vector<double>;  // the intercept, then what R's model.matrix has

double GlmNormal(crypto::Random& random) {
  const double u = 1 - crypto::Uniform(random);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * crypto::Uniform(random));
}

std::string TermsOf(std::string_view text) {
  const auto formula = ParseFormula(text);
  if (!formula.ok()) return base::Message(formula.status());
  std::string terms = formula->response.Text() + " ~";
  for (const FormulaTerm& term : formula->terms) {
    terms += " ";
    for (const FormulaFactor& factor : term) {
      if (terms.back() != ' ') terms += ":";
      terms += factor.Text();
    }
  }
  return terms;
}

TEST(FormulaTest, IsReadAsRDoes) {
  EXPECT_EQ(TermsOf("y~a"), "y ~ a");
  EXPECT_EQ(TermsOf(" log( y ) ~ a + log(b)+sex "), "log(y) ~ a log(b) sex");
  EXPECT_EQ(TermsOf("y ~ a*b"), "y ~ a b a:b");
  EXPECT_EQ(TermsOf("y ~ a:b + b + a"), "y ~ b a a:b");
  EXPECT_EQ(TermsOf("y ~ a * b * c"), "y ~ a b c a:b a:c b:c a:b:c");
  EXPECT_EQ(TermsOf("y ~ a * a * b * a"), "y ~ a b a:b");
  // Two terms a star would be more than any memory.
  std::string stars = "y ~ a";
  for (int i = 0; i < 60; ++i) stars += "*a";
  EXPECT_EQ(TermsOf(stars), "y ~ a");
  EXPECT_EQ(TermsOf("y ~ a + a + a:a + b:a + b"), "y ~ a b b:a");
  EXPECT_EQ(TermsOf("y ~ `ph karno~` + größe + log(`x`)"), "y ~ ph karno~ größe log(x)");
  EXPECT_EQ(TermsOf("log ~ a"), "log ~ a");
}

TEST(FormulaTest, FaultsAreSaid) {
  const std::map<std::string, std::string> faults = {
      {"", R"x(formula "": a column is missing at the end)x"},
      {"y", R"x(formula "y": expected ~ behind the response)x"},
      {"y ~", R"x(formula "y ~": a column is missing at the end)x"},
      {"y ~ a +", R"x(formula "y ~ a +": a column is missing at the end)x"},
      {"y ~ + a", R"x(formula "y ~ + a": expected a column in front of "+ a")x"},
      {"y ~ `a", R"x(formula "y ~ `a": a backtick is not closed)x"},
      {"y ~ ``", R"x(formula "y ~ ``": a column between backticks has no name)x"},
      {"y ~ sqrt(a)", R"x(formula "y ~ sqrt(a)": sqrt() is not known, expected log())x"},
      {"y ~ log(a", R"x(formula "y ~ log(a": a bracket is not closed)x"},
      {"y ~ a + y", R"x(formula "y ~ a + y": "y" is the response and a term, too)x"},
      {"y ~ a + log(y)", R"x(formula "y ~ a + log(y)": "y" is the response and a term, too)x"},
      {"y ~ a + a:b",
       R"x(formula "y ~ a + a:b": the product a:b needs the term b, too: write * in place of :, or )x"
       "add the term"},
      {"y ~ a * b * c * d",
       R"x(formula "y ~ a * b * c * d": a product of more than 3 columns is not supported)x"},
      {"y ~ a - 1",
       R"x(formula "y ~ a - 1": "- 1" is not understood: a formula has columns, log(column), +, : )x"
       "and *; write a column with other characters between backticks"},
  };
  for (const auto& [text, fault] : faults) EXPECT_EQ(TermsOf(text), fault);
  std::string many = "y ~ a0";
  for (int i = 1; i <= 32; ++i) many += " + a" + std::to_string(i);
  EXPECT_NE(TermsOf(many).find("more than 32 terms"), std::string::npos);
  EXPECT_EQ(TermsOf(std::string(5000, 'a')), "the formula has 5000 bytes, expected at most 4096");
}

QuestionSpec Model(std::string formula, std::vector<TableVariable> variables) {
  return {.name = "model",
          .kind = QuestionKind::kGlm,
          .variables = std::move(variables),
          .formula = std::move(formula)};
}

TableVariable Number(std::string column, double low, double high) {
  return {.column = column, .bounds = BoundedColumn{column, low, high}};
}

// Age, stage and sex, and a long-tailed marker that enters as its logarithm.
const std::vector<std::string> kModelColumns = {"age", "stage", "sex", "crp", "y"};

QuestionSpec MixedModel() {
  return Model("y ~ age * sex + stage + log(crp) + stage:sex", {Number("age", 20, 90),
                                                                {.column = "stage"},
                                                                {.column = "sex"},
                                                                Number("crp", 0.5, 300),
                                                                Number("y", -40, 160)});
}

std::vector<table::AgreedValues> MixedValues() {
  return {ValuesOf("stage one-of=I|1,II|2,III|3"), ValuesOf("sex one-of=f,m")};
}

std::shared_ptr<const Query> MixedQuery(uint64_t max_units, double floor = 0) {
  auto query = Query::Create({.questions = {MixedModel()},
                              .max_units = max_units,
                              .floor = floor,
                              .values = MixedValues()});
  EXPECT_TRUE(query.ok()) << query.status();
  return std::make_shared<const Query>(*std::move(query));
}

// Residuals whose variance is the largest at both ends of age.
struct MixedRows {
  TextRows rows;
  std::vector<RawRow> raw;
  std::vector<double> y;

  MixedRows(size_t count, uint64_t seed) {
    crypto::Random random = crypto::SeededRandom(seed, "glm-test");
    for (size_t i = 0; i < count; ++i) {
      const double age = 20 + static_cast<double>(random.Below(71));
      const size_t stage = random.Below(3);
      const bool is_man = random.Below(3) == 0;
      const double crp = std::clamp(std::exp(1.5 + 1.2 * GlmNormal(random)), 0.5, 300.0);
      const double ii = stage == 1 ? 1 : 0, iii = stage == 2 ? 1 : 0, man = is_man ? 1 : 0;
      raw.push_back({1, age, man, ii, iii, std::log(crp), age * man, ii * man, iii * man});
      y.push_back(std::clamp(20 + 0.4 * age + 6 * man + 10 * ii + 25 * iii + 4 * std::log(crp) +
                                 (1 + std::abs(age - 55) / 3) * GlmNormal(random),
                             -40.0, 160.0));
      rows.push_back({std::to_string(age),
                      stage == 0   ? "I"
                      : stage == 1 ? "2"
                                   : "III",
                      is_man ? "m" : "f", fmt::format("{:.17g}", crp),
                      fmt::format("{:.17g}", y.back())});
    }
  }
};

// Least squares of single rows, with the covariance that allows for unequal variances (HC0).
struct RowFit {
  std::vector<double> coefficients, errors = {}, equal_errors = {};
  double deviance = 0, null_deviance = 0;
};

RowFit FitRows(const std::vector<RawRow>& raw, const std::vector<double>& y) {
  const size_t size = raw[0].size();
  std::vector<double> matrix(size * size), right(size), meat(size * size);
  double sum = 0, squares = 0;
  for (size_t row = 0; row < raw.size(); ++row) {
    for (size_t i = 0; i < size; ++i) {
      right[i] += raw[row][i] * y[row];
      for (size_t j = 0; j < size; ++j) matrix[i * size + j] += raw[row][i] * raw[row][j];
    }
    sum += y[row];
    squares += y[row] * y[row];
  }
  const auto factor = Cholesky::Of(matrix, size);
  EXPECT_TRUE(factor.has_value());
  RowFit fit{.coefficients = factor->Solve(right)};
  fit.null_deviance = squares - sum * sum / static_cast<double>(raw.size());
  for (size_t row = 0; row < raw.size(); ++row) {
    double residual = y[row];
    for (size_t i = 0; i < size; ++i) residual -= raw[row][i] * fit.coefficients[i];
    fit.deviance += residual * residual;
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j < size; ++j) {
        meat[i * size + j] += residual * residual * raw[row][i] * raw[row][j];
      }
    }
  }
  for (size_t i = 0; i < size; ++i) {
    std::vector<double> unit(size);
    unit[i] = 1;
    const std::vector<double> solved = factor->Solve(unit);
    double variance = 0;
    for (size_t j = 0; j < size; ++j) {
      for (size_t k = 0; k < size; ++k) variance += solved[j] * meat[j * size + k] * solved[k];
    }
    fit.errors.push_back(std::sqrt(variance));
    fit.equal_errors.push_back(
        std::sqrt(solved[i] * fit.deviance / static_cast<double>(raw.size() - size)));
  }
  return fit;
}

const std::vector<std::string> kLabels = {"",
                                          "age",
                                          "sex = m",
                                          "stage = II",
                                          "stage = III",
                                          "log(crp)",
                                          "age:sex = m",
                                          "stage = II:sex = m",
                                          "stage = III:sex = m"};

const Estimate& CoefficientOf(const Answer& answer, size_t i) {
  return Find(answer, i == 0 ? "intercept" : "coefficient", kLabels[i]);
}

TEST(GlmTest, WithoutNoiseItIsLeastSquaresOfTheRows) {
  const MixedRows data(400, 1);
  const RowFit fit = FitRows(data.raw, data.y);
  const auto query = MixedQuery(400);
  const Answer answer = Answers(*query, SumOf(query, kModelColumns, data.rows), 0)[0];
  EXPECT_NEAR(*Find(answer, "count").value, 400, 1e-9);
  for (size_t i = 0; i < kLabels.size(); ++i) {
    const Estimate& estimate = CoefficientOf(answer, i);
    ASSERT_TRUE(estimate.value.has_value()) << kLabels[i];
    // Values are rounded to a grid. Residuals are small within the response's bounds, so it moves
    // their variance by up to a twelfth.
    EXPECT_NEAR(*estimate.value, fit.coefficients[i], 0.02 * fit.errors[i]) << kLabels[i];
    EXPECT_NEAR(*estimate.standard_error, fit.errors[i], 0.06 * fit.errors[i]) << kLabels[i];
    EXPECT_EQ(*estimate.noise_error, 0);
    EXPECT_NEAR(estimate.interval->high - *estimate.value, 1.96 * *estimate.standard_error, 1e-3);
  }
  // Those of equal variances would be seen.
  EXPECT_LT(fit.equal_errors[1] / fit.errors[1], 0.85);
  EXPECT_NEAR(*Find(answer, "deviance").value, fit.deviance, 0.01 * fit.deviance);
  EXPECT_NEAR(*Find(answer, "null deviance").value, fit.null_deviance, 1e-3 * fit.null_deviance);
}

TEST(GlmTest, RowsWithAFieldThatCannotBeReadAreLeftOut) {
  const auto query = Query::Create(
      {.questions = {Model("y ~ age + sex",
                           {Number("age", 0, 100), {.column = "sex"}, Number("y", 0, 10)})},
       .max_units = 200,
       .values = {ValuesOf("sex one-of=f,m")}});
  ASSERT_TRUE(query.ok()) << query.status();
  const auto shared = std::make_shared<const Query>(*query);
  EXPECT_EQ(query->columns(), (std::vector<std::string>{"age", "sex", "y"}));
  TextRows rows;
  for (int i = 0; i < 100; ++i) {
    rows.push_back({std::to_string(i), i % 3 == 0 ? "f" : "m", std::to_string(i % 10)});
  }
  const std::vector<std::string> columns = {"age", "sex", "y"};
  const Answer whole = Answers(*query, SumOf(shared, columns, rows), 0)[0];
  EXPECT_NEAR(*Find(whole, "left out").value, 0, 1e-9);
  for (const TextRows& bad : {TextRows{{"", "f", "1"}}, TextRows{{"36y", "f", "1"}},
                              TextRows{{"3", "x", "1"}}, TextRows{{"3", "f", "?"}}}) {
    TextRows more = rows;
    more.insert(more.end(), 20, bad[0]);
    const Answer answer = Answers(*query, SumOf(shared, columns, more), 0)[0];
    EXPECT_NEAR(*Find(answer, "count").value, 100, 1e-9);
    EXPECT_NEAR(*Find(answer, "left out").value, 20, 1e-9);
    EXPECT_TRUE(Find(answer, "left out").too_many);
    EXPECT_EQ(Find(answer, "coefficient", "age").value, Find(whole, "coefficient", "age").value);
  }
  // A value outside of its bounds counts as the nearest one.
  TextRows cut = rows, beyond = rows;
  cut.push_back({"100", "f", "10"});
  beyond.push_back({"900", "f", "33"});
  EXPECT_EQ(SumOf(shared, columns, cut), SumOf(shared, columns, beyond));
}

// 400 releases of one sum: the spread is the noise error that they state, but for the sampling of
// the spread (0.035 of it, five deviations) and the second order.
TEST(GlmTest, TheNoiseErrorIsWhatTheNoiseDoes) {
  const MixedRows data(3000, 2);
  const auto query = MixedQuery(3000);
  const std::vector<double> sum = SumOf(query, kModelColumns, data.rows);
  crypto::Random random = crypto::SeededRandom(3, "glm-test");
  constexpr int kReleases = 400;
  constexpr double kNoise = 1.5;
  const Answer exact = Answers(*query, sum, 0)[0];
  std::vector<double> squares(kLabels.size()), stated(kLabels.size());
  double deviance_square = 0, deviance_stated = 0;
  for (int release = 0; release < kReleases; ++release) {
    std::vector<double> noised = sum;
    for (double& value : noised) value += kNoise * GlmNormal(random);
    const Answer answer = Answers(*query, noised, kNoise)[0];
    for (size_t i = 0; i < kLabels.size(); ++i) {
      const Estimate& estimate = CoefficientOf(answer, i);
      ASSERT_TRUE(estimate.value.has_value());
      squares[i] += std::pow(*estimate.value - *CoefficientOf(exact, i).value, 2) / kReleases;
      stated[i] += std::pow(*estimate.noise_error, 2) / kReleases;
    }
    deviance_square +=
        std::pow(*Find(answer, "deviance").value - *Find(exact, "deviance").value, 2) / kReleases;
    deviance_stated += std::pow(*Find(answer, "deviance").noise_error, 2) / kReleases;
  }
  for (size_t i = 0; i < kLabels.size(); ++i) {
    EXPECT_NEAR(std::sqrt(squares[i] / stated[i]), 1, 0.25) << kLabels[i];
  }
  EXPECT_NEAR(std::sqrt(deviance_square / deviance_stated), 1, 0.25);
}

// Rows of a long-tailed response whose variance depends on the columns, drawn again for each
// release, with noise. An interval that covers in 95 % holds the truth in fewer than 250 of 300
// releases with probability 3e-14. The error that
// equal variances would give is tested without noise, above.
TEST(GlmTest, IntervalsHoldTheFitOfTheWholeTable) {
  const auto question =
      Model("cost ~ x + sex", {Number("x", 0, 1), {.column = "sex"}, Number("cost", 0, 60)});
  auto made = Query::Create(
      {.questions = {question}, .max_units = 8000, .values = {ValuesOf("sex one-of=f,m")}});
  ASSERT_TRUE(made.ok()) << made.status();
  const auto query = std::make_shared<const Query>(*std::move(made));
  crypto::Random random = crypto::SeededRandom(4, "glm-test");
  constexpr size_t kPeople = 1000;
  TextRows rows;
  for (size_t i = 0; i < kPeople; ++i) {
    const double x = std::round(100 * crypto::Uniform(random)) / 100;
    const bool is_man = random.Below(2) == 1;
    const double cost = std::exp(0.5 + x * x + (0.3 + x) * GlmNormal(random));
    rows.push_back({fmt::format("{}", x), is_man ? "m" : "f", fmt::format("{}", cost)});
  }
  const std::vector<std::string> columns = {"x", "sex", "cost"};
  const auto site = SiteUnits::Create(query, TableOfRows("site", columns, rows));
  ASSERT_TRUE(site.ok()) << site.status();
  std::vector<std::vector<float>> parts;
  std::vector<double> whole(query->dimension());
  for (uint32_t row = 0; row < kPeople; ++row) {
    parts.emplace_back(query->dimension());
    site->SumUnits(std::vector<uint32_t>{row}, parts.back());
    for (size_t i = 0; i < whole.size(); ++i) whole[i] += parts.back()[i];
  }
  const Answer truth = Answers(*query, whole, 0)[0];
  constexpr uint64_t kReleases = 300;
  for (const auto& [drawn, noise] : {std::pair{2000, 3.0}, {8000, 2.5}}) {
    std::map<std::string, uint64_t> held;
    uint64_t shown = 0;
    for (uint64_t release = 0; release < kReleases; ++release) {
      std::vector<double> sum(query->dimension());
      for (double& value : sum) value = noise * GlmNormal(random);
      for (int i = 0; i < drawn; ++i) {
        const std::vector<float>& part = parts[random.Below(kPeople)];
        for (size_t j = 0; j < sum.size(); ++j) sum[j] += part[j];
      }
      const Answer answer = Answers(*query, sum, noise)[0];
      for (const Estimate& estimate : answer.estimates) {
        if (estimate.quantity != "coefficient" && estimate.quantity != "intercept") continue;
        if (!estimate.value.has_value()) continue;
        ++shown;
        const double value = *Find(truth, estimate.quantity, estimate.group).value;
        held[estimate.group] +=
            estimate.interval->low <= value && value <= estimate.interval->high ? 1 : 0;
      }
    }
    EXPECT_EQ(shown, 3 * kReleases) << drawn;
    for (const auto& [label, count] : held) EXPECT_GE(count, 250u) << drawn << " " << label;
  }
}

TEST(GlmTest, WhatTheNoiseHidesIsSuppressedWithTheRemedy) {
  const MixedRows data(300, 5);
  const auto query = MixedQuery(300, 10);
  const std::vector<double> sum = SumOf(query, kModelColumns, data.rows);
  const Answer answer = Answers(*query, sum, 8)[0];
  EXPECT_TRUE(Find(answer, "count").value.has_value());
  for (size_t i = 0; i < kLabels.size(); ++i) {
    EXPECT_FALSE(CoefficientOf(answer, i).value.has_value());
  }
  EXPECT_FALSE(Find(answer, "deviance").value.has_value());
  const std::string remedy = answer.methods[2];
  EXPECT_TRUE(remedy.starts_with("coefficients suppressed: in some direction the columns vary by "))
      << remedy;
  EXPECT_NE(remedy.find("2.5 are needed; ask with a larger epsilon or share, of more rows, with "
                        "narrower bounds or log(), or with fewer columns (\""),
            std::string::npos)
      << remedy;
  // A column without variance, and no rows at all.
  TextRows same(300, {"40", "I", "f", "3", "7"});
  const Answer constant = Answers(*query, SumOf(query, kModelColumns, same), 1)[0];
  EXPECT_FALSE(CoefficientOf(constant, 1).value.has_value());
  const Answer none = Answers(*query, std::vector<double>(query->dimension(), 0.0), 1)[0];
  for (const Estimate& estimate : none.estimates) {
    EXPECT_FALSE(estimate.value.has_value()) << estimate.quantity;
  }
  EXPECT_EQ(none.methods.size(), 3u);
}

TEST(GlmTest, UnitClientHasNoModels) {
  const auto query =
      Query::Create({.questions = {Model("y ~ x", {Number("y", 0, 1), Number("x", 0, 1)})},
                     .unit = accounting::Unit::kClient});
  EXPECT_EQ(base::Message(query.status()),
            "question \"model\": a model needs many units, and with unit client each site is one: "
            "choose unit record or person");
}

TEST(GlmTest, DesignsThatCannotBeAreRefused) {
  const auto fault = [](std::string formula, const std::vector<TableVariable>& variables) {
    QuerySpec spec{.questions = {Model(std::move(formula), variables)}};
    for (const TableVariable& variable : variables) {
      if (variable.column == "sex") spec.values.push_back(ValuesOf("sex one-of=f,m"));
      if (variable.column == "one") spec.values.push_back(ValuesOf("one one-of=a"));
    }
    const auto query = Query::Create(std::move(spec));
    return query.ok() ? "" : base::Message(query.status());
  };
  const TableVariable y = Number("y", 0, 1), x = Number("x", 0, 1);
  EXPECT_EQ(fault("y ~ x", {y}),
            "question \"model\": the formula uses \"x\", and `columns` has it not: write a column "
            "of numbers with its bounds, as in \"x 0..100\", and one with agreed values by its "
            "name");
  EXPECT_NE(fault("y ~ x", {y, x, x}).find("has it twice"), std::string::npos);
  EXPECT_EQ(fault("y ~ x", {y, x, {.column = "sex"}}),
            "question \"model\": `columns` has \"sex\", which the formula \"y ~ x\" does not use");
  EXPECT_EQ(fault("y ~ log(x)", {y, x}),
            "question \"model\": the formula uses log(x), and column \"x\" begins at 0: expected a "
            "bound above 0");
  EXPECT_NE(fault("y ~ x", {y, Number("x", 3, 3)}).find("the bounds 3 and 3"), std::string::npos);
  EXPECT_NE(fault("y ~ x", {y, {.column = "x"}}).find("write the bounds of a column of numbers"),
            std::string::npos);
  EXPECT_NE(fault("y ~ log(sex)", {y, {.column = "sex"}}).find("`columns` has \"sex\""),
            std::string::npos);
  EXPECT_NE(fault("y ~ one", {y, {.column = "one"}}).find("has one agreed value"),
            std::string::npos);
  EXPECT_NE(fault("sex ~ x", {x, {.column = "sex"}}).find("the response \"sex\" has agreed"),
            std::string::npos);
  EXPECT_NE(fault("y ~ sex", {y, Number("sex", 0, 1)}).find("and agreed values in `data.values`"),
            std::string::npos);
  std::vector<TableVariable> many = {y};
  std::string formula = "y ~ x0";
  for (int i = 0; i < 17; ++i) {
    many.push_back(Number(fmt::format("x{}", i), 0, 1));
    if (i > 0) formula += fmt::format(" + x{}", i);
  }
  EXPECT_NE(fault(formula, many).find("more than 16 coefficients besides the intercept"),
            std::string::npos);
}

}  // namespace
}  // namespace tacet::statistics
