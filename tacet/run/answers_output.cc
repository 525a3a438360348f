#include "tacet/run/answers_output.h"

#include <string_view>

#include "fmt/format.h"

namespace tacet::run {
namespace {

using tacet::statistics::Answer;
using tacet::statistics::Estimate;
using tacet::statistics::QuestionKind;

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
      std::string line;
      if (!estimate.value.has_value()) {
        line = fmt::format("  {:<36} suppressed", label);
      } else if (estimate.standard_error > 0) {
        line = fmt::format("  {:<36} {:>10.5g}   {:.5g} to {:.5g}", label, *estimate.value,
                           estimate.low, estimate.high);
      } else {
        line = fmt::format("  {:<36} {:>10.5g}", label, *estimate.value);
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
      text += estimate.value.has_value()
                  ? fmt::format("{},{},{},{},{},", *estimate.value, estimate.noise_error,
                                estimate.standard_error, estimate.low, estimate.high)
                  : ",,,,,";
      text += estimate.too_many ? "true\n" : "\n";
    }
  }
  return text;
}

}  // namespace tacet::run
