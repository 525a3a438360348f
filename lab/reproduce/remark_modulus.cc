#include "lab/reproduce/remark_modulus.h"

#include <cmath>

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/dp/mechanism_plan.h"

namespace tacet::app::reproduce {
namespace {

constexpr uint32_t kParticipants = 1000;
constexpr uint32_t kFewestBits = 16;
constexpr uint32_t kMaxBits = 28;

uint32_t BitsAbove(double value) {
  uint32_t bits = 0;
  while (std::ldexp(1.0, static_cast<int>(bits)) <= value) ++bits;
  return bits;
}

// Sums of `participants` counts a value, every update random and of norm S over all values.
std::vector<uint64_t> DrawSums(const dp::Mechanism& mechanism, uint64_t values) {
  crypto::InsecureSeededEntropy entropy(1, "modulus");
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  std::vector<uint64_t> sums(values);
  std::vector<float> update(values);
  std::vector<uint32_t> counts(values);
  const auto size = static_cast<float>(1 / std::sqrt(static_cast<double>(values)));
  for (uint32_t k = 0; k < kParticipants; ++k) {
    for (float& value : update) value = (random.NextU64() & 1) != 0 ? size : -size;
    mechanism.Clip(update, update);
    crypto::Random noise = crypto::Random::FromEntropy(entropy);
    crypto::Random poisson = crypto::Random::FromEntropy(entropy);
    mechanism.NoiseAndQuantize(update, noise, poisson, counts);
    for (uint64_t i = 0; i < values; ++i) sums[i] += counts[i];
  }
  return sums;
}

}  // namespace

absl::StatusOr<ModulusStudy> StudyModulus(double coordinate_bound, uint64_t values) {
  dp::MechanismSpec spec;
  spec.dimension = 486'654;
  spec.params.clip_norm = 1;
  spec.params.coordinate_bound = coordinate_bound;
  spec.params.noise_stddev = 6;
  spec.params.scale = 1e-4;
  spec.cohort = spec.min_participants = kParticipants;
  spec.attempts = 100;
  spec.params.sampler = dp::GaussianSampler::kZiggurat;
  spec.without_guarantee = true;  // nothing is trained
  TACET_ASSIGN_OR_RETURN(const dp::MechanismPlan plan, dp::MechanismPlan::Create(spec));
  const int64_t mean = static_cast<int64_t>(plan.offset()) * kParticipants;
  ModulusStudy study;
  study.coordinate_bound = coordinate_bound;
  study.mean = static_cast<double>(mean);
  study.deviation = plan.sum_stddev(kParticipants) / spec.params.scale;
  study.bound = static_cast<double>(plan.sum_bound());
  study.plain_bits = BitsAbove(study.mean + study.bound);
  study.centred_bits = BitsAbove(study.bound) + 1;

  const std::vector<uint64_t> sums = DrawSums(dp::Mechanism(plan), values);
  for (uint32_t bits = kFewestBits; bits <= kMaxBits; ++bits) {
    const int64_t modulus = int64_t{1} << bits;
    ModulusPoint point{.bits = bits};
    for (const uint64_t sum : sums) {
      const auto whole = static_cast<int64_t>(sum);
      const int64_t residue = whole & (modulus - 1);
      int64_t centred = (whole - mean) & (modulus - 1);
      if (centred >= modulus / 2) centred -= modulus;
      point.plain_wrong += residue != whole ? 1 : 0;
      point.centred_wrong += centred != whole - mean ? 1 : 0;
    }
    point.plain_wrong /= static_cast<double>(values);
    point.centred_wrong /= static_cast<double>(values);
    study.points.push_back(point);
  }
  return study;
}

}  // namespace tacet::app::reproduce
