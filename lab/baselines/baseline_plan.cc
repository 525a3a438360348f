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

double BaselinePlan::norm_bound() const {
  return RoundedNormBound(steps(spec().params.clip_norm), static_cast<double>(spec().dimension));
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

double BaselinePlan::Epsilon(double rate, uint32_t rounds) const {
  const auto dimension = static_cast<double>(spec().dimension);
  const double variance = spec().min_participants * own_variance();
  const Sensitivity sensitivity =
      ReplaceOne(norm_bound(), steps(spec().params.coordinate_bound) + 1, dimension);
  const double delta = spec().delta;
  switch (baseline_) {
    case Baseline::kPoissonGaussian: {  // quantising is post-processing of the Gaussian sum
      const double l2 = 2 * steps(spec().params.clip_norm);
      return EpsilonOfRdp([&](double alpha) { return GaussianRdp(alpha, l2, variance); }, rate,
                          rounds, delta);
    }
    case Baseline::kDiscreteGaussian: {  // proportional to the order
      const double first = DiscreteGaussianRdp(1, sensitivity, std::sqrt(own_variance()),
                                               spec().min_participants, dimension);
      return EpsilonOfRdp([&](double alpha) { return alpha * first; }, rate, rounds, delta);
    }
    case Baseline::kSkellam:
      return EpsilonOfRdp([&](double alpha) { return SkellamRdp(alpha, sensitivity, variance); },
                          rate, rounds, delta);
    case Baseline::kBinomial:
      return BinomialEpsilon(sensitivity, 4 * variance, dimension, rate, rounds, delta);
  }
  return 0;
}

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

std::optional<double> NoiseForEpsilon(Baseline baseline, dp::MechanismSpec spec, double rate,
                                      uint32_t rounds, double epsilon) {
  const auto costs = [&](double noise) -> std::optional<double> {
    spec.params.noise_stddev = noise;
    const absl::StatusOr<BaselinePlan> plan = BaselinePlan::Create(baseline, spec);
    if (!plan.ok()) return std::nullopt;
    return plan->Epsilon(rate, rounds);
  };
  // From little noise upwards: what cannot be drawn counts as too little, until some noise is
  // enough.
  double low = spec.params.clip_norm / 4;
  double high = low;
  std::optional<double> cost;
  for (int step = 0; step < 60; ++step) {
    high *= 1.3;
    cost = costs(high);
    if (cost.has_value() && *cost <= epsilon) break;
    low = high;
  }
  if (!cost.has_value() || *cost > epsilon) return std::nullopt;
  while (high > low * 1.001) {
    const double middle = std::sqrt(low * high);
    cost = costs(middle);
    (cost.has_value() && *cost <= epsilon ? high : low) = middle;
  }
  return high;
}

}  // namespace tacet::app::baselines
