#include "tacet/run/run_tables.h"

#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "tacet/base/status.h"
#include "tacet/run/answer_check.h"
#include "tacet/run/paper_table.h"

namespace tacet::run {

using tacet::statistics::Answer;

absl::StatusOr<std::string> TablesOfRun(const RunRecord& run,
                                        const std::optional<std::string>& question,
                                        TableMarkup markup) {
  TACET_ASSIGN_OR_RETURN(const std::optional<RunAnswers> found, AnswersOfRun(run));
  if (!found.has_value()) {
    return base::FailedPrecondition(
        "{} holds no answers: give the run directory of a query that has ended", run.path.string());
  }
  const base::JsonValue* stated = found->answers.Find("confidence");
  if (stated == nullptr) return base::DataLoss("answers.json lacks \"confidence\"");
  TACET_ASSIGN_OR_RETURN(const double confidence, stated->AsDouble());
  std::vector<std::string> names, texts;
  for (const Answer& answer : found->computed) {
    names.push_back(answer.question);
    const bool is_asked =
        question.has_value() ? answer.question == *question : HasPaperTable(answer);
    if (!is_asked) continue;
    TACET_ASSIGN_OR_RETURN(const PaperTable table, PaperTableOf(answer, confidence));
    texts.push_back(TableText(table, markup));
  }
  if (texts.empty() && question.has_value()) {
    return base::NotFound("no question is called \"{}\"; there are: {}", *question,
                          fmt::join(names, ", "));
  }
  if (texts.empty()) {
    return base::InvalidArgument(
        "no answer in {} has a table: only table1 and models with intervals do", run.path.string());
  }
  if (texts.size() > 1 && markup == TableMarkup::kCsv) {
    return base::InvalidArgument("a CSV file holds one table, and the run has {}: add --question",
                                 texts.size());
  }
  return fmt::format("{}", fmt::join(texts, "\n"));
}

}  // namespace tacet::run
