#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
Range QuantileInterval(const Measurements& measured, std::span<const double> values,
                       double quantile) {
  const PrefixStrategy& strategy = *measured.plan.strategy;
  const std::vector<double>& edges = measured.plan.cells->edges();
  const std::vector<double> suffixes = strategy.Suffixes(values);
  const double above = 1 - quantile;
  const double rows = MonotoneSuffixes(strategy, values)[0];
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

// For each group the count, then the quantiles, each called `quantity` and, where it has a list, by
// its share.
Answer AnswerQuantilesAt(const Measurements& measured, std::span<const double> quantiles,
                         std::string_view quantity) {
  const QuestionPlan& plan = measured.plan;
  const size_t length = plan.strategy->cells();
  const Statistic statistic = [&](std::span<const double> values) {
    std::vector<double> numbers;
    for (size_t group = 0; group < plan.group_count(); ++group) {
      const std::vector<double> suffixes =
          MonotoneSuffixes(*plan.strategy, values.subspan(group * length, length));
      numbers.push_back(suffixes[0]);
      for (const double quantile : quantiles) {
        numbers.push_back(QuantileOf(*plan.cells, suffixes, quantile));
      }
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
  size_t place = 0;
  for (size_t group = 0; group < plan.group_count(); ++group) {
    const std::string label = plan.group_label(group);
    const bool enough = numbers[place] >= measured.floor;
    const Estimate count{.quantity = "count", .group = label};
    answer.estimates.push_back(enough ? MakeEstimate(count, numbers[place], errors.noise[place],
                                                     errors.noise[place], measured.confidence,
                                                     Range{0, HUGE_VAL})
                                      : count);
    ++place;
    for (const double quantile : quantiles) {
      Estimate estimate{.quantity = std::string(quantity),
                        .group = label,
                        .at = plan.kind().takes_quantiles ? fmt::format("{:g}", quantile) : ""};
      const double value = numbers[place];
      if (enough && std::isfinite(value)) {
        const Range interval =
            QuantileInterval(measured, measured.values.subspan(group * length, length), quantile);
        estimate.value = value;
        estimate.noise_error = errors.noise[place];
        estimate.interval =
            Range{.low = std::min(interval.low, value), .high = std::max(interval.high, value)};
      }
      answer.estimates.push_back(std::move(estimate));
      ++place;
    }
  }
  return answer;
}

}  // namespace

Answer AnswerQuantiles(const Measurements& measured) {
  return AnswerQuantilesAt(measured, measured.plan.spec.quantiles, "quantile");
}

Answer AnswerMedian(const Measurements& measured) {
  return AnswerQuantilesAt(measured, std::vector<double>{0.5}, "median");
}

}  // namespace tacet::statistics
