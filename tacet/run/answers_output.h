// Answers of a query as lines for the console and as a CSV table.
#ifndef TACET_RUN_ANSWERS_OUTPUT_H_
#define TACET_RUN_ANSWERS_OUTPUT_H_

#include <string>
#include <vector>

#include "tacet/statistics/estimate.h"

namespace tacet::run {

// A block for each answer. Curves of an evaluation are not shown: they are in the files.
// `in_colour` prints in red where too many rows were left out.
std::string AnswersText(const std::vector<tacet::statistics::Answer>& answers, double confidence,
                        bool in_colour = false);

// docs/formats/query.md, "answers.csv".
std::string AnswersCsv(const std::vector<tacet::statistics::Answer>& answers);

}  // namespace tacet::run

#endif  // TACET_RUN_ANSWERS_OUTPUT_H_
