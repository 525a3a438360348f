#include "lab/bench/bench_coverage.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/crypto/seeded_random.h"

namespace tacet::app::bench {
namespace {

using tacet::statistics::Answer;
using tacet::statistics::Estimate;

// Numbers about the rows themselves; the others are about the population that they are from.
bool IsOfRows(std::string_view quantity) {
  constexpr std::string_view kOfRows[] = {"count",           "sum",
                                          "at risk",         "positives",
                                          "negatives",       "true positives",
                                          "false negatives", "false positives",
                                          "true negatives",  "left out",
                                          "left-out share"};
  return std::ranges::find(kOfRows, quantity) != std::end(kOfRows);
}

// Rounding of exact sums, and of a truth that lies at the end of an interval.
bool Holds(const Estimate& estimate, double truth) {
  const double room = 1e-6 * std::max(std::abs(truth), 1.0);
  return estimate.interval->low - room <= truth && truth <= estimate.interval->high + room;
}

struct OfQuantity {
  uint64_t shown = 0;
  uint64_t covered = 0;
  double width = 0;
  const Covered* lowest = nullptr;
};

double ShareOf(const Covered& number) {
  return static_cast<double>(number.covered) / static_cast<double>(number.shown);
}

base::JsonValue SummaryOf(const CoverageSetting& setting, const std::vector<Covered>& numbers,
                          uint64_t releases) {
  std::map<std::string, OfQuantity> quantities;
  for (const Covered& number : numbers) {
    if (!IsShownAsARule(number, releases)) continue;
    OfQuantity& of = quantities[number.quantity];
    of.shown += number.shown;
    of.covered += number.covered;
    of.width += number.width * static_cast<double>(number.shown);
    if (of.lowest == nullptr || ShareOf(number) < ShareOf(*of.lowest)) of.lowest = &number;
  }
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const auto& [quantity, of] : quantities) {
    base::JsonValue lowest = base::JsonValue::MakeObject()
                                 .Set("covered", ShareOf(*of.lowest))
                                 .Set("shown", of.lowest->shown);
    if (!of.lowest->group.empty()) lowest.Set("group", of.lowest->group);
    if (!of.lowest->at.empty()) lowest.Set("at", of.lowest->at);
    const auto shown = static_cast<double>(of.shown);
    const std::vector<double>& edges = setting.question.cells.edges;
    const bool in_cells = !edges.empty() && (quantity == "quantile" || quantity == "median");
    const double unit = in_cells ? edges[1] - edges[0] : 1;
    base::JsonValue json = base::JsonValue::MakeObject()
                               .Set("quantity", quantity)
                               .Set("shown", of.shown)
                               .Set("covered", static_cast<double>(of.covered) / shown)
                               .Set("lowest", std::move(lowest));
    if (std::isfinite(of.width)) {
      json.Set(in_cells ? "cells" : "width", of.width / shown / unit);
    }
    list.Append(std::move(json));
  }
  return base::JsonValue::MakeObject()
      .Set("population", setting.name)
      .Set("kind", QuestionKindName(setting.question.kind))
      .Set("rows", setting.rows)
      .Set("epsilon", setting.epsilon)
      .Set("noise_law", dp::NoiseLawName(setting.noise_law))
      .Set("floor", setting.floor)
      .Set("quantities", std::move(list));
}

}  // namespace

bool IsShownAsARule(const Covered& number, uint64_t releases) {
  return 2 * number.shown >= releases;
}

absl::StatusOr<std::vector<Covered>> CoverageOf(const CoverageSetting& setting, uint64_t releases,
                                                uint64_t seed) {
  const size_t largest = std::max(setting.rows, setting.population->rows.size());
  TACET_ASSIGN_OR_RETURN(const QueryTrials trials,
                         QueryTrials::Create({setting.question}, setting.epsilon,
                                             std::max<size_t>(largest / kSites + 1, 1000),
                                             setting.floor, setting.noise_law, setting.values));
  TACET_ASSIGN_OR_RETURN(const std::vector<Answer> whole, trials.Exact(*setting.population));
  const Truth truth_of = TruthOf(setting);
  std::vector<Covered> numbers;
  for (const Estimate& estimate : whole[0].estimates) {
    numbers.push_back({.quantity = estimate.quantity, .group = estimate.group, .at = estimate.at});
  }
  crypto::Random random = crypto::SeededRandom(seed, "bench/coverage");
  for (uint64_t release = 0; release < releases; ++release) {
    const TextTable drawn = Resampled(*setting.population, setting.rows, random);
    TACET_ASSIGN_OR_RETURN(const std::vector<Answer> of_rows, trials.Exact(drawn));
    TACET_ASSIGN_OR_RETURN(
        const std::vector<Answer> answers,
        trials.ReleaseInTheClear(SpreadOverSites(drawn, release), random.Below(uint64_t{1} << 62)));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const Estimate& estimate = answers[0].estimates[i];
      const bool is_of_rows = IsOfRows(estimate.quantity);
      const std::optional<double> exact = is_of_rows ? std::nullopt : truth_of(estimate);
      const std::optional<double> truth =
          exact.has_value() ? exact : (is_of_rows ? of_rows : whole)[0].estimates[i].value;
      if (!estimate.value.has_value() || !estimate.interval.has_value() || !truth.has_value()) {
        continue;
      }
      ++numbers[i].shown;
      numbers[i].covered += Holds(estimate, *truth) ? 1 : 0;
      numbers[i].width += estimate.interval->high - estimate.interval->low;
    }
  }
  for (Covered& number : numbers) {
    if (number.shown > 0) number.width /= static_cast<double>(number.shown);
  }
  std::erase_if(numbers, [](const Covered& number) { return number.shown == 0; });
  return numbers;
}

absl::StatusOr<base::JsonValue> BenchIntervals(const std::filesystem::path& folder,
                                               uint64_t releases) {
  std::vector<CoverageSetting> settings = DrawnSettings();
  TACET_ASSIGN_OR_RETURN(std::vector<CoverageSetting> of_tables, SettingsOfTables(folder));
  std::ranges::move(of_tables, std::back_inserter(settings));
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const CoverageSetting& setting : settings) {
    TACET_ASSIGN_OR_RETURN(const std::vector<Covered> numbers, CoverageOf(setting, releases, 1));
    list.Append(SummaryOf(setting, numbers, releases));
  }
  return base::JsonValue::MakeObject().Set("releases", releases).Set("settings", std::move(list));
}

}  // namespace tacet::app::bench
