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
  const double error = measured.noise.stddev * plan.strategy->CellDeviation(0);
  Answer answer;
  answer.methods = {"unbiased counts; an estimate below 0 is shown as 0",
                    measured.noise.law == dp::NoiseLaw::kGaussian
                        ? "error and interval: normal, exact for the noise"
                        : "error and interval: exact for the discrete Laplace noise"};
  // Of the sum of so many cells.
  const auto add = [&](const Estimate& labels, double value, size_t count, double half) {
    const double deviation = error * std::sqrt(static_cast<double>(count));
    if (std::max(value, 0.0) < measured.floor) {
      answer.estimates.push_back(labels);
      return;
    }
    answer.estimates.push_back(MakeEstimate(labels, value, deviation, deviation,
                                            Range{value - half, value + half}, Range{0, infinity}));
  };
  const double scale = plan.strategy->CellDeviation(0);
  const double half = scale * measured.noise.Quantile(measured.confidence);
  if (plan.spec.kind == QuestionKind::kCount) {
    add({.quantity = "count"}, cells[0], 1, half);
    return answer;
  }
  double total = 0;
  for (const double cell : cells) total += cell;
  add({.quantity = "count"}, total, cells.size(),
      scale * measured.noise.Quantile(measured.confidence, cells.size()));
  const size_t across = plan.across.has_value() ? plan.across->size() : 1;
  for (size_t i = 0; i < cells.size(); ++i) {
    Estimate labels{.quantity = "count", .at = plan.cells->Label(i / across)};
    if (plan.across.has_value()) {
      labels.group = labels.at;
      labels.at = plan.across->Label(i % across);
    }
    add(labels, cells[i], 1, half);
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
      const double standard_error = std::sqrt(noise * noise + std::max(sampling, 0.0));
      const double reach = measured.noise.Deviate(measured.confidence) * standard_error;
      answer.estimates.push_back(MakeEstimate({.quantity = "agreement"}, share, noise,
                                              standard_error, Range{share - reach, share + reach},
                                              Range{0, 1}));
      answer.methods.emplace_back("agreement: ratio of counts; errors by the delta method");
    }
  }
  return answer;
}

}  // namespace tacet::statistics
