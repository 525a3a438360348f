// Laws of one member's noise in whole counts, for games with members that draw it themselves.
#ifndef TACET_SECAGG_NOISE_LAW_FOR_TEST_H_
#define TACET_SECAGG_NOISE_LAW_FOR_TEST_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tacet/crypto/random.h"

namespace tacet::secagg::testing {

// Probabilities of -radius, ..., radius.
class NoiseLaw {
 public:
  // No noise.
  static NoiseLaw None() { return NoiseLaw({1}); }
  // A normal law on the integers, up to 8 deviations.
  static NoiseLaw Normal(double deviation) {
    const auto radius = static_cast<int64_t>(8 * deviation) + 1;
    std::vector<double> weights;
    for (int64_t y = -radius; y <= radius; ++y) {
      weights.push_back(std::exp(-static_cast<double>(y * y) / (2 * deviation * deviation)));
    }
    return NoiseLaw(std::move(weights));
  }
  // The difference of two negative binomials of shape r: 1 / r of them add up to a discrete Laplace
  // law, P(y) ~ exp(-epsilon |y|). Up to 2^-80 of either.
  static NoiseLaw LaplaceShare(double epsilon, double shape) {
    const auto most = static_cast<size_t>(60 / epsilon);
    std::vector<double> one(most + 1, 1);
    for (size_t k = 1; k <= most; ++k) {
      const auto n = static_cast<double>(k);
      one[k] = one[k - 1] * std::exp(-epsilon) * (n - 1 + shape) / n;
    }
    std::vector<double> weights(2 * most + 1);
    for (size_t a = 0; a <= most; ++a) {
      for (size_t b = 0; b <= most; ++b) weights[most + a - b] += one[a] * one[b];
    }
    return NoiseLaw(std::move(weights));
  }

  int64_t radius() const { return static_cast<int64_t>(probabilities_.size() / 2); }
  double operator()(int64_t value) const {
    if (std::abs(value) > radius()) return 0;
    return probabilities_[static_cast<size_t>(value + radius())];
  }
  int64_t Draw(crypto::Random& random) const {
    const double uniform = static_cast<double>(random.NextU64() >> 11) * 0x1p-53;
    const auto found = std::ranges::upper_bound(cumulative_, uniform);
    const auto index = std::min<ptrdiff_t>(found - cumulative_.begin(),
                                           static_cast<ptrdiff_t>(cumulative_.size()) - 1);
    return index - radius();
  }

 private:
  explicit NoiseLaw(std::vector<double> weights) : probabilities_(std::move(weights)) {
    double total = 0;
    for (const double weight : probabilities_) total += weight;
    double sum = 0;
    for (double& probability : probabilities_) {
      probability /= total;
      sum += probability;
      cumulative_.push_back(sum);
    }
  }

  std::vector<double> probabilities_, cumulative_;
};

}  // namespace tacet::secagg::testing

#endif  // TACET_SECAGG_NOISE_LAW_FOR_TEST_H_
