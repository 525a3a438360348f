#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "fmt/format.h"

#include "tacet/statistics/answer_parts.h"

namespace tacet::statistics {
namespace {

struct RowCount {
  double value = 0;
  double error = 0;  // of the noise
};

// Rows that count, in column `column` where each is measured by itself. A sum does not tell.
std::optional<RowCount> CountOf(const Measurements& measured, size_t column) {
  const QuestionPlan& plan = measured.plan;
  const auto of_value = [&](size_t place, double scale) {
    return RowCount{.value = measured.values[place] / scale,
                    .error = measured.noise.stddev / scale};
  };
  if (plan.kind().form == PartForm::kRegression) return of_value(0, plan.count);
  if (plan.kind().form == PartForm::kGlm) {
    return of_value(0, plan.has_steps() ? plan.count : plan.scales[0]);
  }
  if (!plan.kind().keeps_floor) return std::nullopt;
  RowCount count;
  if (plan.is_moments()) {
    for (size_t group = 0; group < plan.group_count(); ++group) {
      const size_t block = group * plan.spec.columns.size() + column;
      const RowCount one = of_value(block * plan.kind().moments, kMomentCount * plan.amplitude);
      count = {.value = count.value + one.value, .error = std::hypot(count.error, one.error)};
    }
    return count;
  }
  const size_t length = plan.strategy->cells();
  for (size_t segment = 0; segment < plan.segments; ++segment) {
    count.value += plan.strategy->Total(measured.values.subspan(segment * length, length));
  }
  count.error = measured.noise.stddev * plan.strategy->SuffixDeviation(0) *
                std::sqrt(static_cast<double>(plan.segments));
  return count;
}

void AddColumn(const Measurements& measured, const RowCount& left, std::optional<RowCount> count,
               const std::string& column, Answer& answer) {
  const bool enough = measured.IsEnough(left.value);
  Estimate rows{.quantity = "left out", .group = column};
  if (enough) {
    const double half = measured.noise.Quantile(measured.confidence) / measured.plan.left_out;
    rows = MakeEstimate(rows, left.value, left.error, left.error,
                        Range{left.value - half, left.value + half},
                        Range{0, std::numeric_limits<double>::infinity()});
  }
  if (!count.has_value()) {
    answer.estimates.push_back(rows);
    return;
  }
  const double all = left.value + std::max(count->value, 0.0);
  rows.too_many =
      rows.value.has_value() && rows.interval->low > 0 && left.value > kManyLeftOut * all;
  Estimate share{.quantity = "left-out share", .group = column, .too_many = rows.too_many};
  if (enough && measured.IsEnough(count->value) && left.value + count->value > 0) {
    const double of_all = left.value / all;
    const double error = std::hypot((1 - of_all) * left.error, of_all * count->error) / all;
    const double half = measured.noise.Deviate(measured.confidence) * error;
    share =
        MakeEstimate(share, of_all, error, error, Range{of_all - half, of_all + half}, Range{0, 1});
  }
  answer.estimates.push_back(rows);
  answer.estimates.push_back(share);
}

}  // namespace

void AddLeftOut(const Measurements& measured, std::span<const double> left_out, Answer& answer) {
  const QuestionPlan& plan = measured.plan;
  if (left_out.empty()) return;
  const bool is_laplace = measured.noise.law == dp::NoiseLaw::kDiscreteLaplace;
  for (size_t i = 0; i < left_out.size(); ++i) {
    const RowCount left{.value = left_out[i] / plan.left_out,
                        .error = measured.noise.stddev / plan.left_out};
    AddColumn(measured, left, CountOf(measured, i), plan.column_label(i), answer);
  }
  answer.methods.push_back(
      "left out: noised count of rows with a field that cannot be read; " +
      (plan.left_out_cost > 1e-6
           ? fmt::format("it takes {:.2g} % of the question's {}", 100 * plan.left_out_cost,
                         is_laplace ? "charge" : "squared charge")
           : "it takes nothing of the question's charge"));
}

}  // namespace tacet::statistics
