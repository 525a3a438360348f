#include "tacet/statistics/table1.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "fmt/format.h"

#include "tacet/base/status.h"

namespace tacet::statistics {
namespace {

constexpr double kMostCells = 50;
constexpr std::string_view kSuppressed = "✕";

// The form in which a paper prints a variable: "age, mean (sd)" and "61.2 (10.3)". The first
// quantity has its noise next to it.
struct RowForm {
  std::string_view title;
  std::vector<std::string_view> quantities;
  std::string (*print)(std::span<const double> numbers);
};

std::string Whole(double number) { return fmt::format("{:.0f}", std::max(number, 0.0)); }

const std::vector<RowForm>& Forms() {
  static const std::vector<RowForm> forms = {
      {.title = "mean (sd)",
       .quantities = {"mean", "standard deviation"},
       .print =
           [](std::span<const double> numbers) {
             return fmt::format("{} ({})", ThreeDigits(numbers[0]), ThreeDigits(numbers[1]));
           }},
      {.title = "median [IQR]",
       .quantities = {"median", "lower quartile", "upper quartile"},
       .print =
           [](std::span<const double> numbers) {
             return fmt::format("{} [{}, {}]", ThreeDigits(numbers[0]), ThreeDigits(numbers[1]),
                                ThreeDigits(numbers[2]));
           }},
      {.title = "n (%)",
       .quantities = {"count", "proportion"},
       .print =
           [](std::span<const double> numbers) {
             return fmt::format("{} ({})", Whole(numbers[0]), ThreeDigits(100 * numbers[1]));
           }},
  };
  return forms;
}

const Estimate* Found(const Answer& answer, std::string_view quantity, std::string_view group,
                      std::string_view at) {
  const auto found = std::ranges::find_if(answer.estimates, [&](const Estimate& estimate) {
    return estimate.quantity == quantity && estimate.group == group && estimate.at == at;
  });
  return found == answer.estimates.end() ? nullptr : &*found;
}

std::string NoiseText(std::optional<double> noise) {
  return noise.has_value() ? ThreeDigits(*noise) : std::string(kSuppressed);
}

// One line of the table, or none where the answer has no such numbers at this place.
std::optional<TableRow> Printed(const Answer& answer, const std::vector<std::string>& groups,
                                const RowForm& form, const std::string& at) {
  TableRow row{.name = fmt::format("{}, {}", at, form.title)};
  std::optional<double> noise;
  for (const std::string& group : groups) {
    std::vector<double> numbers;
    for (const std::string_view quantity : form.quantities) {
      const Estimate* estimate = Found(answer, quantity, group, at);
      if (estimate == nullptr) return std::nullopt;
      if (!estimate->value.has_value()) continue;
      if (numbers.empty()) noise = std::max(noise, estimate->noise_error);
      numbers.push_back(*estimate->value);
    }
    row.cells.push_back(numbers.size() == form.quantities.size() ? form.print(numbers)
                                                                 : std::string(kSuppressed));
  }
  row.noise = NoiseText(noise);
  return row;
}

// In the order of the estimates.
PrintedTable Print(const Answer& answer, std::string by) {
  PrintedTable table{.by = std::move(by)};
  TableRow counts{.name = "n"};
  std::vector<std::string> groups, places;
  std::optional<double> noise;
  for (const Estimate& estimate : answer.estimates) {
    if (estimate.at.empty() && estimate.quantity == "count") {
      groups.push_back(estimate.group);
      table.groups.push_back(estimate.group.empty() ? "all" : estimate.group);
      noise = std::max(noise, estimate.noise_error);
      counts.cells.push_back(estimate.value.has_value() ? Whole(*estimate.value)
                                                        : std::string(kSuppressed));
    } else if (!estimate.at.empty() && std::ranges::find(places, estimate.at) == places.end()) {
      places.push_back(estimate.at);
    }
  }
  counts.noise = NoiseText(noise);
  table.rows.push_back(std::move(counts));
  for (const std::string& at : places) {
    for (const RowForm& form : Forms()) {
      std::optional<TableRow> row = Printed(answer, groups, form, at);
      if (row.has_value()) table.rows.push_back(*std::move(row));
    }
  }
  return table;
}

std::string_view QuartileName(std::string_view at) {
  return at == "0.25" ? "lower quartile" : at == "0.5" ? "median" : "upper quartile";
}

// The table's line for one of its questions; none: nothing.
std::optional<Estimate> InTable(const QuestionPlan& plan, Estimate estimate) {
  const std::string& variable = plan.spec.variables[0].column;
  const std::string& quantity = estimate.quantity;
  const bool is_of_table = variable.empty();  // the rows of each group
  if (quantity == "left out" || quantity == "left-out share") {
    if (plan.kind().takes_quantiles) return std::nullopt;  // those of the mean are the same
    estimate.at = is_of_table ? plan.spec.cells.column : variable;
    return estimate;
  }
  if (is_of_table) {
    if (quantity != "count" || (plan.cells.has_value() && estimate.at.empty())) return std::nullopt;
    std::swap(estimate.group, estimate.at);
    return estimate;
  }
  if (plan.kind().takes_quantiles) {
    if (quantity != "quantile") return std::nullopt;
    estimate.quantity = QuartileName(estimate.at);
    estimate.at = variable;
    return estimate;
  }
  if (plan.is_moments()) {
    if (quantity != "mean" && quantity != "standard deviation") return std::nullopt;
    estimate.at = variable;
    return estimate;
  }
  if (estimate.at.empty()) return std::nullopt;
  estimate.at = fmt::format("{} = {}", variable, estimate.at);
  return estimate;
}

}  // namespace

std::string ThreeDigits(double number) {
  const std::string text = fmt::format("{:.2e}", number);
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  return fmt::format("{:.{}f}", std::strtod(text.c_str(), nullptr), std::max(2 - exponent, 0));
}

std::vector<double> TableEdges(double low, double high) {
  const double least = (high - low) / kMostCells;
  const double power = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= least * (1 - 1e-9)) step = factor * power;
  }
  std::vector<double> edges = {low};
  // Bounds may be so large that the next multiple is the same number.
  for (int i = 1; i <= 2 * kMostCells; ++i) {
    const double edge = (std::floor(low / step) + i) * step;
    if (edge >= high - step * 1e-6) break;
    if (edge > edges.back() + step * 1e-6) edges.push_back(edge);
  }
  edges.push_back(high);
  return edges;
}

absl::StatusOr<std::vector<QuestionSpec>> QuestionsOfTable(const QuestionSpec& table,
                                                           const QuerySpec& query) {
  if (table.variables.empty()) {
    return base::InvalidArgument(
        "`columns` is empty: list the table's variables, as in [\"age 18..100\", \"sex\"]");
  }
  std::vector<QuestionSpec> questions;
  const auto add = [&](QuestionKind kind, const TableVariable& variable, std::string_view what) {
    QuestionSpec& question =
        questions.emplace_back(QuestionSpec{.name = fmt::format("{}: {}", table.name, what),
                                            .kind = kind,
                                            .where = table.where,
                                            .sites = table.sites});
    question.groups = table.groups;
    question.variables = {variable};
    question.table = table.name;
    return &question;
  };
  const bool has_groups = !table.groups.column.empty();
  QuestionSpec* rows = add(has_groups ? QuestionKind::kHistogram : QuestionKind::kCount, {}, "n");
  std::swap(rows->groups, rows->cells);
  for (const TableVariable& variable : table.variables) {
    const std::string& column = variable.column;
    if (std::ranges::count(table.variables, column, &TableVariable::column) > 1) {
      return base::InvalidArgument("`columns` has \"{}\" twice", column);
    }
    if (variable.bounds.has_value()) {
      add(QuestionKind::kVariance, variable, fmt::format("{}, mean (sd)", column))->columns = {
          *variable.bounds};
      const auto [name, low, high] = *variable.bounds;
      if (!(std::isfinite(low) && std::isfinite(high) && low < high)) continue;  // see the variance
      add(QuestionKind::kQuantiles, variable, fmt::format("{}, median [IQR]", column))->cells = {
          .column = column, .edges = TableEdges(low, high), .is_cut = true};
    } else if (query.ValuesOf(column) == nullptr) {
      return base::InvalidArgument(
          "`columns` has \"{0}\": write the bounds of a column of numbers, as in \"{0} 0..100\", "
          "or "
          "list the values of one of texts in `data.values`",
          column);
    } else {
      add(QuestionKind::kHistogram, variable, fmt::format("{}, n (%)", column))->cells = {
          .column = column};
    }
  }
  for (QuestionSpec& question : questions) {
    question.share = table.share / static_cast<double>(questions.size());
  }
  return questions;
}

Answer TableAnswer(std::span<const QuestionPlan> questions, std::span<const Answer> answers) {
  Answer all{.question = questions[0].spec.table, .kind = QuestionKind::kTable1};
  for (size_t i = 0; i < questions.size(); ++i) {
    for (const Estimate& estimate : answers[i].estimates) {
      std::optional<Estimate> kept = InTable(questions[i], estimate);
      if (kept.has_value()) all.estimates.push_back(*std::move(kept));
    }
    for (const std::string& method : answers[i].methods) {
      if (std::ranges::find(all.methods, method) == all.methods.end()) {
        all.methods.push_back(method);
      }
    }
  }
  all.table = Print(all, questions[0].cells.has_value() ? questions[0].cells->column() : "");
  return all;
}

}  // namespace tacet::statistics
