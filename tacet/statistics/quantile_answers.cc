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

// Covariances of the noise of suffixes, at deviation 1: of each with itself, with the next one and
// with the whole.
struct SuffixNoise {
  explicit SuffixNoise(const PrefixStrategy& strategy)
      : own(strategy.SuffixCovariances(0)), next(strategy.SuffixCovariances(1)) {
    for (size_t i = 0; i <= strategy.cells(); ++i) {
      whole.push_back(strategy.SuffixCovariance(0, i));
    }
  }

  std::vector<double> own;    // of i and i, i = 0..m
  std::vector<double> next;   // of i and i + 1, i = 0..m-1
  std::vector<double> whole;  // of 0 and i, i = 0..m
};

// Values x that the release does not contradict (Woodruff's interval with noise). With w the share
// of a row above x, linear within x's cell, D(x) = sum over rows of w - (1 - q) is 0 on average for
// the population's quantile. Its variance there is that of the noise and n (q (1 - q) - f (1 - f)
// p), f the place of x in its cell and p the cell's share of the rows.
//
// D is normal where quantiles are not: a cell may hold many rows, and its neighbour few.
class QuantileInterval {
 public:
  QuantileInterval(const Measurements& measured, const SuffixNoise& noise, double quantile)
      : noise_(noise),
        edges_(measured.plan.cells->edges()),
        quantile_(quantile),
        variance_(measured.noise.stddev * measured.noise.stddev),
        deviate_(NormalDeviate(measured.confidence)),
        suffixes_(measured.plan.strategy->Suffixes(measured.values)),
        monotone_(MonotoneSuffixes(*measured.plan.strategy, measured.values)) {
    suffixes_.push_back(0);
    monotone_.push_back(0);
  }

  // From the first to the last of these values.
  Range Find() const {
    const size_t last = edges_.size() - 1;
    size_t low = 0;
    while (low < last && Excess(low, 0, 1) > 0) ++low;
    size_t high = last;
    while (high > 0 && Excess(high, 0, -1) > 0) --high;
    return {.low = low == 0 ? edges_[0] : Root(low - 1, 1),
            .high = high == last ? edges_[last] : Root(high, -1)};
  }

 private:
  // side D(x) less its allowed size.
  double Excess(size_t edge, double place, int side) const {
    const size_t cell = std::min(edge, edges_.size() - 2);
    const double f = edge == cell ? place : 1;
    const double above = 1 - quantile_;
    const double d = (1 - f) * suffixes_[cell] + f * suffixes_[cell + 1] - above * suffixes_[0];
    const double noise = (1 - f) * (1 - f) * noise_.own[cell] + f * f * noise_.own[cell + 1] +
                         above * above * noise_.own[0] + 2 * f * (1 - f) * noise_.next[cell] -
                         2 * above * ((1 - f) * noise_.whole[cell] + f * noise_.whole[cell + 1]);
    const double sampling =
        monotone_[0] * quantile_ * above - f * (1 - f) * (monotone_[cell] - monotone_[cell + 1]);
    return side * d - deviate_ * std::sqrt(variance_ * noise + std::max(sampling, 0.0));
  }
  // Where Excess changes its sign within a cell.
  double Root(size_t cell, int side) const {
    const bool sign = Excess(cell, 0, side) > 0;
    double left = 0, right = 1;
    for (int step = 0; step < 40; ++step) {
      const double middle = (left + right) / 2;
      ((Excess(cell, middle, side) > 0) == sign ? left : right) = middle;
    }
    return edges_[cell] + (left + right) / 2 * (edges_[cell + 1] - edges_[cell]);
  }

  const SuffixNoise& noise_;
  const std::vector<double>& edges_;
  double quantile_;
  double variance_;
  double deviate_;
  std::vector<double> suffixes_;
  std::vector<double> monotone_;
};

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
  answer.methods = {"isotonic regression of the counts above each edge (pool adjacent violators)",
                    "linear interpolation within a cell", "errors by parametric bootstrap",
                    "interval: all values that the noised counts do not contradict (Woodruff)"};
  const bool enough = numbers[0] >= measured.floor;
  const SuffixNoise noise(*plan.strategy);
  Estimate count{.quantity = "count"};
  answer.estimates.push_back(enough
                                 ? MakeEstimate(count, numbers[0], errors.noise[0], errors.noise[0],
                                                measured.confidence, Range{0, HUGE_VAL})
                                 : count);
  for (size_t i = 0; i < plan.spec.quantiles.size(); ++i) {
    Estimate labels{.quantity = "quantile", .at = fmt::format("{:g}", plan.spec.quantiles[i])};
    const std::vector<double>& edges = plan.cells->edges();
    answer.estimates.push_back(
        enough ? MakeEstimate(labels, numbers[i + 1], errors.noise[i + 1], errors.total[i + 1],
                              QuantileInterval(measured, noise, plan.spec.quantiles[i]).Find(),
                              Range{edges.front(), edges.back()})
               : labels);
  }
  return answer;
}

}  // namespace tacet::statistics
