#include <algorithm>
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

// Values that the release does not contradict, whatever the law of the values within each cell is:
// always whole cells. A value x below the edge e can be the quantile only if at most a share 1 - q
// of the rows has e or more. D(e) = S(e) - (1 - q) S, with S(e) of S rows at e or above, is then
// not above 0 on average, and its variance is that of the noise and n q (1 - q) (Woodruff's
// interval with noise). So the interval begins at the last edge up to which every D is clearly
// above 0, and ends at the first from which every D is clearly below.
Range QuantileInterval(const Measurements& measured, double quantile) {
  const PrefixStrategy& strategy = *measured.plan.strategy;
  const std::vector<double>& edges = measured.plan.cells->edges();
  const std::vector<double> suffixes = strategy.Suffixes(measured.values);
  const double above = 1 - quantile;
  const double rows = MonotoneSuffixes(strategy, measured.values)[0];
  const double deviate = NormalDeviate(measured.confidence);
  const double variance = measured.noise.stddev * measured.noise.stddev;
  // Whether D of an edge between two cells has a sign for certain.
  const auto is_clear = [&](size_t edge, int sign) {
    const double d = suffixes[edge] - above * suffixes[0];
    const double noise = strategy.SuffixCovariance(edge, edge) +
                         above * above * strategy.SuffixCovariance(0, 0) -
                         2 * above * strategy.SuffixCovariance(0, edge);
    return sign * d > deviate * std::sqrt(variance * noise + rows * quantile * above);
  };
  const size_t last = edges.size() - 1;
  size_t low = 0, high = last;
  while (low + 1 < last && is_clear(low + 1, 1)) ++low;
  while (high > low + 1 && is_clear(high - 1, -1)) --high;
  return {.low = edges[low], .high = edges[high]};
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
  const Errors errors = BootstrapErrors(plan, measured.values, measured.noise, statistic);
  Answer answer;
  answer.methods = {
      "isotonic regression of the counts above each edge (pool adjacent violators)",
      "linear interpolation within a cell; error of the noise by parametric bootstrap",
      "interval: all cells that the noised counts do not contradict (Woodruff), for "
      "any law within a cell"};
  const bool enough = numbers[0] >= measured.floor;
  const Estimate count{.quantity = "count"};
  answer.estimates.push_back(enough
                                 ? MakeEstimate(count, numbers[0], errors.noise[0], errors.noise[0],
                                                measured.confidence, Range{0, HUGE_VAL})
                                 : count);
  for (size_t i = 0; i < plan.spec.quantiles.size(); ++i) {
    Estimate estimate{.quantity = "quantile", .at = fmt::format("{:g}", plan.spec.quantiles[i])};
    const double value = numbers[i + 1];
    if (enough && std::isfinite(value)) {
      const Range interval = QuantileInterval(measured, plan.spec.quantiles[i]);
      estimate.value = value;
      estimate.noise_error = errors.noise[i + 1];
      estimate.interval =
          Range{.low = std::min(interval.low, value), .high = std::max(interval.high, value)};
    }
    answer.estimates.push_back(std::move(estimate));
  }
  return answer;
}

}  // namespace tacet::statistics
