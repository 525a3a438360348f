#include "lab/bench/bench_models.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/estimate.h"
#include "tacet/statistics/likelihood_rows.h"
#include "tacet/statistics/likelihood_steps.h"
#include "tacet/statistics/site_units.h"

namespace tacet::app::bench {
namespace {

using tacet::statistics::Answer;
using tacet::statistics::BoundedColumn;
using tacet::statistics::Estimate;
using tacet::statistics::GlmFamily;
using tacet::statistics::QuestionKind;
using tacet::statistics::QuestionSpec;
using tacet::statistics::SiteUnits;
using tacet::statistics::TableVariable;

constexpr size_t kRowsOfModels[] = {2000, 4000, 12000, 20000};
constexpr double kEpsilonsOfModels[] = {1, 2, 4};
// For hazards: rotterdam, and four times as many.
constexpr size_t kRowsOfHazards[] = {2982, 11928};
constexpr double kEpsilonsOfHazards[] = {2, 4};

// The four sites' noise over that of one trusted party.
const double kSharedNoise = std::sqrt(static_cast<double>(kSites) / (kSites - 1));

TableVariable Bounded(const std::string& column, double low, double high) {
  return {.column = column, .bounds = BoundedColumn{column, low, high}};
}

QuestionSpec ModelOf(std::string formula, std::vector<TableVariable> variables) {
  return {.name = "model",
          .kind = QuestionKind::kGlm,
          .variables = std::move(variables),
          .formula = std::move(formula)};
}

QuestionSpec OfFamily(GlmFamily family, std::string formula, std::vector<TableVariable> variables) {
  QuestionSpec question = ModelOf(std::move(formula), std::move(variables));
  question.family = family;
  return question;
}

QuestionSpec HazardsOf(std::string formula, std::vector<TableVariable> variables,
                       const std::string& time, double follow_up) {
  QuestionSpec question = ModelOf(std::move(formula), std::move(variables));
  question.kind = QuestionKind::kCox;
  question.cells = {.column = time, .edges = tacet::statistics::FollowUpEdges(follow_up)};
  question.yes = {"death", "1"};
  return question;
}

bool IsCoefficient(const Estimate& estimate) {
  return estimate.quantity == "coefficient" || estimate.quantity == "intercept";
}

std::vector<Estimate> CoefficientsIn(const Answer& answer) {
  std::vector<Estimate> coefficients = answer.estimates;
  std::erase_if(coefficients, [](const Estimate& estimate) { return !IsCoefficient(estimate); });
  return coefficients;
}

double NormalNumberOf(crypto::Random& random) {
  const double u = 1 - crypto::Uniform(random);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * crypto::Uniform(random));
}

// Takes sums over the releases that show the coefficients, and `of_central` those of one party.
void Average(uint64_t of_central, ModelCoverage& coverage) {
  for (CoveredCoefficient& of : coverage.coefficients) {
    const auto shown = static_cast<double>(std::max<uint64_t>(coverage.shown, 1));
    of.width /= shown;
    of.error = std::sqrt(of.error / shown);
    of.central_error =
        std::sqrt(of.central_error / static_cast<double>(std::max<uint64_t>(of_central, 1)));
  }
}

// The coefficients of the largest likelihood of all rows: more steps than a query has.
absl::StatusOr<std::vector<double>> LargestLikelihood(const tacet::statistics::Query& query,
                                                      const SiteUnits& table) {
  constexpr int kSteps = 30;
  const tacet::statistics::QuestionPlan& plan = query.questions()[0];
  std::vector<uint32_t> all(table.units());
  std::iota(all.begin(), all.end(), 0u);
  std::vector<float> sum(query.round_dimension());
  std::vector<double> coefficients = tacet::statistics::FirstCoefficients(plan);
  for (int step = 0; step < kSteps; ++step) {
    table.SumUnits(all, sum, {coefficients});
    const std::vector<double> total(sum.begin(), sum.end());
    const tacet::statistics::LikelihoodRelease release(plan,
                                                       std::span(total).first(plan.measured()));
    const auto factor = tacet::statistics::Cholesky::Of(release.Information(), release.size());
    if (!factor.has_value()) return base::InvalidArgument("the table determines no model");
    const std::vector<double> moved = factor->Solve(release.Gradient());
    for (size_t i = 0; i < moved.size(); ++i) coefficients[i] += std::clamp(moved[i], -2.0, 2.0);
  }
  const size_t size = plan.design->columns() + 1;
  const std::vector<double> to_columns = plan.design->ToColumns();
  std::vector<double> of_columns(size);
  of_columns[0] = coefficients[0] + (plan.is_poisson() ? std::log(plan.design->RateUnit()) : 0);
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 1; j < size; ++j) {
      of_columns[i] += to_columns[i * size + j] * coefficients[plan.baselines - 1 + j];
    }
  }
  if (plan.is_cox()) of_columns.erase(of_columns.begin());  // baselines, and no intercept
  return of_columns;
}

// The answer where one trusted party has all rows and adds the noise.
absl::StatusOr<Answer> CentralAnswer(const tacet::statistics::Query& query, const SiteUnits& table,
                                     const std::vector<uint32_t>& rows, double noise,
                                     crypto::Random& random) {
  const size_t values = query.round_dimension();
  std::vector<float> model(query.dimension()), sum(values);
  for (uint32_t round = 0; round < query.rounds(); ++round) {
    table.SumUnits(rows, sum, tacet::statistics::StateAfter(query, model).coefficients);
    for (size_t i = 0; i < values; ++i) {
      model[round * values + i] = static_cast<float>(sum[i] + noise * NormalNumberOf(random));
    }
  }
  TACET_ASSIGN_OR_RETURN(
      std::vector<Answer> answers,
      tacet::statistics::AnswersOf(query, std::vector<double>(model.begin(), model.end()),
                                   {.stddev = noise}));
  return std::move(answers[0]);
}

// As ModelCoverageOf, of a model with several releases. The table is read once.
absl::StatusOr<ModelCoverage> LikelihoodCoverageOf(const ModelSetting& setting, size_t rows,
                                                   double epsilon, uint64_t releases,
                                                   uint64_t seed) {
  TACET_ASSIGN_OR_RETURN(
      const QueryTrials trials,
      QueryTrials::Create({setting.question}, epsilon, std::max(setting.table->rows.size(), rows),
                          0, dp::NoiseLaw::kGaussian, setting.values));
  const tacet::statistics::Query& query = trials.query();
  TACET_ASSIGN_OR_RETURN(const SiteUnits table, trials.Read(*setting.table));
  TACET_ASSIGN_OR_RETURN(const std::vector<double> truth, LargestLikelihood(query, table));
  const auto& plan = query.questions()[0];
  ModelCoverage coverage{.releases = releases};
  for (size_t i = 0; i < truth.size(); ++i) {
    const size_t column = plan.is_cox() ? i + 1 : i;
    coverage.coefficients.push_back(
        {.label = column == 0 ? "" : plan.design->labels()[column - 1]});
  }
  const double deviate = tacet::statistics::NormalDeviate(query.spec().confidence);
  crypto::Random random = crypto::SeededRandom(seed, "bench/logistic");
  uint64_t of_central = 0;
  for (uint64_t release = 0; release < releases; ++release) {
    std::vector<uint32_t> drawn(rows);
    std::vector<std::vector<uint32_t>> sites(kSites);
    for (size_t i = 0; i < rows; ++i) {
      drawn[i] = static_cast<uint32_t>(random.Below(table.units()));
      sites[i % kSites].push_back(drawn[i]);
    }
    TACET_ASSIGN_OR_RETURN(
        const std::vector<Answer> answers,
        trials.ReleaseRowsInTheClear(table, sites, random.Below(uint64_t{1} << 62)));
    TACET_ASSIGN_OR_RETURN(
        const Answer of_trusted,
        CentralAnswer(query, table, drawn, trials.noise() / kSharedNoise, random));
    const std::vector<Estimate> estimates = CoefficientsIn(answers[0]);
    const std::vector<Estimate> trusted = CoefficientsIn(of_trusted);
    const bool is_shown = estimates[0].value.has_value();
    const bool is_trusted_shown = trusted[0].value.has_value();
    coverage.shown += is_shown ? 1 : 0;
    of_central += is_trusted_shown ? 1 : 0;
    for (size_t i = 0; i < truth.size(); ++i) {
      CoveredCoefficient& of = coverage.coefficients[i];
      if (is_trusted_shown) of.central_error += std::pow(*trusted[i].value - truth[i], 2);
      if (!is_shown) continue;
      const auto [low, high] = *estimates[i].interval;
      of.covered += low <= truth[i] && truth[i] <= high ? 1 : 0;
      of.width += (high - low) / 2 / deviate;
      of.error += std::pow(*estimates[i].value - truth[i], 2);
    }
  }
  Average(of_central, coverage);
  return coverage;
}

}  // namespace

absl::StatusOr<std::vector<ModelSetting>> ModelSettingsOfTables(
    const std::filesystem::path& folder) {
  std::vector<ModelSetting> settings;
  const auto load = [&](const std::string& file, const std::vector<std::string>& columns)
      -> absl::StatusOr<std::shared_ptr<const TextTable>> {
    TACET_ASSIGN_OR_RETURN(TextTable table, LoadTable(folder / file, columns));
    return std::make_shared<const TextTable>(std::move(table));
  };
  const auto add = [&](const std::shared_ptr<const TextTable>& table, size_t columns,
                       QuestionSpec question, const std::vector<table::AgreedValues>& values = {}) {
    settings.push_back(
        {.table = table, .question = std::move(question), .values = values, .columns = columns});
  };
  TACET_ASSIGN_OR_RETURN(const auto rotterdam, load("survival/rotterdam.csv",
                                                    {"age", "size", "grade", "nodes", "hormon",
                                                     "chemo", "meno", "pgr", "dtime", "death"}));
  const TableVariable age = Bounded("age", 20, 90), nodes = Bounded("nodes", 0, 35),
                      grade = Bounded("grade", 2, 3), days = Bounded("dtime", 0, 7300),
                      size = {.column = "size"};
  TACET_ASSIGN_OR_RETURN(const table::AgreedValues sizes,
                         table::ParseAgreedValues("size one-of=<=20,20-50,>50"));
  add(rotterdam, 3, ModelOf("dtime ~ age + nodes + grade", {age, nodes, grade, days}));
  add(rotterdam, 3, ModelOf("nodes ~ age + size + grade", {age, size, grade, nodes}), {sizes});
  add(rotterdam, 2, ModelOf("dtime ~ nodes * size", {nodes, size, days}), {sizes});
  add(rotterdam, 3,
      ModelOf("pgr ~ age + meno + grade",
              {age, Bounded("meno", 0, 1), grade, Bounded("pgr", 0, 2000)}));
  add(rotterdam, 6,
      ModelOf("dtime ~ age + nodes + size + grade + hormon + chemo",
              {age, nodes, size, grade, Bounded("hormon", 0, 1), Bounded("chemo", 0, 1), days}),
      {sizes});
  add(rotterdam, 3,
      OfFamily(GlmFamily::kPoisson, "nodes ~ age + size + grade", {age, size, grade, nodes}),
      {sizes});
  const TableVariable death = Bounded("death", 0, 1);
  add(rotterdam, 3,
      OfFamily(GlmFamily::kBinomial, "death ~ age + nodes + grade", {age, nodes, grade, death}));
  add(rotterdam, 6,
      OfFamily(GlmFamily::kBinomial, "death ~ age + nodes + size + grade + hormon + chemo",
               {age, nodes, size, grade, Bounded("hormon", 0, 1), Bounded("chemo", 0, 1), death}),
      {sizes});
  const TableVariable some_nodes = Bounded("nodes", 1, 35);
  add(rotterdam, 3, HazardsOf("age + log(nodes) + grade", {age, some_nodes, grade}, "dtime", 7300));
  add(rotterdam, 6,
      HazardsOf("age + log(nodes) + size + grade + hormon + chemo",
                {age, some_nodes, size, grade, Bounded("hormon", 0, 1), Bounded("chemo", 0, 1)},
                "dtime", 7300),
      {sizes});
  TACET_ASSIGN_OR_RETURN(const auto flchain,
                         load("survival/flchain.csv",
                              {"age", "sex", "kappa", "lambda", "creatinine", "futime", "death"}));
  TACET_ASSIGN_OR_RETURN(const table::AgreedValues women_first,
                         table::ParseAgreedValues("sex one-of=F,M"));
  const TableVariable old = Bounded("age", 50, 100), sex = {.column = "sex"},
                      kappa = Bounded("kappa", 0.2, 10), lambda = Bounded("lambda", 0.2, 10),
                      creatinine = Bounded("creatinine", 0.4, 4);
  add(flchain, 3, ModelOf("log(lambda) ~ age + sex + log(kappa)", {old, sex, kappa, lambda}),
      {women_first});
  add(flchain, 3, ModelOf("creatinine ~ age * sex", {old, sex, creatinine}), {women_first});
  add(flchain, 6,
      ModelOf("futime ~ age + sex + log(kappa) + log(creatinine) + death + age:sex",
              {old, sex, kappa, creatinine, Bounded("death", 0, 1), Bounded("futime", 0, 5300)}),
      {women_first});
  add(flchain, 3,
      OfFamily(GlmFamily::kBinomial, "death ~ age + sex + log(lambda)", {old, sex, lambda, death}),
      {women_first});
  add(flchain, 3, HazardsOf("age + sex + log(lambda)", {old, sex, lambda}, "futime", 5300),
      {women_first});
  TACET_ASSIGN_OR_RETURN(
      const auto lung, load("survival/lung.csv", {"age", "sex", "wt.loss", "ph.karno", "pat.karno",
                                                  "meal.cal", "time", "status"}));
  const TableVariable ages = Bounded("age", 30, 90), sexes = Bounded("sex", 1, 2),
                      loss = Bounded("wt.loss", -30, 70), karno = Bounded("ph.karno", 40, 100);
  add(lung, 3, ModelOf("ph.karno ~ age + sex + wt.loss", {ages, sexes, loss, karno}));
  add(lung, 6,
      ModelOf("time ~ age + sex + wt.loss + ph.karno + pat.karno + meal.cal",
              {ages, sexes, loss, karno, Bounded("pat.karno", 30, 100),
               Bounded("meal.cal", 0, 2600), Bounded("time", 0, 1050)}));
  TACET_ASSIGN_OR_RETURN(const table::AgreedValues dead,
                         table::ParseAgreedValues("status one-of=1,2"));
  add(lung, 3,
      OfFamily(GlmFamily::kBinomial, "status ~ age + sex + ph.karno",
               {ages, sexes, karno, {.column = "status"}}),
      {dead});
  TACET_ASSIGN_OR_RETURN(
      const auto fair, load("statsmodels/fair.csv", {"rate_marriage", "age", "yrs_married",
                                                     "children", "religious", "educ", "affairs"}));
  const TableVariable rate = Bounded("rate_marriage", 1, 5), years = Bounded("yrs_married", 0, 25),
                      religious = Bounded("religious", 1, 4);
  add(fair, 3,
      ModelOf("affairs ~ rate_marriage + yrs_married + religious",
              {rate, years, religious, Bounded("affairs", 0, 20)}));
  add(fair, 6,
      ModelOf("rate_marriage ~ age + yrs_married + children + religious + educ + affairs",
              {Bounded("age", 17, 45), years, Bounded("children", 0, 6), religious,
               Bounded("educ", 9, 20), Bounded("affairs", 0, 5), rate}));
  TACET_ASSIGN_OR_RETURN(const auto randhie,
                         load("statsmodels/randhie.csv",
                              {"lncoins", "idp", "disea", "hlthg", "lpi", "physlm", "mdvis"}));
  const TableVariable coins = Bounded("lncoins", 0, 5), idp = Bounded("idp", 0, 1),
                      disea = Bounded("disea", 0, 40), visits = Bounded("mdvis", 0, 40);
  add(randhie, 3, ModelOf("mdvis ~ lncoins + idp + disea", {coins, idp, disea, visits}));
  add(randhie, 6,
      ModelOf("mdvis ~ lncoins + idp + disea + hlthg + lpi + physlm",
              {coins, idp, disea, Bounded("hlthg", 0, 1), Bounded("lpi", 0, 7.5),
               Bounded("physlm", 0, 1), visits}));
  const TableVariable some_visits = Bounded("mdvis", 0, 20);
  add(randhie, 3,
      OfFamily(GlmFamily::kPoisson, "mdvis ~ lncoins + idp + disea",
               {coins, idp, disea, some_visits}));
  add(randhie, 6,
      OfFamily(GlmFamily::kPoisson, "mdvis ~ lncoins + idp + disea + hlthg + lpi + physlm",
               {coins, idp, disea, Bounded("hlthg", 0, 1), Bounded("lpi", 0, 7.5),
                Bounded("physlm", 0, 1), some_visits}));
  return settings;
}

absl::StatusOr<ModelCoverage> ModelCoverageOf(const ModelSetting& setting, size_t rows,
                                              double epsilon, uint64_t releases, uint64_t seed) {
  if (PartOf(setting.question) != "models") {
    return LikelihoodCoverageOf(setting, rows, epsilon, releases, seed);
  }
  TACET_ASSIGN_OR_RETURN(const QueryTrials trials,
                         QueryTrials::Create({setting.question}, epsilon, rows / kSites + 1, 0,
                                             dp::NoiseLaw::kGaussian, setting.values));
  // Vectors of the table's rows, each as a unit of its own.
  const auto query = std::make_shared<const tacet::statistics::Query>(trials.query());
  const size_t dimension = query->dimension();
  std::vector<std::vector<float>> parts;
  std::vector<double> whole(dimension);
  for (const std::vector<std::string>& row : setting.table->rows) {
    const TextTable one{
        .name = setting.table->name, .columns = setting.table->columns, .rows = {row}};
    TACET_ASSIGN_OR_RETURN(const SiteUnits units, SiteUnits::Create(query, one.AsSite()));
    std::vector<float>& part = parts.emplace_back(dimension);
    units.SumUnits(std::vector<uint32_t>{0}, part);
    for (size_t i = 0; i < dimension; ++i) whole[i] += part[i];
  }
  TACET_ASSIGN_OR_RETURN(const std::vector<Answer> exact,
                         tacet::statistics::AnswersOf(*query, whole, {}));
  const std::vector<Estimate> truth = CoefficientsIn(exact[0]);
  ModelCoverage coverage{.releases = releases};
  for (const Estimate& estimate : truth) {
    if (!estimate.value.has_value()) {
      return base::InvalidArgument("{}: the whole table determines no model {}",
                                   setting.table->name, setting.question.formula);
    }
    coverage.coefficients.push_back({.label = estimate.group});
  }
  const double deviate = tacet::statistics::NormalDeviate(query->spec().confidence);
  crypto::Random random = crypto::SeededRandom(seed, "bench/models");
  uint64_t of_central = 0;
  for (uint64_t release = 0; release < releases; ++release) {
    std::vector<std::vector<float>> sums(kSites, std::vector<float>(dimension));
    std::vector<double> central(dimension);
    for (size_t row = 0; row < rows; ++row) {
      const std::vector<float>& part = parts[random.Below(parts.size())];
      for (size_t i = 0; i < dimension; ++i) sums[row % kSites][i] += part[i];
    }
    for (size_t i = 0; i < dimension; ++i) {
      central[i] = trials.noise() / kSharedNoise * NormalNumberOf(random);
      for (const std::vector<float>& sum : sums) central[i] += sum[i];
    }
    TACET_ASSIGN_OR_RETURN(
        const std::vector<Answer> answers,
        trials.ReleaseSumsInTheClear(std::move(sums), random.Below(uint64_t{1} << 62)));
    TACET_ASSIGN_OR_RETURN(
        const std::vector<Answer> of_trusted,
        tacet::statistics::AnswersOf(*query, central, {.stddev = trials.noise() / kSharedNoise}));
    const std::vector<Estimate> estimates = CoefficientsIn(answers[0]);
    const std::vector<Estimate> trusted = CoefficientsIn(of_trusted[0]);
    const bool is_shown = estimates[0].value.has_value();
    const bool is_trusted_shown = trusted[0].value.has_value();
    coverage.shown += is_shown ? 1 : 0;
    of_central += is_trusted_shown ? 1 : 0;
    for (size_t i = 0; i < truth.size(); ++i) {
      CoveredCoefficient& of = coverage.coefficients[i];
      if (is_trusted_shown) {
        of.central_error += std::pow(*trusted[i].value - *truth[i].value, 2);
      }
      if (!is_shown) continue;
      const auto [low, high] = *estimates[i].interval;
      of.covered += low <= *truth[i].value && *truth[i].value <= high ? 1 : 0;
      of.width += (high - low) / 2 / deviate;
      of.error += std::pow(*estimates[i].value - *truth[i].value, 2);
    }
  }
  Average(of_central, coverage);
  return coverage;
}

std::string_view PartOf(const QuestionSpec& question) {
  if (question.kind == QuestionKind::kCox) return "cox";
  if (question.family == GlmFamily::kBinomial) return "logistic";
  return question.family == GlmFamily::kPoisson ? "poisson" : "models";
}

absl::StatusOr<base::JsonValue> BenchModels(const std::filesystem::path& folder,
                                            std::string_view part, uint64_t releases) {
  TACET_ASSIGN_OR_RETURN(const std::vector<ModelSetting> settings, ModelSettingsOfTables(folder));
  const bool is_cox = part == "cox";
  const std::span<const size_t> all_rows =
      is_cox ? std::span<const size_t>(kRowsOfHazards) : kRowsOfModels;
  const std::span<const double> epsilons =
      is_cox ? std::span<const double>(kEpsilonsOfHazards) : kEpsilonsOfModels;
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const ModelSetting& setting : settings) {
    if (PartOf(setting.question) != part) continue;
    for (const size_t rows : all_rows) {
      for (const double epsilon : epsilons) {
        TACET_ASSIGN_OR_RETURN(const ModelCoverage coverage,
                               ModelCoverageOf(setting, rows, epsilon, releases, 1));
        base::JsonValue json = base::JsonValue::MakeObject()
                                   .Set("table", setting.table->name)
                                   .Set("formula", setting.question.formula)
                                   .Set("columns", setting.columns)
                                   .Set("rows", rows)
                                   .Set("epsilon", epsilon)
                                   .Set("shown", coverage.shown)
                                   .Set("suppressed", 1 - static_cast<double>(coverage.shown) /
                                                              static_cast<double>(releases));
        if (coverage.shown > 0) {
          base::JsonValue coefficients = base::JsonValue::MakeArray();
          for (const CoveredCoefficient& of : coverage.coefficients) {
            base::JsonValue told = base::JsonValue::MakeObject()
                                       .Set("label", of.label.empty() ? "intercept" : of.label)
                                       .Set("covered", static_cast<double>(of.covered) /
                                                           static_cast<double>(coverage.shown))
                                       .Set("stated_over_seen", of.width / of.error);
            if (of.central_error > 0) {
              told.Set("seen_over_central", of.error / of.central_error);
            }
            coefficients.Append(std::move(told));
          }
          json.Set("coefficients", std::move(coefficients));
        }
        list.Append(std::move(json));
      }
    }
  }
  return base::JsonValue::MakeObject().Set("releases", releases).Set("settings", std::move(list));
}

}  // namespace tacet::app::bench
