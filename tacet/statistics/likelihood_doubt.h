// Reasons against the coefficients of a model in rounds: steps that did not end, and rows whose
// means are cut.
#ifndef TACET_STATISTICS_LIKELIHOOD_DOUBT_H_
#define TACET_STATISTICS_LIKELIHOOD_DOUBT_H_

#include <string>

#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/cholesky.h"
#include "tacet/statistics/likelihood_steps.h"

namespace tacet::statistics {

// Why the coefficients after the last step may be far from those of the largest likelihood, and
// the remedy. Empty where nothing speaks against them. `factor` is that of the pooled information.
std::string DoubtAbout(const Measurements& measured, const LikelihoodSteps& steps,
                       const Cholesky& factor);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_LIKELIHOOD_DOUBT_H_
