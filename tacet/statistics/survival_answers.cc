#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/replicas.h"

namespace tacet::statistics {
namespace {

constexpr const char* kCurves[] = {"at risk", "survival", "cumulative hazard"};

// Events and rows exposed in each interval of one group.
struct LifeTable {
  std::vector<double> events = {};
  std::vector<double> at_risk = {};  // at its begin
  std::vector<double> exposed = {};  // the same, less half of those censored within
  double count = 0;
};

LifeTable TableOf(const QuestionPlan& plan, std::span<const double> values, size_t group) {
  const size_t length = plan.strategy->cells();
  const std::span<const double> measured = values.subspan(2 * group * length, length);
  std::vector<double> of_events(measured.begin(), measured.end());
  // Rows beyond the last interval are censored: what is measured there is noise.
  if (plan.strategy->measures_cells()) of_events.back() = 0;
  const std::vector<double> events = MonotoneSuffixes(*plan.strategy, of_events);
  const std::vector<double> censored =
      MonotoneSuffixes(*plan.strategy, values.subspan((2 * group + 1) * length, length));
  LifeTable table{.count = events[0] + censored[0]};
  for (size_t i = 0; i + 1 < length; ++i) {
    table.events.push_back(events[i] - events[i + 1]);
    table.at_risk.push_back(events[i] + censored[i]);
    table.exposed.push_back(table.at_risk.back() - (censored[i] - censored[i + 1]) / 2);
  }
  return table;
}

double Hazard(const LifeTable& table, size_t interval) {
  if (!(table.exposed[interval] > 0)) return 0;
  return std::min(table.events[interval] / table.exposed[interval], 1.0);
}

// Observed less expected events of all groups but the last, and the covariances of these numbers
// under equal hazards (hypergeometric).
struct LogRank {
  std::vector<double> difference;
  std::vector<double> covariance;
};

LogRank LogRankOf(const std::vector<LifeTable>& tables) {
  const size_t groups = tables.size() - 1;
  LogRank test{.difference = std::vector<double>(groups, 0.0),
               .covariance = std::vector<double>(groups * groups, 0.0)};
  for (size_t i = 0; i < tables[0].events.size(); ++i) {
    double events = 0, exposed = 0;
    for (const LifeTable& table : tables) {
      events += table.events[i];
      exposed += table.exposed[i];
    }
    if (!(exposed > 1) || !(events > 0)) continue;
    events = std::min(events, exposed);
    const double spread = events * (exposed - events) / (exposed - 1);
    for (size_t g = 0; g < groups; ++g) {
      const double share = tables[g].exposed[i] / exposed;
      test.difference[g] += tables[g].events[i] - events * share;
      for (size_t h = 0; h < groups; ++h) {
        const double other = tables[h].exposed[i] / exposed;
        test.covariance[g * groups + h] += spread * share * ((g == h ? 1 : 0) - other);
      }
    }
  }
  return test;
}

// x^T A^-1 x by elimination with pivots; not a number when A is singular.
double QuadraticForm(std::vector<double> a, std::vector<double> x) {
  const size_t n = x.size();
  const std::vector<double> right = x;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
    }
    if (!(std::abs(a[pivot * n + k]) > 0)) return std::nan("");
    for (size_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
    std::swap(x[k], x[pivot]);
    for (size_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      x[i] -= factor * x[k];
    }
  }
  double form = 0;
  for (size_t k = n; k-- > 0;) {
    for (size_t j = k + 1; j < n; ++j) x[k] -= a[k * n + j] * x[j];
    x[k] /= a[k * n + k];
    form += x[k] * right[k];
  }
  return form;
}

}  // namespace

Answer AnswerSurvival(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const size_t groups = plan.group_count();
  const size_t intervals = plan.cells->size();
  // First the log-rank differences, then for each group the count and for each interval rows at
  // risk, survival and cumulative hazard.
  const Statistic statistic = [&](std::span<const double> values) {
    std::vector<LifeTable> tables;
    for (size_t group = 0; group < groups; ++group) tables.push_back(TableOf(plan, values, group));
    std::vector<double> numbers = LogRankOf(tables).difference;
    for (const LifeTable& table : tables) {
      numbers.push_back(table.count);
      numbers.insert(numbers.end(), table.at_risk.begin(), table.at_risk.end());
      double survival = 1, hazard = 0;
      std::vector<double> hazards;
      for (size_t i = 0; i < intervals; ++i) {
        survival *= 1 - Hazard(table, i);
        hazard += Hazard(table, i);
        numbers.push_back(survival);
        hazards.push_back(hazard);
      }
      numbers.insert(numbers.end(), hazards.begin(), hazards.end());
    }
    return numbers;
  };
  const std::vector<double> numbers = statistic(measured.values);
  const Errors errors =
      BootstrapErrors(plan, measured.values, measured.noise, statistic, groups - 1);
  Answer answer;
  answer.methods = {
      plan.strategy->measures_cells()
          ? "events and censored rows of each interval, none below 0, with the measured totals"
          : "isotonic regression of events and of censored rows from each time on (pool adjacent "
            "violators)",
      "Kaplan-Meier and Nelson-Aalen in intervals, with the life table's half of those censored",
      "errors by parametric bootstrap"};
  const auto add = [&](const Estimate& labels, size_t place, bool enough, bool of_rows,
                       Range range) {
    answer.estimates.push_back(
        enough ? MakeEstimate(labels, numbers[place], errors.noise[place],
                              of_rows ? errors.noise[place] : errors.total[place],
                              measured.confidence, range)
               : labels);
  };
  bool all_enough = true;
  for (size_t group = 0; group < groups; ++group) {
    const std::string label = plan.groups.has_value() ? plan.groups->Label(group) : "";
    const size_t first = groups - 1 + group * (1 + 3 * intervals);
    const bool enough = numbers[first] >= measured.floor;
    all_enough = all_enough && enough;
    add({.quantity = "count", .group = label}, first, enough, true, {0, HUGE_VAL});
    for (size_t curve = 0; curve < 3; ++curve) {
      for (size_t i = 0; i < intervals; ++i) {
        const bool is_count = curve == 0;
        add({.quantity = kCurves[curve],
             .group = label,
             .at = fmt::format("{:g}", plan.cells->edges()[is_count ? i : i + 1])},
            first + 1 + curve * intervals + i, enough && numbers[first + 1 + i] >= measured.floor,
            is_count, {0, curve == 1 ? 1 : HUGE_VAL});
      }
    }
  }
  if (groups < 2) return answer;
  Estimate statistic_labels{.quantity = "log-rank chi-squared"};
  Estimate tail_labels{.quantity = "log-rank p"};
  if (all_enough) {
    std::vector<LifeTable> tables;
    for (size_t group = 0; group < groups; ++group) {
      tables.push_back(TableOf(plan, measured.values, group));
    }
    LogRank test = LogRankOf(tables);
    for (size_t i = 0; i < test.covariance.size(); ++i) {
      test.covariance[i] += errors.noise_covariance[i];
    }
    const double form = QuadraticForm(test.covariance, test.difference);
    answer.estimates.push_back(MakeEstimate(statistic_labels, form, 0, 0, measured.confidence));
    answer.estimates.push_back(
        MakeEstimate(tail_labels, ChiSquaredTail(form, groups - 1), 0, 0, measured.confidence));
    answer.methods.emplace_back(
        "log-rank: hypergeometric covariance, enlarged by that of the noise");
  } else {
    answer.estimates.push_back(statistic_labels);
    answer.estimates.push_back(tail_labels);
  }
  return answer;
}

}  // namespace tacet::statistics
