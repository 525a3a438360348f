#include "lab/attack/likelihood_ratio.h"

#include <algorithm>
#include <cmath>

#include "tacet/base/status.h"

namespace tacet::lab::attack {
namespace {

constexpr double kPriorModels = 16;
constexpr double kMinVariance = 1e-12;

// Outputs of one side's shadow models for one candidate.
struct Side {
  double count = 0;
  double mean = 0;
  double squares = 0;  // of deviations from the mean, added (Welford 1962)

  void Add(double value) {
    if (!std::isfinite(value)) return;
    count += 1;
    const double deviation = value - mean;
    mean += deviation / count;
    squares += deviation * (value - mean);
  }
};

// The mean variance of all candidates on one side; the prior of each one's own.
double CommonVariance(std::span<const Side> sides) {
  double squares = 0;
  double freedom = 0;
  for (const Side& side : sides) {
    if (side.count < 2) continue;
    squares += side.squares;
    freedom += side.count - 1;
  }
  return freedom > 0 ? squares / freedom : 1;
}

double LogDensity(double x, const Side& side, double common) {
  const double variance = std::max(
      kMinVariance, (side.squares + kPriorModels * common) / (side.count - 1 + kPriorModels));
  const double deviation = x - side.mean;
  return -0.5 * (std::log(variance) + deviation * deviation / variance);
}

absl::Status CheckShadows(size_t candidates, std::span<const ShadowModel> shadows) {
  if (shadows.size() < 4) {
    return base::InvalidArgument("{} shadow models, at least 4 are needed", shadows.size());
  }
  for (size_t i = 0; i < shadows.size(); ++i) {
    if (shadows[i].confidences.size() == candidates && shadows[i].trained_on.size() == candidates) {
      continue;
    }
    return base::InvalidArgument("shadow model {} speaks of {} candidates, the attack is on {}", i,
                                 shadows[i].confidences.size(), candidates);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<double>> LikelihoodRatios(std::span<const double> attacked,
                                                     std::span<const ShadowModel> shadows) {
  TACET_RETURN_IF_ERROR(CheckShadows(attacked.size(), shadows));
  std::vector<Side> in(attacked.size());
  std::vector<Side> out(attacked.size());
  for (const ShadowModel& shadow : shadows) {
    for (size_t i = 0; i < attacked.size(); ++i) {
      (shadow.trained_on[i] ? in[i] : out[i]).Add(shadow.confidences[i]);
    }
  }
  const double common_in = CommonVariance(in);
  const double common_out = CommonVariance(out);
  std::vector<double> ratios(attacked.size(), 0);
  for (size_t i = 0; i < attacked.size(); ++i) {
    if (in[i].count < 2 || out[i].count < 2 || !std::isfinite(attacked[i])) continue;
    ratios[i] =
        LogDensity(attacked[i], in[i], common_in) - LogDensity(attacked[i], out[i], common_out);
  }
  return ratios;
}

}  // namespace tacet::lab::attack
