// Check of the tables of a query, before anything is charged.
#ifndef TACET_APPS_TACET_DATA_QUERY_CHECK_H_
#define TACET_APPS_TACET_DATA_QUERY_CHECK_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "apps/tacet/data/data_check.h"
#include "tacet/config/agreed_query.h"
#include "tacet/run/site_tables.h"

namespace tacet::app::data {

struct QueryCheckSpec {
  config::LoadedQuery query;
  std::filesystem::path data;
  run::TableFormat format = {};
  // For a live federation: there the site has one table. Empty: not known.
  bool is_live = false;
  std::string site = {};
  std::optional<uint64_t> client = std::nullopt;  // the site's place among the tables
};

// All problems of the files for the columns of the query, the rows that count in each question and
// are left out of it, the rows for which each condition holds, and warnings about conditions that
// hold for none, counts below the floor, persons with many rows, and values without a cell.
DataCheck CheckQueryTables(const QueryCheckSpec& spec);

}  // namespace tacet::app::data

#endif  // TACET_APPS_TACET_DATA_QUERY_CHECK_H_
