#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/core.h"

#include "lab/reproduce/reproduce.h"
#include "tacet/base/status.h"

namespace tacet::app::reproduce {
namespace {

// Noise of the sum in clip norms: the paper's sigma, its S being 1.
constexpr std::array<int, 5> kMultipliers = {2, 4, 6, 8, 10};

std::string RowOf(int multiplier) { return fmt::format("sigma-{}", multiplier); }

// The points that are to be trained: all, or the one that `row` names.
absl::StatusOr<std::vector<int>> ChosenMultipliers(const std::optional<std::string>& row) {
  std::vector<int> chosen;
  std::string names;
  for (const int multiplier : kMultipliers) {
    if (!row.has_value() || *row == RowOf(multiplier)) chosen.push_back(multiplier);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", RowOf(multiplier));
  }
  if (chosen.empty()) {
    return base::InvalidArgument("figure 2 has no row \"{}\": expected {}", *row, names);
  }
  return chosen;
}

absl::Status Train(const ReproduceFlags& flags, const std::vector<int>& multipliers,
                   const std::filesystem::path& out) {
  TACET_ASSIGN_OR_RETURN(const std::filesystem::path configs,
                         ConfigFolder(flags, "configs/table1"));
  TACET_ASSIGN_OR_RETURN(const config::RunConfig base_config,
                         config::LoadRunConfig((configs / "noise.toml").string()));
  for (const int multiplier : multipliers) {
    config::RunConfig config = base_config;
    config.agreement.mechanism.noise_stddev = multiplier * config.agreement.mechanism.clip_norm;
    // The paper names the accuracy of one of its points.
    const std::optional<double> published =
        multiplier == 6 ? std::optional<double>(0.7684) : std::nullopt;
    const Experiment experiment = MakeExperiment(
        RowOf(multiplier), fmt::format("noise of {} S in the sum", multiplier), published,
        fmt::format("tacet-lab reproduce figure2 --row {}", RowOf(multiplier)), config,
        flags.experiment);
    TACET_RETURN_IF_ERROR(RunExperiment(experiment, out, flags.progress).status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Reproduced> ReproduceFigure2(const ReproduceFlags& flags) {
  TACET_ASSIGN_OR_RETURN(const std::filesystem::path out, FolderOf(flags, "figure2"));
  TACET_ASSIGN_OR_RETURN(const std::vector<int> chosen, ChosenMultipliers(flags.row));
  if (!flags.show) TACET_RETURN_IF_ERROR(Train(flags, chosen, out));
  std::vector<base::JsonValue> records;
  base::JsonValue list = base::JsonValue::MakeArray();
  // Every record there is, whatever this command trained.
  for (const int multiplier :
       flags.show ? chosen : std::vector<int>(kMultipliers.begin(), kMultipliers.end())) {
    TACET_ASSIGN_OR_RETURN(std::vector<base::JsonValue> found,
                           StoredRecords(out, RowOf(multiplier)));
    for (base::JsonValue& record : found) {
      list.Append(record);
      records.push_back(std::move(record));
    }
  }
  if (records.empty()) return base::NotFound("{} holds no results", out.string());
  Reproduced made{
      .json = base::JsonValue::MakeObject().Set("figure", "2").Set("points", std::move(list)),
      .text = fmt::format("\n{}", RecordsTable(records))};
  if (!flags.show) {
    TACET_RETURN_IF_ERROR(WriteRecords(out, "figure", made.json));
    made.text += fmt::format("\nresults     {}\n", (out / "figure.json").string());
  }
  return made;
}

}  // namespace tacet::app::reproduce
