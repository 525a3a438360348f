#include "lab/baselines/baseline_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "lab/baselines/integer_noise.h"
#include "tacet/base/status.h"

namespace tacet::app::baselines {
namespace {

constexpr uint32_t kMaxTrials = 1U << 30;
constexpr double kMinOwnStddev = 0.5;
constexpr double kMaxOwnVariance = 0x1p30;
// Deviations of a sum that are passed with probability below 2^-40 in 10^8 draws.
constexpr double kSumDeviations = 10;

}  // namespace

std::string_view BaselineName(Baseline baseline) {
  switch (baseline) {
    case Baseline::kPoissonGaussian:
      return "poisson-gaussian";
    case Baseline::kDiscreteGaussian:
      return "discrete-gaussian";
    case Baseline::kSkellam:
      return "skellam";
    case Baseline::kBinomial:
      return "binomial";
  }
  return "";
}

absl::StatusOr<Baseline> ParseBaseline(std::string_view name) {
  for (const Baseline baseline : kBaselines) {
    if (BaselineName(baseline) == name) return baseline;
  }
  return base::InvalidArgument("there is no mechanism \"{}\"", name);
}

absl::StatusOr<BaselinePlan> BaselinePlan::Create(Baseline baseline,
                                                  const dp::MechanismSpec& spec) {
  TACET_ASSIGN_OR_RETURN(const dp::MechanismPlan plan, dp::MechanismPlan::Create(spec));
  BaselinePlan made(baseline, plan);
  if (baseline == Baseline::kPoissonGaussian) return made;
  const double variance = made.own_variance();
  if (!(variance > 0) || variance > kMaxOwnVariance) {
    return base::InvalidArgument(
        "a participant's noise has a variance of {:.3g} steps, it must be above 0 and at most "
        "{:.3g}: choose a larger scale",
        variance, kMaxOwnVariance);
  }
  if (baseline == Baseline::kDiscreteGaussian && std::sqrt(variance) < kMinOwnStddev) {
    return base::InvalidArgument(
        "a participant's noise has a deviation of {:.3g} steps, the theorem needs {}: choose a "
        "smaller scale",
        std::sqrt(variance), kMinOwnStddev);
  }
  if (baseline == Baseline::kBinomial && (4 * variance > kMaxTrials)) {
    return base::InvalidArgument(
        "a participant's noise needs {:.3g} trials, it draws 2 to {}: choose a larger scale",
        4 * variance, kMaxTrials);
  }
  return made;
}

double BaselinePlan::own_variance() const {
  const double own = steps(plan_.participant_stddev());
  if (baseline_ != Baseline::kBinomial) return own * own;
  return static_cast<double>(trials()) / 4;
}

// Even, and not below what the plan asks for.
uint32_t BaselinePlan::trials() const {
  const double own = steps(plan_.participant_stddev());
  return 2 * static_cast<uint32_t>(std::ceil(std::min(2 * own * own, 0x1p30)));
}

// Norm after rounding at random, for a rejection rate below 1 - beta with beta = exp(-1/2)
// (Kairouz, Liu, Steinke 2021, equation 1): sqrt(min((norm + sqrt d)^2, norm^2 + d/4 + sqrt(2
// log(1/beta)) (norm + sqrt d / 2))), where sqrt(2 log(1/beta)) is 1.
double BaselinePlan::norm_bound() const {
  const double norm = steps(spec().params.clip_norm);
  const auto dimension = static_cast<double>(spec().dimension);
  const double root = std::sqrt(dimension);
  const double likely = norm * norm + dimension / 4 + (norm + root / 2);
  return std::sqrt(std::min((norm + root) * (norm + root), likely));
}

double BaselinePlan::sum_stddev() const {
  const uint32_t participants = spec().cohort;
  if (baseline_ == Baseline::kPoissonGaussian) return plan_.sum_stddev(participants);
  // Rounding at random has a variance of at most 1/4 step.
  return spec().params.scale * std::sqrt(participants * (own_variance() + 0.25));
}

uint32_t BaselinePlan::sum_bits() const {
  double bound = static_cast<double>(plan_.sum_bound());
  if (baseline_ != Baseline::kPoissonGaussian) {
    bound = spec().cohort * (steps(spec().params.coordinate_bound) + 1) +
            kSumDeviations * steps(sum_stddev());
  }
  return static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(2 * bound) + 1));
}

uint64_t BaselinePlan::residue_bytes() const { return (spec().dimension * sum_bits() + 7) / 8; }

void BaselinePlan::Encode(std::span<const float> update, crypto::Random& random,
                          std::span<int64_t> out) const {
  std::vector<float> clipped(update.size());
  mechanism_.Clip(update, clipped);
  if (baseline_ == Baseline::kPoissonGaussian) {
    std::vector<uint32_t> counts(update.size());
    mechanism_.NoiseAndQuantize(clipped, random, random, counts);
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = static_cast<int64_t>(counts[i]) - static_cast<int64_t>(plan_.offset());
    }
    return;
  }
  RoundConditionally(clipped, spec().params.scale, norm_bound(), random, out);
  std::vector<int64_t> noise(out.size());
  if (baseline_ == Baseline::kDiscreteGaussian) {
    FillDiscreteGaussian(std::sqrt(own_variance()), random, noise);
  } else if (baseline_ == Baseline::kSkellam) {
    FillSkellam(own_variance(), random, noise);
  } else {
    FillCentredBinomial(trials(), random, noise);
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] += noise[i];
}

void BaselinePlan::DecodeMean(std::span<const int64_t> sums, uint32_t participants,
                              std::span<double> mean) const {
  for (size_t i = 0; i < sums.size(); ++i) {
    mean[i] = spec().params.scale * static_cast<double>(sums[i]) / participants;
  }
}

}  // namespace tacet::app::baselines
