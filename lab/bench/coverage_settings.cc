#include "lab/bench/coverage_settings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string_view>
#include <tuple>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"

namespace tacet::app::bench {
namespace {

using tacet::statistics::ColumnCellsSpec;
using tacet::statistics::EqualEdges;
using tacet::statistics::Estimate;
using tacet::statistics::NumberOf;
using tacet::statistics::QuestionKind;
using tacet::statistics::QuestionSpec;

using Row = std::vector<std::string>;
using Key = std::tuple<std::string, std::string, std::string>;  // quantity, group, at
using Numbers = std::map<Key, double>;

constexpr size_t kPopulation = 4000;
constexpr double kEpsilons[] = {1, 4};

double Normal(crypto::Random& random) {
  const double u = 1 - crypto::Uniform(random);
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * crypto::Uniform(random));
}

std::string Text(double number) { return fmt::format("{:g}", number); }

std::shared_ptr<const TextTable> Population(std::string name, std::vector<std::string> columns,
                                            const std::function<Row(crypto::Random&)>& draw) {
  auto table = std::make_shared<TextTable>(
      TextTable{.name = std::move(name), .columns = std::move(columns), .rows = {}});
  crypto::Random random = crypto::SeededRandom(1, "coverage/" + table->name);
  for (size_t i = 0; i < kPopulation; ++i) table->rows.push_back(draw(random));
  return table;
}

// Two thirds of them end in 0.
std::string Pressure(crypto::Random& random) {
  const double exact = 135 + 20 * Normal(random);
  return Text(crypto::Uniform(random) < 0.65 ? 10 * std::round(exact / 10) : std::round(exact));
}

// Some live at the time of an event, the others until the study ends or they are lost. Times are
// whole months.
Row Patient(crypto::Random& random, double months) {
  const double event = -30 * std::log(1 - crypto::Uniform(random));
  const double lost = 60 * crypto::Uniform(random);
  const bool is_woman = random.Below(2) == 1;
  const double end = std::min({event, lost, months});
  return {Text(end == months ? months : std::floor(end)), event <= end ? "1" : "0",
          is_woman ? "f" : "m"};
}

class Settings {
 public:
  // The question at every epsilon and number of rows, under every noise that it can have.
  void Add(const std::string& name, const std::shared_ptr<const TextTable>& population,
           const QuestionSpec& question, const std::vector<size_t>& rows, double floor = 0,
           const std::vector<table::AgreedValues>& values = {}) {
    for (const dp::NoiseLaw law : {dp::NoiseLaw::kGaussian, dp::NoiseLaw::kDiscreteLaplace}) {
      if (law == dp::NoiseLaw::kDiscreteLaplace && !RowOf(question.kind).is_one_hot) continue;
      for (const double epsilon : kEpsilons) {
        for (const size_t count : rows) {
          settings_.push_back({.name = name,
                               .population = population,
                               .question = question,
                               .values = values,
                               .rows = count,
                               .epsilon = epsilon,
                               .floor = floor,
                               .noise_law = law});
        }
      }
    }
  }
  std::vector<CoverageSetting> Take() { return std::move(settings_); }

 private:
  std::vector<CoverageSetting> settings_;
};

QuestionSpec Quartiles(std::string column, std::vector<double> edges) {
  return {.name = "q",
          .kind = QuestionKind::kQuantiles,
          .cells = {.column = std::move(column), .edges = std::move(edges)}};
}

QuestionSpec Variance(std::string column, double low, double high) {
  return {
      .name = "q", .kind = QuestionKind::kVariance, .columns = {{std::move(column), low, high}}};
}

QuestionSpec Survival(std::string time, std::vector<double> edges, std::string event,
                      std::string value, ColumnCellsSpec groups = {}) {
  QuestionSpec question{.name = "q",
                        .kind = QuestionKind::kSurvival,
                        .cells = {.column = std::move(time), .edges = std::move(edges)},
                        .yes = {std::move(event), std::move(value)}};
  question.groups = std::move(groups);
  return question;
}

QuestionSpec Evaluation(size_t cells, std::string label, std::string positive) {
  return {.name = "q",
          .kind = QuestionKind::kEvaluation,
          .cells = {.column = "score", .edges = EqualEdges(0, 1, cells)},
          .yes = {std::move(label), std::move(positive)}};
}

double NumberAt(const Row& row, size_t place) { return NumberOf(row[place]).value_or(0); }

size_t PlaceOf(const TextTable& table, std::string_view column) {
  return static_cast<size_t>(std::ranges::find(table.columns, column) - table.columns.begin());
}

// The group of each row; "" where the question has none.
std::function<std::string(const Row&)> GroupOf(const CoverageSetting& setting) {
  const std::string& column = setting.question.groups.column;
  if (column.empty()) return [](const Row&) { return ""; };
  return [place = PlaceOf(*setting.population, column)](const Row& row) { return row[place]; };
}

double QuantileOf(const std::vector<double>& sorted, double q) {
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

// Values of each group in order, within the bounds or, where `is_cut`, cut to them.
std::map<std::string, std::vector<double>> SortedValues(const CoverageSetting& setting,
                                                        const std::string& column, double low,
                                                        double high, bool is_cut) {
  const size_t place = PlaceOf(*setting.population, column);
  const auto group_of = GroupOf(setting);
  std::map<std::string, std::vector<double>> values;
  for (const Row& row : setting.population->rows) {
    const double value = NumberAt(row, place);
    if (is_cut || (value >= low && value <= high)) {
      values[group_of(row)].push_back(std::clamp(value, low, high));
    }
  }
  for (auto& [group, of_group] : values) std::ranges::sort(of_group);
  return values;
}

Numbers ExactQuantiles(const CoverageSetting& setting) {
  const QuestionSpec& question = setting.question;
  const std::vector<double>& edges = question.cells.edges;
  Numbers numbers;
  for (const auto& [group, values] :
       SortedValues(setting, question.cells.column, edges.front(), edges.back(), false)) {
    for (const double q : question.quantiles) {
      numbers[{"quantile", group, Text(q)}] = QuantileOf(values, q);
    }
    numbers[{"median", group, ""}] = QuantileOf(values, 0.5);
  }
  return numbers;
}

// For each variable with bounds; shares follow from counts.
Numbers ExactTable(const CoverageSetting& setting) {
  Numbers numbers;
  for (const auto& variable : setting.question.variables) {
    if (!variable.bounds.has_value()) continue;
    const std::string& at = variable.column;
    for (const auto& [group, values] :
         SortedValues(setting, at, variable.bounds->low, variable.bounds->high, true)) {
      numbers[{"lower quartile", group, at}] = QuantileOf(values, 0.25);
      numbers[{"median", group, at}] = QuantileOf(values, 0.5);
      numbers[{"upper quartile", group, at}] = QuantileOf(values, 0.75);
    }
  }
  return numbers;
}

// Kaplan-Meier and Nelson-Aalen from exact times, before each edge; at the last one with its
// events.
void AddExactCurve(std::vector<std::pair<double, bool>> rows, const std::vector<double>& edges,
                   const std::string& group, Numbers& numbers) {
  std::ranges::sort(rows);
  double survival = 1, hazard = 0;
  size_t i = 0;
  for (size_t edge = 1; edge < edges.size(); ++edge) {
    const bool is_last = edge + 1 == edges.size();
    while (i < rows.size() &&
           (rows[i].first < edges[edge] || (is_last && rows[i].first == edges[edge]))) {
      const double time = rows[i].first;
      const auto at_risk = static_cast<double>(rows.size() - i);
      double events = 0;
      for (; i < rows.size() && rows[i].first == time; ++i) events += rows[i].second ? 1 : 0;
      survival *= 1 - events / at_risk;
      hazard += events / at_risk;
    }
    numbers[{"survival", group, Text(edges[edge])}] = survival;
    numbers[{"cumulative hazard", group, Text(edges[edge])}] = hazard;
  }
}

Numbers ExactCurves(const CoverageSetting& setting) {
  const QuestionSpec& question = setting.question;
  const TextTable& table = *setting.population;
  const size_t time = PlaceOf(table, question.cells.column);
  const size_t event = PlaceOf(table, question.yes.column);
  const bool is_grouped = !question.groups.column.empty();
  const size_t group = is_grouped ? PlaceOf(table, question.groups.column) : 0;
  std::map<std::string, std::vector<std::pair<double, bool>>> rows;
  for (const Row& row : table.rows) {
    rows[is_grouped ? row[group] : ""].emplace_back(NumberAt(row, time),
                                                    row[event] == question.yes.value);
  }
  Numbers numbers;
  for (auto& [name, of_group] : rows) {
    AddExactCurve(std::move(of_group), question.cells.edges, name, numbers);
  }
  return numbers;
}

Numbers ExactMetrics(const CoverageSetting& setting) {
  const QuestionSpec& question = setting.question;
  const TextTable& table = *setting.population;
  const size_t score = PlaceOf(table, question.cells.column);
  const size_t label = PlaceOf(table, question.yes.column);
  std::map<double, std::pair<double, double>, std::greater<>> counts;  // by score, from above
  double positives = 0, negatives = 0, brier = 0, loss = 0;
  for (const Row& row : table.rows) {
    const double x = NumberAt(row, score);
    const bool is_positive = row[label] == question.yes.value;
    (is_positive ? counts[x].first : counts[x].second) += 1;
    (is_positive ? positives : negatives) += 1;
    brier += std::pow(x - (is_positive ? 1 : 0), 2);
    loss -= std::log(is_positive ? x : 1 - x);
  }
  double area = 0, precision = 0, above_p = 0, above_n = 0;
  for (const auto& [x, count] : counts) {
    const auto [p, n] = count;
    area += n * (above_p + p / 2);
    above_p += p;
    above_n += n;
    precision += p * above_p / (above_p + above_n);
  }
  const double all = positives + negatives;
  return {{{"auc", "", ""}, area / (positives * negatives)},
          {{"average precision", "", ""}, precision / positives},
          {{"brier score", "", ""}, brier / all},
          {{"log loss", "", ""}, loss / all}};
}

// 1 / (1 + exp(-margin)) as a column `score`.
std::shared_ptr<const TextTable> WithScores(TextTable table,
                                            const std::function<double(const Row&)>& margin) {
  table.columns.emplace_back("score");
  for (Row& row : table.rows) {
    row.push_back(fmt::format("{:.6f}", 1 / (1 + std::exp(-margin(row)))));
  }
  return std::make_shared<TextTable>(std::move(table));
}

}  // namespace

std::vector<CoverageSetting> DrawnSettings() {
  Settings settings;
  const std::vector<size_t> sizes = {1000, 4000};
  const auto pressures = Population("pressures", {"sbp"},
                                    [](crypto::Random& random) { return Row{Pressure(random)}; });
  settings.Add("pressures, cells of 5", pressures, Quartiles("sbp", EqualEdges(60, 220, 32)),
               sizes);
  settings.Add("pressures, cells of 10", pressures, Quartiles("sbp", EqualEdges(60, 220, 16)),
               sizes);
  settings.Add("pressures, centred tens", pressures, Quartiles("sbp", EqualEdges(55, 225, 17)),
               sizes);
  settings.Add("pressures", pressures, Variance("sbp", 60, 220), sizes);
  settings.Add("pressures from 140", pressures,
               {.name = "q", .where = {{"sbp", tacet::statistics::Comparison::kAtLeast, "140"}}},
               sizes);
  const auto ages = Population("ages", {"age"}, [](crypto::Random& random) {
    const double exact = 20 + 70 * crypto::Uniform(random);
    return Row{
        Text(crypto::Uniform(random) < 0.5 ? 10 * std::round(exact / 10) : std::floor(exact))};
  });
  settings.Add("ages, cells of 10", ages, Quartiles("age", EqualEdges(20, 90, 7)), sizes);

  const auto costs = Population("costs", {"cost"}, [](crypto::Random& random) {
    return Row{Text(std::round(std::exp(7 + 1.5 * Normal(random))))};
  });
  settings.Add("costs", costs, Quartiles("cost", EqualEdges(0, 50000, 100)), sizes);
  settings.Add("costs", costs, Variance("cost", 0, 50000), sizes);
  const auto equal = Population("equal costs", {"cost"}, [](crypto::Random& random) {
    const bool is_usual = crypto::Uniform(random) < 0.8;
    return Row{Text(is_usual ? 65000 : std::floor(500000 * crypto::Uniform(random)))};
  });
  settings.Add("equal costs", equal, Quartiles("cost", EqualEdges(0, 500000, 50)), sizes);

  const auto blood = Population("blood groups", {"group", "found"}, [](crypto::Random& random) {
    const auto group_of = [](double u) {
      return u < 0.43 ? "A" : u < 0.84 ? "0" : u < 0.95 ? "B" : "AB";
    };
    const double u = crypto::Uniform(random);
    const double again = crypto::Uniform(random) < 0.9 ? u : crypto::Uniform(random);
    return Row{group_of(u), group_of(again)};
  });
  const std::vector<std::string> groups = {"A", "0", "B", "AB"};
  settings.Add("blood groups", blood,
               {.name = "q",
                .kind = QuestionKind::kHistogram,
                .cells = {.column = "group", .categories = groups}},
               sizes, 10);
  settings.Add("blood groups found", blood,
               {.name = "q",
                .kind = QuestionKind::kCrosstab,
                .cells = {.column = "group", .categories = groups},
                .across = {.column = "found", .categories = groups}},
               sizes);

  const auto trial =
      Population("trial", {"arm", "age", "cost", "stage"}, [](crypto::Random& random) {
        const double exact = 62 + 14 * Normal(random);
        const bool is_heaped = crypto::Uniform(random) < 0.5;
        const double stage = crypto::Uniform(random);
        return Row{crypto::Uniform(random) < 0.6 ? "drug" : "placebo",
                   Text(is_heaped ? 10 * std::round(exact / 10) : std::round(exact)),
                   Text(std::round(std::exp(7 + 1.2 * Normal(random)))),
                   stage < 0.5    ? "I"
                   : stage < 0.83 ? "II"
                   : stage < 0.98 ? "III"
                                  : "IV"};
      });
  const std::vector<table::AgreedValues> stages = {
      {.column = "stage", .values = *table::CategoryList::Create({"I", "II", "III", "IV"})}};
  const ColumnCellsSpec arms = {.column = "arm", .categories = {"drug", "placebo"}};
  QuestionSpec late{.name = "q", .kind = QuestionKind::kProportion, .yes = {"stage", "IV"}};
  settings.Add("late stage", trial, late, sizes, 0, stages);
  late.groups = arms;
  settings.Add("late stage by arm", trial, late, sizes, 10, stages);
  settings.Add("stages by arm", trial,
               {.name = "q",
                .kind = QuestionKind::kHistogram,
                .cells = {.column = "stage", .categories = {"I", "II", "III", "IV"}},
                .groups = arms},
               sizes, 10);
  settings.Add("median age by arm", trial,
               {.name = "q",
                .kind = QuestionKind::kMedian,
                .cells = {.column = "age", .edges = EqualEdges(20, 110, 18)},
                .groups = arms},
               sizes);
  QuestionSpec costs_by_arm = Variance("cost", 0, 30000);
  costs_by_arm.groups = arms;
  settings.Add("costs by arm", trial, costs_by_arm, sizes);
  QuestionSpec baseline{.name = "q", .kind = QuestionKind::kTable1, .groups = arms};
  baseline.variables = {{"age", tacet::statistics::BoundedColumn{"age", 18, 100}},
                        {"cost", tacet::statistics::BoundedColumn{"cost", 0, 10000}},
                        {"stage"}};
  settings.Add("baseline by arm", trial, baseline, sizes, 10, stages);

  const ColumnCellsSpec sexes = {.column = "sex", .categories = {"f", "m"}};
  const auto study = Population("study", {"months", "died", "sex"},
                                [](crypto::Random& random) { return Patient(random, 24); });
  settings.Add("study of two years", study, Survival("months", EqualEdges(0, 24, 4), "died", "1"),
               sizes);
  settings.Add("study of two years by sex", study,
               Survival("months", EqualEdges(0, 24, 8), "died", "1", sexes), sizes, 10);

  const auto scores = Population("scores", {"x", "ill"}, [](crypto::Random& random) {
    const double x = Normal(random);
    const double ill = 1 / (1 + std::exp(1.5 - 1.2 * x));
    return Row{fmt::format("{:.3f}", x), crypto::Uniform(random) < ill ? "1" : "0"};
  });
  const auto scored =
      WithScores(*scores, [](const Row& row) { return 1.4 * NumberAt(row, 0) - 1.2; });
  settings.Add("scores, 10 cells", scored, Evaluation(10, "ill", "1"), sizes);
  settings.Add("scores, 50 cells", scored, Evaluation(50, "ill", "1"), sizes, 10);
  return settings.Take();
}

absl::StatusOr<std::vector<CoverageSetting>> SettingsOfTables(const std::filesystem::path& folder) {
  const auto load = [&folder](const char* file, const std::vector<std::string>& columns) {
    return LoadTable(folder / file, columns);
  };
  TACET_ASSIGN_OR_RETURN(TextTable lung, load("survival/lung.csv", {"time", "status", "sex"}));
  TACET_ASSIGN_OR_RETURN(
      TextTable rotterdam,
      load("survival/rotterdam.csv", {"age", "nodes", "grade", "hormon", "dtime", "death"}));
  TACET_ASSIGN_OR_RETURN(TextTable flchain,
                         load("survival/flchain.csv", {"age", "sex", "futime", "death"}));
  TACET_ASSIGN_OR_RETURN(TextTable diabetes,
                         load("sklearn/diabetes.csv", {"age", "bmi", "bp", "target"}));
  TACET_ASSIGN_OR_RETURN(TextTable cancer,
                         load("sklearn/breast_cancer.csv",
                              {"mean radius", "mean concave points", "area error", "target"}));
  Settings settings;
  const auto of_lung = std::make_shared<TextTable>(std::move(lung));
  const ColumnCellsSpec sexes = {.column = "sex", .categories = {"1", "2"}};
  for (const double floor : {0.0, 10.0}) {
    const std::vector<double> edges = EqualEdges(0, 1000, 20);
    settings.Add("lung", of_lung, Survival("time", edges, "status", "2"), {228}, floor);
    settings.Add("lung by sex", of_lung, Survival("time", edges, "status", "2", sexes), {228},
                 floor);
  }
  const auto of_rotterdam = WithScores(std::move(rotterdam), [](const Row& row) {
    return 0.2 * NumberAt(row, 1) + 0.05 * (NumberAt(row, 0) - 55) - 0.8;
  });
  settings.Add("rotterdam", of_rotterdam, Survival("dtime", EqualEdges(0, 7000, 20), "death", "1"),
               {2982});
  settings.Add("rotterdam by grade", of_rotterdam,
               Survival("dtime", EqualEdges(0, 7000, 7), "death", "1",
                        {.column = "grade", .categories = {"2", "3"}}),
               {2982}, 10);
  settings.Add("rotterdam, 20 cells", of_rotterdam, Evaluation(20, "death", "1"), {2982});
  settings.Add("rotterdam, nodes", of_rotterdam, Quartiles("nodes", EqualEdges(0, 40, 40)), {2982});
  settings.Add("rotterdam, nodes", of_rotterdam, Variance("nodes", 0, 40), {2982});
  settings.Add("rotterdam, treatment", of_rotterdam,
               {.name = "q",
                .kind = QuestionKind::kCrosstab,
                .cells = {.column = "hormon", .categories = {"0", "1"}},
                .across = {.column = "grade", .categories = {"2", "3"}}},
               {2982});
  const auto of_flchain = std::make_shared<TextTable>(std::move(flchain));
  settings.Add("flchain", of_flchain, Survival("futime", EqualEdges(0, 5000, 20), "death", "1"),
               {2000});
  settings.Add("flchain, age", of_flchain, Quartiles("age", EqualEdges(50, 105, 11)), {2000});
  const auto of_diabetes = std::make_shared<TextTable>(std::move(diabetes));
  settings.Add("diabetes, pressure", of_diabetes, Quartiles("bp", EqualEdges(60, 140, 16)), {442});
  settings.Add("diabetes, progression", of_diabetes, Quartiles("target", EqualEdges(0, 350, 14)),
               {442});
  settings.Add("diabetes, progression", of_diabetes, Variance("target", 0, 350), {442});
  const auto of_cancer = WithScores(std::move(cancer), [](const Row& row) {
    return 60 * (NumberAt(row, 1) - 0.05) + 0.5 * (NumberAt(row, 0) - 14);
  });
  settings.Add("breast cancer, 20 cells", of_cancer, Evaluation(20, "target", "0"), {569});
  settings.Add("breast cancer, area error", of_cancer,
               Quartiles("area error", EqualEdges(0, 550, 55)), {569});
  settings.Add("breast cancer, area error", of_cancer, Variance("area error", 0, 550), {569});
  return settings.Take();
}

Truth TruthOf(const CoverageSetting& setting) {
  Numbers numbers;
  switch (setting.question.kind) {
    case QuestionKind::kQuantiles:
    case QuestionKind::kMedian:
      numbers = ExactQuantiles(setting);
      break;
    case QuestionKind::kTable1:
      numbers = ExactTable(setting);
      break;
    case QuestionKind::kSurvival:
      numbers = ExactCurves(setting);
      break;
    case QuestionKind::kEvaluation:
      numbers = ExactMetrics(setting);
      break;
    default:
      break;
  }
  return [numbers = std::move(numbers)](const Estimate& estimate) -> std::optional<double> {
    const auto found = numbers.find({estimate.quantity, estimate.group, estimate.at});
    return found == numbers.end() ? std::nullopt : std::optional(found->second);
  };
}

}  // namespace tacet::app::bench
