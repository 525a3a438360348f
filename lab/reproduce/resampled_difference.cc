#include "lab/reproduce/resampled_difference.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <boost/math/distributions/students_t.hpp>

namespace tacet::app::reproduce {

ResampledDifference ResampledDifferenceOf(std::span<const double> differences,
                                          double test_over_train) {
  ResampledDifference result{.splits = differences.size()};
  if (differences.empty()) return result;
  const auto splits = static_cast<double>(differences.size());
  result.above = static_cast<size_t>(
      std::ranges::count_if(differences, [](double difference) { return difference > 0; }));
  result.mean = std::accumulate(differences.begin(), differences.end(), 0.0) / splits;
  result.low = result.high = result.mean;
  if (differences.size() < 2) return result;
  double squares = 0;
  for (const double difference : differences) {
    squares += (difference - result.mean) * (difference - result.mean);
  }
  result.deviation = std::sqrt(squares / (splits - 1));
  result.standard_error = result.deviation * std::sqrt(1 / splits + test_over_train);
  const double reach =
      boost::math::quantile(boost::math::students_t(splits - 1), 0.975) * result.standard_error;
  result.low -= reach;
  result.high += reach;
  return result;
}

base::JsonValue ResampledDifferenceJson(const ResampledDifference& difference) {
  return base::JsonValue::MakeObject()
      .Set("mean", difference.mean)
      .Set("deviation", difference.deviation)
      .Set("standard_error", difference.standard_error)
      .Set("interval", base::JsonValue::MakeArray().Append(difference.low).Append(difference.high))
      .Set("above", static_cast<uint64_t>(difference.above))
      .Set("splits", static_cast<uint64_t>(difference.splits));
}

}  // namespace tacet::app::reproduce
