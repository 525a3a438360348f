#include "tacet/statistics.h"

#include "tacet/base/status.h"
#include "tacet/base/text_sink.h"
#include "tacet/config/agreed_query.h"
#include "tacet/run/query_run.h"
#include "tacet/run/site_tables.h"

namespace tacet {

absl::StatusOr<Run> Ask(std::string_view query, const SiteTables& tables,
                        const QueryOptions& options) {
  if (options.threads == 0U) return base::InvalidArgument("threads is 0, expected 1 or more");
  TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded, config::ParseQuery(query, "the query"));
  table::ProblemSummary problems;
  TACET_ASSIGN_OR_RETURN(const run::TableFormats formats,
                         run::RehearsalFormats(loaded.file, options.sites));
  TACET_ASSIGN_OR_RETURN(const auto rows, run::LoadSiteTables(tables.path(), loaded.file,
                                                              *loaded.query, formats, problems));
  if (options.on_data_problem) {
    for (const std::string& line : run::ProblemLines(problems)) options.on_data_problem(line);
  }
  const run::QueryRunOptions how{.insecure_seed = std::nullopt,
                                 .threads = options.threads.value_or(0)};
  TACET_RETURN_IF_ERROR(run::RunQuery(loaded, rows, run::LedgerName(tables.path()), how,
                                      options.out, base::TextSink())
                            .status());
  return Run::Open(options.out);
}

}  // namespace tacet
