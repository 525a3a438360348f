#include "tacet/run/answers_output.h"

#include <optional>
#include <string_view>

#include "fmt/format.h"

namespace tacet::run {
namespace {

using tacet::statistics::Answer;
using tacet::statistics::Estimate;
using tacet::statistics::QuestionKind;
using tacet::statistics::Range;

// ECMA-48, "select graphic rendition".
const std::string kRed = "\x1b[31m";
const std::string kPlain = "\x1b[0m";

bool IsCurve(const Answer& answer, const Estimate& estimate) {
  return answer.kind == QuestionKind::kEvaluation && !estimate.at.empty();
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
    text += fmt::format("\n{} ({}), intervals of {:g} %\n", answer.question,
                        tacet::statistics::QuestionKindName(answer.kind), 100 * confidence);
    for (const Estimate& estimate : answer.estimates) {
      if (IsCurve(answer, estimate)) continue;
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
