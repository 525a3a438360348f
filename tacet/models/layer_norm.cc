#include "tacet/models/layer_norm.h"

#include <cmath>

namespace tacet::models {
namespace {

constexpr size_t kLanes = 16;

// The mean of term(i), i < size, from kLanes sums side by side: the compiler keeps them in vectors,
// and each is short enough for binary32.
template <typename Term>
double Mean(size_t size, const Term& term) {
  float lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (; i < size; ++i) lanes[i % kLanes] += term(i);
  double sum = 0;
  for (const float lane : lanes) sum += static_cast<double>(lane);
  return sum / static_cast<double>(size);
}

}  // namespace

void LayerNorm(const NormShape& shape, const float* x, float* y, float* factors) {
  for (size_t s = 0; s < shape.samples; ++s, x += shape.size, y += shape.size) {
    const auto mean = static_cast<float>(Mean(shape.size, [x](size_t i) { return x[i]; }));
    const double variance =
        Mean(shape.size, [x, mean](size_t i) { return (x[i] - mean) * (x[i] - mean); });
    const auto factor =
        static_cast<float>(static_cast<double>(shape.gain) / std::sqrt(variance + kNormEpsilon));
    for (size_t i = 0; i < shape.size; ++i) y[i] = factor * (x[i] - mean);
    factors[s] = factor;
  }
}

void LayerNormBackward(const NormShape& shape, const float* y, const float* factors,
                       float* gradients) {
  const double gain = static_cast<double>(shape.gain);
  for (size_t s = 0; s < shape.samples; ++s, y += shape.size, gradients += shape.size) {
    const float* g = gradients;
    const auto mean = static_cast<float>(Mean(shape.size, [g](size_t i) { return g[i]; }));
    const auto slope = static_cast<float>(
        Mean(shape.size, [g, y](size_t i) { return g[i] * y[i]; }) / (gain * gain));
    const float factor = factors[s];
    for (size_t i = 0; i < shape.size; ++i) {
      gradients[i] = factor * (gradients[i] - mean - slope * y[i]);
    }
  }
}

}  // namespace tacet::models
