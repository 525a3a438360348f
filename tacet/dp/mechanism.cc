#include <algorithm>
#include <cstddef>
#include <limits>

#include "tacet/crypto/secret.h"
#include "tacet/dp/discrete_laplace.h"
#include "tacet/dp/kernels.h"
#include "tacet/dp/mechanism_plan.h"

namespace tacet::dp {
namespace {
// Values between clipping and counting live in a block that stays in the first-level cache. Part
// of what a seed means: another size would draw other noise.
constexpr size_t kBlock = NoiseAndQuantization::kBlock;
}  // namespace

// A plan's scale and offset satisfy the quantiser, so its creation cannot fail.
Mechanism::Mechanism(const MechanismPlan& plan)
    : plan_(plan),
      quantizer_(
          *PoissonQuantizer::Create({.scale = plan.spec().params.scale, .offset = plan.mu()})) {}

Clipping Mechanism::ClippingOf(std::span<const float> update) const {
  const MechanismSpec& spec = plan_.spec();
  const double norm = spec.params.without_clipping || spec.sums_of_clipped
                          ? std::numeric_limits<double>::infinity()
                          : spec.params.clip_norm;
  return Clipping(update, norm, spec.params.coordinate_bound);
}

ClipReport Mechanism::Clip(std::span<const float> update, std::span<float> clipped) const {
  const Clipping clipping = ClippingOf(update);
  clipping.Apply(update, clipped);
  return clipping.report();
}

void Mechanism::NoiseAndQuantize(std::span<const float> clipped, crypto::Random& noise,
                                 crypto::Random& poisson, std::span<uint32_t> counts) const {
  NoiseAndQuantization(*this, noise, poisson).Next(clipped, counts);
}

NoiseAndQuantization::NoiseAndQuantization(const Mechanism& mechanism, crypto::Random& noise,
                                           crypto::Random& poisson)
    : mechanism_(mechanism), noise_(noise), sampler_(poisson), noised_(kBlock) {}

void NoiseAndQuantization::Next(std::span<const float> clipped, std::span<uint32_t> counts) {
  for (size_t begin = 0; begin < clipped.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, clipped.size() - begin);
    const std::span<double> noised = noised_.Expose().first(size);
    if (mechanism_.plan().spec().params.noise_law == NoiseLaw::kDiscreteLaplace) {
      mechanism_.AddLaplace(clipped.subspan(begin, size), noise_, counts.subspan(begin, size));
      continue;
    }
    mechanism_.Noise(clipped.subspan(begin, size), noise_, noised);
    mechanism_.quantizer().QuantizeInPlace(noised, sampler_, counts.subspan(begin, size));
  }
}

void Mechanism::AddLaplace(std::span<const float> clipped, crypto::Random& noise,
                           std::span<uint32_t> counts) const {
  crypto::SecretVector<int32_t> shares(clipped.size());
  if (plan_.laplace() != nullptr) plan_.laplace()->Fill(noise, shares.Expose());
  for (size_t i = 0; i < clipped.size(); ++i) {
    const int64_t steps = std::llround(clipped[i] / plan_.spec().params.scale);
    counts[i] =
        static_cast<uint32_t>(static_cast<int64_t>(plan_.offset()) + steps + shares.Expose()[i]);
  }
}

void Mechanism::Noise(std::span<const float> clipped, crypto::Random& noise,
                      std::span<double> noised) const {
  if (plan_.spec().params.without_noise) {
    std::copy(clipped.begin(), clipped.end(), noised.begin());
    return;
  }
  if (plan_.laplace() != nullptr) {
    crypto::SecretVector<int32_t> shares(clipped.size());
    plan_.laplace()->Fill(noise, shares.Expose());
    for (size_t i = 0; i < clipped.size(); ++i) {
      noised[i] = clipped[i] + plan_.spec().params.scale * shares.Expose()[i];
    }
    return;
  }
  const Kernels& kernels = ActiveKernels();
  for (size_t begin = 0; begin < clipped.size(); begin += kBlock) {
    const size_t size = std::min(kBlock, clipped.size() - begin);
    const std::span<double> block = noised.subspan(begin, size);
    FillGaussian(plan_.spec().params.sampler, noise, block);
    kernels.add_noise(clipped.data() + begin, plan_.participant_stddev(), block.data(), size);
  }
}

void Mechanism::DecodeMean(std::span<const uint64_t> sums, uint32_t participants,
                           std::span<double> mean) const {
  // The offset goes in integers, so that nothing is lost to its size.
  const uint64_t offset = plan_.offset() * participants;
  const double scale = plan_.spec().params.scale / participants;
  for (size_t i = 0; i < sums.size(); ++i) {
    mean[i] = static_cast<double>(static_cast<int64_t>(sums[i] - offset)) * scale;
  }
}

}  // namespace tacet::dp
