// Check of the tables of a query, before anything is charged.
#ifndef TACET_APPS_TACET_TABLES_QUERY_CHECK_H_
#define TACET_APPS_TACET_TABLES_QUERY_CHECK_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "apps/tacet/run/agreed_query.h"
#include "apps/tacet/statistics/site_tables.h"
#include "apps/tacet/tables/data_check.h"

namespace tacet::app::tables {

struct QueryCheckSpec {
  run::LoadedQuery query;
  std::filesystem::path data;
  statistics::TableFormat format = {};
  // Of a live federation: there the site has one table. Empty: not known.
  bool is_live = false;
  std::string site = {};
  std::optional<uint64_t> client = std::nullopt;  // the site's place among the tables
};

// All problems of the files for the columns of the query, the rows that count in each question, and
// warnings about counts below the floor, persons with many rows, and values without a cell.
DataCheck CheckQueryTables(const QueryCheckSpec& spec);

}  // namespace tacet::app::tables

#endif  // TACET_APPS_TACET_TABLES_QUERY_CHECK_H_
