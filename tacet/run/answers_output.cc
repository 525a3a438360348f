#include "tacet/run/answers_output.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "fmt/format.h"

namespace tacet::run {
namespace {

using tacet::statistics::Answer;
using tacet::statistics::Estimate;
using tacet::statistics::PrintedTable;
using tacet::statistics::QuestionKind;
using tacet::statistics::Range;
using tacet::statistics::TableRow;

// ECMA-48, "select graphic rendition".
const std::string kRed = "\x1b[31m";
const std::string kPlain = "\x1b[0m";

// Whether another place has the number: a file has curves, a table its own lines.
bool IsElsewhere(const Answer& answer, const Estimate& estimate) {
  if (answer.table.has_value()) return !estimate.quantity.starts_with("left");
  return answer.kind == QuestionKind::kEvaluation && !estimate.at.empty();
}

// A letter takes one column of the console, however many bytes it has.
size_t WidthOf(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

// As a paper prints it, with the error of the noise at the end of each line.
std::string TableText(const PrintedTable& table) {
  std::vector<std::vector<std::string>> lines(1, {""});
  lines[0].insert(lines[0].end(), table.groups.begin(), table.groups.end());
  lines[0].emplace_back("± noise");
  for (const TableRow& row : table.rows) {
    std::vector<std::string>& line = lines.emplace_back(1, row.name);
    line.insert(line.end(), row.cells.begin(), row.cells.end());
    line.push_back(row.noise);
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    for (size_t column = 0; column < line.size(); ++column) {
      size_t width = 0;
      for (const auto& other : lines) width = std::max(width, WidthOf(other[column]));
      text += "  " + line[column];
      if (column + 1 < line.size()) text.append(width - WidthOf(line[column]), ' ');
    }
    text += "\n";
  }
  return text +
         "  ± noise: standard deviation of the first number of a line that the noise gives it, the "
         "largest\n  of the groups; ✕: suppressed\n";
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char letter : text) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + "\"";
}

std::string FieldOf(std::optional<double> number) {
  return number.has_value() ? fmt::format("{}", *number) : "";
}

}  // namespace

std::string AnswersText(const std::vector<Answer>& answers, double confidence, bool in_colour) {
  std::string text;
  for (const Answer& answer : answers) {
    const bool has_groups = answer.table.has_value() && !answer.table->by.empty();
    text += fmt::format("\n{} ({}){}, intervals of {:g} %\n", answer.question,
                        tacet::statistics::QuestionKindName(answer.kind),
                        has_groups ? " by " + answer.table->by : "", 100 * confidence);
    if (answer.table.has_value()) text += TableText(*answer.table);
    for (const Estimate& estimate : answer.estimates) {
      if (IsElsewhere(answer, estimate)) continue;
      std::string label = estimate.quantity;
      for (const std::string* part : {&estimate.group, &estimate.at}) {
        if (!part->empty()) label += ", " + *part;
      }
      std::string line = estimate.value.has_value()
                             ? fmt::format("  {:<36} {:>10.5g}", label, *estimate.value)
                             : fmt::format("  {:<36} suppressed", label);
      if (estimate.interval.has_value()) {
        line += fmt::format("   {:.5g} to {:.5g}", estimate.interval->low, estimate.interval->high);
      }
      if (estimate.too_many) {
        line +=
            fmt::format("   more than {:g} % of the rows", 100 * tacet::statistics::kManyLeftOut);
        if (in_colour) line = kRed + line + kPlain;
      }
      text += line + "\n";
    }
  }
  return text;
}

std::string AnswersCsv(const std::vector<Answer>& answers) {
  std::string text =
      "question,kind,quantity,group,at,value,noise_error,standard_error,low,high,too_many\n";
  for (const Answer& answer : answers) {
    for (const Estimate& estimate : answer.estimates) {
      text += fmt::format("{},{},{},{},{},", Quoted(answer.question),
                          tacet::statistics::QuestionKindName(answer.kind),
                          Quoted(estimate.quantity), Quoted(estimate.group), Quoted(estimate.at));
      const std::optional<Range>& interval = estimate.interval;
      text += fmt::format(
          "{},{},{},{},{},{}\n", FieldOf(estimate.value), FieldOf(estimate.noise_error),
          FieldOf(estimate.standard_error), interval.has_value() ? FieldOf(interval->low) : "",
          interval.has_value() ? FieldOf(interval->high) : "", estimate.too_many ? "true" : "");
    }
  }
  return text;
}

}  // namespace tacet::run
