#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
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
  const std::vector<double> cells = plan.strategy->Cells(measured.values);
  const double error = measured.noise.stddev * plan.strategy->CellDeviation(0);
  Answer answer;
  answer.methods = {"unbiased counts; an estimate below 0 is shown as 0",
                    measured.noise.law == dp::NoiseLaw::kGaussian
                        ? "error and interval: normal, exact for the noise"
                        : "error and interval: exact for the discrete Laplace noise"};
  const auto add = [&](const Estimate& labels, double value, size_t count, bool shown) {
    answer.estimates.push_back(CountEstimate(measured, labels, value, count, shown));
  };
  double total = 0;
  for (const double cell : cells) total += cell;
  add({.quantity = "count"}, total, cells.size(), std::max(total, 0.0) >= measured.floor);
  if (!plan.cells.has_value()) return answer;
  const std::vector<bool> shown = ShownCells(cells, measured.floor);
  const size_t across = plan.across.has_value() ? plan.across->size() : 1;
  for (size_t i = 0; i < cells.size(); ++i) {
    Estimate labels{.quantity = "count", .at = plan.cells->Label(i / across)};
    if (plan.across.has_value()) {
      labels.group = labels.at;
      labels.at = plan.across->Label(i % across);
    }
    add(labels, cells[i], 1, shown[i]);
  }
  // Of pairs of equal categories the diagonal is agreement: labels against predictions.
  if (plan.across.has_value() && plan.cells->names() == plan.across->names() &&
      !plan.cells->names().empty()) {
    double equal = 0;
    bool all_shown = total > 0 && total >= measured.floor;
    for (size_t i = 0; i < across; ++i) {
      equal += cells[i * across + i];
      all_shown = all_shown && shown[i * across + i];
    }
    const double share = equal / total;
    const double diagonal = static_cast<double>(across);
    const double others = static_cast<double>(cells.size()) - diagonal;
    const double noise =
        error / total * std::sqrt(diagonal * (1 - share) * (1 - share) + others * share * share);
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
  return answer;
}

}  // namespace tacet::statistics
