// Tables of sites from CSV files, with the columns that a query reads.
#ifndef TACET_APPS_TACET_STATISTICS_SITE_TABLES_H_
#define TACET_APPS_TACET_STATISTICS_SITE_TABLES_H_

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"
#include "tacet/statistics/query_text.h"
#include "tacet/statistics/site_table.h"

namespace tacet::app::statistics {

// One table for each file, named as the file, or for each value of the query's site column, in the
// order of the names. Columns that the query does not read are left out; those that a file lacks
// are for the query to miss. InvalidArgument names file and line of a malformed text.
absl::StatusOr<std::vector<tacet::statistics::SiteTable>> LoadSiteTables(
    const std::filesystem::path& path, const tacet::statistics::QueryFile& file,
    const tacet::statistics::Query& query);

// Of all tables, unkeyed: it stays in memory (ledger/data_digest.h).
crypto::Digest TablesDigest(const std::vector<tacet::statistics::SiteTable>& tables);

}  // namespace tacet::app::statistics

#endif  // TACET_APPS_TACET_STATISTICS_SITE_TABLES_H_
