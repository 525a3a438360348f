#include "tacet/accounting/true_positive_rate.h"

#include <algorithm>
#include <cmath>

#include "tacet/accounting/epsilon_bounds.h"
#include "tacet/base/status.h"

namespace tacet::accounting {

double TruePositiveRateAt(double epsilon, double delta, double false_positive_rate) {
  return std::min({1.0, std::exp(epsilon) * false_positive_rate + delta,
                   1 - std::exp(-epsilon) * (1 - delta - false_positive_rate)});
}

absl::StatusOr<double> MaxTruePositiveRate(const std::vector<RepeatedEvent>& stream,
                                           double false_positive_rate) {
  if (!(false_positive_rate > 0 && false_positive_rate < 1)) {
    return base::InvalidArgument("the false-positive rate is {}, expected above 0 and below 1",
                                 false_positive_rate);
  }
  // Every delta gives a valid bound; a golden section finds a good one.
  double best = 1;
  const auto bound_at = [&](double log_delta) -> absl::StatusOr<double> {
    const double delta = std::exp(log_delta);
    TACET_ASSIGN_OR_RETURN(const double epsilon, UpperEpsilon(stream, delta));
    best = std::min(best, TruePositiveRateAt(epsilon, delta, false_positive_rate));
    return std::exp(epsilon) * false_positive_rate + delta;
  };
  constexpr double kGolden = 0.6180339887498949;
  double low = std::log(1e-6);
  double high = std::log(0.95);
  double a = high - kGolden * (high - low);
  double b = low + kGolden * (high - low);
  TACET_ASSIGN_OR_RETURN(double at_a, bound_at(a));
  TACET_ASSIGN_OR_RETURN(double at_b, bound_at(b));
  while (high - low > 0.02) {
    if (at_a < at_b) {
      high = b;
      b = a;
      at_b = at_a;
      a = high - kGolden * (high - low);
      TACET_ASSIGN_OR_RETURN(at_a, bound_at(a));
    } else {
      low = a;
      a = b;
      at_a = at_b;
      b = low + kGolden * (high - low);
      TACET_ASSIGN_OR_RETURN(at_b, bound_at(b));
    }
  }
  return best;
}

}  // namespace tacet::accounting
