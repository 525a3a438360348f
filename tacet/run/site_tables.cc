#include "tacet/run/site_tables.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "tacet/base/nearest_word.h"
#include "tacet/base/status.h"
#include "tacet/config/configured_data.h"
#include "tacet/data/csv.h"
#include "tacet/run/query_columns.h"
#include "tacet/table/number_text.h"
#include "tacet/table/table_file.h"
#include "tacet/table/table_text.h"

namespace tacet::run {
namespace {

using table::DecimalMark;
using table::TableProblem;
using table::TableRecords;
using table::ValueFault;
using tacet::statistics::QueryFile;
using tacet::statistics::SiteTable;

constexpr uint64_t kMaxSites = 1'000'000;

// Takes a problem: the error that ends the reading, or OK where problems are collected.
using Report = std::function<absl::Status(const TableProblem&)>;

// Table of a site that grows.
struct GrowingTable {
  SiteTable table;
  std::vector<table::ColumnBuilder> cells = {};
};

// Tables of all files so far.
struct Tables {
  std::map<std::string, GrowingTable> sites;
  std::vector<std::string> columns;  // of the first file with a site column
};

// Column of a file that the query reads.
struct ChosenColumn {
  size_t place = 0;
  bool holds_numbers = false;
  double number = 0;  // of the row, where it does
};

// Reads one file into the sites' tables.
class FileReader {
 public:
  FileReader(const table::TableFile& text, const QueryFile& file, const QueryColumns& columns,
             const TableFormat& format, const Report& report)
      : text_(text),
        stem_(text.path().stem().string()),
        file_(file),
        columns_(columns),
        format_(format),
        records_(text.Records()),
        report_(report) {}

  absl::Status Read(Tables& tables) {
    TACET_RETURN_IF_ERROR(ChooseSeparator());
    if (problems_ > 0) return absl::OkStatus();
    TACET_RETURN_IF_ERROR(ReadHeader());
    if (problems_ > 0 && names_.empty()) return absl::OkStatus();
    TACET_RETURN_IF_ERROR(FindColumns(tables));
    const bool found_all = problems_ == 0;
    if (found_all && !site_place_.has_value()) Site(stem_, tables);
    while (true) {
      TACET_ASSIGN_OR_RETURN(const bool more, Next());
      if (!more) return absl::OkStatus();
      const uint64_t before = problems_;
      TACET_RETURN_IF_ERROR(CheckRow());
      if (problems_ != before || !found_all) continue;
      AddRow(Site(site_place_.has_value() ? fields_[*site_place_] : stem_, tables));
      if (tables.sites.size() > kMaxSites) {
        return Problem(site_place_, {.what = fmt::format("more than {} sites", kMaxSites),
                                     .remedy = "correct `data.site_column` of the query"});
      }
    }
  }

 private:
  absl::Status Problem(uint64_t line, std::optional<size_t> column, ValueFault fault) {
    ++problems_;
    TableProblem problem{.file = text_.path().string(), .line = line, .fault = std::move(fault)};
    if (column.has_value()) {
      problem.column = *column;
      if (*column < names_.size()) problem.column_name = names_[*column];
    }
    return report_(problem);
  }
  absl::Status Problem(std::optional<size_t> column, ValueFault fault) {
    return Problem(records_.line(), column, std::move(fault));
  }

  absl::Status ChooseSeparator() {
    const std::vector<std::string> known(columns_.read().begin(), columns_.read().end());
    const std::optional<char> found =
        table::ChooseSeparator(records_, text_.path().string(), format_.separator, known,
                               format_.decimal == DecimalMark::kComma);
    if (!found.has_value()) {
      return Problem(1, std::nullopt,
                     {.what = "several characters could separate the fields of the first line",
                      .remedy = "begin the file with a line sep=; or sep=, (the one that it "
                                "uses)"});
    }
    format_.separator = found;
    return absl::OkStatus();
  }

  // The next record that can be split; false at the end.
  absl::StatusOr<bool> Next() {
    while (true) {
      const TableRecords::Result result = records_.Next(*format_.separator, fields_);
      const std::optional<ValueFault> fault = table::RecordFault(result, *format_.separator);
      if (!fault.has_value()) return result == TableRecords::Result::kRecord;
      const std::optional<size_t> column =
          table::IsFaultOfField(result) ? std::optional(fields_.size() - 1) : std::nullopt;
      TACET_RETURN_IF_ERROR(Problem(column, *fault));
    }
  }

  absl::Status ReadHeader() {
    if (!file_.columns.empty()) {
      names_ = file_.columns;
      return absl::OkStatus();
    }
    TACET_ASSIGN_OR_RETURN(const bool more, Next());
    if (problems_ > 0) return absl::OkStatus();  // the first line does not say what the columns are
    if (!more) return Problem(0, std::nullopt, {.what = "the file is empty", .remedy = ""});
    names_ = fields_;
    return absl::OkStatus();
  }

  // Line of the names; 0 where the query has them.
  uint64_t HeaderLine() const { return file_.columns.empty() ? records_.line() : 0; }

  absl::Status NotThere(const std::string& column, std::string_view use) {
    const std::vector<std::string_view> known(names_.begin(), names_.end());
    const std::optional<std::string> near = base::NearestWord(column, known);
    return Problem(
        HeaderLine(), std::nullopt,
        {.what = fmt::format("there is no column \"{}\", {}", column, use),
         .remedy = near.has_value() ? fmt::format("column \"{}\" may be meant", *near)
                                    : fmt::format("the columns are {}", fmt::join(names_, ", "))});
  }

  absl::Status FindColumns(Tables& tables) {
    for (size_t i = 0; i < names_.size(); ++i) {
      if (!file_.site_column.empty() && names_[i] == file_.site_column && !site_place_) {
        site_place_ = i;
      }
      if (!columns_.read().contains(names_[i])) continue;
      const auto first = std::ranges::find(names_, names_[i]);
      if (first == names_.begin() + static_cast<ptrdiff_t>(i)) {
        chosen_.push_back({.place = i, .holds_numbers = columns_.HoldsNumbers(names_[i])});
        continue;
      }
      TACET_RETURN_IF_ERROR(Problem(HeaderLine(), i,
                                    {.what = fmt::format("column \"{}\" is there twice", names_[i]),
                                     .remedy = "rename or remove the one that is not meant"}));
    }
    for (const std::string& column : columns_.needed()) {
      if (std::ranges::find(names_, column) != names_.end()) continue;
      TACET_RETURN_IF_ERROR(NotThere(column, column == file_.person_column
                                                 ? "which names the person (data.person_column)"
                                                 : "which the query reads"));
    }
    if (!file_.site_column.empty() && !site_place_.has_value()) {
      return NotThere(file_.site_column, "which names the site (data.site_column)");
    }
    if (site_place_.has_value() && problems_ == 0) {
      std::vector<std::string> order;
      for (const ChosenColumn& column : chosen_) order.push_back(names_[column.place]);
      if (tables.columns.empty()) tables.columns = order;
      if (order != tables.columns) {
        return Problem(
            HeaderLine(), std::nullopt,
            {.what = "the columns are in another order than in the file before",
             .remedy = fmt::format("order them as {}", fmt::join(tables.columns, ", "))});
      }
    }
    if (!site_place_.has_value() && tables.sites.contains(stem_)) {
      return Problem(0, std::nullopt,
                     {.what = fmt::format("another file of this folder has the same name with "
                                          "another ending; both would be the table of site \"{}\"",
                                          stem_),
                      .remedy = "keep one"});
    }
    return absl::OkStatus();
  }

  absl::Status CheckRow() {
    if (fields_.size() != names_.size()) {
      return Problem(std::nullopt,
                     {.what = fmt::format("{} columns, expected {}", fields_.size(), names_.size()),
                      .remedy = fmt::format("quote a field that holds a {}, or correct the row",
                                            table::SeparatorName(*format_.separator))});
    }
    if (site_place_.has_value() && fields_[*site_place_].empty()) {
      TACET_RETURN_IF_ERROR(
          Problem(site_place_, {.what = "the site is empty", .remedy = "fill it in"}));
    }
    for (ChosenColumn& column : chosen_) {
      const size_t place = column.place;
      if (column.holds_numbers && ReadNumber(fields_[place], column.number)) continue;
      std::optional<ValueFault> fault =
          columns_.FaultOf(names_[place], fields_[place], format_.decimal);
      if (fault.has_value()) TACET_RETURN_IF_ERROR(Problem(place, *std::move(fault)));
    }
    return absl::OkStatus();
  }

  // False for a field with a fault.
  bool ReadNumber(const std::string& field, double& number) const {
    number = std::numeric_limits<double>::quiet_NaN();
    if (columns_.IsMissing(field)) return true;
    const std::optional<double> read = table::ParseDecimal(field, format_.decimal);
    if (!read.has_value() || !QueryColumns::IsOrdinary(*read)) return false;
    number = *read;
    return true;
  }

  // A row without fault, which CheckRow has read.
  void AddRow(GrowingTable& site) const {
    ++site.table.rows;
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (chosen_[i].holds_numbers) {
        site.cells[i].AddNumber(chosen_[i].number);
      } else {
        site.cells[i].AddText(Value(fields_[chosen_[i].place]));
      }
    }
  }

  // A decimal comma becomes the point that queries read.
  std::string Value(const std::string& field) const {
    if (format_.decimal != DecimalMark::kComma || field.find(',') == std::string::npos ||
        !table::ParseDecimal(field, DecimalMark::kComma).has_value()) {
      return field;
    }
    std::string number = field;
    std::ranges::replace(number, ',', '.');
    return number;
  }

  GrowingTable& Site(const std::string& name, Tables& tables) const {
    GrowingTable& site = tables.sites[name];
    if (!site.table.name.empty()) return site;
    site.table.name = name.empty() ? "site" : name;
    for (const ChosenColumn& column : chosen_) {
      site.table.columns.push_back(names_[column.place]);
      site.cells.push_back(column.holds_numbers ? table::ColumnBuilder()
                                                : table::ColumnBuilder::OfTexts());
    }
    return site;
  }

  const table::TableFile& text_;
  std::string stem_;
  const QueryFile& file_;
  const QueryColumns& columns_;
  TableFormat format_;
  TableRecords records_;
  const Report& report_;
  uint64_t problems_ = 0;
  std::vector<std::string> names_, fields_;
  std::vector<ChosenColumn> chosen_;
  std::optional<size_t> site_place_;
};

absl::Status ReadFile(const std::filesystem::path& path, const QueryFile& file,
                      const QueryColumns& columns, const TableFormat& format, const Report& report,
                      Tables& tables) {
  TACET_ASSIGN_OR_RETURN(const table::TableFile text, table::TableFile::Open(path));
  if (text.encoding_problem().has_value()) return report(*text.encoding_problem());
  return FileReader(text, file, columns, format, report).Read(tables);
}

std::vector<SiteTable> InOrder(Tables tables) {
  std::vector<SiteTable> sites;
  for (auto& [name, site] : tables.sites) {
    for (table::ColumnBuilder& cells : site.cells) {
      site.table.cells.push_back(std::move(cells).Finish());
    }
    sites.push_back(std::move(site.table));
  }
  return sites;
}

}  // namespace

TableFormat QueryFormat(const QueryFile& file) {
  return {.decimal = file.decimal_comma ? DecimalMark::kComma : DecimalMark::kPoint};
}

absl::StatusOr<TableFormat> SiteFormat(const QueryFile& file, const config::RunConfig& own) {
  TACET_ASSIGN_OR_RETURN(const data::CsvOptions csv, config::CsvOptionsOf(own));
  TableFormat format = QueryFormat(file);
  format.separator = csv.separator;
  if (csv.decimal == DecimalMark::kComma) format.decimal = csv.decimal;
  return format;
}

absl::StatusOr<std::vector<SiteTable>> LoadSiteTables(const std::filesystem::path& path,
                                                      const QueryFile& file,
                                                      const tacet::statistics::Query& query,
                                                      const TableFormat& format) {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files, data::CsvFiles(path));
  if (files.empty()) {
    return base::NotFound("{}: there is no file that ends in .csv, .data or .tsv", path.string());
  }
  const QueryColumns columns(file, query);
  const Report report = [](const TableProblem& problem) {
    return base::InvalidArgument("{}", table::ProblemText(problem));
  };
  Tables tables;
  for (const std::filesystem::path& each : files) {
    TACET_RETURN_IF_ERROR(ReadFile(each, file, columns, format, report, tables));
  }
  return InOrder(std::move(tables));
}

std::vector<SiteTable> ReadSiteTables(const std::vector<std::filesystem::path>& files,
                                      const QueryFile& file, const tacet::statistics::Query& query,
                                      const TableFormat& format,
                                      const std::function<void(const TableProblem&)>& on_problem) {
  const QueryColumns columns(file, query);
  const Report report = [&on_problem](const TableProblem& problem) {
    on_problem(problem);
    return absl::OkStatus();
  };
  Tables tables;
  for (const std::filesystem::path& each : files) {
    const absl::Status read = ReadFile(each, file, columns, format, report, tables);
    if (!read.ok()) {
      on_problem({.file = each.string(), .fault = {.what = base::Message(read), .remedy = ""}});
    }
  }
  return InOrder(std::move(tables));
}

}  // namespace tacet::run
