// Choice of the noise of a query that does not name it.
#ifndef TACET_STATISTICS_NOISE_CHOICE_H_
#define TACET_STATISTICS_NOISE_CHOICE_H_

#include "tacet/dp/noise_law.h"
#include "tacet/statistics/query_text.h"

namespace tacet::statistics {

// The law with the smaller errors at the file's target epsilon. It follows from the file alone, so
// all sites choose the same. Compared are the deviations of cells, and for curves of sums from a
// time or score on, by the geometric mean over the questions with their shares as weights. Gaussian
// where the noise is given, a question is not one-hot, or discrete Laplace noise is refused.
dp::NoiseLaw ChooseNoiseLaw(const QueryFile& file);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_NOISE_CHOICE_H_
