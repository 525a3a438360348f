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

constexpr size_t kScalars = 14;
constexpr const char* kScalarNames[kScalars] = {"positives",
                                                "negatives",
                                                "true positives",
                                                "false negatives",
                                                "false positives",
                                                "true negatives",
                                                "accuracy",
                                                "sensitivity",
                                                "specificity",
                                                "precision",
                                                "auc",
                                                "average precision",
                                                "brier score",
                                                "log loss"};
constexpr size_t kCounts = 6;  // the first scalars

// The scalars of one group, then for each cell: sensitivity and false positive rate at its lower
// edge, precision there, and the share of positives within.
std::vector<double> MetricsOf(const QuestionPlan& plan, std::span<const double> values,
                              size_t group) {
  const size_t m = plan.cells->size();
  const std::vector<double>& edges = plan.cells->edges();
  const std::vector<double> above_p =
      MonotoneSuffixes(*plan.strategy, values.subspan(2 * group * m, m));
  const std::vector<double> above_n =
      MonotoneSuffixes(*plan.strategy, values.subspan((2 * group + 1) * m, m));
  const std::vector<double> in_p = CellsOfSuffixes(above_p);
  const std::vector<double> in_n = CellsOfSuffixes(above_n);
  const double positives = above_p[0], negatives = above_n[0];
  const auto threshold =
      static_cast<size_t>(std::ranges::find(edges, plan.spec.threshold) - edges.begin());
  const double true_positives = threshold < m ? above_p[threshold] : 0;
  const double false_positives = threshold < m ? above_n[threshold] : 0;
  double area = 0, brier = 0, loss = 0, average_precision = 0;
  for (size_t i = 0; i < m; ++i) {
    const double next_p = i + 1 < m ? above_p[i + 1] : 0;
    area += in_n[i] * (next_p + in_p[i] / 2);
    const double score = (edges[i] + edges[i + 1]) / 2;
    brier += in_p[i] * (1 - score) * (1 - score) + in_n[i] * score * score;
    loss -= in_p[i] * std::log(score) + in_n[i] * std::log(1 - score);
    const double chosen = above_p[i] + above_n[i];
    if (chosen > 0) average_precision += in_p[i] * above_p[i] / chosen;
  }
  const double all = positives + negatives;
  std::vector<double> numbers = {positives,
                                 negatives,
                                 true_positives,
                                 positives - true_positives,
                                 false_positives,
                                 negatives - false_positives,
                                 (true_positives + negatives - false_positives) / all,
                                 true_positives / positives,
                                 1 - false_positives / negatives,
                                 true_positives / (true_positives + false_positives),
                                 area / (positives * negatives),
                                 average_precision / positives,
                                 brier / all,
                                 loss / all};
  for (size_t i = 0; i < m; ++i) numbers.push_back(above_p[i] / positives);
  for (size_t i = 0; i < m; ++i) numbers.push_back(above_n[i] / negatives);
  for (size_t i = 0; i < m; ++i) numbers.push_back(above_p[i] / (above_p[i] + above_n[i]));
  for (size_t i = 0; i < m; ++i) numbers.push_back(in_p[i] / (in_p[i] + in_n[i]));
  return numbers;
}

// Rows of both labels in a cell, from the numbers of a group.
double CountIn(std::span<const double> numbers, size_t cells, size_t cell) {
  const auto of_label = [&](double all, size_t curve) {
    const std::span<const double> above = numbers.subspan(kScalars + curve * cells, cells);
    return all * (above[cell] - (cell + 1 < cells ? above[cell + 1] : 0));
  };
  return of_label(numbers[0], 0) + of_label(numbers[1], 1);
}

}  // namespace

Answer AnswerEvaluation(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const size_t m = plan.cells->size();
  const size_t per_group = kScalars + 4 * m;
  const Statistic statistic = [&](std::span<const double> values) {
    std::vector<double> numbers;
    for (size_t group = 0; group < plan.group_count(); ++group) {
      const std::vector<double> of_group = MetricsOf(plan, values, group);
      numbers.insert(numbers.end(), of_group.begin(), of_group.end());
    }
    return numbers;
  };
  const std::vector<double> numbers = statistic(measured.values);
  const Errors errors = BootstrapErrors(plan, measured.values, measured.noise_stddev, statistic);
  Answer answer;
  answer.methods = {
      "isotonic regression of the counts above each score (pool adjacent violators)",
      "AUC: a tie within a cell counts half; Brier score and log loss from the middle of each cell",
      "errors by parametric bootstrap"};
  for (size_t group = 0; group < plan.group_count(); ++group) {
    const std::string label = plan.groups.has_value() ? plan.groups->Label(group) : "";
    const size_t first = group * per_group;
    const bool enough = numbers[first] + numbers[first + 1] >= measured.floor;
    const auto add = [&](const Estimate& labels, size_t place, bool of_rows, bool shown,
                         Range range) {
      answer.estimates.push_back(
          shown ? MakeEstimate(labels, numbers[place], errors.noise[place],
                               of_rows ? errors.noise[place] : errors.total[place],
                               measured.confidence, range)
                : labels);
    };
    for (size_t i = 0; i < kScalars; ++i) {
      const bool is_count = i < kCounts;
      const bool is_loss = i + 1 == kScalars;
      add({.quantity = kScalarNames[i], .group = label}, first + i, is_count,
          enough && (!is_count || numbers[first + i] >= measured.floor),
          {0, is_count || is_loss ? HUGE_VAL : 1});
    }
    const char* const curves[] = {"sensitivity", "false positive rate", "precision",
                                  "observed share"};
    for (size_t curve = 0; curve < 4; ++curve) {
      for (size_t i = 0; i < m; ++i) {
        add({.quantity = curves[curve],
             .group = label,
             .at = curve < 3 ? fmt::format("{:g}", plan.cells->edges()[i]) : plan.cells->Label(i)},
            first + kScalars + curve * m + i, false,
            enough && (curve < 3 || CountIn(std::span(numbers).subspan(first, per_group), m, i) >=
                                        measured.floor),
            {0, 1});
      }
    }
  }
  return answer;
}

}  // namespace tacet::statistics
