#include "tacet/dp/mechanism_plan.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <string_view>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/dp/discrete_laplace.h"
#include "tacet/dp/poisson.h"
#include "tacet/dp/precision.h"
#include "tacet/dp/sum_bound.h"

namespace tacet::dp {
namespace {

// A wrong value anywhere in the run has at most this probability: 2^-40, with room for rounding.
constexpr double kLogWrongValue = -40 * std::numbers::ln2 - 1e-3;
// Below this a float has no full precision and clipping could not keep the norm.
constexpr double kSmallestLength = 1e-30;

absl::Status CheckLength(std::string_view field, double value) {
  if (!std::isfinite(value) || value < kSmallestLength) {
    return base::InvalidArgument("{} must be finite and at least {}, got {}", field,
                                 kSmallestLength, value);
  }
  return absl::OkStatus();
}

absl::Status CheckFields(const MechanismSpec& spec) {
  const MechanismParams& params = spec.params;
  if (spec.dimension == 0) return base::InvalidArgument("dimension must be at least 1, got 0");
  if (!params.without_clipping) TACET_RETURN_IF_ERROR(CheckLength("clip_norm", params.clip_norm));
  TACET_RETURN_IF_ERROR(CheckLength("coordinate_bound", params.coordinate_bound));
  TACET_RETURN_IF_ERROR(CheckLength("scale", params.scale));
  if (!std::isfinite(params.noise_stddev) || params.noise_stddev < 0) {
    return base::InvalidArgument("noise_stddev must be finite and not negative, got {}",
                                 params.noise_stddev);
  }
  if (params.noise_stddev == 0 && !params.without_noise) {
    return base::InvalidArgument(
        "noise_multiplier is 0, which protects nobody; a run without noise must say so "
        "(without_noise)");
  }
  if (spec.cohort == 0) return base::InvalidArgument("cohort must be at least 1, got 0");
  if (spec.min_participants == 0) {
    return base::InvalidArgument("min_participants must be at least 1, got 0");
  }
  if (spec.min_participants > spec.cohort) {
    return base::InvalidArgument("min_participants is {}, above the cohort of {}",
                                 spec.min_participants, spec.cohort);
  }
  if (spec.noise_shares > spec.min_participants) {
    return base::InvalidArgument("noise_shares is {}, above min_participants, which is {}",
                                 spec.noise_shares, spec.min_participants);
  }
  if (!(spec.most_contributions > 0)) {
    return base::InvalidArgument("most_contributions must be positive, got {}",
                                 spec.most_contributions);
  }
  if (spec.attempts == 0) return base::InvalidArgument("attempts must be at least 1, got 0");
  if (!(spec.delta > 0 && spec.delta < 1)) {
    return base::InvalidArgument("delta must lie between 0 and 1, got {}", spec.delta);
  }
  if (!std::isfinite(spec.max_epsilon) || spec.max_epsilon < 0) {
    return base::InvalidArgument("max_epsilon must be finite and not negative, got {}",
                                 spec.max_epsilon);
  }
  if (NoiseLawName(params.noise_law) == "unknown") {
    return base::InvalidArgument("noise_law has the unknown value {}",
                                 static_cast<int>(params.noise_law));
  }
  if (params.noise_law == NoiseLaw::kDiscreteLaplace && !params.without_clipping &&
      !spec.sums_of_clipped) {
    return base::InvalidArgument(
        "noise_law is discrete-laplace where a participant is one contribution, which is clipped "
        "in L2: expected gaussian");
  }
  if (GaussianSamplerName(params.sampler) == "unknown") {
    return base::InvalidArgument("sampler has the unknown value {}",
                                 static_cast<int>(params.sampler));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MechanismPlan> MechanismPlan::Create(const MechanismSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckFields(spec));
  const MechanismParams& params = spec.params;
  MechanismPlan plan;
  plan.spec_ = spec;
  if (spec.noise_shares == 0) plan.spec_.noise_shares = spec.min_participants;
  if (!params.without_clipping && !spec.sums_of_clipped) {
    plan.spec_.params.coordinate_bound = std::min(params.coordinate_bound, params.clip_norm);
  }
  if (params.without_noise) plan.spec_.params.noise_stddev = 0;
  const double bound = plan.spec_.params.coordinate_bound;

  plan.participant_stddev_ = plan.spec_.params.noise_stddev / std::sqrt(plan.spec_.noise_shares);
  plan.noise_bound_ = plan.participant_stddev_ * GaussianBound(params.sampler);
  if (params.noise_law == NoiseLaw::kDiscreteLaplace) TACET_RETURN_IF_ERROR(plan.PlanLaplace());
  const double reach = (bound + plan.noise_bound_) / params.scale;
  plan.max_rate_ = reach + std::ceil(reach) + 1;
  if (!(plan.max_rate_ < kPoissonMaxRate)) {
    if (plan.noise_bound_ > bound) {
      return base::InvalidArgument(
          "noise_stddev {} is too large for scale {}: one participant's noise reaches {}, which "
          "makes Poisson rates of up to {}; expected less than 2^31",
          params.noise_stddev, params.scale, plan.noise_bound_, plan.max_rate_);
    }
    return base::InvalidArgument(
        "coordinate_bound {} is too large for scale {}: it makes Poisson rates of up to {}; "
        "expected less than 2^31",
        bound, params.scale, plan.max_rate_);
  }
  plan.offset_ = static_cast<uint64_t>(std::ceil(reach)) + 1;

  const SumBoundSpec sum{
      .cohort = static_cast<double>(spec.cohort),
      .coordinate_bound = bound,
      .sum_stddev = plan.participant_stddev_ * std::sqrt(spec.cohort),
      .offset = -plan.mu(),
      .scale = params.scale,
  };
  const double log_sums =
      std::log(static_cast<double>(spec.dimension)) + std::log(static_cast<double>(spec.attempts));
  const double largest_sum = sum.cohort * bound;
  const double log_wrong = kLogWrongValue - log_sums;
  const bool is_laplace = params.noise_law == NoiseLaw::kDiscreteLaplace;
  const double sum_bound =
      std::ceil((is_laplace ? largest_sum + plan.LaplaceTail(spec.cohort, log_wrong)
                            : SumTailQuantile(sum, log_wrong)) /
                params.scale);
  // Rates below 2^31 make b/s < 2^30, and K < 2^32: the bound is far below 2^63.
  plan.sum_bound_ = static_cast<uint64_t>(sum_bound);
  const double reached = params.scale * sum_bound;
  const double deviation = plan.sum_stddev(spec.cohort, largest_sum);
  plan.sum_bound_stddevs_ = deviation > 0 ? (reached - largest_sum) / deviation : 0;
  plan.wrong_value_probability_ =
      std::exp(log_sums + (is_laplace ? log_wrong : LogSumTail(sum, reached)));

  if (params.without_noise) return plan;
  const double draws = plan.draws();
  const double epsilon = spec.max_epsilon;
  const double noise_stddev = plan.participant_stddev_ / params.scale;
  plan.samplers_.rounding =
      is_laplace ? 2 * plan.laplace_->rounding()
                 : RoundingOfDraw({.largest = plan.max_rate_,
                                   .bound = bound / params.scale,
                                   .least = std::max(
                                       1.0, (GaussianBound(params.sampler) - 5) * noise_stddev)});
  plan.samplers_.truncation_term = plan.Truncation(epsilon);
  plan.samplers_.coarse_tail_term = plan.CoarseTail(epsilon);
  plan.samplers_.precision_epsilon =
      PrecisionEpsilon(plan.samplers_.rounding, draws, kPrecisionDelta);
  plan.samplers_.precision_delta =
      PrecisionDelta(plan.samplers_.precision_epsilon, epsilon, spec.delta, kPrecisionDelta);
  const double allowed = spec.delta / 1000;
  if (!plan.makes_guarantee() || plan.total_delta_penalty() <= allowed) return plan;
  const double ending = plan.samplers_.truncation_term + plan.samplers_.coarse_tail_term;
  if (!(ending < plan.samplers_.precision_delta)) {
    return base::InvalidArgument(
        "the tails of sampler {} and of the quantiser cost {:.3g} of delta over {:.3g} draws at "
        "epsilon {:.4g}; expected at most delta/1000 = {:.3g} (of the samplers, default reaches as "
        "far "
        "as the quantiser; with a smaller epsilon all tails cost less)",
        GaussianSamplerName(params.sampler), ending, draws, epsilon, allowed);
  }
  return base::InvalidArgument(
      "the rounding of {:.3g} draws costs {:.3g} of delta at epsilon {:.4g} and Poisson rates of "
      "up to {:.3g}; expected at most delta/1000 = {:.3g}",
      draws, plan.samplers_.precision_delta, epsilon, plan.max_rate_, allowed);
}

absl::Status MechanismPlan::PlanLaplace() {
  const MechanismParams& params = spec_.params;
  noise_bound_ = 0;
  if (params.without_noise) return absl::OkStatus();
  const double rate = DiscreteLaplaceRate(params.noise_stddev / params.scale);
  if (rate < DiscreteLaplaceShares::kLeastRate) {
    return base::InvalidArgument(
        "noise_stddev {} is too large for scale {}: discrete Laplace noise has a deviation of at "
        "most {:.6g} steps of the scale",
        params.noise_stddev, params.scale,
        DiscreteLaplaceStddev(DiscreteLaplaceShares::kLeastRate));
  }
  TACET_ASSIGN_OR_RETURN(DiscreteLaplaceShares shares,
                         DiscreteLaplaceShares::Create(rate, spec_.noise_shares));
  laplace_ = std::make_shared<const DiscreteLaplaceShares>(std::move(shares));
  noise_bound_ = params.scale * laplace_->bound();
  return absl::OkStatus();
}

double MechanismPlan::LaplaceTail(uint32_t participants, double log_probability) const {
  if (laplace_ == nullptr) return 0;
  const double laws = static_cast<double>(participants) / spec_.noise_shares;
  const double rate = DiscreteLaplaceRate(spec_.params.noise_stddev / spec_.params.scale);
  return spec_.params.scale * DiscreteLaplaceTail(rate, laws, log_probability);
}

double MechanismPlan::Truncation(double epsilon) const {
  if (laplace_ != nullptr) return 2 * draws() * laplace_->truncation() * (1 + std::exp(epsilon));
  return TruncationTerm(draws(), GaussianBound(spec_.params.sampler), epsilon) +
         TruncationTerm(draws(), GaussianBound(GaussianSampler::kDefault), epsilon);
}

double MechanismPlan::CoarseTail(double epsilon) const {
  if (laplace_ != nullptr) return 0;
  return draws() * (1.0 + std::exp(epsilon)) *
         (GaussianCoarseTail(spec_.params.sampler) + GaussianCoarseTail(GaussianSampler::kDefault));
}

bool MechanismPlan::makes_guarantee() const {
  return spec_.params.makes_guarantee() && !spec_.without_guarantee;
}

ImplementationTerms MechanismPlan::TermsAt(double epsilon, double delta) const {
  if (spec_.params.without_noise) return {};
  const double terms =
      PrecisionDelta(samplers_.precision_epsilon, epsilon, delta, kPrecisionDelta) +
      Truncation(epsilon) + CoarseTail(epsilon);
  return {.epsilon = 2 * samplers_.precision_epsilon, .delta = std::min(1.0, terms)};
}

double MechanismPlan::draws() const {
  if (spec_.params.without_noise) return 0;
  return static_cast<double>(spec_.dimension) * spec_.attempts * spec_.cohort;
}

double MechanismPlan::sum_stddev(uint32_t participants, double sum_u) const {
  const double sigma = spec_.params.noise_stddev;
  const double noise = sigma * sigma * participants / spec_.noise_shares;
  if (spec_.params.noise_law == NoiseLaw::kDiscreteLaplace) return std::sqrt(noise);
  return std::sqrt(noise + quantisation_variance(participants) + spec_.params.scale * sum_u);
}

double MechanismPlan::quantisation_variance(uint32_t participants) const {
  if (spec_.params.noise_law == NoiseLaw::kDiscreteLaplace) return 0;
  return -mu() * spec_.params.scale * participants;
}

}  // namespace tacet::dp
