#include "tacet/run/answers_output.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "fmt/format.h"

#include "tacet/report/plot.h"
#include "tacet/statistics/site_table.h"

namespace tacet::run {
namespace {

using tacet::statistics::Answer;
using tacet::statistics::Estimate;
using tacet::statistics::NumberOf;
using tacet::statistics::QuestionKind;

constexpr std::array<const char*, 6> kColours = {"#1f77b4", "#d62728", "#2ca02c",
                                                 "#9467bd", "#ff7f0e", "#17becf"};

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

// The number that a place begins with: "50", or the lower end of "[40, 50)".
std::optional<double> PlaceOf(std::string_view at) {
  if (at.starts_with('[')) at = at.substr(1, at.find(',') - 1);
  return NumberOf(at);
}

using Points = std::vector<std::pair<double, double>>;

// Points of a quantity by group, in the order of the answer.
std::vector<std::pair<std::string, Points>> PointsOf(const Answer& answer,
                                                     std::string_view quantity) {
  std::vector<std::pair<std::string, Points>> groups;
  for (const Estimate& estimate : answer.estimates) {
    if (estimate.quantity != quantity || !estimate.value.has_value()) continue;
    const std::optional<double> place = PlaceOf(estimate.at);
    if (!place.has_value()) continue;
    auto group = std::ranges::find(groups, estimate.group, &std::pair<std::string, Points>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {estimate.group, {}});
    group->second.emplace_back(*place, *estimate.value);
  }
  return groups;
}

// Steps that begin at 1 and fall at each point.
Points StepsOf(const Points& points) {
  Points steps = {{0, 1}};
  for (const auto& [time, survival] : points) {
    steps.emplace_back(time, steps.back().second);
    steps.emplace_back(time, survival);
  }
  return steps;
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

std::optional<std::string> AnswerPlot(const Answer& answer) {
  report::Plot plot;
  plot.title = answer.question;
  const auto add = [&plot](const std::string& label, Points points, bool markers) {
    if (points.size() < 2) return;
    for (const auto& [x, y] : points) {
      plot.x_from = plot.curves.empty() && x == points[0].first ? x : std::min(plot.x_from, x);
      plot.x_to = std::max(plot.x_to, x);
    }
    plot.curves.push_back({.label = label,
                           .colour = kColours[plot.curves.size() % kColours.size()],
                           .points = std::move(points),
                           .markers = markers});
  };
  if (answer.kind == QuestionKind::kSurvival) {
    plot.x_label = "time";
    plot.left = {.label = "survival", .to = 1};
    for (auto& [group, points] : PointsOf(answer, "survival")) {
      add(group.empty() ? "all" : group, StepsOf(points), false);
    }
  } else if (answer.kind == QuestionKind::kEvaluation) {
    plot.x_label = "false positive rate";
    plot.left = {.label = "true positive rate", .to = 1};
    const auto rates = PointsOf(answer, "false positive rate");
    const auto sensitivities = PointsOf(answer, "sensitivity");
    for (size_t i = 0; i < std::min(rates.size(), sensitivities.size()); ++i) {
      Points curve = {{0, 0}};
      for (size_t j = rates[i].second.size(); j-- > 0;) {
        if (j < sensitivities[i].second.size()) {
          curve.emplace_back(rates[i].second[j].second, sensitivities[i].second[j].second);
        }
      }
      add(rates[i].first.empty() ? "all" : rates[i].first, std::move(curve), true);
    }
  } else if (answer.kind == QuestionKind::kHistogram) {
    plot.x_label = "lower end of the interval";
    plot.left = {.label = "count"};
    for (auto& [group, points] : PointsOf(answer, "count")) add("count", std::move(points), true);
  }
  if (plot.curves.empty()) return std::nullopt;
  return report::PlotSvg(plot);
}

}  // namespace tacet::run
