// Queries: questions about the tables of several sites, with one guarantee for all answers.
#ifndef TACET_STATISTICS_H_
#define TACET_STATISTICS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

#include "tacet/run.h"

namespace tacet {

// Tables of the sites that answer a query in one process.
class SiteTables {
 public:
  // CSV files: `path` is a file or a folder (docs/formats/datasets.md). A file is a site that is
  // named after it, or holds the rows of all sites where the query names a site column. Nothing is
  // read before the query asks.
  static SiteTables Files(std::filesystem::path path) { return SiteTables(std::move(path)); }

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit SiteTables(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

struct QueryOptions {
  // Directory of the run, new or empty. `tacet report` and `tacet audit` read it.
  std::filesystem::path out = {};

  // Threads that compute, 1 to 1,048,576.
  //
  // Default: none, one for each processor
  std::optional<uint32_t> threads = std::nullopt;

  // TOML file with a table [site.NAME] for each site whose files are written in another way than
  // the query says: `csv_separator`, `csv_decimal`, `csv_spellings` (docs/formats/query.md, "Agreed
  // values").
  //
  // Default: none
  std::optional<std::filesystem::path> sites = std::nullopt;

  // Called once for each kind of fault in a column: fields that cannot be read count as missing,
  // and their rows are left out. The text quotes the tables.
  //
  // Default: none, nobody hears of them
  std::function<void(std::string_view)> on_data_problem = nullptr;
};

// Answers `query`, the text of a query file (docs/formats/query.md), over the tables. Each site's
// rows become a clipped vector; the vectors are noised, sealed, added and decrypted as in a live
// federation. Every constant of a question is public: choose bounds, edges and categories by
// knowledge of the field, and never by looking at the data.
//
// The run's Answers() are the estimates, its ComputeGuarantee() covers all of them together.
// Errors: InvalidArgument names the key of the query or of `sites`, or the file whose columns are
// wrong; NotFound where there is no table, or none of a site in `sites`; AlreadyExists when `out`
// is not empty. Nothing is charged before query and tables were checked.
absl::StatusOr<Run> Ask(std::string_view query, const SiteTables& tables,
                        const QueryOptions& options);

}  // namespace tacet

#endif  // TACET_STATISTICS_H_
