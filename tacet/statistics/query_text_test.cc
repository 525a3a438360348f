#include "tacet/statistics/query_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tacet/base/status.h"

namespace tacet::statistics {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<QueryFile> Read(std::string_view json) {
  const auto value = base::JsonValue::Parse(json);
  EXPECT_TRUE(value.ok()) << value.status();
  return ReadQueryFile(*value);
}

std::string Refusal(std::string_view json) {
  const auto file = Read(json);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kInvalidArgument);
  return base::Message(file.status());
}

TEST(QueryTextTest, EveryKindIsRead) {
  const auto file = Read(R"({
    "name": "five questions", "floor": 10, "confidence": 0.9,
    "data": {"site_column": "hospital", "person_column": "patient", "missing": ["-"],
             "values": ["sex one-of=f|F,m"]},
    "privacy": {"unit": "person", "neighbouring": "zero-out", "target_epsilon": 1, "delta": 1e-6,
                "colluders": 1, "appearances": 2, "max_units": 500, "rows_per_unit": 4,
                "budget_epsilon": 3},
    "question": [
      {"kind": "count", "where": ["sex = f", "age >= 40"], "share": 2, "sites": ["north"]},
      {"name": "age", "kind": "variance", "column": "age", "low": 0, "high": 110},
      {"name": "scales", "kind": "normalise", "columns": ["age 0..110", "resting bp -5..250"]},
      {"name": "chol", "kind": "histogram", "column": "chol", "low": 100, "high": 400, "bins": 3},
      {"name": "pain", "kind": "crosstab", "rows": {"column": "cp", "categories": [1, 2]},
       "columns": {"column": "sex", "categories": ["f", "m"]}},
      {"name": "bp", "kind": "quantiles", "column": "bp", "edges": [0, 100, 200],
       "quantiles": [0.5]},
      {"name": "curve", "kind": "survival", "time": "days", "low": 0, "high": 1000, "bins": 10,
       "event": "status", "event_value": 2, "group": "sex", "groups": ["f", "m"]},
      {"name": "model", "kind": "evaluation", "score": "p", "bins": 20, "label": "y",
       "positive": 1, "threshold": 0.5},
      {"name": "risk", "kind": "regression", "columns": ["age 20..90", "chol 100..400"],
       "label": "ill", "positive": 1},
      {"name": "smokers", "kind": "proportion", "column": "smokes", "positive": 1,
       "group": "sex", "groups": ["f"]},
      {"name": "middle", "kind": "median", "column": "bp", "edges": [0, 100, 200], "group": "sex"},
      {"name": "stay", "kind": "mean", "column": "stay", "low": 0, "high": 90, "group": "sex"},
      {"name": "baseline", "kind": "table1", "columns": ["resting bp -5..250", "sex"],
       "group": "sex"},
      {"name": "lines", "kind": "glm", "family": "gaussian", "formula": "bp ~ age * sex",
       "columns": ["age 20..90", "sex", "bp 60..240"]}]})");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->site_column, "hospital");
  EXPECT_EQ(file->person_column, "patient");
  EXPECT_EQ(file->privacy.colluders, 1u);
  EXPECT_EQ(file->appearances, 2u);
  const QuerySpec& query = file->query;
  EXPECT_EQ(query.unit, accounting::Unit::kPerson);
  EXPECT_EQ(query.max_units, 500u);
  ASSERT_NE(query.ValuesOf("sex"), nullptr);
  EXPECT_EQ(query.ValuesOf("sex")->Listed(), "f|F, m");
  ASSERT_EQ(query.questions.size(), 14u);
  EXPECT_EQ(query.questions[0].name, "question-1");
  EXPECT_EQ(query.questions[0].where[1].Text(), "age >= 40");
  EXPECT_EQ(query.questions[0].sites, (std::vector<std::string>{"north"}));
  EXPECT_EQ(query.questions[2].columns[1], (BoundedColumn{"resting bp", -5, 250}));
  EXPECT_EQ(query.questions[3].cells.edges, (std::vector<double>{100, 200, 300, 400}));
  EXPECT_EQ(query.questions[4].cells.categories, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(query.questions[6].yes.value, "2");
  EXPECT_EQ(query.questions[8].columns[1], (BoundedColumn{"chol", 100, 400}));
  EXPECT_EQ(query.questions[8].yes, (FieldEquals{"ill", "1"}));
  EXPECT_EQ(query.questions[9].yes, (FieldEquals{"smokes", "1"}));
  EXPECT_EQ(query.questions[9].groups.categories, (std::vector<std::string>{"f"}));
  EXPECT_EQ(query.questions[11].columns[0], (BoundedColumn{"stay", 0, 90}));
  EXPECT_EQ(query.questions[11].groups.column, "sex");
  EXPECT_EQ(query.questions[12].variables[0].bounds, (BoundedColumn{"resting bp", -5, 250}));
  EXPECT_EQ(query.questions[12].variables[1], (TableVariable{"sex"}));
  EXPECT_EQ(query.questions[13].formula, "bp ~ age * sex");
  EXPECT_EQ(query.questions[13].variables[2].bounds, (BoundedColumn{"bp", 60, 240}));
  EXPECT_TRUE(Query::Create(query).ok()) << Query::Create(query).status();
}

TEST(QueryTextTest, KeysOfModelsWithSteps) {
  const auto file = Read(R"({"privacy": {"target_epsilon": 1}, "question": [
    {"kind": "cox", "time": "days", "high": 3000, "event": "dead", "event_value": 1,
     "formula": "age", "columns": ["age 20..90"], "sites": ["north"], "strata": "sites",
     "profiles": ["age = 50"], "check": "proportional-hazards"},
    {"kind": "cox", "time": "days", "edges": [0, 10], "event": "dead", "event_value": 1,
     "formula": "~ age", "columns": ["age 20..90"]},
    {"kind": "glm", "family": "poisson", "exposure": "years", "formula": "visits ~ age",
     "columns": ["visits 0..10", "years 1..9", "age 20..90"]}]})");
  ASSERT_TRUE(file.ok()) << file.status();
  const std::vector<QuestionSpec>& questions = file->query.questions;
  EXPECT_EQ(questions[0].cells.edges, (std::vector<double>{0, 500, 1000, 3000}));
  EXPECT_TRUE(questions[0].by_site);
  EXPECT_EQ(questions[1].cells.edges, (std::vector<double>{0, 10}));
  EXPECT_FALSE(questions[1].by_site);
  EXPECT_EQ(questions[0].profiles, (std::vector<std::string>{"age = 50"}));
  EXPECT_TRUE(questions[0].checks_hazards);
  EXPECT_FALSE(questions[1].checks_hazards);
  EXPECT_EQ(questions[2].exposure, "years");
  EXPECT_TRUE(Query::Create(file->query).ok()) << Query::Create(file->query).status();
}

TEST(QueryTextTest, KeysOfRisks) {
  const auto file =
      Read(R"({"privacy": {"target_epsilon": 1}, "data": {"values": ["arm one-of=a,b"]},
    "question": [{"kind": "evaluation", "formula": "age * arm", "columns": ["age 20..90", "arm"],
     "coefficients": [-4, 0.1, 1, 0.02], "terms": ["age", "arm = b", "age:arm = b"],
     "bins": 10, "label": "dead", "positive": 1}]})");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->query.questions[0].coefficients, (std::vector<double>{-4, 0.1, 1, 0.02}));
  const auto query = Query::Create(file->query);
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_EQ(query->columns(), (std::vector<std::string>{"age", "arm", "dead"}));
  const auto refusal = [&file](auto change) {
    QuerySpec spec = file->query;
    change(spec.questions[0]);
    return base::Message(Query::Create(spec).status());
  };
  EXPECT_EQ(refusal([](QuestionSpec& spec) { spec.coefficients.pop_back(); }),
            "question \"question-1\": formula \"age * arm\" has 4 coefficients with the intercept, "
            "`coefficients` has 3");
  EXPECT_EQ(refusal([](QuestionSpec& spec) { spec.coefficients[1] = INFINITY; }),
            "question \"question-1\": `coefficients` has inf, expected finite numbers");
  EXPECT_EQ(
      refusal([](QuestionSpec& spec) { spec.cells.column = "risk"; }),
      "question \"question-1\": `score` and `formula`: scores are a column, or the risks of a "
      "model; remove one of them");
  EXPECT_THAT(refusal([](QuestionSpec& spec) { spec.formula.clear(); }),
              HasSubstr("question \"question-1\": formula \"\""));
}

// The model's coefficients would be those of other terms, and the risks wrong without a word.
TEST(QueryTextTest, RisksAreThoseOfTheTermsThatTheModelHad) {
  const auto refusal = [](std::string_view formula, std::string_view values,
                          std::string_view terms) {
    const auto file = Read(fmt::format(
        R"({{"privacy": {{"target_epsilon": 1}}, "data": {{"values": ["arm one-of={}"]}},
            "question": [{{"kind": "evaluation", "formula": "{}", "columns": ["age 20..90", "arm"],
            "coefficients": [-4, 0.1, 1], {} "bins": 10, "label": "dead", "positive": 1}}]}})",
        values, formula, terms));
    return base::Message(file.status());
  };
  const std::string_view had = R"("terms": ["age", "arm = b"],)";
  EXPECT_EQ(refusal("age + arm", "a,b", had), "");
  EXPECT_EQ(refusal("age + arm", "b,a", had),
            "question: question[0].terms: the formula has the terms age, arm = a here, and the "
            "coefficients are those of age, arm = b: take formula, columns and agreed values as "
            "the model had them, in their order");
  EXPECT_THAT(refusal("arm + age", "a,b", had), HasSubstr("has the terms arm = b, age here"));
  EXPECT_THAT(refusal("log(age) + arm", "a,b", had), HasSubstr("has the terms log(age), arm = b"));
  EXPECT_EQ(refusal("age + arm", "a,b", ""),
            "question: question[0].terms is missing: the term of each coefficient behind the "
            "intercept");
}

TEST(QueryTextTest, ErrorsNameTheKey) {
  const auto with = [](std::string_view question, std::string_view more = "") {
    return fmt::format(R"({{"privacy": {{"target_epsilon": 1}}, "question": [{}]{}}})", question,
                       more);
  };
  EXPECT_THAT(Refusal(with(R"({"kind": "cout"})")),
              HasSubstr("unknown kind \"cout\": expected one of count, sum"));
  EXPECT_THAT(
      Refusal(with(R"({"kind": "count", "colum": "age"})")),
      HasSubstr("unknown key question[0].colum: expected one of kind, name, share, sites, where"));
  EXPECT_THAT(Refusal(with(R"({"kind": "count"})", R"(, "extra": 1)")),
              HasSubstr("unknown key extra"));
  EXPECT_THAT(Refusal(with(R"({"kind": "count", "where": ["age"]})")),
              HasSubstr("question[0].where: condition \"age\": expected COLUMN"));
  EXPECT_THAT(Refusal(with(R"({"kind": "count", "where": ["age > old"]})")),
              HasSubstr("\"old\" is neither a number nor a date"));
  EXPECT_THAT(Refusal(with(R"({"name": "x"})")), HasSubstr("question[0].kind is missing"));
  for (const char* line : {"sex", "sex one-of=", "sex 0..1", "sex one-of=f,f", "sex one-of='f,m",
                           "sex one-of=f,m clamp", "one-of=f,m"}) {
    EXPECT_THAT(Refusal(with(R"({"kind": "count"})",
                             fmt::format(R"(, "data": {{"values": ["{}"]}})", line))),
                HasSubstr(fmt::format("data.values: \"{}\": expected", line)));
  }
  EXPECT_THAT(Refusal(with(R"({"kind": "table1", "columns": ["age 18.."]})")),
              HasSubstr("question[0].columns: \"age 18..\": expected COLUMN LOW..HIGH"));
  EXPECT_THAT(Refusal(with(R"({"kind": "glm", "family": "gamma"})")),
              HasSubstr("question[0].family: \"gamma\": expected gaussian, binomial or poisson"));
  EXPECT_THAT(Refusal(with(R"({"kind": "cox", "strata": "sex"})")),
              HasSubstr("question[0].strata: \"sex\": expected sites"));
  EXPECT_THAT(Refusal(with(R"({"kind": "cox", "check": "zph"})")),
              HasSubstr("question[0].check: \"zph\": expected proportional-hazards"));
  EXPECT_THAT(Refusal(with(R"({"kind": "cox", "family": "poisson"})")),
              HasSubstr("unknown key question[0].family"));
  for (const char* column : {"age", "age 120..0", "age 0..inf", "age -1e308..1e308", "0..1"}) {
    EXPECT_THAT(
        Refusal(with(fmt::format(
            R"({{"kind": "regression", "label": "y", "positive": 1, "columns": ["{}"]}})",
            column))),
        HasSubstr(fmt::format("question[0].columns: \"{}\": expected COLUMN LOW..HIGH", column)));
  }
  EXPECT_THAT(
      Refusal(with(R"({"kind": "histogram", "column": "a", "bins": 1e9, "low": 0, "high": 1})")),
      HasSubstr("question[0].bins"));
  EXPECT_THAT(
      Refusal(R"({"question": [{"kind": "count"}]})"),
      HasSubstr(
          "privacy.target_epsilon is 0, privacy.noise_multiplier 0 and privacy.noise_stddev 0"));
  EXPECT_THAT(Refusal(with("7")), HasSubstr("question[0].kind is missing"));
}

}  // namespace
}  // namespace tacet::statistics
