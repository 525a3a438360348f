#include "tacet/site/site_rows.h"

#include "fmt/core.h"

#include "tacet/base/status.h"
#include "tacet/data/csv.h"
#include "tacet/storage/file/sketch_folder.h"
#include "tacet/table/table_file.h"
#include "tacet/table/table_text.h"

namespace tacet::site {
namespace {

using storage::file::SharedRows;
using storage::file::SketchFolder;
using table::TableRecords;

absl::Status AddRows(const std::filesystem::path& path, std::optional<char> separator,
                     ledger::RowSketcher& sketcher) {
  TACET_ASSIGN_OR_RETURN(const table::TableFile file, table::TableFile::Open(path));
  TableRecords records = file.Records();
  const char between =
      table::ChooseSeparator(records, path.string(), separator, {}, false).value_or(',');
  std::vector<std::string> fields;
  bool first = true;
  for (TableRecords::Result result = records.Next(between, fields);
       result != TableRecords::Result::kEnd; result = records.Next(between, fields)) {
    if (result == TableRecords::Result::kUnreadable) {
      return base::DataLoss("{}: {}", path.string(), table::RecordFault(result, between)->what);
    }
    if (!first && result == TableRecords::Result::kRecord) sketcher.Add(fields);
    first = false;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<SharedRows>> Compare(const std::filesystem::path& ledger_folder,
                                                std::string_view population,
                                                const std::filesystem::path& data,
                                                std::optional<char> separator) {
  TACET_ASSIGN_OR_RETURN(const SketchFolder folder, SketchFolder::Open(ledger_folder));
  TACET_ASSIGN_OR_RETURN(const ledger::RowSketch rows,
                         SketchOfTables(data, separator, folder.key()));
  return folder.Add(population, rows);
}

std::string PercentText(double share) {
  return share < 0.01 ? "less than 1 %" : fmt::format("about {:.0f} %", 100 * share);
}

}  // namespace

absl::StatusOr<ledger::RowSketch> SketchOfTables(const std::filesystem::path& path,
                                                 std::optional<char> separator,
                                                 const crypto::SecretBytes& key) {
  TACET_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> files, data::CsvFiles(path));
  ledger::RowSketcher sketcher(key);
  for (const std::filesystem::path& file : files) {
    TACET_RETURN_IF_ERROR(AddRows(file, separator, sketcher));
  }
  return sketcher.Finish();
}

std::vector<std::string> RowWarnings(const std::filesystem::path& ledger_folder,
                                     std::string_view population, const std::filesystem::path& data,
                                     std::optional<char> separator) {
  const absl::StatusOr<std::vector<SharedRows>> shared =
      Compare(ledger_folder, population, data, separator);
  if (!shared.ok()) {
    return {fmt::format(
        "nobody compares this site's rows with those of its other populations: {}. The comparison "
        "decides nothing; a new one is made when {} is deleted",
        base::Message(shared.status()), (ledger_folder / "sketch").string())};
  }
  std::vector<std::string> warnings;
  for (const SharedRows& rows : *shared) {
    warnings.push_back(fmt::format(
        "{} of the rows of {} are in the tables of the population \"{}\", too, and are charged to "
        "\"{}\". If they are the same people, each of them has two budgets: tell the officer who "
        "signed the policy. Tables with few columns share rows by chance",
        PercentText(rows.share), data.string(), rows.population, population));
  }
  return warnings;
}

}  // namespace tacet::site
