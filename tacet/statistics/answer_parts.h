// Estimators, one for each way of measuring. They see the values of one question.
#ifndef TACET_STATISTICS_ANSWER_PARTS_H_
#define TACET_STATISTICS_ANSWER_PARTS_H_

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "tacet/statistics/estimate.h"
#include "tacet/statistics/query.h"
#include "tacet/statistics/released_noise.h"

namespace tacet::statistics {

// Values of one question and what is known about them.
struct Measurements {
  const QuestionPlan& plan;
  std::span<const double> values;  // of the last release
  const ReleasedNoise& noise;
  double floor = 0;
  double confidence = 0.95;
  std::vector<std::span<const double>> releases = {};  // all of them

  // Whether a noised count is large enough to be shown, with what follows from it.
  bool IsEnough(double count) const { return std::max(count, 0.0) >= floor; }
};

Answer AnswerCells(const Measurements& measured);    // count, histogram, crosstab
Answer AnswerMoments(const Measurements& measured);  // sum, mean, variance, normalise
Answer AnswerQuantiles(const Measurements& measured);
Answer AnswerMedian(const Measurements& measured);
Answer AnswerSurvival(const Measurements& measured);
Answer AnswerEvaluation(const Measurements& measured);
Answer AnswerRegression(const Measurements& measured);
Answer AnswerGlm(const Measurements& measured);
Answer AnswerLikelihood(const Measurements& measured);  // of a model with several releases
Answer AnswerProportion(const Measurements& measured);

// The count of rows in `cells` cells that are each measured by themselves, or their sum; not shown:
// suppressed.
Estimate CountEstimate(const Measurements& measured, const Estimate& labels, double value,
                       size_t cells, bool is_shown);

// Clause of `methods` about sampling variances of a model whose units have several rows.
std::string AlikeRows(const QuestionPlan& plan);

// Adds the number of rows that were left out, and their share where the question counts rows.
// `left_out` are the values that follow `measured.values`.
void AddLeftOut(const Measurements& measured, std::span<const double> left_out, Answer& answer);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_ANSWER_PARTS_H_
