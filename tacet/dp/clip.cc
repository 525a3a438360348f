#include "tacet/dp/clip.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tacet/dp/kernels.h"

namespace tacet::dp {
float FloatBelow(double bound) {
  if (bound >= static_cast<double>(std::numeric_limits<float>::max())) {
    return std::numeric_limits<float>::max();
  }
  const float nearest = static_cast<float>(bound);
  return static_cast<double>(nearest) > bound ? std::nextafter(nearest, 0.0f) : nearest;
}

Clipping::Clipping(std::span<const float> update, double clip_norm, double coordinate_bound,
                   const Kernels& kernels)
    : kernels_(&kernels), bound_(FloatBelow(coordinate_bound)) {
  // Squares of floats are exact and cannot overflow a double, so the sum is finite exactly when
  // every coordinate is.
  const double square = kernels.sum_of_squares(update.data(), update.size());
  if (!std::isfinite(square)) {
    report_.finite = false;
    return;
  }
  report_.norm = std::sqrt(square);
  const double target = clip_norm * (1.0 - 0x1p-20);
  report_.clipped = report_.norm > target;
  if (report_.clipped) factor_ = target / report_.norm;
}

void Clipping::Apply(std::span<const float> part, std::span<float> clipped) const {
  if (!report_.finite) {
    std::fill(clipped.begin(), clipped.end(), 0.0f);
    return;
  }
  kernels_->scale_and_clamp(part.data(), factor_, bound_, clipped.data(), part.size());
}

ClipReport ClipAndClamp(std::span<const float> update, double clip_norm, double coordinate_bound,
                        std::span<float> clipped, const Kernels& kernels) {
  const Clipping clipping(update, clip_norm, coordinate_bound, kernels);
  clipping.Apply(update, clipped);
  return clipping.report();
}

}  // namespace tacet::dp
