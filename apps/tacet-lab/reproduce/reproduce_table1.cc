#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "apps/tacet-lab/reproduce/reproduce.h"
#include "tacet/base/status.h"

namespace tacet::app::reproduce {
namespace {

struct Row {
  std::string_view name;  // of its configuration and its records
  std::string_view title;
  std::optional<double> published;  // table 1 and the text below it
};

// In the paper's order, then what it reports in its text, then what it has not.
constexpr std::array<Row, 12> kRows = {{
    {"baseline", "no privacy: 200 rounds, few clients, weighted by samples", 0.846},
    {"rounds", "100 rounds", 0.8358},
    {"cohort", "all 3596 clients, 1000 a round", 0.8104},
    {"equal-weights", "the same coefficient for everybody", 0.8021},
    {"clipping", "updates clipped to S", 0.7926},
    {"quantisation", "Poisson quantisation", 0.7903},
    {"modulo", "encrypted, 26 bits a sum", 0.7907},
    {"noise", "Gaussian noise of 6 S in the sum: private", 0.7684},
    {"noise-plain", "the same noise without quantisation and modulo", 0.7684},
    {"noise-normalised", "noise, and layer norms without parameters", std::nullopt},
    {"noise-best-bound", "the noise that costs 5.31 by the best valid bound, 5.312 S",
     std::nullopt},
    {"noise-poisson", "Poisson cohorts of public size, 4.696 S", std::nullopt},
}};

std::string RowNames() {
  std::string names;
  for (const Row& row : kRows) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

absl::StatusOr<std::vector<Row>> ChosenRows(const ReproduceFlags& flags) {
  if (!flags.row.has_value()) return std::vector<Row>(kRows.begin(), kRows.end());
  const auto* const row = std::ranges::find(kRows, *flags.row, &Row::name);
  if (row == kRows.end()) {
    return base::InvalidArgument("table 1 has no row \"{}\": expected {}", *flags.row, RowNames());
  }
  return std::vector<Row>{*row};
}

// Trains the chosen rows that have a configuration.
absl::Status TrainRows(const ReproduceFlags& flags, const std::vector<Row>& rows,
                       const std::filesystem::path& out) {
  TACET_ASSIGN_OR_RETURN(const std::filesystem::path configs,
                         ConfigFolder(flags, "configs/table1"));
  size_t found = 0;
  for (const Row& row : rows) {
    const std::filesystem::path path = configs / fmt::format("{}.toml", row.name);
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    ++found;
    TACET_ASSIGN_OR_RETURN(const run::RunConfig config, run::LoadRunConfig(path.string()));
    const Experiment experiment = MakeExperiment(
        std::string(row.name), std::string(row.title), row.published,
        fmt::format("tacet-lab reproduce table1 --row {}", row.name), config, flags.experiment);
    TACET_RETURN_IF_ERROR(RunExperiment(experiment, out, flags.progress).status());
  }
  if (found == 0) {
    return base::NotFound("{} holds no configuration of {}", configs.string(),
                          flags.row.value_or("a row of table 1"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Reproduced> ReproduceTable1(const ReproduceFlags& flags) {
  TACET_ASSIGN_OR_RETURN(const std::vector<Row> rows, ChosenRows(flags));
  TACET_ASSIGN_OR_RETURN(const std::filesystem::path out, FolderOf(flags, "table1"));
  if (!flags.show) TACET_RETURN_IF_ERROR(TrainRows(flags, rows, out));
  // Every record there is, whatever this command trained.
  std::vector<base::JsonValue> records;
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const Row& row : flags.show ? rows : std::vector<Row>(kRows.begin(), kRows.end())) {
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
      .json = base::JsonValue::MakeObject().Set("table", "1").Set("rows", std::move(list)),
      .text = fmt::format("\n{}", RecordsTable(records))};
  if (!flags.show) {
    TACET_RETURN_IF_ERROR(WriteRecords(out, "table", made.json, RecordsCsv(records),
                                       program::PlotSvg(RecordsPlot(records))));
    made.text += fmt::format("\nresults     {}\n", (out / "table.json").string());
  }
  return made;
}

}  // namespace tacet::app::reproduce
