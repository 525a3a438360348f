// Plans of models: scales of a row's part, so that no row moves a release farther than it is
// charged.
#include <algorithm>
#include <cmath>

#include "tacet/base/status.h"
#include "tacet/statistics/query.h"
#include "tacet/statistics/row_reach.h"

namespace tacet::statistics {
namespace {

// Charges of parts of a Poisson model, each as a part of its gradient's: squares of residuals, the
// saturated likelihood, and rows whose mean is cut.
constexpr double kRobustCharge = 0.1;
constexpr double kSaturatedCharge = 0.02;
constexpr double kCutCharge = 0.2;

// The reach of a row in a release at amplitude 1 of the gradient, M = 1 + terms >= |x|^2, without
// the count. |g - h|^2 <= 2 |g|^2 + 2 |h|^2 holds for gradients. The other parts of two rows have
// an inner product of 0 or more. So `distance` is twice the largest 2 |gradient|^2 + |others|^2.
struct LikelihoodReach {
  double distance_square = 0;
  double norm_square = 0;
  double information = 0;  // scale of it
  double largest_mean = 0;
  double largest_residual = 1;
};

// Scale of the scores of a check of proportional hazards.
constexpr double kChangeScale = 0.5;

// With e = max(mu, 1 - mu) >= |y - mu| and mu (1 - mu) = e (1 - e):
//   distance^2 <= M max_e (4 e^2 + 44 e^2 (1 - e)^2) = 4 M,
//   norm^2     <= M max_e (e^2 + 22 e^2 (1 - e)^2) <= 1.66 M.
LikelihoodReach ReachOfLogistic(double most_square) {
  return {.distance_square = 4 * most_square,
          .norm_square = 1.66 * most_square,
          .information = std::sqrt(22 / most_square),
          .largest_mean = 0.25};
}

// |y - mu| <= 1 - mu for mu up to 1/2. With the charges q of squares and v of means that are cut,
// half of 2 |gradient|^2 + |others|^2, the saturated likelihood left out, is at most
//   M ((1 - mu)^2 + (3 + 3.75 q - 4 v) mu^2 + q (1 - mu)^4), and v M more at mu = 1/2,
// which is convex in mu and M (1 + q) at both ends. Two saturated likelihoods are at most 2 root(M
// w) apart, w their charge. Without half of the gradient's part, at most M (1.75 + 2 q + 4 w) is
// left.
LikelihoodReach ReachOfPoisson(double most_square) {
  const double charges = kRobustCharge + kSaturatedCharge;
  return {.distance_square = 4 * most_square * (1 + charges),
          .norm_square = most_square * (1.75 + 2 * charges + 2 * kSaturatedCharge),
          .information = std::sqrt((6 + 7.5 * kRobustCharge - 8 * kCutCharge) / most_square),
          .largest_mean = kMostPoissonMean};
}

// A row's hazards add up to mu <= 2. Its gradient has a square of at most mu^2 M without an event,
// and 1 + mu^2 + (1 - mu)^2 (M - 1) with one; its information one of mu^2 M^2, by 1 / M. So the
// norm is at most 8 M. Two rows are at most 18 M apart where neither has an event, as their
// information grows with the angle between them, 17 M + 4 where one has, 12 M + 14 where both have.
// The scores of a check have a square of at most (mu + d)^2 (M - 1) / 4, so their distance adds
// 4 (M - 1), 6.25 (M - 1) and 9 (M - 1): proof in docs/security/statistics.md. M >= 2.
LikelihoodReach ReachOfCox(double most_square, bool checks_hazards) {
  return {.distance_square = (checks_hazards ? 23.5 : 19) * most_square,
          .norm_square = (checks_hazards ? 9 : 8) * most_square,
          .information = 1 / std::sqrt(most_square),
          .largest_mean = kMostHazard,
          .largest_residual = kMostHazard};
}

}  // namespace

absl::Status Query::PlanGlm(double budget, QuestionPlan& plan) {
  if (spec_.unit == accounting::Unit::kClient) {
    return base::InvalidArgument(
        "a model needs many units, and with unit client each site is one: choose unit record or "
        "person");
  }
  if (plan.is_cox()) {
    plan.baselines = plan.cells->size() * (plan.spec.by_site ? plan.spec.sites.size() : 1);
  }
  plan.rows_per_unit = static_cast<double>(spec_.rows_per_unit);
  TACET_ASSIGN_OR_RETURN(plan.design, Design::Create(plan.spec, spec_));
  for (const std::string& profile : plan.spec.profiles) {
    TACET_ASSIGN_OR_RETURN(plan.profiles.emplace_back(), plan.design->RowOf(profile, spec_));
  }
  if (plan.has_steps()) return PlanLikelihood(budget, plan);
  plan.moments.emplace(plan.design->columns() + 1);
  plan.left_out_values = 1;
  plan.size = plan.moments->size() + 1;
  // Each term has a norm of at most 1, and so has the response.
  const double norm_square = static_cast<double>(plan.design->terms()) + 1;
  const MomentReach reach = ReachOfMoments(norm_square);
  const RowReach row =
      PlanLeftOut({.norm = reach.norm, .distance = reach.distance, .largest = reach.count},
                  by_distance(), dp::NoiseLaw::kGaussian, plan);
  const double rounding = grid_ * std::sqrt(static_cast<double>(plan.size));
  const auto rows = static_cast<double>(spec_.rows_per_unit);
  const double most =
      (budget * kRoom - rounding) / (rows * (by_distance() ? row.distance : row.norm));
  plan.amplitude = most;
  plan.left_out = RoundedDown(most * plan.left_out, grid_);
  plan.scales = plan.moments->Scales(norm_square);
  for (double& scale : plan.scales) scale = RoundedDown(most * scale, grid_);
  // Sums and products of two are needed. Higher moments of less than a step stay unknown.
  if (!(most > 2 * grid_)) return TooSmall();
  plan.replace_one = most * rows * row.distance + rounding;
  plan.zero_out = most * rows * row.norm + rounding;
  coordinate_bound_ =
      std::max(coordinate_bound_, *std::ranges::max_element(plan.scales) * rows + grid_);
  return absl::OkStatus();
}

absl::Status Query::PlanRisks(QuestionPlan& plan) const {
  const QuestionSpec& spec = plan.spec;
  if (spec.formula.empty() && spec.coefficients.empty()) return absl::OkStatus();
  if (!spec.cells.column.empty()) {
    return base::InvalidArgument(
        "`score` and `formula`: scores are a column, or the risks of a model; remove one of them");
  }
  TACET_ASSIGN_OR_RETURN(plan.design, Design::Create(spec, spec_));
  if (spec.coefficients.size() != plan.design->columns() + 1) {
    return base::InvalidArgument(
        "formula \"{}\" has {} coefficients with the intercept, `coefficients` has {}",
        spec.formula, plan.design->columns() + 1, spec.coefficients.size());
  }
  for (const double coefficient : spec.coefficients) {
    if (std::isfinite(coefficient)) continue;
    return base::InvalidArgument("`coefficients` has {}, expected finite numbers", coefficient);
  }
  return absl::OkStatus();
}

absl::Status Query::PlanLikelihood(double budget, QuestionPlan& plan) {
  const auto most_square = static_cast<double>(plan.design->terms()) + 1;
  const size_t columns = plan.design->columns();
  const bool is_poisson = plan.is_poisson();
  const LikelihoodReach reach = plan.is_cox() ? ReachOfCox(most_square, plan.spec.checks_hazards)
                                : is_poisson  ? ReachOfPoisson(most_square)
                                              : ReachOfLogistic(most_square);
  plan.most_mean = reach.largest_mean;
  const double count = reach.largest_residual * std::sqrt(most_square);
  // Difference of the largest and the least y log(y / exposure).
  const double surprises = kLeastSurprise - plan.design->least_log_exposure();
  const size_t products = (columns + 1) * (columns + 2) / 2;
  plan.left_out_values = 1;
  // The count, the rows left out, and those of more baselines than one.
  plan.size = 2 + columns + 1 + products + (is_poisson ? products + 2 : 0) +
              (plan.baselines - 1) * (columns + 2) + (plan.spec.checks_hazards ? columns : 0);
  const RowReach row = PlanLeftOut({.norm = std::sqrt(count * count + reach.norm_square),
                                    .distance = std::sqrt(reach.distance_square),
                                    .largest = count},
                                   by_distance(), dp::NoiseLaw::kGaussian, plan);
  const double rounding = grid_ * std::sqrt(static_cast<double>(plan.size));
  const auto rows = static_cast<double>(spec_.rows_per_unit);
  const double most =
      (budget * kRoom - rounding) / (rows * (by_distance() ? row.distance : row.norm));
  const auto scale = [&](double factor) { return RoundedDown(most * factor, grid_); };
  plan.left_out = scale(plan.left_out);
  plan.amplitude = scale(1);
  plan.count = scale(count);
  plan.square = scale(reach.information);
  plan.cross = scale(reach.information * std::sqrt(2.0));
  if (is_poisson) {
    // Half of the charge for the dispersion, half for the other products.
    plan.dispersion = scale(std::sqrt(most_square * kRobustCharge));
    const double robust = std::sqrt(most_square * kRobustCharge / (most_square * most_square - 1));
    plan.robust = scale(robust);
    plan.robust_cross = scale(robust * std::sqrt(2.0));
    plan.cut = scale(std::sqrt(2 * most_square * kCutCharge));
    plan.saturated = scale(2 * std::sqrt(most_square * kSaturatedCharge) / surprises);
    if (!(std::min({plan.robust, plan.cut, plan.saturated}) > 2 * grid_)) return TooSmall();
  }
  if (plan.spec.checks_hazards) plan.change = scale(kChangeScale);
  if (!(std::min(plan.amplitude, plan.square) > 2 * grid_)) return TooSmall();
  plan.replace_one = most * rows * row.distance + rounding;
  plan.zero_out = most * rows * row.norm + rounding;
  const double largest =
      std::max({plan.count, plan.amplitude, plan.cross * reach.largest_mean,
                plan.amplitude * reach.largest_residual, plan.dispersion, plan.robust_cross,
                plan.saturated * surprises, plan.change * (kMostHazard + 1)});
  coordinate_bound_ = std::max(coordinate_bound_, largest * rows + grid_);
  return absl::OkStatus();
}

}  // namespace tacet::statistics
