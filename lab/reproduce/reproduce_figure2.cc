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

// Records with the same number of rounds and the same seed make a pair of curves.
std::vector<report::PlotCurve> Curves(const std::vector<base::JsonValue>& records) {
  std::vector<report::PlotCurve> curves;
  for (const base::JsonValue& record : records) {
    const std::string suffix = TextIn(record, "name").substr(TextIn(record, "row").size());
    const std::string text = fmt::format("T = {}{}", NumberIn(record, "rounds").value_or(0),
                                         suffix.empty() ? "" : fmt::format(" ({})", suffix));
    const std::string accuracy = "accuracy, " + text;
    auto curve = std::ranges::find(curves, accuracy, &report::PlotCurve::label);
    if (curve == curves.end()) {
      const bool dashed = !curves.empty();
      curves.push_back({.label = accuracy,
                        .colour = "#2b6cb0",
                        .points = {},
                        .dashed = dashed,
                        .markers = true});
      curves.push_back({.label = "epsilon, " + text,
                        .colour = "#b5651d",
                        .points = {},
                        .right = true,
                        .dashed = dashed,
                        .markers = true});
      curve = curves.end() - 2;
    }
    const double multiplier = NumberIn(record, "setting.noise_stddev").value_or(0) /
                              NumberIn(record, "setting.clip_norm").value_or(1);
    curve->points.emplace_back(multiplier, 100 * NumberIn(record, "accuracy").value_or(0));
    (curve + 1)->points.emplace_back(multiplier, NumberIn(record, "epsilon").value_or(0));
  }
  return curves;
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
    report::Plot plot;
    plot.x_label = "standard deviation of the noise in the sum, in clip norms";
    plot.x_from = kMultipliers.front();
    plot.x_to = kMultipliers.back();
    plot.left.label = "accuracy, %";
    plot.left.to = 100;
    plot.right.emplace().label = "epsilon (moments)";
    plot.curves = Curves(records);
    TACET_RETURN_IF_ERROR(
        WriteRecords(out, "figure", made.json, RecordsCsv(records), report::PlotSvg(plot)));
    made.text += fmt::format("\nresults     {}\n", (out / "figure.json").string());
  }
  return made;
}

}  // namespace tacet::app::reproduce
