// Queries over the tables of simulated sites.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "nanobind/nanobind.h"
#include "nanobind/stl/optional.h"
#include "nanobind/stl/shared_ptr.h"
#include "nanobind/stl/string.h"
#include "nanobind/stl/tuple.h"
#include "nanobind/stl/variant.h"
#include "nanobind/stl/vector.h"
#include "python/bindings/bindings.h"
#include "python/bindings/errors.h"
#include "python/bindings/interpreter_lock.h"
#include "python/bindings/table_columns.h"
#include "tacet/base/status.h"
#include "tacet/base/text_sink.h"
#include "tacet/config/agreed_query.h"
#include "tacet/run/paper_table.h"
#include "tacet/run/query_columns.h"
#include "tacet/run/query_run.h"
#include "tacet/run/site_tables.h"
#include "tacet/run/table_markup.h"
#include "tacet/statistics/site_table.h"
#include "tacet/table/person_text.h"

namespace tacet::python {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// For a table: a column, or the number of rows of one that the query does not read.
using GivenColumn = std::variant<table::Column, size_t>;
// Name of the site, names of its columns, the columns.
using Table = std::tuple<std::string, std::vector<std::string>, std::vector<GivenColumn>>;

size_t RowsOf(const GivenColumn& column) {
  const auto* cells = std::get_if<table::Column>(&column);
  return cells != nullptr ? cells->rows() : std::get<size_t>(column);
}

absl::StatusOr<statistics::SiteTable> SiteTableOf(Table table) {
  auto& [name, names, columns] = table;
  statistics::SiteTable site{.name = std::move(name), .columns = {}, .cells = {}};
  site.rows = columns.empty() ? 0 : RowsOf(columns.front());
  if (names.size() != columns.size()) {
    return base::InvalidArgument("site \"{}\": {} columns, {} names", site.name, columns.size(),
                                 names.size());
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    if (RowsOf(columns[i]) != site.rows) {
      return base::InvalidArgument("site \"{}\": column \"{}\" has {} rows, \"{}\" has {}",
                                   site.name, names[i], RowsOf(columns[i]), names[0], site.rows);
    }
    if (std::ranges::count(names, names[i]) > 1) {
      return base::InvalidArgument("site \"{}\": column \"{}\" is there twice", site.name,
                                   names[i]);
    }
    const auto* cells = std::get_if<table::Column>(&columns[i]);
    if (cells == nullptr) continue;
    site.columns.push_back(names[i]);
    site.cells.push_back(*cells);
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
  std::optional<std::string> sites;          // file with the formats of sites
  std::string path;
  run::QueryRunOptions options;
};

// Lines about fields that cannot be read.
absl::StatusOr<std::vector<std::string>> Ask(QueryCall call) {
  TACET_ASSIGN_OR_RETURN(const config::LoadedQuery loaded,
                         config::ParseQuery(call.text, "the query"));
  std::vector<statistics::SiteTable> tables;
  table::ProblemSummary problems;
  if (call.tables.has_value()) {
    if (call.sites.has_value()) {
      return base::InvalidArgument(
          "sites says how files are written, and the tables are in memory: give the path of the "
          "files, or leave out sites");
    }
    TACET_ASSIGN_OR_RETURN(tables, SiteTablesOf(*std::move(call.tables)));
    const run::QueryColumns columns(loaded.file, *loaded.query);
    for (const statistics::SiteTable& table : tables) run::CheckTable(columns, table, problems);
  } else {
    TACET_ASSIGN_OR_RETURN(const run::TableFormats formats,
                           run::RehearsalFormats(loaded.file, call.sites));
    TACET_ASSIGN_OR_RETURN(
        tables, run::LoadSiteTables(call.data, loaded.file, *loaded.query, formats, problems));
  }
  TACET_RETURN_IF_ERROR(run::RunQuery(loaded, tables, run::LedgerName(call.data), call.options,
                                      call.path, base::TextSink())
                            .status());
  return run::ProblemLines(problems);
}

// Quantity, group, value, error of the noise, and the ends of the interval.
using GivenEstimate =
    std::tuple<std::string, std::string, std::optional<double>, std::optional<double>,
               std::optional<double>, std::optional<double>>;
// Column of the groups, the groups, and of each row its name, cells and noise.
using GivenPrint =
    std::tuple<std::string, std::vector<std::string>,
               std::vector<std::tuple<std::string, std::vector<std::string>, std::string>>>;

statistics::Answer AnswerOf(std::string question, std::vector<GivenEstimate> estimates,
                            std::optional<GivenPrint> printed) {
  statistics::Answer answer{.question = std::move(question)};
  for (auto& [quantity, group, value, noise, low, high] : estimates) {
    statistics::Estimate& estimate = answer.estimates.emplace_back();
    estimate.quantity = std::move(quantity);
    estimate.group = std::move(group);
    estimate.value = value;
    estimate.noise_error = noise;
    if (low.has_value() && high.has_value()) estimate.interval = {*low, *high};
  }
  if (printed.has_value()) {
    auto& [by, groups, rows] = *printed;
    answer.table = {.by = std::move(by), .groups = std::move(groups)};
    for (auto& [name, cells, noise] : rows) {
      answer.table->rows.push_back({std::move(name), std::move(cells), std::move(noise)});
    }
  }
  return answer;
}

}  // namespace

void BindStatistics(nb::module_& module) {
  nb::class_<table::Column>(module, "Column", "A column of a table: numbers or texts.")
      .def("__len__", &table::Column::rows)
      .def_static("of_numbers", &ColumnOfNumbers, "array"_a, "mask"_a.none(), "missing"_a,
                  nb::sig("def of_numbers(array: object, mask: object | None, "
                          "missing: collections.abc.Sequence[str]) -> Column"),
                  "A copy of a one-dimensional array of numbers.")
      .def_static("of_values", &ColumnOfValues, "values"_a, "plain"_a, "missing"_a,
                  nb::sig("def of_values(values: collections.abc.Iterable[object], "
                          "plain: collections.abc.Callable[[typing.Any], float | str | None], "
                          "missing: collections.abc.Sequence[str]) -> Column"),
                  "Values one by one.");
  module.def(
      "person_key",
      [](const nb::bytes& text) {
        const std::string key = table::PersonKey(std::string_view(text.c_str(), text.size()));
        return nb::bytes(key.data(), key.size());
      },
      "text"_a, "The spelling for which an identifier of a person stands.");
  module.def(
      "ask",
      [](std::string text, std::optional<std::vector<Table>> tables, std::string data,
         std::optional<std::string> sites, std::string path, std::optional<uint64_t> insecure_seed,
         uint64_t threads, std::shared_ptr<ledger::SharedBudget> budget) {
        QueryCall call{.text = std::move(text),
                       .tables = std::move(tables),
                       .data = std::move(data),
                       .sites = std::move(sites),
                       .path = std::move(path),
                       .options = {.insecure_seed = insecure_seed,
                                   .threads = threads,
                                   .budget = {.budget = std::move(budget), .name = "ask"}}};
        return ValueOrThrow(WithoutLock([&] { return Ask(std::move(call)); }));
      },
      "text"_a, "tables"_a.none(), "data"_a, "sites"_a.none(), "path"_a, "insecure_seed"_a.none(),
      "threads"_a, "budget"_a.none(), "Answer a query; lines about fields that cannot be read.");
  module.def(
      "paper_table",
      [](std::string question, std::vector<GivenEstimate> estimates,
         std::optional<GivenPrint> printed, double confidence,
         const std::string& markup) -> std::optional<std::string> {
        const run::TableMarkup chosen = ValueOrThrow(run::ParseTableMarkup(markup));
        const statistics::Answer answer =
            AnswerOf(std::move(question), std::move(estimates), std::move(printed));
        if (!run::HasPaperTable(answer)) return std::nullopt;
        return run::TableText(ValueOrThrow(run::PaperTableOf(answer, confidence)), chosen);
      },
      "question"_a, "estimates"_a, "printed"_a.none(), "confidence"_a, "markup"_a,
      "The table of a paper in a markup; None where the answer has none.");
}

}  // namespace tacet::python
