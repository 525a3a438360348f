#include "tacet/dp/poisson_quantizer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "tacet/base/status.h"
#include "tacet/crypto/secret.h"
#include "tacet/dp/kernels.h"

namespace tacet::dp {
namespace {
constexpr size_t kBlock = 2048;
}  // namespace

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

void PoissonQuantizer::Quantize(std::span<const double> x, crypto::Random& random,
                                std::span<uint32_t> counts) const {
  PoissonSampler sampler(random);
  crypto::SecretVector<double> scratch(std::min(kBlock, x.size()));
  for (size_t begin = 0; begin < x.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, x.size() - begin);
    const std::span<double> rates = scratch.Expose().first(size);
    std::copy_n(x.begin() + static_cast<ptrdiff_t>(begin), size, rates.begin());
    QuantizeInPlace(rates, sampler, counts.subspan(begin, size));
  }
}

}  // namespace tacet::dp
