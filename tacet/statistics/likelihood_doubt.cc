#include "tacet/statistics/likelihood_doubt.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace tacet::statistics {
namespace {

// The search has ended where the mean step of the releases is no longer than this in each
// coordinate of the design, apart from noise: the means move by at most as much of themselves.
constexpr double kSmallStep = 0.1;
// Deviations of a gradient's noise that the mean step may be longer.
constexpr double kNoiseOfStep = 6;
// A coefficient of its coordinate from which the least and the largest row differ by e^2.
constexpr double kStrong = 1;
// The information of a strong coefficient in the second release is at most this many times that of
// the later ones. Without an end, where a group has no event, each step takes it down by e: it is 4
// times as large. The difference may be larger by as many deviations of its noise.
constexpr double kLostInformation = 2;
constexpr double kNoiseOfLost = 1.5;
// Rows whose mean is cut, in parts of all. Beyond, coefficients would be biased.
constexpr double kManyCutMeans = 0.015;
// The same times the excess of the largest mean, in parts of the most one. The noise of the rows'
// number is allowed for by as many deviations.
constexpr double kManyExcesses = 0.01;
constexpr double kNoiseOfCuts = 2;
// A mean above the response's bound cannot be. Where rows are cut beyond so many deviations of
// noise, the coefficients of a group grow with each step.
constexpr double kClearCuts = 3;

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
  const Vector deviations = NoiseOfSteps(plan, measured.noise.stddev, factor);
  const auto later = static_cast<double>(steps.path.size()) - 2;
  for (size_t j = 0; j < deviations.size(); ++j) {
    const double limit = kSmallStep + kNoiseOfStep * deviations[j];
    if (std::abs(steps.mean_step[j]) > limit) return false;
    if (j < plan.baselines || std::abs(steps.coefficients[j]) < kStrong) continue;
    Vector unit(deviations.size());
    unit[j] = 1;
    const Vector solved = factor.Solve(std::move(unit));
    // The first release is the public start's.
    double lost = FormOf(steps.path[1].information, solved);
    for (size_t round = 2; round < steps.path.size(); ++round) {
      lost -= kLostInformation / later * FormOf(steps.path[round].information, solved);
    }
    const double noise = NoiseOfForm(plan, measured.noise.stddev, solved) *
                         std::sqrt(1 + kLostInformation * kLostInformation / later);
    if (lost > kNoiseOfLost * noise) return false;
  }
  return true;
}

// Whether rows may be cut at all, and more than a few of them as far as the noise shows.
bool MayCutMeans(const Measurements& measured, const LikelihoodSteps& steps) {
  const QuestionPlan& plan = measured.plan;
  double largest = steps.coefficients[0];
  for (size_t i = 1; i < steps.coefficients.size(); ++i) largest += std::abs(steps.coefficients[i]);
  const double excess = std::exp(largest) / plan.most_mean - 1;
  if (excess <= 0) return false;
  double cut = 0, rows = 0;
  for (size_t round = 1; round < measured.releases.size(); ++round) {
    const LikelihoodRelease release(plan, measured.releases[round]);
    cut += release.CutMeans();
    rows += release.rows();
  }
  const double noise = measured.noise.stddev / plan.cut *
                       std::sqrt(static_cast<double>(measured.releases.size()) - 1);
  return cut > kManyCutMeans * std::max(rows, 0.0) ||
         (cut + kNoiseOfCuts * noise) * std::min(excess, 1.0) >
             kManyExcesses * std::max(rows, 0.0) ||
         (cut > kClearCuts * noise && excess >= 1);
}

}  // namespace

std::string DoubtAbout(const Measurements& measured, const LikelihoodSteps& steps,
                       const Cholesky& factor) {
  const QuestionPlan& plan = measured.plan;
  if (plan.is_poisson() && MayCutMeans(measured, steps)) {
    return fmt::format(
        "coefficients suppressed: means of the model are above half of the response's bound, {:g}, "
        "and are cut in more rows than is certain to leave no bias: raise the bound, or ask with a "
        "larger epsilon or share, or of more rows",
        plan.design->response().high);
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
