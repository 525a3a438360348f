#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "fmt/format.h"

#include "tacet/statistics/hazard_answers.h"

namespace tacet::statistics {
namespace {

// Points of a curve: within an interval the hazard is constant, and survival is not.
constexpr size_t kPointsOfCurve = 12;

struct SurvivalRow {
  std::string quantity;
  std::string group;
  std::vector<double> of_factors;
  size_t parts = 1;  // of each interval, at whose ends survival is told
};

// `first`: of the stratum's baselines.
void AddCurve(const Measurements& measured, const LikelihoodSteps& steps,
              const LikelihoodErrors* errors, const SurvivalRow& row, size_t first,
              Answer& answer) {
  const QuestionPlan& plan = measured.plan;
  const std::vector<double>& edges = plan.cells->edges();
  std::vector<double> design(plan.design->columns());
  plan.design->Fill(row.of_factors, design);
  const double linear = std::inner_product(design.begin(), design.end(),
                                           steps.coefficients.begin() + plan.baselines, 0.0);
  std::vector<double> hazards(plan.baselines);
  std::vector<double> weights(plan.baselines);  // of the hazard's logarithm
  weights.insert(weights.end(), design.begin(), design.end());
  for (size_t j = 0; j < plan.cells->size(); ++j) {
    for (size_t part = 1; part <= row.parts; ++part) {
      const double length =
          (edges[j + 1] - edges[j]) * static_cast<double>(part) / static_cast<double>(row.parts);
      const Estimate labels{.quantity = row.quantity,
                            .group = row.group,
                            .at = fmt::format("{:g}", edges[j] + length)};
      if (errors == nullptr) {
        answer.estimates.push_back(labels);
        continue;
      }
      hazards[first + j] = length / edges.back() * std::exp(steps.coefficients[first + j] + linear);
      const double hazard = std::accumulate(hazards.begin(), hazards.end(), 0.0);
      for (size_t i = 0; i < plan.baselines; ++i) weights[i] = hazards[i] / hazard;
      const LikelihoodCoefficient of_log = errors->Of(weights);
      const double survival = std::exp(-hazard), slope = survival * hazard;
      const double reach = NormalDeviate(measured.confidence) * of_log.standard_error;
      answer.estimates.push_back(MakeEstimate(
          labels, survival, slope * of_log.noise_error, slope * of_log.standard_error,
          Range{std::exp(-hazard * std::exp(reach)), std::exp(-hazard * std::exp(-reach))},
          Range{0, 1}));
    }
  }
}

}  // namespace

void AddModelSurvival(const Measurements& measured, const LikelihoodSteps& steps,
                      const LikelihoodErrors* errors, Answer& answer) {
  const QuestionPlan& plan = measured.plan;
  const size_t intervals = plan.cells->size();
  const auto add = [&](SurvivalRow row) {
    const std::string told = row.group;
    for (size_t first = 0; first < plan.baselines; first += intervals) {
      if (plan.spec.by_site) {
        row.group = plan.spec.sites[first / intervals] + (told.empty() ? "" : ", " + told);
      }
      AddCurve(measured, steps, errors, row, first, answer);
    }
  };
  add({.quantity = "baseline survival", .group = "", .of_factors = plan.design->MiddleRow()});
  for (size_t i = 0; i < plan.profiles.size(); ++i) {
    add({.quantity = "survival",
         .group = plan.spec.profiles[i],
         .of_factors = plan.profiles[i],
         .parts = (kPointsOfCurve + intervals - 1) / intervals});
  }
}

}  // namespace tacet::statistics
