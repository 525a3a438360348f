// What a site contributes, trained by a learner in this process.
#ifndef TACET_FEDERATION_LEARNER_UPDATES_H_
#define TACET_FEDERATION_LEARNER_UPDATES_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/random.h"
#include "tacet/federation/learner.h"
#include "tacet/federation/manifest.h"
#include "tacet/federation/update_source.h"

namespace tacet::federation {

// Unit record or person: draws the owner's units by secret coins keyed by `coins`, anew for every
// attempt, and sums their clipped gradients.
absl::Status SumDrawnUnits(const ManifestSpec& spec, const Learner& learner, uint64_t owner,
                           base::Entropy& coins, Trainer& trainer, std::span<const float> model,
                           std::span<float> sum);

class LearnerUpdates final : public UpdateSource {
 public:
  // All must outlive it. `owner` is the site's number in `learner`. InvalidArgument when the
  // learner's dimension or unit is not the agreed one, or it has no such owner.
  static absl::StatusOr<std::unique_ptr<LearnerUpdates>> Create(const Manifest& manifest,
                                                                const Learner& learner,
                                                                uint64_t owner,
                                                                base::Entropy& coins);

  absl::Status Update(const secagg::Attempt& attempt, std::span<const float> model,
                      std::span<float> update) override;

 private:
  LearnerUpdates(const Manifest& manifest, const Learner& learner, uint64_t owner,
                 base::Entropy& coins, std::unique_ptr<Trainer> trainer);

  const Manifest& manifest_;
  const Learner& learner_;
  uint64_t owner_;
  base::Entropy& coins_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace tacet::federation

#endif  // TACET_FEDERATION_LEARNER_UPDATES_H_
