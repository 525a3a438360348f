// Answers of a query as lines for the console, as a CSV table and as plots.
#ifndef TACET_RUN_ANSWERS_OUTPUT_H_
#define TACET_RUN_ANSWERS_OUTPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "tacet/statistics/estimate.h"

namespace tacet::run {

// A block for each answer. Curves of an evaluation are left out: they are in the files.
std::string AnswersText(const std::vector<tacet::statistics::Answer>& answers, double confidence);

// docs/formats/query.md, "answers.csv".
std::string AnswersCsv(const std::vector<tacet::statistics::Answer>& answers);

// SVG of survival curves, of a ROC curve, or of counts over intervals; absent for other answers and
// where fewer than two numbers are shown.
std::optional<std::string> AnswerPlot(const tacet::statistics::Answer& answer);

}  // namespace tacet::run

#endif  // TACET_RUN_ANSWERS_OUTPUT_H_
