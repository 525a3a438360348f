#include "tacet/dp/poisson_quantizer.h"

#include <cmath>

#include "tacet/base/status.h"
#include "tacet/dp/kernels.h"

namespace tacet::dp {

absl::StatusOr<PoissonQuantizer> PoissonQuantizer::Create(const PoissonQuantizerSpec& spec) {
  if (!std::isfinite(spec.scale) || spec.scale <= 0) {
    return base::InvalidArgument("quantisation scale must be finite and positive, got {}",
                                 spec.scale);
  }
  if (!std::isfinite(spec.offset) || spec.offset >= 0) {
    return base::InvalidArgument("quantisation offset must be finite and negative, got {}",
                                 spec.offset);
  }
  const double quotient = -spec.offset / spec.scale;
  if (quotient >= kPoissonMaxRate) {
    return base::InvalidArgument(
        "quantisation offset {} is {} times the scale {}; expected less than 2^31 times",
        spec.offset, quotient, spec.scale);
  }
  const double multiple = std::round(quotient);
  if (multiple < 1 || std::abs(quotient - multiple) > 1e-9 * multiple) {
    return base::InvalidArgument("quantisation offset {} must be a multiple of the scale {}",
                                 spec.offset, spec.scale);
  }
  return PoissonQuantizer(spec.scale, static_cast<uint64_t>(multiple));
}

void PoissonQuantizer::QuantizeInPlace(std::span<double> x, PoissonSampler& sampler,
                                       std::span<uint32_t> counts) const {
  ActiveKernels().scale_and_shift(inverse_scale_, static_cast<double>(offset_count_), x.data(),
                                  x.size());
  sampler.Fill(x, counts);
}

}  // namespace tacet::dp
