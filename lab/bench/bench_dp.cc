#include "lab/bench/bench_dp.h"

#include <algorithm>
#include <vector>

#include "lab/bench/bench_timing.h"
#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/dp/clip.h"
#include "tacet/dp/gaussian.h"
#include "tacet/dp/mechanism_plan.h"
#include "tacet/dp/poisson.h"

namespace tacet::app::bench {
namespace {

// Values that stay in the first-level cache, as they do between clipping and counting.
constexpr size_t kBlock = dp::NoiseAndQuantization::kBlock;
constexpr size_t kBlocks = 100;  // a measurement

// The published setting; the update's values do not change the time.
absl::StatusOr<dp::MechanismPlan> PublishedPlan(uint64_t dimension) {
  dp::MechanismSpec spec;
  spec.dimension = dimension;
  spec.params.clip_norm = 1;
  spec.params.coordinate_bound = 0.1;
  spec.params.noise_stddev = 6;
  spec.cohort = 1000;
  spec.min_participants = 1000;
  spec.attempts = 100;
  spec.max_epsilon = 19.13;
  return dp::MechanismPlan::Create(spec);
}

}  // namespace

absl::StatusOr<BenchDpResult> BenchDp(const BenchDpSpec& spec) {
  TACET_RETURN_IF_ERROR(CheckRepetitions(spec.repetitions));
  if (!(spec.rate >= 1) || spec.rate > 1e9) {
    return base::InvalidArgument("the Poisson rate is {}, it must be from 1 to 10^9", spec.rate);
  }
  TACET_ASSIGN_OR_RETURN(const dp::MechanismPlan plan, PublishedPlan(spec.dimension));
  const dp::Mechanism mechanism(plan);
  crypto::SystemEntropy entropy;
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  crypto::Random other = crypto::Random::FromEntropy(entropy);

  std::vector<float> update(spec.dimension);
  for (float& value : update) {
    value = static_cast<float>(0.002 * (static_cast<double>(random.NextU64()) * 0x1p-63 - 1));
  }
  std::vector<float> clipped(spec.dimension);
  std::vector<uint32_t> counts(spec.dimension);
  std::vector<double> block(kBlock);
  std::vector<uint32_t> block_counts(kBlock);
  std::vector<double> rates(kBlock);
  dp::FillGaussian(dp::GaussianSampler::kDefault, random, rates);
  for (double& rate : rates) rate = spec.rate * std::max(0.0, 1 + 0.07 * rate);

  BenchDpResult result;
  result.clip_s = MedianSeconds(spec.repetitions, [&] { mechanism.Clip(update, clipped); });
  constexpr double kValues = kBlock * kBlocks;
  result.gaussian_s =
      MedianSeconds(spec.repetitions,
                    [&] {
                      for (size_t i = 0; i < kBlocks; ++i) {
                        dp::FillGaussian(dp::GaussianSampler::kDefault, random, block);
                      }
                    }) /
      kValues;
  dp::PoissonSampler sampler(random);
  result.poisson_s = MedianSeconds(spec.repetitions,
                                   [&] {
                                     for (size_t i = 0; i < kBlocks; ++i) {
                                       sampler.Fill(rates, block_counts);
                                     }
                                   }) /
                     kValues;
  result.noise_and_quantise_s = MedianSeconds(
      spec.repetitions, [&] { mechanism.NoiseAndQuantize(clipped, random, other, counts); });

  const auto d = static_cast<double>(spec.dimension);
  // Two passes, of which the second may find the update in a cache; three operations a value.
  result.clip = {.memory_bytes = sizeof(float) * d, .aes_bytes = 0, .fmas = 3 * d};
  result.gaussian = kGaussianDemand;
  result.poisson = kPoissonDemand;
  // Reading the update, and adding, scaling and shifting, without the draws.
  result.noise_and_quantise =
      d * (kGaussianDemand + kPoissonDemand +
           Demand{.memory_bytes = sizeof(float), .aes_bytes = 0, .fmas = 4});
  return result;
}

}  // namespace tacet::app::bench
