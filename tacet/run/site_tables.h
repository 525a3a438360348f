// Tables of sites from CSV files, with the columns that a query reads.
#ifndef TACET_RUN_SITE_TABLES_H_
#define TACET_RUN_SITE_TABLES_H_

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/config/run_config.h"
#include "tacet/statistics/query_text.h"
#include "tacet/statistics/site_table.h"
#include "tacet/table/number_text.h"
#include "tacet/table/table_problem.h"

namespace tacet::run {

// How files write a table.
struct TableFormat {
  std::optional<char> separator = {};  // none: found in each file
  table::DecimalMark decimal = table::DecimalMark::kPoint;
};

// As the query says it.
TableFormat QueryFormat(const tacet::statistics::QueryFile& file);
// As the query says it or the site's own settings: `data.csv_separator`, `data.csv_decimal`. What
// the numbers mean is agreed. InvalidArgument for a word that they do not know.
absl::StatusOr<TableFormat> SiteFormat(const tacet::statistics::QueryFile& file,
                                       const config::RunConfig& own);

// One table for each file, named as the file, or for each value of the query's site column, in the
// order of the names. Columns that the query does not read are left out. Columns of numbers become
// numbers; in others a number gets a decimal point. Files are read in pieces. InvalidArgument is
// the first problem of the files: file, line, column, what is wrong and what to change. NotFound
// where there is no file.
absl::StatusOr<std::vector<tacet::statistics::SiteTable>> LoadSiteTables(
    const std::filesystem::path& path, const tacet::statistics::QueryFile& file,
    const tacet::statistics::Query& query, const TableFormat& format);
// The same with every problem handed to `on_problem`. Rows with problems are left out, as are all
// rows of a file whose columns cannot be found.
std::vector<tacet::statistics::SiteTable> ReadSiteTables(
    const std::vector<std::filesystem::path>& files, const tacet::statistics::QueryFile& file,
    const tacet::statistics::Query& query, const TableFormat& format,
    const std::function<void(const table::TableProblem&)>& on_problem);

}  // namespace tacet::run

#endif  // TACET_RUN_SITE_TABLES_H_
