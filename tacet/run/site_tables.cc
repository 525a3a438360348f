#include "tacet/run/site_tables.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "tacet/base/nearest_word.h"
#include "tacet/base/status.h"
#include "tacet/config/configured_data.h"
#include "tacet/config/site_settings.h"
#include "tacet/data/csv.h"
#include "tacet/run/query_columns.h"
#include "tacet/table/number_text.h"
#include "tacet/table/row_shape.h"
#include "tacet/table/table_file.h"
#include "tacet/table/table_text.h"

namespace tacet::run {
namespace {

using table::DecimalMark;
using table::TableProblem;
using table::TableRecords;
using table::ValueFault;
using tacet::statistics::DerivedColumn;
using tacet::statistics::QueryFile;
using tacet::statistics::SiteTable;

constexpr uint64_t kMaxSites = 1'000'000;

// Takes a problem of a whole file: the error that ends the reading, or OK where problems are
// collected.
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
  table::DoubtfulNumbers doubtful = {};
};

// Names of the columns, and how rows stand to them.
struct Header {
  std::vector<std::string> names = {};
  table::RowShape shape{0, ','};
};

// Reads one file into the sites' tables.
class FileReader {
 public:
  FileReader(const table::TableFile& text, const QueryFile& file, const QueryColumns& columns,
             const TableFormat& format, const Report& report, table::ProblemSummary& noted)
      : text_(text),
        file_(file),
        columns_(columns),
        format_(format),
        records_(text.Records()),
        report_(report),
        noted_(noted) {}

  absl::Status Read(Tables& tables) {
    TACET_RETURN_IF_ERROR(ChooseSeparator());
    if (problems_ > 0) return absl::OkStatus();
    TACET_RETURN_IF_ERROR(ReadHeader());
    if (problems_ > 0 && header_.names.empty()) return absl::OkStatus();
    TACET_RETURN_IF_ERROR(FindColumns(tables));
    const bool found_all = problems_ == 0;
    const std::string stem = Stem();
    if (found_all && !site_place_.has_value()) Site(stem, tables);
    while (true) {
      const TableRecords::Result result = records_.Next(*format_.separator, fields_);
      if (result == TableRecords::Result::kEnd) return Finish();
      if (result == TableRecords::Result::kTooLong || result == TableRecords::Result::kUnreadable) {
        return Problem(std::nullopt, *table::RecordFault(result, *format_.separator));
      }
      const bool has_site = ReadRow(result);
      if (!has_site || !found_all) continue;
      AddRow(Site(site_place_.has_value() ? fields_[*site_place_] : stem, tables));
      if (tables.sites.size() > kMaxSites) {
        return Problem(site_place_, {.what = fmt::format("more than {} sites", kMaxSites),
                                     .remedy = "correct `data.site_column` of the query"});
      }
    }
  }

 private:
  TableProblem ProblemAt(uint64_t line, std::optional<size_t> column, ValueFault fault) const {
    TableProblem problem{.file = text_.path().string(), .line = line, .fault = std::move(fault)};
    if (column.has_value()) {
      problem.column = *column;
      if (*column < header_.names.size()) problem.column_name = header_.names[*column];
    }
    return problem;
  }
  absl::Status Problem(uint64_t line, std::optional<size_t> column, ValueFault fault) {
    ++problems_;
    return report_(ProblemAt(line, column, std::move(fault)));
  }
  // For a row: it stops nothing.
  void Note(std::optional<size_t> column, ValueFault fault) {
    noted_.Add(ProblemAt(records_.line(), column, std::move(fault)));
  }
  absl::Status Problem(std::optional<size_t> column, ValueFault fault) {
    return Problem(records_.line(), column, std::move(fault));
  }

  absl::Status ChooseSeparator() {
    if (!format_.separator.has_value() && !file_.columns.empty()) {
      format_.separator =
          table::SeparatorOfRows([this] { return text_.Records(); }, file_.columns.size());
    }
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

  // The file's name without its ending, which names a site.
  std::string Stem() const { return text_.path().stem().string(); }

  std::optional<size_t> PlaceOfFault(TableRecords::Result result) const {
    return table::IsFaultOfField(result) ? std::optional(fields_.size() - 1) : std::nullopt;
  }

  // After the last row.
  absl::Status Finish() {
    std::optional<ValueFault> fault = header_.shape.FaultOfTable();
    if (fault.has_value()) return Problem(0, std::nullopt, *std::move(fault));
    if (format_.thousands != table::Thousands::kUnsaid) return absl::OkStatus();
    for (const ChosenColumn& column : chosen_) {
      std::optional<ValueFault> doubt = column.doubtful.Doubt();
      if (doubt.has_value()) noted_.Add(ProblemAt(0, column.place, *std::move(doubt)));
    }
    return absl::OkStatus();
  }

  absl::Status ReadHeader() {
    if (!file_.columns.empty()) {
      header_.names = file_.columns;
      header_.shape = table::RowShape(header_.names.size(), *format_.separator);
      return absl::OkStatus();
    }
    const TableRecords::Result result = records_.Next(*format_.separator, fields_);
    const std::optional<ValueFault> fault = table::RecordFault(result, *format_.separator);
    if (fault.has_value()) return Problem(PlaceOfFault(result), *fault);
    if (result == TableRecords::Result::kEnd) {
      return Problem(0, std::nullopt, {.what = "the file is empty", .remedy = ""});
    }
    const std::vector<std::string> needed(columns_.needed().begin(), columns_.needed().end());
    const std::optional<ValueFault> no_names = table::FaultOfHeader(
        fields_, needed, *format_.separator, records_, "list them in `data.columns` of the query");
    if (no_names.has_value()) return Problem(std::nullopt, *no_names);
    header_.names = fields_;
    header_.shape = table::RowShape::OfHeader(header_.names, *format_.separator);
    return absl::OkStatus();
  }

  // Line of the names; 0 where the query has them.
  uint64_t HeaderLine() const { return file_.columns.empty() ? records_.line() : 0; }

  absl::Status NotThere(const std::string& column, std::string_view use) {
    const std::vector<std::string_view> known(header_.names.begin(), header_.names.end());
    const std::optional<std::string> near = base::NearestWord(column, known);
    return Problem(HeaderLine(), std::nullopt,
                   {.what = fmt::format("there is no column \"{}\", {}", column, use),
                    .remedy = near.has_value() ? fmt::format("column \"{}\" may be meant", *near)
                                               : fmt::format("the columns are {}",
                                                             fmt::join(header_.names, ", "))});
  }

  absl::Status FindColumns(Tables& tables) {
    for (size_t i = 0; i < header_.names.size(); ++i) {
      if (std::ranges::count(file_.query.derived, header_.names[i], &DerivedColumn::name) > 0) {
        TACET_RETURN_IF_ERROR(
            Problem(HeaderLine(), i,
                    {.what = fmt::format("column \"{}\" is there, and `data.derived` of the query "
                                         "makes one",
                                         header_.names[i]),
                     .remedy = "rename or remove one of them"}));
      }
      if (!file_.site_column.empty() && header_.names[i] == file_.site_column && !site_place_) {
        site_place_ = i;
      }
      if (!columns_.read().contains(header_.names[i])) continue;
      const auto first = std::ranges::find(header_.names, header_.names[i]);
      if (first == header_.names.begin() + static_cast<ptrdiff_t>(i)) {
        chosen_.push_back({.place = i, .holds_numbers = columns_.HoldsNumbers(header_.names[i])});
        continue;
      }
      TACET_RETURN_IF_ERROR(
          Problem(HeaderLine(), i,
                  {.what = fmt::format("column \"{}\" is there twice", header_.names[i]),
                   .remedy = "rename or remove the one that is not meant"}));
    }
    for (const std::string& column : columns_.needed()) {
      if (std::ranges::find(header_.names, column) != header_.names.end()) continue;
      TACET_RETURN_IF_ERROR(NotThere(column, column == file_.person_column
                                                 ? "which names the person (data.person_column)"
                                                 : "which the query reads"));
    }
    if (!file_.site_column.empty() && !site_place_.has_value()) {
      return NotThere(file_.site_column, "which names the site (data.site_column)");
    }
    if (site_place_.has_value() && problems_ == 0) {
      std::vector<std::string> order;
      for (const ChosenColumn& column : chosen_) order.push_back(header_.names[column.place]);
      if (tables.columns.empty()) tables.columns = order;
      if (order != tables.columns) {
        return Problem(
            HeaderLine(), std::nullopt,
            {.what = "the columns are in another order than in the file before",
             .remedy = fmt::format("order them as {}", fmt::join(tables.columns, ", "))});
      }
    }
    if (!site_place_.has_value() && tables.sites.contains(Stem())) {
      return Problem(0, std::nullopt,
                     {.what = fmt::format("another file of this folder has the same name with "
                                          "another ending; both would be the table of site \"{}\"",
                                          Stem()),
                      .remedy = "keep one"});
    }
    return absl::OkStatus();
  }

  // Reads the row and notes its faults. False where nobody knows its site.
  bool ReadRow(TableRecords::Result result) {
    std::optional<ValueFault> fault = table::RecordFault(result, *format_.separator);
    if (!fault.has_value()) fault = header_.shape.Fit(fields_, records_.first_is_quoted());
    if (fault.has_value()) {
      Note(PlaceOfFault(result), *std::move(fault));
      records_.ResumeBehindFirstLine();
      fields_.assign(header_.names.size(), "");
    } else if (site_place_.has_value() && fields_[*site_place_].empty()) {
      Note(site_place_, {.what = "the site is empty", .remedy = "fill it in"});
    }
    for (ChosenColumn& column : chosen_) {
      table::WriteAsAgreed(format_.spellings, header_.names[column.place], format_.decimal,
                           fields_[column.place]);
      ReadField(column, fault.has_value());
    }
    return !site_place_.has_value() || !fields_[*site_place_].empty();
  }

  // `is_known`: the faults of its row are noted already.
  void ReadField(ChosenColumn& column, bool is_known) {
    std::string& field = fields_[column.place];
    const std::string& name = header_.names[column.place];
    if (column.holds_numbers) {
      table::RemoveThousands(format_.thousands, format_.decimal, field);
      if (ReadNumber(name, field, column)) return;
    }
    std::optional<ValueFault> fault = columns_.FaultOf(name, field, format_.decimal);
    if (fault.has_value() && !is_known) Note(column.place, *std::move(fault));
  }

  // False for a field with a fault, whose number is missing.
  bool ReadNumber(const std::string& name, const std::string& field, ChosenColumn& column) const {
    column.number = std::numeric_limits<double>::quiet_NaN();
    if (columns_.IsMissing(field)) return true;
    const std::optional<double> read = columns_.NumberIn(name, field, format_.decimal);
    if (!read.has_value() || !tacet::statistics::IsOrdinary(*read)) return false;
    column.number = *read;
    column.doubtful.Add(field, format_.decimal);
    return true;
  }

  // A row that ReadRow has read.
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
      site.table.columns.push_back(header_.names[column.place]);
      site.cells.push_back(column.holds_numbers ? table::ColumnBuilder()
                                                : table::ColumnBuilder::OfTexts());
    }
    return site;
  }

  const table::TableFile& text_;
  const QueryFile& file_;
  const QueryColumns& columns_;
  TableFormat format_;
  TableRecords records_;
  const Report& report_;
  table::ProblemSummary& noted_;
  uint64_t problems_ = 0;  // of the whole file
  Header header_;
  std::vector<std::string> fields_;
  std::vector<ChosenColumn> chosen_;
  std::optional<size_t> site_place_;
};

absl::Status ReadFile(const std::filesystem::path& path, const QueryFile& file,
                      const QueryColumns& columns, const TableFormat& format, const Report& report,
                      table::ProblemSummary& noted, Tables& tables) {
  TACET_ASSIGN_OR_RETURN(const table::TableFile text, table::TableFile::Open(path));
  if (const auto& problem = text.encoding_problem(); problem.has_value()) {
    // On the line of the names it is the file's, on a later one a row's, whose field is then a text
    // that nobody agreed on.
    if (problem->line < (file.columns.empty() ? 2U : 1U)) return report(*problem);
    noted.Add(*problem);
  }
  return FileReader(text, file, columns, format, report, noted).Read(tables);
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
  return {.decimal = file.decimal_comma ? DecimalMark::kComma : DecimalMark::kPoint,
          .thousands = file.thousands};
}

absl::StatusOr<TableFormat> SiteFormat(const QueryFile& file, const config::RunConfig& own) {
  TACET_ASSIGN_OR_RETURN(const data::CsvOptions csv, config::CsvOptionsOf(own));
  TableFormat format = QueryFormat(file);
  format.separator = csv.separator;
  if (csv.decimal == DecimalMark::kComma) format.decimal = csv.decimal;
  if (csv.thousands != table::Thousands::kUnsaid) format.thousands = csv.thousands;
  format.spellings = csv.spellings;
  TACET_RETURN_IF_ERROR(table::CheckThousands(format.thousands, format.decimal));
  return format;
}

absl::StatusOr<TableFormats> RehearsalFormats(const QueryFile& file,
                                              const std::optional<std::filesystem::path>& sites) {
  TableFormats formats = QueryFormat(file);
  if (!sites.has_value()) return formats;
  TACET_ASSIGN_OR_RETURN(const auto settings, config::LoadSiteSettings(sites->string()));
  for (const auto& [name, own] : settings) {
    const absl::StatusOr<TableFormat> format = SiteFormat(file, own);
    if (!format.ok()) return base::Annotate(format.status(), fmt::format("site \"{}\"", name));
    formats.of_site.emplace(name, *format);
  }
  return formats;
}

absl::StatusOr<std::vector<SiteTable>> LoadSiteTables(const std::filesystem::path& path,
                                                      const QueryFile& file,
                                                      const tacet::statistics::Query& query,
                                                      const TableFormats& formats,
                                                      table::ProblemSummary& problems) {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files, data::CsvFiles(path));
  if (files.empty()) {
    return data::NoCsvFile(path);
  }
  for (const auto& [name, format] : formats.of_site) {
    if (std::ranges::find(files, name, [](const auto& each) { return each.stem().string(); }) ==
        files.end()) {
      return base::NotFound("{}: there is no file of site \"{}\", which has settings of its own",
                            path.string(), name);
    }
  }
  const QueryColumns columns(file, query);
  const Report report = [](const TableProblem& problem) {
    return base::InvalidArgument("{}", table::ProblemText(problem));
  };
  Tables tables;
  for (const std::filesystem::path& each : files) {
    TACET_RETURN_IF_ERROR(
        ReadFile(each, file, columns, formats.Of(each.stem().string()), report, problems, tables));
  }
  return InOrder(std::move(tables));
}

std::vector<SiteTable> ReadSiteTables(const std::vector<std::filesystem::path>& files,
                                      const QueryFile& file, const tacet::statistics::Query& query,
                                      const TableFormat& format, table::ProblemSummary& problems) {
  const QueryColumns columns(file, query);
  const Report report = [&problems](const TableProblem& problem) {
    problems.Add(problem);
    return absl::OkStatus();
  };
  Tables tables;
  for (const std::filesystem::path& each : files) {
    const absl::Status read = ReadFile(each, file, columns, format, report, problems, tables);
    if (!read.ok()) {
      problems.Add({.file = each.string(), .fault = {.what = base::Message(read), .remedy = ""}});
    }
  }
  return InOrder(std::move(tables));
}

std::vector<std::string> ProblemLines(const table::ProblemSummary& problems) {
  std::vector<std::string> lines;
  for (const table::ProblemGroup& group : problems.Groups()) {
    lines.push_back(table::ProblemText(group.Told()));
  }
  return lines;
}

}  // namespace tacet::run
