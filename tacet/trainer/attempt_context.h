// Context of one attempt, for which an update is computed.
#ifndef TACET_TRAINER_ATTEMPT_CONTEXT_H_
#define TACET_TRAINER_ATTEMPT_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tacet/agreement/manifest.h"
#include "tacet/crypto/random.h"
#include "tacet/secagg/attempt.h"

namespace tacet::trainer {

struct AttemptContext {
  uint32_t round = 0;
  uint32_t attempt = 0;  // of the round
  // Unit record or person: the units drawn for this attempt, increasing indices below the site's
  // number of units. The draw never leaves the site. None for unit client.
  std::optional<std::vector<uint32_t>> units = std::nullopt;
  // S. With drawn units the norm to which each one's part is clipped. Infinity: nothing is clipped.
  double clip_norm = 0;
};

// Unit record or person: draws out of `units`, the site's number of them, by secret coins keyed by
// `coins`, again for every attempt.
AttemptContext ContextOf(const agreement::ManifestSpec& spec, const secagg::AttemptNumber& number,
                         uint64_t units, crypto::Entropy& coins);

// Before anything is charged. InvalidArgument when a site of `units` records (persons) draws more
// of them on average than the agreement expects of all sites: the members would refuse the sum.
absl::Status CheckExpectedUnits(const agreement::ManifestSpec& spec, uint64_t units);

}  // namespace tacet::trainer

#endif  // TACET_TRAINER_ATTEMPT_CONTEXT_H_
