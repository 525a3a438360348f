#include "tacet/statistics/likelihood_doubt.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "fmt/format.h"

namespace tacet::statistics {
namespace {

// A last step ends the search where it is no longer than this in each coordinate of the design,
// apart from noise: the means move by at most as much of themselves.
constexpr double kSmallStep = 0.25;
// Deviations of its own noise that a step may be longer. Two gradients move it, root 2 each.
constexpr double kNoiseOfStep = 2.8;
// No noise explains a longer one: a step is a parabola's, and means change by e.
constexpr double kLongStep = 1;
// A coefficient of its coordinate from which the least and the largest row differ by e^2.
constexpr double kStrong = 1;
// For a strong coefficient, the information of the second release is above that of the last one by
// at most this part of the pooled one, a deviation of the difference's noise included. Without an
// end, where a group has no event, each step takes the information down by e: the part is 1.5.
constexpr double kLostInformation = 0.95;
// Rows whose mean is cut, in parts of all. Beyond, coefficients would be biased. The noise of their
// number is allowed for by as many deviations.
constexpr double kManyCutMeans = 0.01;
constexpr double kNoiseOfCuts = 2;

using Vector = std::vector<double>;

// The form of `x` in a symmetric matrix whose distinct entries are measured.
double FormOf(const Vector& matrix, const Vector& x) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t k = 0; k < x.size(); ++k) sum += matrix[i * x.size() + k] * x[i] * x[k];
  }
  return sum;
}

double NoiseOfForm(const QuestionPlan& plan, double noise, const Vector& x) {
  double variance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    variance += std::pow(x[i] * x[i] / plan.square, 2);
    for (size_t k = 0; k < i; ++k) variance += std::pow(2 * x[i] * x[k] / plan.cross, 2);
  }
  return noise * std::sqrt(variance);
}

bool HasEnded(const Measurements& measured, const LikelihoodSteps& steps, const Cholesky& factor) {
  const QuestionPlan& plan = measured.plan;
  const Vector& step = steps.last_step();
  for (size_t j = 0; j < step.size(); ++j) {
    Vector unit(step.size());
    unit[j] = 1;
    const Vector solved = factor.Solve(unit);
    double square = 0;
    for (const double value : solved) square += value * value;
    const double noise = measured.noise.stddev / plan.amplitude * std::sqrt(square);
    if (std::abs(step[j]) > std::min(kSmallStep + kNoiseOfStep * noise, kLongStep)) return false;
    if (j < plan.baselines || std::abs(steps.coefficients[j]) < kStrong) continue;
    // The first release is the public start's.
    const double lost = FormOf(steps.path[1].information, solved) -
                        FormOf(steps.path.back().information, solved) +
                        std::sqrt(2.0) * NoiseOfForm(plan, measured.noise.stddev, solved);
    if (lost > kLostInformation * FormOf(steps.information, solved)) return false;
  }
  return true;
}

// Whether rows may be cut at all, and more than a few of them as far as the noise shows.
bool MayCutMeans(const Measurements& measured, const LikelihoodSteps& steps) {
  const QuestionPlan& plan = measured.plan;
  double largest = steps.coefficients[0];
  for (size_t i = 1; i < steps.coefficients.size(); ++i) largest += std::abs(steps.coefficients[i]);
  if (largest <= std::log(plan.most_mean)) return false;
  double cut = 0, rows = 0;
  for (size_t round = 1; round < measured.releases.size(); ++round) {
    const LikelihoodRelease release(plan, measured.releases[round]);
    cut += release.CutMeans();
    rows += release.rows();
  }
  const double noise = measured.noise.stddev / plan.cut *
                       std::sqrt(static_cast<double>(measured.releases.size()) - 1);
  return cut + kNoiseOfCuts * noise > kManyCutMeans * std::max(rows, 0.0);
}

}  // namespace

std::string DoubtAbout(const Measurements& measured, const LikelihoodSteps& steps,
                       const Cholesky& factor) {
  const QuestionPlan& plan = measured.plan;
  if (plan.is_poisson() && MayCutMeans(measured, steps)) {
    return fmt::format(
        "coefficients suppressed: means of the model are above half of the response's bound, {:g}, "
        "and as far as the noise shows those of more than {:g} % of the rows are, and are cut: "
        "raise the bound, or ask with a larger epsilon or share, or of more rows",
        plan.design->response().high, 100 * kManyCutMeans);
  }
  if (HasEnded(measured, steps, factor)) return "";
  return fmt::format(
      "coefficients suppressed: the steps do not show that they ended near the largest likelihood. "
      "Events may be missing in a group or beyond a value, or there all have one: leave its column "
      "out or join groups. {}Or ask with a larger epsilon or share, or of more rows",
      plan.is_cox() ? "Events may be early in the first interval: choose edges near the times of "
                      "events. "
      : plan.is_poisson()
          ? "Means may be a small part of the response's bound: choose a lower bound. "
          : "");
}

}  // namespace tacet::statistics
