#include "apps/tacet/data/query_check.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "apps/tacet/data/column_warnings.h"
#include "tacet/base/status.h"
#include "tacet/data/csv.h"
#include "tacet/statistics/question_reading.h"
#include "tacet/statistics/site_units.h"
#include "tacet/table/person_text.h"

namespace tacet::app::data {
namespace {

using tacet::statistics::Query;
using tacet::statistics::QuestionPlan;
using tacet::statistics::SiteTable;
using tacet::statistics::SiteUnits;

// The table of a live site under the name that questions know it by.
void ChooseTable(const QueryCheckSpec& spec, std::vector<SiteTable>& tables, DataCheck& check) {
  if (!spec.is_live || tables.empty()) return;
  const auto problem = [&](std::string what, std::string remedy) {
    check.problems.Add({.file = spec.data.string(),
                        .fault = {.what = std::move(what), .remedy = std::move(remedy)}});
  };
  if (!spec.client.has_value() && tables.size() > 1) {
    problem(fmt::format("the data are the tables of {} sites, a site has one", tables.size()),
            "give one file, or choose with --client");
    return;
  }
  const uint64_t place = spec.client.value_or(0);
  if (place >= tables.size()) {
    problem(
        fmt::format("--client is {}, the data are the tables of {} sites", place, tables.size()),
        "sites are counted from 0");
    return;
  }
  tables = {SiteTable(tables[place])};
  if (!spec.site.empty()) tables[0].name = spec.site;
}

// Fields of a column that are in none of its categories, or outside of its cells. Their rows count
// as little as missing ones, which may be an error of spelling.
void WarnOfFieldsWithoutCell(const QueryCheckSpec& spec, const std::vector<SiteTable>& tables,
                             DataCheck& check) {
  const Query& query = *spec.query.query;
  for (const QuestionPlan& plan : query.questions()) {
    for (const auto* cells : {&plan.cells, &plan.across, &plan.groups}) {
      // Risks are computed: a formula of one column may be called like it.
      if (!cells->has_value() || (cells == &plan.cells && plan.has_risks())) continue;
      uint64_t count = 0;
      std::string example;
      for (const SiteTable& table : tables) {
        const std::optional<size_t> place = table.Find((*cells)->column());
        if (!place.has_value()) continue;
        const table::Column& column = table.cells[*place];
        const auto cell = tacet::statistics::ReadCells(column, query.spec(), **cells);
        for (uint32_t row = 0; row < table.rows; ++row) {
          if (cell(row).has_value()) continue;
          if (query.spec().IsMissing(column.TextOf(row))) continue;
          if (count++ == 0) example = column.ShownAt(row);
        }
      }
      // A time beyond the last interval is at risk in all of them.
      const bool is_time = plan.kind().has_cell_beyond && (*cells)->is_ordered();
      if (count == 0 || is_time) continue;
      const std::string remedy = (*cells)->RemedyFor(example);
      check.warnings.push_back(fmt::format(
          "question \"{}\": {} {} of column \"{}\" {} in none of its cells, such as \"{}\"; their "
          "rows are left out: {}",
          plan.spec.name, count, count == 1 ? "field" : "fields", (*cells)->column(),
          count == 1 ? "is" : "are", table::FieldText(example),
          remedy.empty() ? "correct them if that is not meant" : table::FieldText(remedy)));
    }
  }
}

// "Female (862), Male (709)": the most frequent values of a column. Fields of rows that cannot be
// split are missing in it, and so are fields of a column of numbers that are none.
std::string ValuesText(const std::vector<const table::Column*>& columns) {
  constexpr size_t kMostValues = 5;
  std::map<std::string, uint64_t> counts;
  for (const table::Column* column : columns) {
    for (size_t row = 0; row < column->rows(); ++row) ++counts[column->ShownAt(row)];
  }
  std::vector<std::pair<std::string, uint64_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const auto& of) { return of.second; });
  std::string text;
  for (size_t i = 0; i < std::min(sorted.size(), kMostValues); ++i) {
    const std::string& value = sorted[i].first;
    text += fmt::format(
        "{}{} ({})", i == 0 ? "" : ", ",
        value.empty() ? "fields that are missing or cannot be read" : table::FieldText(value),
        sorted[i].second);
  }
  return sorted.size() > kMostValues ? text + ", ..." : text;
}

// Counts the rows of each condition. A condition without rows is often an error of spelling.
void CountConditions(const QueryCheckSpec& spec, const std::vector<SiteTable>& tables,
                     DataCheck& check) {
  const Query& query = *spec.query.query;
  std::set<std::string> known;
  for (const QuestionPlan& plan : query.questions()) {
    for (const tacet::statistics::RowCondition& condition : plan.conditions()) {
      ConditionRows found{.condition = condition.Text()};
      std::vector<const table::Column*> columns;
      for (const SiteTable& table : tables) {
        const std::optional<size_t> place = table.Find(condition.column);
        if (!place.has_value() || !plan.spec.Asks(table.name)) continue;
        const table::Column& column = *columns.emplace_back(&table.cells[*place]);
        const auto holds = tacet::statistics::ReadCondition(column, query.spec(), condition);
        found.all += table.rows;
        for (uint32_t row = 0; row < table.rows; ++row) {
          const std::optional<bool> answer = holds(row);
          found.unreadable += answer.has_value() ? 0 : 1;
          found.rows += answer.value_or(false) ? 1 : 0;
        }
      }
      if (found.all == 0 || !known.insert(found.condition).second) continue;
      check.conditions.push_back(found);
      if (found.rows > 0) continue;
      check.warnings.push_back(fmt::format("0 of {} rows have {}; the column holds {}", found.all,
                                           found.condition, ValuesText(columns)));
    }
  }
}

void WarnOfPersons(const QueryCheckSpec& spec, const std::vector<SiteTable>& tables,
                   const std::vector<SiteUnits>& sites, DataCheck& check) {
  const Query& query = *spec.query.query;
  if (query.spec().unit != accounting::Unit::kPerson) return;
  const uint64_t most = query.spec().rows_per_unit;
  uint64_t beyond = 0;
  for (const SiteUnits& site : sites) beyond += site.UnitsBeyond(most);
  if (beyond > 0) {
    check.warnings.push_back(fmt::format(
        "{} {} more rows than `privacy.rows_per_unit` = {}: each of these rows counts in part",
        beyond, beyond == 1 ? "person has" : "persons have", most));
  }
  std::map<std::string, uint64_t> sites_of;
  for (const SiteTable& table : tables) {
    const std::optional<size_t> place = table.Find(spec.query.file.person_column);
    if (!place.has_value()) continue;
    std::set<std::string> here;
    for (size_t row = 0; row < table.rows; ++row) {
      here.insert(table::PersonKey(table.cells[*place].TextOf(row)));
    }
    for (const std::string& person : here) ++sites_of[person];
  }
  std::vector<std::string> persons;
  for (const auto& [person, count] : sites_of) persons.push_back(person);
  if (std::string alike = table::LookAlikesWarning(persons); !alike.empty()) {
    check.warnings.push_back(std::move(alike));
  }
  const uint64_t appearances = spec.query.file.appearances;
  const auto many = std::ranges::count_if(
      sites_of, [appearances](const auto& entry) { return entry.second > appearances; });
  if (many > 0) {
    check.warnings.push_back(fmt::format(
        "{} {} at more sites than `privacy.appearances` = {}, so the epsilon does not hold for "
        "them: raise it in the query",
        many, many == 1 ? "person is" : "persons are", appearances));
  }
}

void CountRows(const QueryCheckSpec& spec, const std::vector<SiteTable>& tables,
               const std::vector<SiteUnits>& sites, DataCheck& check) {
  const Query& query = *spec.query.query;
  const double floor = query.spec().floor;
  for (size_t i = 0; i < query.questions().size(); ++i) {
    const tacet::statistics::QuestionSpec& question = query.questions()[i].spec;
    uint64_t rows = 0, left_out = 0;
    for (const SiteUnits& site : sites) {
      rows += site.RowsOf(i);
      left_out += site.RowsOf(i, tacet::statistics::RowUse::kLeftOut);
    }
    check.questions.push_back({.question = question.name,
                               .kind = std::string(QuestionKindName(question.kind)),
                               .rows = rows,
                               .left_out = left_out});
    const bool asks = std::ranges::any_of(
        tables, [&](const SiteTable& table) { return question.Asks(table.name); });
    if (static_cast<double>(rows) >= floor || !asks || !RowOf(question.kind).keeps_floor) continue;
    check.warnings.push_back(fmt::format(
        "question \"{}\": {} here, and the floor is {}: its answer is suppressed unless other "
        "sites have more",
        question.name, rows == 1 ? "1 row counts" : fmt::format("{} rows count", rows), floor));
  }
}

}  // namespace

DataCheck CheckQueryTables(const QueryCheckSpec& spec) {
  DataCheck check;
  const auto found = tacet::data::CsvFiles(spec.data);
  if (!found.ok()) AddProblem(check, spec.data.string(), found.status());
  const auto files = found.value_or(std::vector<std::filesystem::path>());
  for (const std::filesystem::path& file : files) check.files.push_back(file.string());
  if (found.ok() && files.empty()) {
    AddProblem(check, spec.data.string(), tacet::data::NoCsvFile(spec.data));
  }
  std::vector<SiteTable> tables =
      run::ReadSiteTables(files, spec.query.file, *spec.query.query, spec.format, check.problems);
  ChooseTable(spec, tables, check);
  std::vector<SiteUnits> sites;
  std::vector<std::string> names;
  for (SiteTable& table : tables) {
    check.rows += table.rows;
    names.push_back(table.name);
    auto with_derived = WithDerivedColumns(spec.query.query->spec(), table);
    if (!with_derived.ok()) {
      AddProblem(check, spec.data.string(), with_derived.status());
      continue;
    }
    table = *std::move(with_derived);
    absl::StatusOr<SiteUnits> site =
        SiteUnits::OfDerived(spec.query.query, table, spec.query.file.person_column);
    if (!site.ok()) {
      AddProblem(check, spec.data.string(), site.status());
      continue;
    }
    sites.push_back(*std::move(site));
  }
  check.clients = tables.size();
  CompareRows({.separator = spec.format.separator,
               .known = spec.query.query->columns(),
               .has_decimal_comma = spec.format.decimal == table::DecimalMark::kComma,
               .columns = spec.query.file.columns.size()},
              spec.query.query->spec().unit, check);
  if (!sites.empty()) CountRows(spec, tables, sites, check);
  CountConditions(spec, tables, check);
  WarnOfFieldsWithoutCell(spec, tables, check);
  WarnOfPersons(spec, tables, sites, check);
  std::ranges::move(ColumnWarnings(*spec.query.query, tables), std::back_inserter(check.warnings));
  if (const auto unread = UnreadTables(spec.data); unread.has_value()) {
    check.warnings.push_back(*unread);
  }
  if (!spec.is_live && tables.size() > 1) {
    const absl::Status known = spec.query.query->CheckSites(names);
    if (!known.ok()) {
      check.warnings.push_back(fmt::format("a simulation with these data alone does not start: {}",
                                           base::Message(known)));
    }
  }
  return check;
}

}  // namespace tacet::app::data
