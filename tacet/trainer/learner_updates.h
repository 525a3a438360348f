// Updates of a site, trained by a learner in this process.
#ifndef TACET_TRAINER_LEARNER_UPDATES_H_
#define TACET_TRAINER_LEARNER_UPDATES_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/crypto/random.h"
#include "tacet/trainer/learner.h"
#include "tacet/trainer/update_source.h"

namespace tacet::trainer {

// Unit record or person: draws the client's units by secret coins keyed by `coins`, again for every
// attempt, and sums their clipped gradients.
absl::Status SumDrawnUnits(const agreement::ManifestSpec& spec, const Learner& learner,
                           uint64_t client, crypto::Entropy& coins, Trainer& trainer,
                           std::span<const float> model, std::span<float> sum);

class LearnerUpdates final : public UpdateSource {
 public:
  // All must outlive it. `client` is the site's number in `learner`. InvalidArgument when the
  // learner's dimension or unit is not the agreed one, or it has no such client.
  static absl::StatusOr<std::unique_ptr<LearnerUpdates>> Create(const agreement::Manifest& manifest,
                                                                const Learner& learner,
                                                                uint64_t client,
                                                                crypto::Entropy& coins);

  absl::Status Update(const secagg::Attempt& attempt, std::span<const float> model,
                      std::span<float> update) override;

 private:
  LearnerUpdates(const agreement::Manifest& manifest, const Learner& learner, uint64_t client,
                 crypto::Entropy& coins, std::unique_ptr<Trainer> trainer);

  const agreement::Manifest& manifest_;
  const Learner& learner_;
  uint64_t client_;
  crypto::Entropy& coins_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace tacet::trainer

#endif  // TACET_TRAINER_LEARNER_UPDATES_H_
