// Answers of a query: estimates, errors and intervals from the released vector alone.
#ifndef TACET_STATISTICS_ANSWERS_H_
#define TACET_STATISTICS_ANSWERS_H_

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/json.h"
#include "tacet/statistics/estimate.h"
#include "tacet/statistics/query.h"
#include "tacet/statistics/released_noise.h"

namespace tacet::statistics {

// Names and kinds of the answers, in order: one for each question, and one for those of a table.
std::vector<Answer> QuestionsToAnswer(const Query& query);

// `released` are the sums of all sites' vectors, one for each release, with `noise` in each value.
// Answers as QuestionsToAnswer names them. InvalidArgument when the sizes differ, a value is not
// finite, or the noise's deviation is negative.
absl::StatusOr<std::vector<Answer>> AnswersOf(const Query& query, std::span<const double> released,
                                              const ReleasedNoise& noise);

// The noise of all answers, in a sentence for their readers.
std::string_view NoiseSentence(dp::NoiseLaw law);

// docs/formats/query.md.
base::JsonValue AnswersJson(const Query& query, const std::vector<Answer>& answers);

}  // namespace tacet::statistics

#endif  // TACET_STATISTICS_ANSWERS_H_
