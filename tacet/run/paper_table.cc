#include "tacet/run/paper_table.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "fmt/format.h"

#include "tacet/base/status.h"
#include "tacet/statistics/question_kinds.h"
#include "tacet/statistics/table1.h"

namespace tacet::run {
namespace {

using tacet::statistics::Answer;
using tacet::statistics::Estimate;
using tacet::statistics::TableRow;

constexpr std::string_view kSuppressed = "✕";
constexpr std::string_view kCoefficient = "coefficient";
constexpr std::string_view kRatio = " ratio";

// With the minus of mathematics, which no program takes for the beginning of a formula.
std::string WithMinus(std::string_view numbers) {
  std::string text;
  for (const char c : numbers) text += c == '-' ? "−" : std::string(1, c);
  return text;
}

std::string NumberText(double number) {
  if (std::isinf(number)) return number > 0 ? "∞" : "−∞";
  return WithMinus(tacet::statistics::ThreeDigits(number));
}

std::string NoiseText(const Estimate& estimate) {
  return estimate.value.has_value() && estimate.noise_error.has_value()
             ? NumberText(*estimate.noise_error)
             : std::string(kSuppressed);
}

std::string WithInterval(const Estimate& estimate) {
  if (!estimate.value.has_value() || !estimate.interval.has_value()) {
    return std::string(kSuppressed);
  }
  return fmt::format("{} ({} to {})", NumberText(*estimate.value),
                     NumberText(estimate.interval->low), NumberText(estimate.interval->high));
}

std::string Capitalised(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string SuppressedNote(const PaperTable& table) {
  const bool has_one = std::ranges::any_of(table.rows, [](const std::vector<std::string>& row) {
    return std::ranges::find(row, kSuppressed) != row.end();
  });
  return has_one ? fmt::format(" {}: suppressed.", kSuppressed) : "";
}

PaperTable Baseline(const Answer& answer) {
  const tacet::statistics::PrintedTable& printed = *answer.table;
  PaperTable table{.caption = answer.question, .titles = {"Characteristic"}};
  if (!printed.by.empty()) table.caption += " by " + printed.by;
  table.titles.insert(table.titles.end(), printed.groups.begin(), printed.groups.end());
  table.titles.emplace_back("± noise");
  for (const TableRow& line : printed.rows) {
    std::vector<std::string>& row = table.rows.emplace_back(1, line.name);
    for (const std::string& cell : line.cells) row.push_back(WithMinus(cell));
    row.push_back(line.noise);
  }
  table.note =
      "± noise: standard deviation that the noise gives the first number of a line, the largest of "
      "the groups." +
      SuppressedNote(table);
  return table;
}

// Those of the model's terms that a reader looks for first.
std::vector<Estimate> EffectsOf(const Answer& answer) {
  std::vector<Estimate> slopes, ratios;
  for (const Estimate& estimate : answer.estimates) {
    if (estimate.quantity == kCoefficient) slopes.push_back(estimate);
  }
  for (const Estimate& estimate : answer.estimates) {
    if (estimate.quantity.ends_with(kRatio) &&
        std::ranges::find(slopes, estimate.group, &Estimate::group) != slopes.end()) {
      ratios.push_back(estimate);
    }
  }
  if (!ratios.empty()) return ratios;
  const auto intercept = std::ranges::find(answer.estimates, "intercept", &Estimate::quantity);
  if (intercept != answer.estimates.end()) slopes.insert(slopes.begin(), *intercept);
  return slopes;
}

PaperTable Effects(const Answer& answer, double confidence) {
  const std::vector<Estimate> effects = EffectsOf(answer);
  const std::string percent = fmt::format("{:g} %", 100 * confidence);
  PaperTable table{
      .caption = answer.question,
      .titles = {"Term", fmt::format("{} ({} CI)", Capitalised(effects.back().quantity), percent),
                 "± noise"}};
  for (const Estimate& effect : effects) {
    table.rows.push_back({effect.group.empty() ? Capitalised(effect.quantity) : effect.group,
                          WithInterval(effect), NoiseText(effect)});
  }
  const auto count = std::ranges::find(answer.estimates, "count", &Estimate::quantity);
  if (count != answer.estimates.end() && count->value.has_value()) {
    table.note = fmt::format("n = {:.0f} ± {}. ", *count->value, NoiseText(*count));
  }
  table.note += fmt::format(
      "CI: interval of {} that holds noise and sampling. ± noise: standard deviation that the "
      "noise "
      "gives the estimate.{}",
      percent, SuppressedNote(table));
  return table;
}

}  // namespace

bool HasPaperTable(const Answer& answer) {
  if (answer.table.has_value()) return true;
  bool has_coefficients = false;
  for (const Estimate& estimate : answer.estimates) {
    if (estimate.quantity != kCoefficient) continue;
    if (estimate.value.has_value() && !estimate.interval.has_value()) return false;
    has_coefficients = true;
  }
  return has_coefficients;
}

absl::StatusOr<PaperTable> PaperTableOf(const Answer& answer, double confidence) {
  if (!HasPaperTable(answer)) {
    return base::InvalidArgument(
        "the answer \"{}\" is of kind {}: only table1 and models with intervals have a table",
        answer.question, tacet::statistics::QuestionKindName(answer.kind));
  }
  return answer.table.has_value() ? Baseline(answer) : Effects(answer, confidence);
}

}  // namespace tacet::run
