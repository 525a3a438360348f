// Warnings of rows that two populations of a site share: one person's data may then be charged to
// two ledgers.
#ifndef TACET_SITE_SITE_ROWS_H_
#define TACET_SITE_SITE_ROWS_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/crypto/secret.h"
#include "tacet/ledger/row_sketch.h"

namespace tacet::site {

// For the tables in `path`: files ending in .csv, .tsv or .data, but their first records, which
// hold names. Empty where there are no tables. `separator`: none, found in each file.
absl::StatusOr<ledger::RowSketch> SketchOfTables(const std::filesystem::path& path,
                                                 std::optional<char> separator,
                                                 const crypto::SecretBytes& key);

// Adds the rows of the site's tables to the sketch of the population that they charge, and returns
// a text for each other population of the ledger folder that has some of them, or the reason why
// nobody can tell. For the site's people alone; the run continues in any case.
std::vector<std::string> RowWarnings(const std::filesystem::path& ledger_folder,
                                     std::string_view population, const std::filesystem::path& data,
                                     std::optional<char> separator);

}  // namespace tacet::site

#endif  // TACET_SITE_SITE_ROWS_H_
