// Tables of sites from CSV files, with the columns that a query reads.
#ifndef TACET_RUN_SITE_TABLES_H_
#define TACET_RUN_SITE_TABLES_H_

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/config/run_config.h"
#include "tacet/statistics/query_text.h"
#include "tacet/statistics/site_table.h"
#include "tacet/table/agreed_values.h"
#include "tacet/table/number_text.h"
#include "tacet/table/problem_summary.h"
#include "tacet/table/thousands.h"

namespace tacet::run {

// The form in which files write a table.
struct TableFormat {
  std::optional<char> separator = {};  // none: found in each file
  table::DecimalMark decimal = table::DecimalMark::kPoint;
  table::Thousands thousands = table::Thousands::kUnsaid;
  std::vector<table::AgreedColumn> spellings = {};  // the files' own (table::WriteAsAgreed)
};

// For all files, or for each site's.
struct TableFormats {
  // NOLINTNEXTLINE(google-explicit-constructor): most often all files have one format
  TableFormats(TableFormat all = {}) : common(std::move(all)) {}

  const TableFormat& Of(const std::string& site) const {
    const auto own = of_site.find(site);
    return own == of_site.end() ? common : own->second;
  }

  TableFormat common;
  std::map<std::string, TableFormat> of_site = {};  // by the name of the site's file
};

// As the query says it.
TableFormat QueryFormat(const tacet::statistics::QueryFile& file);
// As the query says it or the site's own settings: `data.csv_separator`, `data.csv_decimal`,
// `data.csv_thousands`, `data.csv_spellings`. What the values mean is agreed. InvalidArgument for a
// word that they do not know.
absl::StatusOr<TableFormat> SiteFormat(const tacet::statistics::QueryFile& file,
                                       const config::RunConfig& own);
// For a rehearsal: as the query says it, and for the sites with a table in the file `sites` as that
// says it (config::LoadSiteSettings). Without the file all are the query's.
absl::StatusOr<TableFormats> RehearsalFormats(const tacet::statistics::QueryFile& file,
                                              const std::optional<std::filesystem::path>& sites);

// One table for each file, named as the file, or for each value of the query's site column, in the
// order of the names. Columns that the query does not read are left out. Columns of numbers become
// numbers; in others a number gets a decimal point. Files are read in pieces.
//
// No row decides whether a file can be read: who knows the row would learn from a refusal what it
// holds. A field with a fault counts as missing, and so do all fields of a row that cannot be
// split. `problems` gets these faults, for the site alone. Where the query has a site column, a row
// without its site counts nowhere.
//
// InvalidArgument is the first problem of a file as a whole, of its encoding or its columns: file,
// line, what is wrong and what to change. NotFound where there is no file, and for a format of a
// site that has none.
absl::StatusOr<std::vector<tacet::statistics::SiteTable>> LoadSiteTables(
    const std::filesystem::path& path, const tacet::statistics::QueryFile& file,
    const tacet::statistics::Query& query, const TableFormats& formats,
    table::ProblemSummary& problems);
// The same, where problems of whole files are in `problems`, too: their rows are left out.
std::vector<tacet::statistics::SiteTable> ReadSiteTables(
    const std::vector<std::filesystem::path>& files, const tacet::statistics::QueryFile& file,
    const tacet::statistics::Query& query, const TableFormat& format,
    table::ProblemSummary& problems);
// A line for each group of problems that did not stop a query.
std::vector<std::string> ProblemLines(const table::ProblemSummary& problems);

}  // namespace tacet::run

#endif  // TACET_RUN_SITE_TABLES_H_
