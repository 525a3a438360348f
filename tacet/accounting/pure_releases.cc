#include "tacet/accounting/pure_releases.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <boost/math/distributions/normal.hpp>

#include "tacet/accounting/gaussian_mechanism.h"
#include "tacet/accounting/log_math.h"

namespace tacet::accounting {
namespace {

// Losses that are told apart; more are rounded up to so many.
constexpr size_t kMostLosses = 8192;
// Mass of bits that is taken for certain loss.
constexpr double kNegligible = 1e-40;
// Relative allowance for rounding.
constexpr double kUpwards = 1e-12;

struct LossMass {
  double loss = 0;
  double mass = 0;
};

// The sum of the losses of `count` bits.
std::vector<LossMass> LossesOf(const PureReleases& pure) {
  const auto n = static_cast<double>(pure.count);
  const double log_right = -LogOnePlusExp(-pure.epsilon);
  const double log_wrong = -LogOnePlusExp(pure.epsilon);
  std::vector<LossMass> losses;
  double below = 0;  // negligible masses, which go to the next loss above
  for (uint64_t right = 0; right <= pure.count; ++right) {
    const auto j = static_cast<double>(right);
    const double log_mass = std::lgamma(n + 1) - std::lgamma(j + 1) - std::lgamma(n - j + 1) +
                            j * log_right + (n - j) * log_wrong;
    const double mass = std::exp(log_mass + 1e-14 * (n + 16) * (1 + std::log1p(n)));
    if (mass < kNegligible && right < pure.count) {
      below += mass;
      continue;
    }
    losses.push_back({(2 * j - n) * pure.epsilon, mass + below});
    below = 0;
  }
  return losses;
}

// Sums of the losses of both, rounded up where they are many.
std::vector<LossMass> Sums(const std::vector<LossMass>& a, const std::vector<LossMass>& b) {
  const double low = a.front().loss + b.front().loss, high = a.back().loss + b.back().loss;
  std::vector<LossMass> sums;
  if (a.size() * b.size() <= kMostLosses) {
    for (const LossMass& x : a) {
      for (const LossMass& y : b) sums.push_back({x.loss + y.loss, x.mass * y.mass});
    }
    std::ranges::sort(sums, {}, &LossMass::loss);
    return sums;
  }
  const double step = (high - low) / (kMostLosses - 2);
  sums.resize(kMostLosses);
  for (size_t i = 0; i < kMostLosses; ++i) sums[i].loss = low + static_cast<double>(i) * step;
  for (const LossMass& x : a) {
    for (const LossMass& y : b) {
      const double place = (x.loss + y.loss - low) / step;
      sums[static_cast<size_t>(std::ceil(place + 1e-9))].mass += x.mass * y.mass;
    }
  }
  return sums;
}

// delta_mu(epsilon) for every real epsilon.
double GaussianDelta(double mu, double epsilon) {
  if (mu == 0) return epsilon < 0 ? -std::expm1(epsilon) : 0;
  if (epsilon >= 0) return std::exp(GaussianLogDelta(mu, epsilon));
  // 1 - e^epsilon + e^epsilon delta_mu(-epsilon): the roles of the laws exchanged.
  return -std::expm1(epsilon) + std::exp(epsilon + GaussianLogDelta(mu, -epsilon));
}

}  // namespace

double PureLogMoment(double epsilon, double order) {
  return LogAddExp((order + 1) * epsilon, -order * epsilon) - LogOnePlusExp(epsilon);
}

double GaussianMuOfPure(double epsilon) {
  const double error = 1 / (1 + std::exp(epsilon));
  if (!(error > 1e-300)) return kInfinity;
  return -2 * quantile(boost::math::normal(), error) * (1 + kUpwards);
}

double GaussianMu(const SamplingEvent& event) {
  return event.pure_epsilon > 0 ? GaussianMuOfPure(event.pure_epsilon)
                                : Sensitivity(event) / event.noise_stddev;
}

SamplingEvent GaussianInPlaceOfPure(SamplingEvent event) {
  if (event.pure_epsilon == 0) return event;
  const double mu = GaussianMu(event);
  event.pure_epsilon = 0;
  event.noise_stddev = Sensitivity(event) / mu;
  return event;
}

double EpsilonWithPure(double mu, std::span<const PureReleases> pure, double delta) {
  if (!std::isfinite(mu)) return kInfinity;
  std::vector<LossMass> losses = {{0, 1}};
  for (const PureReleases& release : pure) {
    if (release.count > 0) losses = Sums(losses, LossesOf(release));
  }
  const auto too_much = [&](double epsilon) {
    double total = 0;
    for (const LossMass& bit : losses) total += bit.mass * GaussianDelta(mu, epsilon - bit.loss);
    return total * (1 + kUpwards) > delta;
  };
  if (!too_much(0)) return 0;
  double low = 0, high = std::max(losses.back().loss, mu);
  while (too_much(high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1e-12 * high) {
    const double middle = 0.5 * (low + high);
    (too_much(middle) ? low : high) = middle;
  }
  return high;
}

}  // namespace tacet::accounting
