#include "lab/bench/bench_statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "apps/tacet/simulate/memory_run.h"
#include "lab/bench/bench_coverage.h"
#include "lab/bench/bench_models.h"
#include "lab/bench/query_trials.h"
#include "tacet/base/status.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/run_config.h"
#include "tacet/crypto/seeded_random.h"
#include "tacet/statistics/replicas.h"
#include "tacet/training/row_scores.h"

namespace tacet::app::bench {
namespace {

using tacet::statistics::Answer;
using tacet::statistics::EqualEdges;
using tacet::statistics::Estimate;
using tacet::statistics::QuestionKind;
using tacet::statistics::QuestionSpec;

constexpr size_t kIntervals = 20;
// Rates of rejection take more runs than errors: their deviation is 1.5 points in 200.
constexpr uint64_t kMoreRuns = 5;

QuestionSpec Survival(double horizon, bool by_group) {
  QuestionSpec question{.name = "survival",
                        .kind = QuestionKind::kSurvival,
                        .cells = {.column = "time", .edges = EqualEdges(0, horizon, kIntervals)},
                        .yes = {"status", "2"}};
  if (by_group) question.groups = {.column = "sex", .categories = {"1", "2"}};
  return question;
}

double Laplace(double scale, crypto::Random& random) {
  const double u = crypto::Uniform(random) - 0.5;
  return -scale * std::copysign(std::log(1 - 2 * std::abs(u)), u);
}

// Kaplan-Meier at the ends of the intervals, from exact times.
std::vector<double> ExactSurvival(const TextTable& table, double horizon) {
  std::vector<std::pair<double, bool>> rows;
  for (const auto& row : table.rows) {
    rows.emplace_back(*tacet::statistics::NumberOf(row[0]), row[1] == "2");
  }
  std::ranges::sort(rows);
  std::vector<double> curve;
  double survival = 1;
  size_t i = 0;
  for (size_t edge = 1; edge <= kIntervals; ++edge) {
    const double end = horizon * static_cast<double>(edge) / kIntervals;
    while (i < rows.size() &&
           (rows[i].first < end || (edge == kIntervals && rows[i].first == end))) {
      const double time = rows[i].first;
      const auto at_risk = static_cast<double>(rows.size() - i);
      double deaths = 0;
      for (; i < rows.size() && rows[i].first == time; ++i) deaths += rows[i].second ? 1 : 0;
      survival *= 1 - deaths / at_risk;
    }
    curve.push_back(survival);
  }
  return curve;
}

// Curve of (events, then censored rows) of all intervals and beyond; sums of suffixes are made
// monotone as the query's are.
std::vector<double> CurveOfCounts(const std::vector<double>& counts) {
  const size_t length = kIntervals + 1;
  const tacet::statistics::PrefixStrategy cells(tacet::statistics::Measured::kCells, length, 1,
                                                0x1p-20);
  const std::span<const double> all(counts);
  const auto events = tacet::statistics::MonotoneSuffixes(cells, all.first(length));
  const auto censored = tacet::statistics::MonotoneSuffixes(cells, all.subspan(length));
  std::vector<double> curve;
  double survival = 1;
  for (size_t i = 0; i < kIntervals; ++i) {
    const double exposed = events[i] + censored[i] - (censored[i] - censored[i + 1]) / 2;
    if (exposed > 0) survival *= 1 - std::min((events[i] - events[i + 1]) / exposed, 1.0);
    curve.push_back(survival);
  }
  return curve;
}

std::vector<double> CountsOf(const TextTable& table, double horizon) {
  std::vector<double> counts(2 * (kIntervals + 1), 0.0);
  for (const auto& row : table.rows) {
    const double time = *tacet::statistics::NumberOf(row[0]);
    const bool beyond = time > horizon;
    const size_t interval =
        beyond ? kIntervals
               : std::min<size_t>(static_cast<size_t>(time / horizon * kIntervals), kIntervals - 1);
    counts[(row[1] == "2" && !beyond ? 0 : kIntervals + 1) + interval] += 1;
  }
  return counts;
}

// Median, mean and 90th percentile.
base::JsonValue Summary(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return base::JsonValue::MakeObject()
      .Set("mean", sum / static_cast<double>(values.size()))
      .Set("median", QuantileOf(values, 0.5))
      .Set("p90", QuantileOf(values, 0.9));
}

absl::StatusOr<base::JsonValue> BenchSurvival(const TextTable& lung, uint64_t runs) {
  constexpr double kHorizon = 1000;
  constexpr double kEpsilon = 1;
  TACET_ASSIGN_OR_RETURN(const QueryTrials trials,
                         QueryTrials::Create({Survival(kHorizon, false)}, kEpsilon, 1000));
  TACET_ASSIGN_OR_RETURN(const QueryTrials laplace,
                         QueryTrials::Create({Survival(kHorizon, false)}, kEpsilon, 1000, 0,
                                             dp::NoiseLaw::kDiscreteLaplace));
  const std::vector<double> truth = ExactSurvival(lung, kHorizon);
  TACET_ASSIGN_OR_RETURN(const std::vector<Answer> exact, trials.Exact(lung));
  std::vector<double> ours, ours_laplace, counts_baseline, curves_baseline;
  for (uint64_t run = 0; run < runs; ++run) {
    const std::vector<TextTable> sites = SpreadOverSites(lung, run);
    TACET_ASSIGN_OR_RETURN(const std::vector<Answer> answers, trials.Release(sites));
    ours.push_back(LargestDifference(ValuesOf(answers[0], "survival"), truth));
    TACET_ASSIGN_OR_RETURN(const std::vector<Answer> under_laplace, laplace.Release(sites));
    ours_laplace.push_back(LargestDifference(ValuesOf(under_laplace[0], "survival"), truth));
    crypto::Random random = crypto::SeededRandom(run, "bench/laplace");
    // Replacing one row moves two counts by 1 each: scale 2 / epsilon at every site.
    std::vector<double> sum(2 * (kIntervals + 1), 0.0);
    // A curve of n rows is taken to move by 1 / n in each of its points: scale m / (n epsilon).
    std::vector<double> average(kIntervals, 0.0);
    for (const TextTable& site : sites) {
      const std::vector<double> counts = CountsOf(site, kHorizon);
      for (size_t i = 0; i < counts.size(); ++i) {
        sum[i] += counts[i] + Laplace(2 / kEpsilon, random);
      }
      const std::vector<double> curve = ExactSurvival(site, kHorizon);
      const double scale = kIntervals / (static_cast<double>(site.rows.size()) * kEpsilon);
      for (size_t i = 0; i < kIntervals; ++i) {
        average[i] += (curve[i] + Laplace(scale, random)) / kSites;
      }
    }
    counts_baseline.push_back(LargestDifference(CurveOfCounts(sum), truth));
    for (size_t i = 0; i < kIntervals; ++i) {
      average[i] = std::clamp(average[i], 0.0, i > 0 ? average[i - 1] : 1.0);
    }
    curves_baseline.push_back(LargestDifference(average, truth));
  }
  return base::JsonValue::MakeObject()
      .Set("rows", lung.rows.size())
      .Set("epsilon", kEpsilon)
      .Set("noise_multiplier", trials.noise())
      .Set("without_noise", LargestDifference(ValuesOf(exact[0], "survival"), truth))
      .Set("sup_error", Summary(ours))
      .Set("sup_error_discrete_laplace", Summary(ours_laplace))
      .Set("laplace_on_site_counts", Summary(counts_baseline))
      .Set("laplace_on_site_curves", Summary(curves_baseline));
}

// Share of tests that reject at 5 %.
absl::StatusOr<base::JsonValue> BenchLogRank(const TextTable& lung, uint64_t runs) {
  base::JsonValue rows = base::JsonValue::MakeArray();
  for (const double epsilon : {0.5, 1.0, 4.0}) {
    TACET_ASSIGN_OR_RETURN(const QueryTrials trials,
                           QueryTrials::Create({Survival(1000, true)}, epsilon, 1000));
    base::JsonValue row = base::JsonValue::MakeObject().Set("epsilon", epsilon);
    for (const bool at_random : {true, false}) {
      double rejected = 0;
      for (uint64_t run = 0; run < runs; ++run) {
        TextTable table = lung;
        if (at_random) {
          crypto::Random random = crypto::SeededRandom(run, "bench/groups");
          for (auto& fields : table.rows) fields[2].assign(1, random.Below(2) == 0 ? '1' : '2');
        }
        TACET_ASSIGN_OR_RETURN(const std::vector<Answer> answers,
                               trials.Release(SpreadOverSites(table, run)));
        const auto p = Find(answers[0], "log-rank p");
        rejected += p.has_value() && *p->value < 0.05 ? 1 : 0;
      }
      row.Set(at_random ? "rejected_for_random_groups" : "rejected_for_the_sexes",
              rejected / static_cast<double>(runs));
    }
    rows.Append(std::move(row));
  }
  return rows;
}

absl::StatusOr<base::JsonValue> BenchAuc(const BenchStatisticsSpec& spec) {
  TACET_ASSIGN_OR_RETURN(config::RunConfig config,
                         config::LoadRunConfig((spec.configs / "heart-disease.toml").string()));
  config.data.path = (spec.data / "heart-disease").string();
  config.run.insecure_seed = 1;
  TACET_ASSIGN_OR_RETURN(const data::Dataset dataset, config::LoadRunData(config));
  TACET_ASSIGN_OR_RETURN(const app::simulate::MemoryRun trained,
                         app::simulate::TrainInMemory(config, dataset));
  TACET_ASSIGN_OR_RETURN(const models::Architecture architecture,
                         models::Architecture::Create({.model = config.model.name,
                                                       .input_shape = dataset.input_shape(),
                                                       .hidden = config.model.hidden,
                                                       .classes = dataset.classes()}));
  std::vector<TextTable> sites;
  double margin_auc = 0;
  std::vector<uint32_t> all;
  for (uint64_t site = 0; site < dataset.clients(); ++site) {
    const std::span<const uint32_t> rows = dataset.rows(site);
    all.insert(all.end(), rows.begin(), rows.end());
    TACET_ASSIGN_OR_RETURN(const std::vector<double> margins,
                           training::Margins(architecture, trained.model, dataset, rows));
    TextTable& table = sites.emplace_back(
        TextTable{.name = dataset.client_name(site), .columns = {"score", "label"}, .rows = {}});
    for (size_t i = 0; i < rows.size(); ++i) {
      table.rows.push_back({fmt::format("{:.6f}", 1 / (1 + std::exp(-margins[i]))),
                            fmt::format("{}", dataset.label(rows[i]))});
    }
  }
  TACET_ASSIGN_OR_RETURN(const std::vector<double> margins,
                         training::Margins(architecture, trained.model, dataset, all));
  margin_auc = training::QualityOf(margins, dataset, all).auc.value_or(0);
  base::JsonValue rows = base::JsonValue::MakeArray();
  for (const double epsilon : {0.5, 1.0, 2.0, 4.0}) {
    TACET_ASSIGN_OR_RETURN(
        const QueryTrials trials,
        QueryTrials::Create({{.name = "model",
                              .kind = QuestionKind::kEvaluation,
                              .cells = {.column = "score", .edges = EqualEdges(0, 1, 20)},
                              .yes = {"label", "1"}}},
                            epsilon, 1000));
    std::vector<double> errors;
    double within = 0, covered = 0;
    for (uint64_t run = 0; run < spec.runs; ++run) {
      TACET_ASSIGN_OR_RETURN(const std::vector<Answer> answers, trials.Release(sites));
      const auto auc = Find(answers[0], "auc");
      const double error = auc.has_value() ? std::abs(*auc->value - margin_auc) : 1;
      errors.push_back(error);
      within += error <= 0.01 ? 1 : 0;
      covered += auc.has_value() && error <= 1.959964 * *auc->noise_error ? 1 : 0;
    }
    const auto count = static_cast<double>(spec.runs);
    rows.Append(base::JsonValue::MakeObject()
                    .Set("epsilon", epsilon)
                    .Set("auc", margin_auc)
                    .Set("error", Summary(errors))
                    .Set("within_0.01", within / count)
                    .Set("noise_interval_covers", covered / count));
  }
  return rows;
}

absl::StatusOr<base::JsonValue> BenchBins() {
  constexpr size_t kRowsASite = 5000;  // and max_units
  TACET_ASSIGN_OR_RETURN(
      const QueryTrials trials,
      QueryTrials::Create({{.name = "bins",
                            .kind = QuestionKind::kHistogram,
                            .cells = {.column = "x", .edges = EqualEdges(0, 1, 10000)}}},
                          1, kRowsASite));
  TextTable table{.name = "drawn", .columns = {"x"}, .rows = {}};
  crypto::Random random = crypto::SeededRandom(1, "bench/bins");
  for (size_t i = 0; i < kSites * kRowsASite; ++i) {
    table.rows.push_back({fmt::format("{:.6f}", crypto::Uniform(random))});
  }
  base::JsonValue json = base::JsonValue::MakeObject();
  TACET_RETURN_IF_ERROR(
      trials
          .Release(SpreadOverSites(table, 1),
                   [&json](const simulation::RoundRecord& record) {
                     json.Set("upload_bytes", record.upload_bytes)
                         .Set("sum_ms_a_site", 1e3 * record.seconds.train / kSites)
                         .Set("seal_ms_a_site", 1e3 * record.seconds.seal / kSites)
                         .Set("decrypt_ms", 1e3 * record.seconds.open);
                   })
          .status());
  return json.Set("bins", 10000).Set("rows_a_site", kRowsASite);
}

}  // namespace

absl::StatusOr<base::JsonValue> BenchStatistics(const BenchStatisticsSpec& spec) {
  base::JsonValue json = base::JsonValue::MakeObject().Set("runs", spec.runs);
  TACET_ASSIGN_OR_RETURN(const TextTable lung, LoadTable(spec.data / "survival" / "lung.csv",
                                                         {"time", "status", "sex", "age"}));
  const auto asked = [&spec](std::string_view part) {
    return spec.part.empty() || spec.part == part;
  };
  if (asked("bins")) {
    TACET_ASSIGN_OR_RETURN(base::JsonValue bins, BenchBins());
    json.Set("bins", std::move(bins));
  }
  if (asked("survival")) {
    TACET_ASSIGN_OR_RETURN(base::JsonValue survival, BenchSurvival(lung, spec.runs));
    json.Set("survival", std::move(survival));
  }
  if (asked("log-rank")) {
    TACET_ASSIGN_OR_RETURN(base::JsonValue log_rank, BenchLogRank(lung, kMoreRuns * spec.runs));
    json.Set("log_rank", std::move(log_rank));
  }
  if (asked("coverage")) {
    TACET_ASSIGN_OR_RETURN(base::JsonValue coverage, BenchIntervals(spec.data, spec.runs));
    json.Set("coverage", std::move(coverage));
  }
  for (const std::string_view part : {"models", "logistic", "poisson", "cox"}) {
    if (!asked(part)) continue;
    TACET_ASSIGN_OR_RETURN(base::JsonValue models, BenchModels(spec.data, part, spec.runs));
    json.Set(part, std::move(models));
  }
  if (asked("auc")) {
    TACET_ASSIGN_OR_RETURN(base::JsonValue auc, BenchAuc(spec));
    json.Set("auc", std::move(auc));
  }
  return json;
}

}  // namespace tacet::app::bench
