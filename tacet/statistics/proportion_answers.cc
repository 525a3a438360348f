#include <algorithm>

#include "tacet/statistics/answer_parts.h"

namespace tacet::statistics {

Answer AnswerProportion(const Measurements& measured) {
  const QuestionPlan& plan = measured.plan;
  const double error = measured.noise.stddev * plan.strategy->CellDeviation(0);
  Answer answer;
  answer.methods = {"unbiased counts of rows with the value and without it",
                    "proportion: their ratio; interval by Wilson and Fieller, with the noise"};
  for (size_t group = 0; group < plan.group_count(); ++group) {
    const std::string label = plan.group_label(group);
    const double yes = plan.strategy->Total(measured.values.subspan(2 * group, 1));
    const double no = plan.strategy->Total(measured.values.subspan(2 * group + 1, 1));
    // A part that is too small follows from the other one and the sum, so both are hidden.
    const bool splits = measured.IsEnough(std::min(yes, no));
    answer.estimates.push_back(CountEstimate(measured, {.quantity = "count", .group = label},
                                             yes + no, 2, measured.IsEnough(yes + no)));
    answer.estimates.push_back(
        CountEstimate(measured, {.quantity = "positives", .group = label}, yes, 1, splits));
    const Estimate share{.quantity = "proportion", .group = label};
    answer.estimates.push_back(splits ? ShareEstimate(share, {.value = yes, .noise_error = error},
                                                      {.value = no, .noise_error = error},
                                                      measured.noise.Deviate(measured.confidence))
                                      : share);
  }
  return answer;
}

}  // namespace tacet::statistics
