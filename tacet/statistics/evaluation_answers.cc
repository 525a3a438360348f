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
constexpr size_t kCounts = 6;     // the first scalars
constexpr double kNobody = 1e-6;  // a count without noise that only rounding keeps from 0

// The scalars of one group, then for each cell: sensitivity and false positive rate at its lower
// edge, and precision there.
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
  return numbers;
}

// Share of positives in a cell with its interval: from unbiased counts, as Wilson's with noise
// (Fieller). All shares s with
//   ((1 - s) p - s n)^2 <= z^2 (((1 - s)^2 + s^2) e^2 + (p + n) s (1 - s)),
// e the noise's deviation in p and in n. Counts in one cell are small: a ratio's error is far from
// normal there.
struct Share {
  double value = 0;
  Range interval = {0, 1};
};
Share ShareIn(double p, double n, double noise, double deviate) {
  const double all = std::max(p + n, 0.0);
  Share share{.value = std::clamp(p / (p + n), 0.0, 1.0)};
  const double z2 = deviate * deviate, e2 = noise * noise;
  // a s^2 - 2 b s + c <= 0
  const double a = (p + n) * (p + n) - z2 * (2 * e2 - all);
  const double b = p * (p + n) + z2 * (all / 2 - e2);
  const double c = p * p - z2 * e2;
  const double root = b * b - a * c;
  if (a > 0 && root >= 0) {
    share.interval = {(b - std::sqrt(root)) / a, (b + std::sqrt(root)) / a};
  }
  return share;
}

}  // namespace

Answer AnswerEvaluation(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const size_t m = plan.cells->size();
  const size_t per_group = kScalars + 3 * m;
  const Statistic statistic = [&](std::span<const double> values) {
    std::vector<double> numbers;
    for (size_t group = 0; group < plan.group_count(); ++group) {
      const std::vector<double> of_group = MetricsOf(plan, values, group);
      numbers.insert(numbers.end(), of_group.begin(), of_group.end());
    }
    return numbers;
  };
  const std::vector<double> numbers = statistic(measured.values);
  const Errors errors = BootstrapErrors(plan, measured.values, measured.noise, statistic);
  Answer answer;
  answer.methods = {
      plan.strategy->measures_cells()
          ? "counts of each score, none below 0, with the measured totals"
          : "isotonic regression of the counts above each score (pool adjacent violators)",
      "AUC: a tie within a cell counts half; Brier score and log loss from the middle of each cell",
      "errors by parametric bootstrap",
      "observed share: ratio of unbiased counts; interval by Wilson and Fieller, with the noise"};
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
    const char* const curves[] = {"sensitivity", "false positive rate", "precision"};
    for (size_t curve = 0; curve < 3; ++curve) {
      for (size_t i = 0; i < m; ++i) {
        add({.quantity = curves[curve],
             .group = label,
             .at = fmt::format("{:g}", plan.cells->edges()[i])},
            first + kScalars + curve * m + i, false, enough, {0, 1});
      }
    }
    const std::vector<double> p = plan.strategy->Cells(measured.values.subspan(2 * group * m, m));
    const std::vector<double> n =
        plan.strategy->Cells(measured.values.subspan((2 * group + 1) * m, m));
    for (size_t i = 0; i < m; ++i) {
      Estimate labels{.quantity = "observed share", .group = label, .at = plan.cells->Label(i)};
      const double count = p[i] + n[i];
      if (!enough || !(count > kNobody) || count < measured.floor) {
        answer.estimates.push_back(std::move(labels));
        continue;
      }
      const double noise = measured.noise.stddev * plan.strategy->CellDeviation(i);
      const Share share = ShareIn(p[i], n[i], noise, NormalDeviate(measured.confidence));
      const double s = share.value;
      const double noise_error = noise * std::hypot(1 - s, s) / count;
      answer.estimates.push_back(MakeEstimate(
          labels, s, noise_error, std::sqrt(noise_error * noise_error + s * (1 - s) / count),
          share.interval, Range{0, 1}));
    }
  }
  return answer;
}

}  // namespace tacet::statistics
