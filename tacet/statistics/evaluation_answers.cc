#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/replicas.h"

namespace tacet::statistics {
namespace {

// A number that the counts in cells leave open between `least` and `most`, by which scores the rows
// of a cell have. `value` takes those of the cell's middle, or a tie.
struct Bounded {
  double value = 0;
  double least = 0;
  double most = 0;
};

// The scores' metrics from the counts of one group.
struct Metrics {
  double positives = 0, negatives = 0;
  double true_positives = 0, false_positives = 0;  // at the threshold
  Bounded auc, average_precision, brier, log_loss;
  std::vector<double> above_p, above_n;  // in a cell and those above it
};

Metrics MetricsOf(const QuestionPlan& plan, std::span<const double> values, size_t group) {
  const size_t m = plan.cells->size();
  const std::vector<double>& edges = plan.cells->edges();
  Metrics found;
  found.above_p = MonotoneSuffixes(*plan.strategy, values.subspan(2 * group * m, m));
  found.above_n = MonotoneSuffixes(*plan.strategy, values.subspan((2 * group + 1) * m, m));
  const double positives = found.positives = found.above_p[0];
  const double negatives = found.negatives = found.above_n[0];
  const auto threshold =
      static_cast<size_t>(std::ranges::find(edges, plan.spec.threshold) - edges.begin());
  if (threshold < m) {
    found.true_positives = found.above_p[threshold];
    found.false_positives = found.above_n[threshold];
  }
  for (size_t i = 0; i < m; ++i) {
    const double higher_p = i + 1 < m ? found.above_p[i + 1] : 0;
    const double higher_n = i + 1 < m ? found.above_n[i + 1] : 0;
    const double p = found.above_p[i] - higher_p, n = found.above_n[i] - higher_n;
    found.auc.least += n * higher_p;
    found.auc.value += n * (higher_p + p / 2);
    found.auc.most += n * (higher_p + p);
    // Precision at each positive: all in a tie, all after the cell's negatives, all in a tie before
    // them.
    const double after = higher_p + higher_n + n;
    if (p > 0) {
      found.average_precision.value += p * (higher_p + p) / (after + p);
      found.average_precision.most += p * (higher_p + p) / (higher_p + higher_n + p);
      found.average_precision.least +=
          p - (after > 0 ? (after - higher_p) * std::log1p(p / after) : 0);
    }
    const double low = edges[i], high = edges[i + 1], middle = (low + high) / 2;
    found.brier.least += p * (1 - high) * (1 - high) + n * low * low;
    found.brier.value += p * (1 - middle) * (1 - middle) + n * middle * middle;
    found.brier.most += p * (1 - low) * (1 - low) + n * high * high;
    found.log_loss.least -= p * std::log(high) + n * std::log1p(-low);
    found.log_loss.value -= p * std::log(middle) + n * std::log1p(-middle);
  }
  const auto divide = [](Bounded& sum, double by) {
    sum = {.value = sum.value / by, .least = sum.least / by, .most = sum.most / by};
  };
  divide(found.auc, positives * negatives);
  divide(found.average_precision, positives);
  divide(found.brier, positives + negatives);
  divide(found.log_loss, positives + negatives);
  found.log_loss.most = HUGE_VAL;  // of a score that is 0 or 1
  return found;
}

// A number of the answer, and whether the counts that it follows from are at the floor.
struct Shown {
  const char* quantity;
  std::optional<size_t> edge = {};  // of the scores; absent: at the threshold, or of all
  double value = 0;
  bool is_enough = true;
  bool is_count = false;
  std::optional<Range> bounds = {};  // where the counts leave it open between these
  std::optional<double> rows = {};   // of which it is a share
};

// All numbers of one group but the observed shares, in the order of the answer.
std::vector<Shown> NumbersOf(const QuestionPlan& plan, std::span<const double> values, size_t group,
                             double floor) {
  const Metrics found = MetricsOf(plan, values, group);
  const double p = found.positives, n = found.negatives, all = p + n;
  const double tp = found.true_positives, fp = found.false_positives;
  const bool has_p = p >= floor, has_n = n >= floor, has_both = has_p && has_n;
  // A part of a class that is too small follows from the rest of it, so both are hidden.
  const auto splits = [floor](double whole, double part) {
    return part >= floor && whole - part >= floor;
  };
  const bool splits_p = has_both && splits(p, tp), splits_n = has_both && splits(n, fp);
  std::vector<Shown> numbers;
  const auto add = [&](const char* quantity, double value, bool is_enough,
                       std::optional<size_t> edge = std::nullopt) {
    numbers.push_back({.quantity = quantity, .edge = edge, .value = value, .is_enough = is_enough});
  };
  const auto add_count = [&](const char* quantity, double value, bool is_enough) {
    add(quantity, value, is_enough);
    numbers.back().is_count = true;
  };
  const auto add_share = [&](const char* quantity, double value, double rows, bool is_enough,
                             std::optional<size_t> edge = std::nullopt) {
    add(quantity, value, is_enough, edge);
    numbers.back().rows = rows;
  };
  const auto add_bounded = [&](const char* quantity, const Bounded& number) {
    add(quantity, number.value, has_both);
    numbers.back().bounds = Range{number.least, number.most};
  };
  add_count("positives", p, has_p);
  add_count("negatives", n, has_n);
  add_count("true positives", tp, splits_p);
  add_count("false negatives", p - tp, splits_p);
  add_count("false positives", fp, splits_n);
  add_count("true negatives", n - fp, splits_n);
  add_share("accuracy", (tp + n - fp) / all, all, splits_p && splits_n);
  add_share("sensitivity", tp / p, p, splits_p);
  add_share("specificity", 1 - fp / n, n, splits_n);
  add_share("precision", tp / (tp + fp), tp + fp, splits_p && splits_n);
  add_bounded("auc", found.auc);
  add_bounded("average precision", found.average_precision);
  add_bounded("brier score", found.brier);
  add_bounded("log loss", found.log_loss);
  const size_t m = plan.cells->size();
  // Above the lowest edge are all rows.
  const auto shows = [&](double whole, const std::vector<double>& above, size_t i) {
    return has_both && (i == 0 || splits(whole, above[i]));
  };
  for (size_t i = 0; i < m; ++i) {
    add_share("sensitivity", found.above_p[i] / p, p, shows(p, found.above_p, i), i);
  }
  for (size_t i = 0; i < m; ++i) {
    add_share("false positive rate", found.above_n[i] / n, n, shows(n, found.above_n, i), i);
  }
  for (size_t i = 0; i < m; ++i) {
    const double chosen = found.above_p[i] + found.above_n[i];
    add_share("precision", found.above_p[i] / chosen, chosen,
              shows(p, found.above_p, i) && shows(n, found.above_n, i), i);
  }
  return numbers;
}

// For a share among `rows`, as Wilson's with noise: all shares s with
//   (value - s)^2 <= z^2 (noise^2 + s (1 - s) / rows).
// An error at the value itself is too small where few rows are chosen, and 0 where none is.
Range IntervalOfShare(double value, double noise, double rows, double deviate) {
  const double z2 = deviate * deviate, of_rows = rows > 0 ? z2 / rows : HUGE_VAL;
  if (std::isinf(of_rows)) return {0, 1};
  // a s^2 - 2 b s + c <= 0
  const double a = 1 + of_rows, b = value + of_rows / 2, c = value * value - z2 * noise * noise;
  const double half = std::sqrt(std::max(b * b - a * c, 0.0));
  return {(b - half) / a, (b + half) / a};
}

// `place`: of the number's errors.
Estimate EstimateOf(const Shown& shown, const Estimate& labels, const Errors& errors, size_t place,
                    double confidence) {
  if (!shown.is_enough) return labels;
  const double noise = errors.noise[place], total = errors.total[place];
  if (shown.is_count) {
    return MakeEstimate(labels, shown.value, noise, noise, confidence, Range{0, HUGE_VAL});
  }
  if (!shown.bounds.has_value()) {
    return MakeEstimate(
        labels, shown.value, noise, total,
        IntervalOfShare(shown.value, noise, shown.rows.value_or(0), NormalDeviate(confidence)),
        Range{0, 1});
  }
  return MakeEstimate(
      labels, shown.value, noise, total,
      IntervalOfBounds(*shown.bounds, errors.total[place + 1], errors.total[place + 2], confidence),
      Range{0, std::isinf(shown.bounds->high) ? HUGE_VAL : 1});
}

// For positives in each cell of scores.
void AddObservedShares(const Measurements& measured, size_t group, Answer& answer) {
  const QuestionPlan& plan = measured.plan;
  const size_t m = plan.cells->size();
  const std::vector<double> p = plan.strategy->Cells(measured.values.subspan(2 * group * m, m));
  const std::vector<double> n =
      plan.strategy->Cells(measured.values.subspan((2 * group + 1) * m, m));
  for (size_t i = 0; i < m; ++i) {
    Estimate labels{
        .quantity = "observed share", .group = plan.group_label(group), .at = plan.cells->Label(i)};
    if (!measured.IsEnough(std::min(p[i], n[i]))) {
      answer.estimates.push_back(std::move(labels));
      continue;
    }
    const double noise = measured.noise.stddev * plan.strategy->CellDeviation(i);
    answer.estimates.push_back(ShareEstimate(labels, {.value = p[i], .noise_error = noise},
                                             {.value = n[i], .noise_error = noise},
                                             NormalDeviate(measured.confidence)));
  }
}

}  // namespace

Answer AnswerEvaluation(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  // For each number the value, then what bounds it where it has bounds.
  const Statistic statistic = [&](std::span<const double> values) {
    std::vector<double> numbers;
    for (size_t group = 0; group < plan.group_count(); ++group) {
      for (const Shown& shown : NumbersOf(plan, values, group, 0)) {
        numbers.push_back(shown.value);
        if (!shown.bounds.has_value()) continue;
        numbers.push_back(shown.bounds->low);
        numbers.push_back(shown.bounds->high);
      }
    }
    return numbers;
  };
  const Errors errors = BootstrapErrors(plan, measured.values, measured.noise, statistic);
  Answer answer;
  answer.methods = {
      plan.strategy->measures_cells()
          ? "counts of each score, none below 0, with the measured totals"
          : "isotonic regression of the counts above each score (pool adjacent violators)",
      "AUC: a tie within a cell counts half; Brier score and log loss from the middle of each cell",
      "errors by parametric bootstrap; intervals of AUC, average precision, Brier score and log "
      "loss hold for any scores within the cells (Imbens and Manski)",
      "accuracy, sensitivity, specificity, false positive rate, precision: interval by Wilson, "
      "with "
      "the noise",
      "observed share: ratio of unbiased counts; interval by Wilson and Fieller, with the noise"};
  size_t place = 0;
  for (size_t group = 0; group < plan.group_count(); ++group) {
    const std::string label = plan.group_label(group);
    for (const Shown& shown : NumbersOf(plan, measured.values, group, measured.floor)) {
      Estimate labels{.quantity = shown.quantity, .group = label};
      if (shown.edge.has_value()) {
        labels.at = fmt::format("{:g}", plan.cells->edges()[*shown.edge]);
      }
      answer.estimates.push_back(EstimateOf(shown, labels, errors, place, measured.confidence));
      place += shown.bounds.has_value() ? 3 : 1;
    }
    AddObservedShares(measured, group, answer);
  }
  return answer;
}

}  // namespace tacet::statistics
