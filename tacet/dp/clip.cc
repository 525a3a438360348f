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

ClipReport ClipAndClamp(std::span<const float> update, double clip_norm, double coordinate_bound,
                        std::span<float> clipped, base::Simd simd) {
  const Kernels& kernels = KernelsFor(simd);
  // Squares of floats are exact and cannot overflow a double, so the sum is finite exactly when
  // every coordinate is.
  const double square = kernels.sum_of_squares(update.data(), update.size());
  if (!std::isfinite(square)) {
    std::fill(clipped.begin(), clipped.end(), 0.0f);
    return {.norm = 0, .finite = false, .clipped = false};
  }
  ClipReport report{.norm = std::sqrt(square), .finite = true, .clipped = false};
  const double target = clip_norm * (1.0 - 0x1p-20);
  report.clipped = report.norm > target;
  const double factor = report.clipped ? target / report.norm : 1.0;
  kernels.scale_and_clamp(update.data(), factor, FloatBelow(coordinate_bound), clipped.data(),
                          update.size());
  return report;
}

}  // namespace tacet::dp
