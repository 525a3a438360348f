#include "lab/bench/bench_coverage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/bench/query_trials.h"
#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"

namespace tacet::app::bench {
namespace {

using tacet::statistics::Answer;
using tacet::statistics::EqualEdges;
using tacet::statistics::Estimate;
using tacet::statistics::QuestionKind;
using tacet::statistics::QuestionSpec;

constexpr double kFloor = 20;
// Rows of all sites together. The table has 2,982.
constexpr size_t kSizes[] = {500, 2982, 12000};

// Questions of every kind about rotterdam.csv, one query each. `score` is a prognostic score that
// AddScores makes.
std::vector<QuestionSpec> QuestionsOfEveryKind() {
  const tacet::statistics::ColumnCellsSpec grades = {.column = "grade", .categories = {"2", "3"}};
  const tacet::statistics::ColumnCellsSpec yes_no = {.column = "hormon", .categories = {"0", "1"}};
  QuestionSpec survival{.name = "q",
                        .kind = QuestionKind::kSurvival,
                        .cells = {.column = "dtime", .edges = EqualEdges(0, 6000, 20)},
                        .event = {"death", "1"}};
  QuestionSpec evaluation{.name = "q",
                          .kind = QuestionKind::kEvaluation,
                          .cells = {.column = "score", .edges = EqualEdges(0, 1, 20)},
                          .positive = {"death", "1"}};
  survival.groups = evaluation.groups = grades;
  return {{.name = "q",
           .kind = QuestionKind::kCount,
           .where = {{"chemo", tacet::statistics::Comparison::kEqual, "1"}}},
          {.name = "q", .kind = QuestionKind::kSum, .columns = {{"age", 20, 100}}},
          {.name = "q", .kind = QuestionKind::kMean, .columns = {{"age", 20, 100}}},
          {.name = "q", .kind = QuestionKind::kVariance, .columns = {{"age", 20, 100}}},
          {.name = "q",
           .kind = QuestionKind::kNormalise,
           .columns = {{"age", 20, 100}, {"dtime", 0, 8000}}},
          {.name = "q",
           .kind = QuestionKind::kHistogram,
           .cells = {.column = "age", .edges = EqualEdges(20, 100, 8)}},
          {.name = "q",
           .kind = QuestionKind::kCrosstab,
           .cells = yes_no,
           .across = {.column = "chemo", .categories = {"0", "1"}}},
          {.name = "q",
           .kind = QuestionKind::kQuantiles,
           .cells = {.column = "age", .edges = EqualEdges(20, 100, 80)}},
          std::move(survival),
          std::move(evaluation),
          {.name = "q",
           .kind = QuestionKind::kRegression,
           .columns = {{"age", 30, 85}, {"nodes", 0, 15}},
           .positive = {"death", "1"}}};
}

// P(death) of a logistic curve in the number of nodes and the age: it need not be a good one.
void AddScores(TextTable& table) {
  const auto place = [&table](std::string_view column) {
    return static_cast<size_t>(std::ranges::find(table.columns, column) - table.columns.begin());
  };
  const size_t nodes = place("nodes"), age = place("age");
  table.columns.emplace_back("score");
  for (auto& row : table.rows) {
    const double margin = 0.2 * *tacet::statistics::NumberOf(row[nodes]) +
                          0.05 * (*tacet::statistics::NumberOf(row[age]) - 55) - 0.8;
    row.push_back(fmt::format("{:.6f}", 1 / (1 + std::exp(-margin))));
  }
}

// Quantities about the rows themselves; the others are about the population that they are from.
bool IsOfRows(std::string_view quantity) {
  constexpr std::string_view kOfRows[] = {"count",           "sum",
                                          "at risk",         "positives",
                                          "negatives",       "true positives",
                                          "false negatives", "false positives",
                                          "true negatives"};
  return std::ranges::find(kOfRows, quantity) != std::end(kOfRows);
}

// Share of 95 % intervals that hold the truth, by quantity: for numbers about the rows that of the
// rows drawn, else that of the whole table, from which each run draws as many rows with
// replacement.
absl::StatusOr<base::JsonValue> Coverage(const TextTable& table, size_t rows, QuestionSpec question,
                                         double epsilon, uint64_t runs) {
  TACET_ASSIGN_OR_RETURN(
      const QueryTrials trials,
      QueryTrials::Create({std::move(question)}, epsilon, std::max<size_t>(rows, 1000), kFloor));
  TACET_ASSIGN_OR_RETURN(const std::vector<Answer> truth, trials.Exact(table));
  struct Tally {
    double covered = 0, all = 0;
  };
  std::map<std::string, Tally> tallies;
  crypto::Random random = crypto::SeededRandom(1, "bench/coverage");
  for (uint64_t run = 0; run < runs; ++run) {
    const TextTable drawn = Resampled(table, rows, random);
    TACET_ASSIGN_OR_RETURN(const std::vector<Answer> of_rows, trials.Exact(drawn));
    TACET_ASSIGN_OR_RETURN(const std::vector<Answer> answers,
                           trials.Release(SpreadOverSites(drawn, run)));
    const std::vector<Estimate>& estimates = answers[0].estimates;
    for (size_t i = 0; i < estimates.size(); ++i) {
      const Estimate& estimate = estimates[i];
      if (estimate.quantity.starts_with("log-rank")) continue;
      const Estimate& right = (IsOfRows(estimate.quantity) ? of_rows : truth)[0].estimates[i];
      if (!estimate.value.has_value() || !right.value.has_value()) continue;
      Tally& tally = tallies[estimate.quantity];
      tally.all += 1;
      tally.covered += estimate.low <= *right.value && *right.value <= estimate.high ? 1 : 0;
    }
  }
  base::JsonValue json = base::JsonValue::MakeObject()
                             .Set("kind", QuestionKindName(truth[0].kind))
                             .Set("rows", rows)
                             .Set("epsilon", epsilon);
  for (const auto& [quantity, tally] : tallies) json.Set(quantity, tally.covered / tally.all);
  return json;
}

}  // namespace

absl::StatusOr<base::JsonValue> BenchIntervals(const std::filesystem::path& folder, uint64_t runs) {
  TACET_ASSIGN_OR_RETURN(const TextTable lung,
                         LoadTable(folder / "lung.csv", {"time", "status", "sex"}));
  TACET_ASSIGN_OR_RETURN(TextTable rotterdam,
                         LoadTable(folder / "rotterdam.csv",
                                   {"age", "grade", "nodes", "hormon", "chemo", "dtime", "death"}));
  AddScores(rotterdam);
  base::JsonValue kinds = base::JsonValue::MakeArray();
  for (const size_t rows : kSizes) {
    for (const double epsilon : {0.5, 1.0, 4.0}) {
      for (const QuestionSpec& question : QuestionsOfEveryKind()) {
        TACET_ASSIGN_OR_RETURN(base::JsonValue kind,
                               Coverage(rotterdam, rows, question, epsilon, runs));
        kinds.Append(std::move(kind));
      }
    }
  }
  const QuestionSpec of_sexes = {.name = "lung",
                                 .kind = QuestionKind::kSurvival,
                                 .cells = {.column = "time", .edges = EqualEdges(0, 1000, 20)},
                                 .groups = {.column = "sex", .categories = {"1", "2"}},
                                 .event = {"status", "2"}};
  TACET_ASSIGN_OR_RETURN(base::JsonValue few, Coverage(lung, lung.rows.size(), of_sexes, 4, runs));
  return base::JsonValue::MakeObject()
      .Set("runs", runs)
      .Set("rotterdam", std::move(kinds))
      .Set("lung", std::move(few));
}

}  // namespace tacet::app::bench
