#include "tacet/cohort_draw.h"

#include "tacet/agreement/cohort.h"
#include "tacet/api/core/parts.h"
#include "tacet/crypto/random.h"

namespace tacet {

std::vector<uint64_t> DrawCohort(const Agreement& agreement) {
  const accounting::SamplingParams& sampling = api::ManifestOf(agreement).spec().sampling;
  crypto::SystemEntropy entropy;
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  return agreement::DrawCohort(*sampling.method, sampling.clients, sampling.cohort, random);
}

bool TossOwnCoin(const Agreement& agreement) {
  const accounting::SamplingParams& sampling = api::ManifestOf(agreement).spec().sampling;
  if (sampling.method != accounting::Sampling::kPoisson) return true;
  crypto::SystemEntropy entropy;
  crypto::Random random = crypto::Random::FromEntropy(entropy);
  return random.Below(sampling.clients) < sampling.cohort;
}

}  // namespace tacet
