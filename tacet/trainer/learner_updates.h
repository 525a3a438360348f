// Updates of a site, trained by a learner in this process.
#ifndef TACET_TRAINER_LEARNER_UPDATES_H_
#define TACET_TRAINER_LEARNER_UPDATES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/trainer/learner.h"
#include "tacet/trainer/update_source.h"

namespace tacet::trainer {

// The update of one client of the trainer's learner.
absl::Status Train(Trainer& trainer, uint64_t client, const AttemptContext& context,
                   std::span<const float> model, std::span<float> update);

class LearnerUpdates final : public UpdateSource {
 public:
  // `learner` must outlive it; `client` is the site's number there. InvalidArgument when the
  // learner's dimension or unit is not the agreed one, or it has no such client; errors of
  // CheckExpectedUnits.
  static absl::StatusOr<std::unique_ptr<LearnerUpdates>> Create(const agreement::Manifest& manifest,
                                                                const Learner& learner,
                                                                uint64_t client);

  uint64_t units() const override { return learner_.units(client_); }
  absl::Status Update(const AttemptContext& context, std::span<const float> model,
                      std::span<float> update) override {
    return Train(*trainer_, client_, context, model, update);
  }

 private:
  LearnerUpdates(const Learner& learner, uint64_t client, std::unique_ptr<Trainer> trainer)
      : learner_(learner), client_(client), trainer_(std::move(trainer)) {}

  const Learner& learner_;
  uint64_t client_;
  std::unique_ptr<Trainer> trainer_;
};

}  // namespace tacet::trainer

#endif  // TACET_TRAINER_LEARNER_UPDATES_H_
