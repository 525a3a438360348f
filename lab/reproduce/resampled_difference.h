// Mean difference of two models over random splits, with a standard error that accounts for their
// overlap.
#ifndef TACET_LAB_REPRODUCE_RESAMPLED_DIFFERENCE_H_
#define TACET_LAB_REPRODUCE_RESAMPLED_DIFFERENCE_H_

#include <cstddef>
#include <span>

#include "tacet/base/json.h"

namespace tacet::app::reproduce {

struct ResampledDifference {
  size_t splits = 0;  // J
  size_t above = 0;   // splits whose difference is above 0
  double mean = 0;
  double deviation = 0;       // s, over the splits
  double standard_error = 0;  // of the mean
  double low = 0;             // of the 95 % interval
  double high = 0;
};

// The corrected resampled t-test (Nadeau, Bengio 2003). Training sets of random splits of the same
// data overlap, so their differences are correlated and s / sqrt(J) is too small. With n_2 test and
// n_1 training samples in a split,
//   standard error = s sqrt(1/J + n_2/n_1),
// and the interval is mean +- t_(J-1, 0.975) standard errors. `test_over_train` is n_2/n_1. With
// fewer than two splits all but the mean is 0 and the interval is the mean.
ResampledDifference ResampledDifferenceOf(std::span<const double> differences,
                                          double test_over_train);

base::JsonValue ResampledDifferenceJson(const ResampledDifference& difference);

}  // namespace tacet::app::reproduce

#endif  // TACET_LAB_REPRODUCE_RESAMPLED_DIFFERENCE_H_
