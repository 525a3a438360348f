#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tacet/statistics/answer_parts.h"

namespace tacet::statistics {

namespace {

// Which cells are shown. One below the floor is not, and neither are further ones, the smallest
// first, until what the hidden ones add up to, which follows from the total, is at the floor and of
// more than one cell.
std::vector<bool> ShownCells(const std::vector<double>& cells, double floor) {
  std::vector<size_t> order(cells.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t cell) { return cells[cell]; });
  std::vector<bool> shown(cells.size(), true);
  double hidden = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool is_small = std::max(cells[order[i]], 0.0) < floor;
    if (!is_small && (i == 0 || (i > 1 && hidden >= floor))) break;
    shown[order[i]] = false;
    hidden += cells[order[i]];
  }
  return shown;
}

// Cells of one group, with their total.
struct CellCounts {
  std::vector<double> cells;
  double total = 0;
  std::vector<bool> shown;
};

CellCounts CountsOf(const Measurements& measured, size_t group) {
  const PrefixStrategy& strategy = *measured.plan.strategy;
  CellCounts counts;
  counts.cells =
      strategy.Cells(measured.values.subspan(group * strategy.cells(), strategy.cells()));
  for (const double cell : counts.cells) counts.total += cell;
  counts.shown = ShownCells(counts.cells, measured.floor);
  return counts;
}

// The share of each cell in its group.
void AddProportions(const Measurements& measured, const CellCounts& counts, size_t group,
                    Answer& answer) {
  const QuestionPlan& plan = measured.plan;
  const double error = measured.noise.stddev * plan.strategy->CellDeviation(0);
  const double of_others = error * std::sqrt(static_cast<double>(counts.cells.size() - 1));
  for (size_t i = 0; i < counts.cells.size(); ++i) {
    const Estimate labels{
        .quantity = "proportion", .group = plan.group_label(group), .at = plan.cells->Label(i)};
    const double cell = counts.cells[i];
    answer.estimates.push_back(
        counts.shown[i] && measured.IsEnough(counts.total)
            ? ShareEstimate(labels, {.value = cell, .noise_error = error},
                            {.value = counts.total - cell, .noise_error = of_others},
                            measured.noise.Deviate(measured.confidence))
            : labels);
  }
}

// For pairs of equal categories the diagonal is agreement: labels against predictions.
void AddAgreement(const Measurements& measured, const CellCounts& counts, Answer& answer) {
  const QuestionPlan& plan = measured.plan;
  const size_t across = plan.across->size();
  const double total = counts.total;
  double equal = 0;
  bool all_shown = total > 0 && total >= measured.floor;
  for (size_t i = 0; i < across; ++i) {
    equal += counts.cells[i * across + i];
    all_shown = all_shown && counts.shown[i * across + i];
  }
  const double share = equal / total;
  const double diagonal = static_cast<double>(across);
  const double others = static_cast<double>(counts.cells.size()) - diagonal;
  const double noise = measured.noise.stddev * plan.strategy->CellDeviation(0) / total *
                       std::sqrt(diagonal * (1 - share) * (1 - share) + others * share * share);
  const double sampling = std::max(share * (1 - share) / total, 0.0);
  const double standard_error = std::sqrt(noise * noise + sampling);
  const double reach = measured.noise.Deviate(measured.confidence) * standard_error;
  const Estimate labels{.quantity = "agreement"};
  answer.estimates.push_back(all_shown
                                 ? MakeEstimate(labels, share, noise, standard_error,
                                                Range{share - reach, share + reach}, Range{0, 1})
                                 : labels);
  answer.methods.emplace_back("agreement: ratio of counts; errors by the delta method");
}

}  // namespace

Estimate CountEstimate(const Measurements& measured, const Estimate& labels, double value,
                       size_t cells, bool is_shown) {
  if (!is_shown) return labels;
  const double scale = measured.plan.strategy->CellDeviation(0);
  const double error = scale * measured.noise.stddev * std::sqrt(static_cast<double>(cells));
  const double half = scale * measured.noise.Quantile(measured.confidence, cells);
  return MakeEstimate(labels, value, error, error, Range{value - half, value + half},
                      Range{0, std::numeric_limits<double>::infinity()});
}

Answer AnswerCells(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  Answer answer;
  answer.methods = {"unbiased counts; an estimate below 0 is shown as 0",
                    measured.noise.law == dp::NoiseLaw::kGaussian
                        ? "error and interval: normal, exact for the noise"
                        : "error and interval: exact for the discrete Laplace noise"};
  const size_t across = plan.across.has_value() ? plan.across->size() : 1;
  const bool has_shares = plan.groups.has_value() || !plan.spec.table.empty();
  for (size_t group = 0; group < plan.group_count(); ++group) {
    const CellCounts counts = CountsOf(measured, group);
    const std::string label = plan.group_label(group);
    answer.estimates.push_back(CountEstimate(measured, {.quantity = "count", .group = label},
                                             counts.total, counts.cells.size(),
                                             measured.IsEnough(counts.total)));
    if (!plan.cells.has_value()) return answer;
    for (size_t i = 0; i < counts.cells.size(); ++i) {
      Estimate labels{.quantity = "count", .group = label, .at = plan.cells->Label(i / across)};
      if (plan.across.has_value()) {
        labels.group = labels.at;
        labels.at = plan.across->Label(i % across);
      }
      answer.estimates.push_back(
          CountEstimate(measured, labels, counts.cells[i], 1, counts.shown[i]));
    }
    if (has_shares) AddProportions(measured, counts, group, answer);
    if (plan.across.has_value() && plan.cells->names() == plan.across->names() &&
        !plan.cells->names().empty()) {
      AddAgreement(measured, counts, answer);
    }
  }
  if (has_shares) {
    answer.methods.emplace_back(
        "proportion: ratio of counts in a group; interval by Wilson and Fieller, with the noise");
  }
  return answer;
}

}  // namespace tacet::statistics
