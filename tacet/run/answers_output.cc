#include "tacet/run/answers_output.h"

#include <string_view>

#include "fmt/format.h"

namespace tacet::run {
namespace {

using tacet::statistics::Answer;
using tacet::statistics::Estimate;
using tacet::statistics::QuestionKind;

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

std::string AnswersText(const std::vector<Answer>& answers, double confidence) {
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
      if (!estimate.value.has_value()) {
        text += fmt::format("  {:<36} suppressed\n", label);
      } else if (estimate.standard_error > 0) {
        text += fmt::format("  {:<36} {:>10.5g}   {:.5g} to {:.5g}\n", label, *estimate.value,
                            estimate.low, estimate.high);
      } else {
        text += fmt::format("  {:<36} {:>10.5g}\n", label, *estimate.value);
      }
    }
  }
  return text;
}

std::string AnswersCsv(const std::vector<Answer>& answers) {
  std::string text = "question,kind,quantity,group,at,value,noise_error,standard_error,low,high\n";
  for (const Answer& answer : answers) {
    for (const Estimate& estimate : answer.estimates) {
      text += fmt::format("{},{},{},{},{},", Quoted(answer.question),
                          tacet::statistics::QuestionKindName(answer.kind),
                          Quoted(estimate.quantity), Quoted(estimate.group), Quoted(estimate.at));
      text += estimate.value.has_value()
                  ? fmt::format("{},{},{},{},{}\n", *estimate.value, estimate.noise_error,
                                estimate.standard_error, estimate.low, estimate.high)
                  : ",,,,\n";
    }
  }
  return text;
}

}  // namespace tacet::run
