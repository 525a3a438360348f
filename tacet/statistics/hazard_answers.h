// Answers of a proportional-hazards model besides its coefficients: survival, and the check whether
// hazards are proportional.
#ifndef TACET_STATISTICS_HAZARD_ANSWERS_H_
#define TACET_STATISTICS_HAZARD_ANSWERS_H_

#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/likelihood_errors.h"
#include "tacet/statistics/likelihood_steps.h"

namespace tacet::statistics {

// Adds survival of the design's middle row at the end of each interval, and of each profile at as
// many times as a curve needs. The intervals are those of the logarithms of cumulative hazards.
// Without `errors` all is suppressed.
void AddModelSurvival(const Measurements& measured, const LikelihoodSteps& steps,
                      const LikelihoodErrors* errors, Answer& answer);

// Adds how much each coefficient changes from the first interval to the last one, and a test that
// none does, by the scores of the last two releases. Without `errors` all is suppressed.
void AddHazardsCheck(const Measurements& measured, const LikelihoodSteps& steps,
                     const LikelihoodErrors* errors, Answer& answer);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_HAZARD_ANSWERS_H_
