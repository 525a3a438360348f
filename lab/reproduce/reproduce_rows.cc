#include "lab/reproduce/reproduce_rows.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "tacet/base/status.h"

namespace tacet::app::reproduce {
namespace {

std::string RowNames(const RowTable& table) {
  std::string names;
  for (const Row& row : table.rows)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

absl::StatusOr<std::vector<Row>> ChosenRows(const RowTable& table, const ReproduceFlags& flags) {
  if (!flags.row.has_value()) return std::vector<Row>(table.rows.begin(), table.rows.end());
  const auto row = std::ranges::find(table.rows, *flags.row, &Row::name);
  if (row == table.rows.end()) {
    return base::InvalidArgument("{} has no row \"{}\": expected {}", table.subject, *flags.row,
                                 RowNames(table));
  }
  return std::vector<Row>{*row};
}

// Trains the chosen rows that have a configuration.
absl::Status TrainRows(const RowTable& table, const ReproduceFlags& flags,
                       const std::vector<Row>& rows, const std::filesystem::path& out) {
  TACET_ASSIGN_OR_RETURN(const std::filesystem::path configs,
                         ConfigFolder(flags, fmt::format("configs/{}", table.name)));
  size_t found = 0;
  for (const Row& row : rows) {
    const std::filesystem::path path = configs / fmt::format("{}.toml", row.ConfigurationName());
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    ++found;
    TACET_ASSIGN_OR_RETURN(const config::RunConfig config, config::LoadRunConfig(path.string()));
    const Experiment experiment =
        MakeExperiment(std::string(row.name), std::string(row.title), row.published,
                       fmt::format("tacet-lab reproduce {} --row {}", table.name, row.name), config,
                       flags.experiment);
    TACET_RETURN_IF_ERROR(RunExperiment(experiment, out, flags.progress).status());
  }
  if (found == 0) {
    return base::NotFound("{} holds no configuration of {}", configs.string(),
                          flags.row.value_or(fmt::format("a row of {}", table.subject)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Reproduced> ReproduceRows(const RowTable& table, const ReproduceFlags& flags) {
  TACET_ASSIGN_OR_RETURN(const std::vector<Row> rows, ChosenRows(table, flags));
  TACET_ASSIGN_OR_RETURN(const std::filesystem::path out, FolderOf(flags, std::string(table.name)));
  if (!flags.show) TACET_RETURN_IF_ERROR(TrainRows(table, flags, rows, out));
  // Every record there is, whatever this command trained.
  std::vector<base::JsonValue> records;
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const Row& row :
       flags.show ? rows : std::vector<Row>(table.rows.begin(), table.rows.end())) {
    TACET_ASSIGN_OR_RETURN(std::vector<base::JsonValue> found, StoredRecords(out, row.name));
    for (base::JsonValue& record : found) {
      list.Append(record);
      records.push_back(std::move(record));
    }
  }
  if (records.empty()) {
    return base::NotFound("{} holds no results{}", out.string(),
                          flags.row ? fmt::format(" of {}", *flags.row) : "");
  }
  Reproduced made{
      .json = base::JsonValue::MakeObject().Set("table", table.id).Set("rows", std::move(list)),
      .text = fmt::format("\n{}", RecordsTable(records))};
  if (!flags.show) {
    TACET_RETURN_IF_ERROR(WriteRecords(out, "table", made.json));
    made.text += fmt::format("\nresults     {}\n", (out / "table.json").string());
  }
  return made;
}

}  // namespace tacet::app::reproduce
