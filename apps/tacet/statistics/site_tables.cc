#include "apps/tacet/statistics/site_tables.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/data/csv.h"
#include "tacet/data/data_files.h"
#include "tacet/data/number_text.h"
#include "tacet/data/table_text.h"

namespace tacet::app::statistics {
namespace {

using data::TableRecords;
using tacet::statistics::QueryFile;
using tacet::statistics::SiteTable;

constexpr uint64_t kMaxSites = 1'000'000;

// Reads one file into the sites' tables.
class FileReader {
 public:
  FileReader(const std::filesystem::path& path, const QueryFile& file,
             const std::set<std::string>& wanted, const std::set<std::string>& numbers)
      : name_(path.filename().string()),
        stem_(path.stem().string()),
        file_(file),
        wanted_(wanted),
        numbers_(numbers) {}

  absl::Status Read(const std::string& text, std::map<std::string, SiteTable>& sites) {
    if (const auto problem = data::EncodingProblem(text, name_); problem.has_value()) {
      return base::InvalidArgument("{}", data::ProblemText(*problem));
    }
    TableRecords records(text);
    std::optional<char> separator = records.TakeSeparatorLine();
    if (!separator.has_value() && name_.ends_with(".tsv")) separator = '\t';
    if (!separator.has_value()) {
      const std::vector<std::string> known(wanted_.begin(), wanted_.end());
      separator = data::FindSeparator(records, known, file_.decimal_comma);
    }
    if (!separator.has_value()) {
      return base::InvalidArgument(
          "{}: several characters could separate the fields; begin the file with a line sep=; or "
          "sep=, (the one that it uses)",
          name_);
    }
    std::vector<std::string> names = file_.columns;
    std::vector<std::string> fields;
    if (names.empty()) {
      TACET_ASSIGN_OR_RETURN(const bool found, Next(records, *separator, fields));
      if (!found) return base::InvalidArgument("{}: the file is empty", name_);
      names = fields;
    }
    std::optional<size_t> site_place;
    std::vector<std::pair<std::string, size_t>> chosen;
    for (size_t i = 0; i < names.size(); ++i) {
      if (!file_.site_column.empty() && names[i] == file_.site_column) site_place = i;
      if (!wanted_.contains(names[i])) continue;
      if (std::ranges::count(names, names[i]) > 1) {
        return base::InvalidArgument("{}: column \"{}\" is there twice", name_, names[i]);
      }
      chosen.emplace_back(names[i], i);
    }
    if (!file_.site_column.empty() && !site_place.has_value()) {
      return base::InvalidArgument("{}: the table has no column \"{}\" (data.site_column)", name_,
                                   file_.site_column);
    }
    if (!site_place.has_value() && sites.contains(stem_)) {
      return base::InvalidArgument(
          "{}: another file of this folder has the same name with another ending; both would be "
          "the "
          "table of site \"{}\": keep one",
          name_, stem_);
    }
    if (!site_place.has_value()) Site(stem_, chosen, sites);
    while (true) {
      TACET_ASSIGN_OR_RETURN(const bool found, Next(records, *separator, fields));
      if (!found) return absl::OkStatus();
      if (fields.size() != names.size()) {
        return base::InvalidArgument("{}:{}: {} columns, expected {}", name_, records.line(),
                                     fields.size(), names.size());
      }
      std::vector<std::string> row;
      for (const auto& [column, place] : chosen) {
        if (MayBeThousands(column, fields[place])) {
          return base::InvalidArgument(
              "{}:{}: column \"{}\": \"{}\" has a point where the query says data.decimal = "
              "\"comma\"; write numbers without separators of thousands, with a decimal comma",
              name_, records.line(), column, fields[place]);
        }
        row.push_back(Value(fields[place]));
      }
      if (site_place.has_value() && fields[*site_place].empty()) {
        return base::InvalidArgument("{}:{}: the site is empty; fill in column \"{}\"", name_,
                                     records.line(), file_.site_column);
      }
      Site(site_place.has_value() ? fields[*site_place] : stem_, chosen, sites)
          .rows.push_back(std::move(row));
      if (sites.size() > kMaxSites) {
        return base::InvalidArgument("{}: more than {} sites", name_, kMaxSites);
      }
    }
  }

 private:
  absl::StatusOr<bool> Next(TableRecords& records, char separator,
                            std::vector<std::string>& fields) const {
    switch (records.Next(separator, fields)) {
      case TableRecords::Result::kRecord:
        return true;
      case TableRecords::Result::kEnd:
        return false;
      default:
        return base::InvalidArgument("{}:{}: a quoted field does not end, or text follows it",
                                     name_, records.line());
    }
  }
  // 1.234 in a table with decimal commas: 1234, which would be read as a number near 1.
  bool MayBeThousands(const std::string& column, const std::string& field) const {
    return file_.decimal_comma && numbers_.contains(column) &&
           field.find('.') != std::string::npos && tacet::statistics::NumberOf(field).has_value();
  }
  // A decimal comma becomes the point that queries read.
  std::string Value(const std::string& field) const {
    if (!file_.decimal_comma || field.find(',') == std::string::npos) return field;
    if (!data::ParseDecimal(field, data::DecimalMark::kComma).has_value()) return field;
    std::string number = field;
    std::ranges::replace(number, ',', '.');
    return number;
  }
  static SiteTable& Site(const std::string& name,
                         const std::vector<std::pair<std::string, size_t>>& columns,
                         std::map<std::string, SiteTable>& sites) {
    SiteTable& site = sites[name];
    if (!site.name.empty()) return site;
    site.name = name.empty() ? "site" : name;
    for (const auto& column : columns) site.columns.push_back(column.first);
    return site;
  }

  std::string name_;
  std::string stem_;
  const QueryFile& file_;
  const std::set<std::string>& wanted_;
  const std::set<std::string>& numbers_;
};

// Columns that the query reads as numbers.
std::set<std::string> NumberColumns(const tacet::statistics::Query& query) {
  using tacet::statistics::Comparison;
  std::set<std::string> names;
  for (const tacet::statistics::QuestionPlan& plan : query.questions()) {
    if (plan.is_moments()) {
      for (const auto& bounded : plan.spec.columns) names.insert(bounded.column);
    }
    for (const auto* cells : {&plan.cells, &plan.across, &plan.groups}) {
      if (cells->has_value() && (*cells)->is_ordered()) names.insert((*cells)->column());
    }
    for (const auto& condition : plan.spec.where) {
      const bool is_order = condition.comparison != Comparison::kEqual &&
                            condition.comparison != Comparison::kUnequal;
      if (is_order) names.insert(condition.column);
    }
  }
  return names;
}

}  // namespace

absl::StatusOr<std::vector<SiteTable>> LoadSiteTables(const std::filesystem::path& path,
                                                      const QueryFile& file,
                                                      const tacet::statistics::Query& query) {
  const std::vector<std::filesystem::path> files = data::CsvFiles(path);
  if (files.empty()) {
    return base::NotFound("{}: there is no file that ends in .csv, .data or .tsv", path.string());
  }
  std::set<std::string> wanted(query.columns().begin(), query.columns().end());
  if (!file.person_column.empty()) wanted.insert(file.person_column);
  const std::set<std::string> numbers = NumberColumns(query);
  std::map<std::string, SiteTable> sites;
  std::set<std::vector<std::string>> headers;
  for (const std::filesystem::path& each : files) {
    TACET_ASSIGN_OR_RETURN(const std::string text, data::ReadDataFile(each));
    TACET_RETURN_IF_ERROR(FileReader(each, file, wanted, numbers).Read(text, sites));
    for (const auto& [name, site] : sites) headers.insert(site.columns);
    if (!file.site_column.empty() && headers.size() > 1) {
      return base::InvalidArgument("{}: the files have their columns in different orders",
                                   each.filename().string());
    }
  }
  std::vector<SiteTable> tables;
  for (auto& [name, site] : sites) tables.push_back(std::move(site));
  return tables;
}

crypto::Digest TablesDigest(const std::vector<SiteTable>& tables) {
  base::ByteWriter bytes;
  const auto add = [&bytes](const std::vector<std::string>& texts) {
    bytes.U64(texts.size());
    for (const std::string& text : texts) bytes.Blob(base::AsBytes(text));
  };
  bytes.U64(tables.size());
  for (const SiteTable& table : tables) {
    bytes.Blob(base::AsBytes(table.name));
    add(table.columns);
    bytes.U64(table.rows.size());
    for (const std::vector<std::string>& row : table.rows) add(row);
  }
  return crypto::Sha256(bytes.bytes());
}

}  // namespace tacet::app::statistics
