#include "tacet/trainer/attempt_context.h"

#include <limits>

#include "tacet/base/status.h"
#include "tacet/trainer/unit_sampling.h"

namespace tacet::trainer {

AttemptContext ContextOf(const agreement::ManifestSpec& spec, const secagg::AttemptNumber& number,
                         uint64_t units, crypto::Entropy& coins) {
  AttemptContext context{.round = number.round,
                         .attempt = number.attempt,
                         .clip_norm = spec.mechanism.without_clipping
                                          ? std::numeric_limits<double>::infinity()
                                          : spec.mechanism.clip_norm};
  if (spec.privacy.unit == accounting::Unit::kClient) return context;
  crypto::Random random = crypto::Random::FromEntropy(coins);
  context.units = DrawUnits(units, spec.sampling.record_rate, random);
  return context;
}

absl::Status CheckExpectedUnits(const agreement::ManifestSpec& spec, uint64_t units) {
  if (spec.privacy.unit == accounting::Unit::kClient) return absl::OkStatus();
  const double drawn = spec.sampling.record_rate * static_cast<double>(units);
  if (drawn <= spec.sampling.expected_batch * (1 + 1e-9)) return absl::OkStatus();
  return base::InvalidArgument(
      "this site has {} {}s and draws {:.6g} a round on average, but the agreement expects {:.6g} "
      "of all sites: the members would refuse the sum; sign an agreement whose expected_batch is "
      "record_rate times the {}s of all sites",
      units, accounting::UnitName(spec.privacy.unit), drawn, spec.sampling.expected_batch,
      accounting::UnitName(spec.privacy.unit));
}

}  // namespace tacet::trainer
