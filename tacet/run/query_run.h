// One query over sites in this process: the same sealing, decryption, ledger and run directory as a
// training.
#ifndef TACET_RUN_QUERY_RUN_H_
#define TACET_RUN_QUERY_RUN_H_

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/base/text_sink.h"
#include "tacet/config/agreed_query.h"
#include "tacet/config/run_config.h"
#include "tacet/ledger/shared_budget.h"
#include "tacet/simulation/simulation.h"
#include "tacet/statistics/answers.h"
#include "tacet/statistics/site_table.h"
#include "tacet/storage/file/run_directory.h"

namespace tacet::run {

// Files of a run directory next to those of a training.
inline constexpr std::string_view kQueryFile = "query.toml";
inline constexpr std::string_view kAnswersFile = "answers.json";
inline constexpr std::string_view kAnswersTable = "answers.csv";
// The text whose digest is the agreement's annex: it holds the query.
inline constexpr std::string_view kAgreedFile = "agreed.toml";

absl::StatusOr<config::LoadedQuery> LoadQuery(const std::filesystem::path& path);

struct QueryRunOptions {
  std::optional<uint64_t> insecure_seed;
  uint64_t threads = 0;  // 0: all processors
  ledger::BudgetUse budget = {};
};

struct QueryRunEnd {
  std::vector<tacet::statistics::Answer> answers;
  base::JsonValue summary;  // summary.json of the run, with the answers
  double epsilon = 0;       // of the agreement
  double delta = 0;
  size_t sites = 0;
};

// The settings of such a run as `tacet simulate` would have them: what config.toml holds.
absl::StatusOr<config::RunConfig> QueryConfig(const config::LoadedQuery& loaded, uint64_t sites,
                                              const QueryRunOptions& options);

// The same for an agreement of `members` sites. The noise follows from the target epsilon and from
// those who join; here it fixes the quantisation.
absl::StatusOr<config::RunConfig> AgreedQueryConfig(const config::LoadedQuery& loaded,
                                                    uint64_t members);

// The answers from the model after the round.
absl::StatusOr<std::vector<tacet::statistics::Answer>> AnswersFrom(
    const config::LoadedQuery& loaded, const agreement::Manifest& manifest,
    std::span<const float> model);
// Member of answers.json: sites whose data are not in the answers.
inline constexpr std::string_view kMissing = "missing";
struct MissingSite {
  uint64_t member = 0;
  std::string name;
  std::string cause;  // budget, policy
};
// They, written as JSON and as a table, with the query and the `agreed` text.
absl::StatusOr<std::vector<tacet::statistics::Answer>> WriteAnswers(
    const config::LoadedQuery& loaded, std::string_view agreed, const agreement::Manifest& manifest,
    std::span<const float> model, storage::file::RunDirectory& directory,
    std::span<const MissingSite> missing = {});

// Name of the data in a path for a ledger: printable ASCII.
std::string LedgerName(const std::filesystem::path& data);

// Runs and writes everything. Progress goes to `out`. Errors of the data, of the query's limits and
// of the simulation.
absl::StatusOr<QueryRunEnd> RunQuery(const config::LoadedQuery& loaded,
                                     const std::vector<tacet::statistics::SiteTable>& tables,
                                     std::string_view data_name, const QueryRunOptions& options,
                                     const std::filesystem::path& directory,
                                     const base::TextSink& out);

}  // namespace tacet::run

#endif  // TACET_RUN_QUERY_RUN_H_
