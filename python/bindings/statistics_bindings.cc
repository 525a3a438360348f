// Queries over the tables of simulated sites.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "nanobind/nanobind.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/tuple.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"
#include "tacet/base/status.h"
#include "tacet/base/text_sink.h"
#include "tacet/config/agreed_query.h"
#include "tacet/run/query_columns.h"
#include "tacet/run/query_run.h"
#include "tacet/run/site_tables.h"
#include "tacet/statistics/site_table.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

using Columns = std::vector<std::vector<std::string>>;
// Name of the site, names of its columns, the columns.
using Table = std::tuple<std::string, std::vector<std::string>, Columns>;

absl::StatusOr<statistics::SiteTable> SiteTableOf(Table table) {
  auto& [name, names, columns] = table;
  statistics::SiteTable site{.name = std::move(name), .columns = std::move(names), .rows = {}};
  const size_t rows = columns.empty() ? 0 : columns.front().size();
  if (site.columns.size() != columns.size()) {
    return base::InvalidArgument("site \"{}\": {} columns, {} names", site.name, columns.size(),
                                 site.columns.size());
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].size() != rows) {
      return base::InvalidArgument("site \"{}\": column \"{}\" has {} rows, \"{}\" has {}",
                                   site.name, site.columns[i], columns[i].size(), site.columns[0],
                                   rows);
    }
    if (std::ranges::count(site.columns, site.columns[i]) > 1) {
      return base::InvalidArgument("site \"{}\": column \"{}\" is there twice", site.name,
                                   site.columns[i]);
    }
  }
  site.rows.resize(rows);
  for (size_t row = 0; row < rows; ++row) {
    for (std::vector<std::string>& column : columns) {
      site.rows[row].push_back(std::move(column[row]));
    }
  }
  return site;
}

// As files give them: by name.
absl::StatusOr<std::vector<statistics::SiteTable>> SiteTablesOf(std::vector<Table> tables) {
  std::vector<statistics::SiteTable> sites;
  for (Table& table : tables) {
    TACET_ASSIGN_OR_RETURN(sites.emplace_back(), SiteTableOf(std::move(table)));
  }
  std::ranges::sort(sites, {}, &statistics::SiteTable::name);
  const auto twice = std::ranges::adjacent_find(sites, {}, &statistics::SiteTable::name);
  if (twice != sites.end()) {
    return base::InvalidArgument("two sites are called \"{}\"", twice->name);
  }
  return sites;
}

struct QueryCall {
  std::string text;
  std::optional<std::vector<Table>> tables;  // none: those in `data`
  std::string data;                          // their path, or a name for the ledger
  std::string path;
  run::QueryRunOptions options;
};

absl::StatusOr<std::string> Ask(QueryCall call) {
  TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded,
                         config::ParseQuery(call.text, "the query"));
  std::vector<statistics::SiteTable> tables;
  if (call.tables.has_value()) {
    TACET_ASSIGN_OR_RETURN(tables, SiteTablesOf(*std::move(call.tables)));
    const run::QueryColumns columns(loaded.file, *loaded.query);
    for (const statistics::SiteTable& table : tables) {
      TACET_RETURN_IF_ERROR(run::CheckTable(columns, table));
    }
  } else {
    TACET_ASSIGN_OR_RETURN(tables, run::LoadSiteTables(call.data, loaded.file, *loaded.query,
                                                       run::QueryFormat(loaded.file)));
  }
  TACET_ASSIGN_OR_RETURN(const run::QueryRunEnd end,
                         run::RunQuery(loaded, tables, run::LedgerName(call.data), call.options,
                                       call.path, base::TextSink()));
  return end.summary.Dump();
}

}  // namespace

void BindStatistics(nb::module_& module) {
  module.def(
      "ask",
      [](std::string text, std::optional<std::vector<Table>> tables, std::string data,
         std::string path, std::optional<uint64_t> insecure_seed, uint64_t threads) {
        QueryCall call{.text = std::move(text),
                       .tables = std::move(tables),
                       .data = std::move(data),
                       .path = std::move(path),
                       .options = {.insecure_seed = insecure_seed, .threads = threads}};
        return ValueOrThrow(WithoutLock([&] { return Ask(std::move(call)); }));
      },
      "text"_a, "tables"_a.none(), "data"_a, "path"_a, "insecure_seed"_a.none(), "threads"_a,
      "Answer a query; the run's summary as JSON.");
}

}  // namespace tacet::python
