#include "tacet/statistics/released_noise.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "tacet/dp/discrete_laplace.h"
#include "tacet/statistics/estimate.h"

namespace tacet::statistics {
namespace {

// The mass beyond the points of the transform.
constexpr double kLogBeyond = -22;  // 2.8e-10

// P(|X| <= k) for X of `laws` discrete Laplace laws, from its characteristic function
//   phi(t) = ((1 - p)^2 / (1 - 2 p cos t + p^2))^laws, p = e^-rate,
// at the N angles t = 2 pi j / N: mean over j of phi(t) sin((k + 1/2) t) / sin(t / 2). Exact but
// for what lies beyond N - k, which is folded back.
class CentralProbability {
 public:
  CentralProbability(double rate, double laws)
      : reach_(static_cast<int64_t>(dp::DiscreteLaplaceTail(rate, laws, kLogBeyond)) + 1) {
    const auto points = static_cast<double>(2 * reach_ + 2);
    const double p = std::exp(-rate), rest = -std::expm1(-rate);
    for (int64_t j = 0; j <= reach_ + 1; ++j) {
      const double t = 2 * std::numbers::pi * static_cast<double>(j) / points;
      // 1 - 2 p cos t + p^2 without cancellation.
      const double sine = std::sin(t / 2);
      const double ratio = rest * rest / (rest * rest + 4 * p * sine * sine);
      weight_.push_back(std::exp(laws * std::log(ratio)));
    }
  }

  int64_t reach() const { return reach_; }

  double At(int64_t k) const {
    const auto points = static_cast<double>(2 * reach_ + 2);
    const double odd = 2 * static_cast<double>(k) + 1;
    double sum = odd;  // at t = 0
    for (size_t j = 1; j < weight_.size(); ++j) {
      const double half = std::numbers::pi * static_cast<double>(j) / points;
      // The angles j and N - j have equal terms; N / 2 has none opposite.
      sum += (j + 1 < weight_.size() ? 2 : 1) * weight_[j] * std::sin(odd * half) / std::sin(half);
    }
    return sum / points;
  }

 private:
  int64_t reach_;
  std::vector<double> weight_;
};

}  // namespace

double ReleasedNoise::Quantile(double confidence, size_t values) const {
  const auto count = static_cast<double>(values);
  if (law == dp::NoiseLaw::kGaussian || stddev == 0) {
    return NormalDeviate(confidence) * stddev * std::sqrt(count);
  }
  const CentralProbability central(rate, laws * count);
  int64_t low = -1, high = central.reach();
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (central.At(middle) >= confidence ? high : low) = middle;
  }
  return static_cast<double>(high) * step;
}

double ReleasedNoise::Deviate(double confidence) const {
  const double normal = NormalDeviate(confidence);
  return stddev > 0 ? std::max(normal, Quantile(confidence) / stddev) : normal;
}

}  // namespace tacet::statistics
