#include "tacet/statistics/answers.h"

#include <cmath>
#include <string>

#include "tacet/base/json_lists.h"
#include "tacet/base/status.h"
#include "tacet/statistics/answer_parts.h"
#include "tacet/statistics/table1.h"

namespace tacet::statistics {
namespace {

// The answers to the questions of each table as one. They follow each other.
std::vector<Answer> WithTables(const Query& query, std::vector<Answer> answers) {
  const std::span<const QuestionPlan> plans = query.questions();
  std::vector<Answer> all;
  for (size_t i = 0; i < plans.size();) {
    size_t end = i + 1;
    if (plans[i].spec.table.empty()) {
      all.push_back(std::move(answers[i]));
    } else {
      while (end < plans.size() && plans[end].spec.table == plans[i].spec.table) ++end;
      all.push_back(TableAnswer(plans.subspan(i, end - i), std::span(answers).subspan(i, end - i)));
    }
    i = end;
  }
  return all;
}

base::JsonValue TableJson(const PrintedTable& table) {
  base::JsonValue rows = base::JsonValue::MakeArray();
  for (const TableRow& row : table.rows) {
    rows.Append(base::JsonValue::MakeObject()
                    .Set("name", row.name)
                    .Set("cells", base::JsonList(row.cells))
                    .Set("noise", row.noise));
  }
  return base::JsonValue::MakeObject()
      .Set("by", table.by)
      .Set("groups", base::JsonList(table.groups))
      .Set("rows", std::move(rows));
}

base::JsonValue CovarianceJson(const std::vector<double>& covariance) {
  const auto size = static_cast<size_t>(std::lround(std::sqrt(covariance.size())));
  base::JsonValue rows = base::JsonValue::MakeArray();
  for (size_t i = 0; i < size; ++i) {
    rows.Append(base::JsonList(std::span(covariance).subspan(i * size, size)));
  }
  return rows;
}

base::JsonValue EstimateJson(const Estimate& estimate) {
  base::JsonValue json = base::JsonValue::MakeObject().Set("quantity", estimate.quantity);
  if (!estimate.group.empty()) json.Set("group", estimate.group);
  if (!estimate.at.empty()) json.Set("at", estimate.at);
  if (estimate.too_many) json.Set("too_many", true);
  if (!estimate.value.has_value())
    return json.Set("value", base::JsonValue()).Set("suppressed", true);
  json.Set("value", *estimate.value);
  if (estimate.noise_error.has_value()) json.Set("noise_error", *estimate.noise_error);
  if (estimate.standard_error.has_value()) json.Set("standard_error", *estimate.standard_error);
  if (!estimate.interval.has_value()) return json;
  const auto [low, high] = *estimate.interval;
  return json.Set("low", low).Set("high", std::isinf(high) ? base::JsonValue() : high);
}

}  // namespace

absl::StatusOr<std::vector<Answer>> AnswersOf(const Query& query, std::span<const double> released,
                                              const ReleasedNoise& noise) {
  if (released.size() != query.dimension()) {
    return base::InvalidArgument("the release has {} values, the query {}", released.size(),
                                 query.dimension());
  }
  if (!(noise.stddev >= 0 && std::isfinite(noise.stddev))) {
    return base::InvalidArgument("the release's noise is {}, expected a finite number",
                                 noise.stddev);
  }
  for (const double value : released) {
    if (!std::isfinite(value)) return base::InvalidArgument("the release has the value {}", value);
  }
  std::vector<Answer> answers;
  for (const QuestionPlan& plan : query.questions()) {
    std::vector<std::span<const double>> releases;
    for (uint32_t round = 0; round < query.rounds(); ++round) {
      releases.push_back(
          released.subspan(round * query.round_dimension() + plan.first, plan.measured()));
    }
    const size_t last = released.size() - query.round_dimension();
    const std::span<const double> part = released.subspan(last + plan.first, plan.size);
    const Measurements measured{.plan = plan,
                                .values = part.first(plan.measured()),
                                .noise = noise,
                                .floor = query.spec().floor,
                                .confidence = query.spec().confidence,
                                .releases = std::move(releases)};
    Answer answer = plan.kind().answer(measured);
    AddLeftOut(measured, part.subspan(plan.measured()), answer);
    answer.question = plan.spec.name;
    answer.kind = plan.spec.kind;
    if (plan.cells.has_value() && plan.cells->is_ordered() && !plan.across.has_value()) {
      answer.edges = plan.cells->edges();
    }
    answers.push_back(std::move(answer));
  }
  return WithTables(query, std::move(answers));
}

std::vector<Answer> QuestionsToAnswer(const Query& query) {
  std::vector<Answer> blank;
  for (const QuestionPlan& plan : query.questions()) {
    if (!plan.spec.table.empty() && !blank.empty() && blank.back().question == plan.spec.table) {
      continue;
    }
    blank.push_back({.question = plan.spec.table.empty() ? plan.spec.name : plan.spec.table,
                     .kind = plan.asked_kind()});
  }
  return blank;
}

std::string_view NoiseSentence(dp::NoiseLaw law) {
  return law == dp::NoiseLaw::kDiscreteLaplace
             ? "Each count has discrete Laplace noise: it is off by a random number of steps, most "
               "often by few."
             : "Each measured value has Gaussian noise: it is off by a random number of a normal "
               "distribution.";
}

base::JsonValue AnswersJson(const Query& query, const std::vector<Answer>& answers) {
  base::JsonValue list = base::JsonValue::MakeArray();
  for (const Answer& answer : answers) {
    base::JsonValue estimates = base::JsonValue::MakeArray();
    for (const Estimate& estimate : answer.estimates) estimates.Append(EstimateJson(estimate));
    base::JsonValue json = base::JsonValue::MakeObject()
                               .Set("name", answer.question)
                               .Set("kind", QuestionKindName(answer.kind));
    if (!answer.edges.empty()) json.Set("edges", base::JsonList(answer.edges));
    if (answer.table.has_value()) json.Set("table", TableJson(*answer.table));
    if (!answer.covariance.empty()) json.Set("covariance", CovarianceJson(answer.covariance));
    list.Append(
        json.Set("estimates", std::move(estimates)).Set("methods", base::JsonList(answer.methods)));
  }
  return base::JsonValue::MakeObject()
      .Set("name", query.spec().name)
      .Set("unit", accounting::UnitName(query.spec().unit))
      .Set("confidence", query.spec().confidence)
      .Set("floor", query.spec().floor)
      .Set("noise_law", dp::NoiseLawName(query.noise_law()))
      .Set("noise", NoiseSentence(query.noise_law()))
      .Set("questions", std::move(list));
}

}  // namespace tacet::statistics
