#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tacet/statistics/answer_parts.h"

namespace tacet::statistics {

Answer AnswerCells(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> cells = plan.strategy->Cells(measured.values);
  const double error = measured.noise_stddev * plan.strategy->CellDeviation(0);
  Answer answer;
  answer.methods = {"unbiased counts; an estimate below 0 is shown as 0",
                    "error and interval: normal, exact for the noise"};
  const auto add = [&](const Estimate& labels, double value, double deviation) {
    if (std::max(value, 0.0) < measured.floor) {
      answer.estimates.push_back(labels);
      return;
    }
    answer.estimates.push_back(
        MakeEstimate(labels, value, deviation, deviation, measured.confidence, Range{0, infinity}));
  };
  if (plan.spec.kind == QuestionKind::kCount) {
    add({.quantity = "count"}, cells[0], error);
    return answer;
  }
  double total = 0;
  for (const double cell : cells) total += cell;
  add({.quantity = "count"}, total, error * std::sqrt(static_cast<double>(cells.size())));
  const size_t across = plan.across.has_value() ? plan.across->size() : 1;
  for (size_t i = 0; i < cells.size(); ++i) {
    Estimate labels{.quantity = "count", .at = plan.cells->Label(i / across)};
    if (plan.across.has_value()) {
      labels.group = labels.at;
      labels.at = plan.across->Label(i % across);
    }
    add(labels, cells[i], error);
  }
  // Of pairs of equal categories the diagonal is agreement: labels against predictions.
  if (plan.across.has_value() && plan.cells->names() == plan.across->names() &&
      !plan.cells->names().empty()) {
    double equal = 0;
    for (size_t i = 0; i < across; ++i) equal += cells[i * across + i];
    const double n = total;
    const double share = equal / n;
    const double diagonal = static_cast<double>(across);
    const double others = static_cast<double>(cells.size()) - diagonal;
    const double noise =
        error / n * std::sqrt(diagonal * (1 - share) * (1 - share) + others * share * share);
    const double sampling = share * (1 - share) / n;
    if (n >= measured.floor && n > 0) {
      answer.estimates.push_back(MakeEstimate({.quantity = "agreement"}, share, noise,
                                              std::sqrt(noise * noise + std::max(sampling, 0.0)),
                                              measured.confidence, Range{0, 1}));
      answer.methods.emplace_back("agreement: ratio of counts; errors by the delta method");
    }
  }
  return answer;
}

}  // namespace tacet::statistics
