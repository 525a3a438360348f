#include <cmath>
#include <span>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/replicas.h"

namespace tacet::statistics {
namespace {

// Where the distribution function reaches `quantile`, linear within a cell.
double QuantileOf(const ColumnCells& cells, std::span<const double> suffixes, double quantile) {
  if (!(suffixes[0] > 0)) return std::nan("");
  const double above = (1 - quantile) * suffixes[0];
  size_t cell = 0;
  while (cell + 1 < suffixes.size() && suffixes[cell + 1] >= above) ++cell;
  const double next = cell + 1 < suffixes.size() ? suffixes[cell + 1] : 0;
  const double share =
      suffixes[cell] > next ? (suffixes[cell] - above) / (suffixes[cell] - next) : 0;
  return cells.edges()[cell] + share * (cells.edges()[cell + 1] - cells.edges()[cell]);
}

}  // namespace

Answer AnswerQuantiles(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const Statistic statistic = [&](std::span<const double> values) {
    const std::vector<double> suffixes = MonotoneSuffixes(*plan.strategy, values);
    std::vector<double> numbers = {suffixes[0]};
    for (const double quantile : plan.spec.quantiles) {
      numbers.push_back(QuantileOf(*plan.cells, suffixes, quantile));
    }
    return numbers;
  };
  const std::vector<double> numbers = statistic(measured.values);
  const Errors errors = BootstrapErrors(plan, measured.values, measured.noise_stddev, statistic);
  Answer answer;
  answer.methods = {"isotonic regression of the counts above each edge (pool adjacent violators)",
                    "linear interpolation within a cell", "errors by parametric bootstrap"};
  const bool enough = numbers[0] >= measured.floor;
  Estimate count{.quantity = "count"};
  answer.estimates.push_back(enough
                                 ? MakeEstimate(count, numbers[0], errors.noise[0], errors.noise[0],
                                                measured.confidence, Range{0, HUGE_VAL})
                                 : count);
  for (size_t i = 0; i < plan.spec.quantiles.size(); ++i) {
    Estimate labels{.quantity = "quantile", .at = fmt::format("{:g}", plan.spec.quantiles[i])};
    const std::vector<double>& edges = plan.cells->edges();
    answer.estimates.push_back(enough ? MakeEstimate(labels, numbers[i + 1], errors.noise[i + 1],
                                                     errors.total[i + 1], measured.confidence,
                                                     Range{edges.front(), edges.back()})
                                      : labels);
  }
  return answer;
}

}  // namespace tacet::statistics
