// Tables of the answers that a run holds, as text.
#ifndef TACET_RUN_RUN_TABLES_H_
#define TACET_RUN_RUN_TABLES_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "tacet/run/run_reader.h"
#include "tacet/run/table_markup.h"

namespace tacet::run {

// The table of the question, or those of all questions that have one, with a blank line between.
// The answers are held against the released sum before. FailedPrecondition where the run holds no
// answers, NotFound where no question is called so, InvalidArgument where there is no table, or
// several would be one CSV file.
absl::StatusOr<std::string> TablesOfRun(const RunRecord& run,
                                        const std::optional<std::string>& question,
                                        TableMarkup markup);

}  // namespace tacet::run

#endif  // TACET_RUN_RUN_TABLES_H_
