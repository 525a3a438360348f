// Baseline characteristics by group, as the first table of a paper has them: one question of a
// file, several of the query, and one answer.
#ifndef TACET_STATISTICS_TABLE1_H_
#define TACET_STATISTICS_TABLE1_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/statistics/estimate.h"
#include "tacet/statistics/query.h"

namespace tacet::statistics {

// The questions that answer `table`, of kind table1, in equal shares of its own: the rows of each
// group; mean, standard deviation and quartiles of a variable with bounds; the agreed values of
// each other one. All charges and checks are theirs. InvalidArgument names the variable.
absl::StatusOr<std::vector<QuestionSpec>> QuestionsOfTable(const QuestionSpec& table,
                                                           const QuerySpec& query);

// The edges in which the quartiles of a variable are looked for: the bounds, and between them all
// multiples of 1, 2, 5 or 10 times a power of ten, for some 50 cells at most.
std::vector<double> TableEdges(double low, double high);

// The one answer of a table, from those of its questions: its estimates, and the table in print.
Answer TableAnswer(std::span<const QuestionPlan> questions, std::span<const Answer> answers);

// A number for people: three digits, and no exponent.
std::string ThreeDigits(double number);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_TABLE1_H_
