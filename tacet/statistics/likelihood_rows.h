// Parts of a row in a release of a model with several: gradient and information of its likelihood.
#ifndef TACET_STATISTICS_LIKELIHOOD_ROWS_H_
#define TACET_STATISTICS_LIKELIHOOD_ROWS_H_

#include <cstddef>
#include <span>
#include <vector>

#include "tacet/statistics/query.h"

namespace tacet::statistics {

// The addition of a row: times `weight`, to a part that begins with the question's. `x` is 1
// and the design. `coefficients` has the baseline's, then those of the design columns.
struct LikelihoodRow {
  const QuestionPlan& plan;
  std::span<const double> x;
  std::span<const double> coefficients;
  double weight = 1;
  std::span<double> part = {};
};

// Where a model with several releases begins: zeros. Rates begin at the most mean over the largest
// exposure, or the whole time of follow-up, where no row is cut.
std::vector<double> FirstCoefficients(const QuestionPlan& plan);

// The place of an interval of follow-up, from -1 for the first to 1 for the last one.
double LatenessOf(const QuestionPlan& plan, size_t interval);

// `y` in [0, 1] is the outcome.
void AddLogisticRow(const LikelihoodRow& row, double y);

// `y` in [0, 1] and `exposure` in (0, 1] are parts of their upper bounds. The row's mean is cut to
// the plan's most.
void AddPoissonRow(const LikelihoodRow& row, double y, double exposure);

// Follow-up of a row with the plan's baselines: up to `time` >= 0, where it ends with the event or
// without. It ends before, without the event, where the row's hazard adds up to the plan's most:
// that depends on nothing but the design, so it is a censoring like others. `stratum` is the place
// of the site, or 0.
void AddCoxRow(const LikelihoodRow& row, double time, bool event, size_t stratum);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_LIKELIHOOD_ROWS_H_
