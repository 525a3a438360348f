// Interface through which a member gets its update for an attempt, independent of the trainer.
#ifndef TACET_TRAINER_UPDATE_SOURCE_H_
#define TACET_TRAINER_UPDATE_SOURCE_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"

#include "tacet/trainer/attempt_context.h"

namespace tacet::trainer {

class UpdateSource {
 public:
  virtual ~UpdateSource() = default;

  // Unit record or person: the site's number of units, of which each attempt draws.
  virtual uint64_t units() const { return 0; }

  // Writes what this site contributes, neither clipped (but for unit record or person, where each
  // unit's part is) nor noised: new parameters minus `model`, or the sum over the drawn units. Both
  // have the model's dimension. `update` is the memory that is sealed. Cancelled: this site was
  // asked to end, and trains again when it comes back. After any other error zeros are sealed:
  // whether something is sent must not depend on data.
  virtual absl::Status Update(const AttemptContext& context, std::span<const float> model,
                              std::span<float> update) = 0;
};

}  // namespace tacet::trainer

#endif  // TACET_TRAINER_UPDATE_SOURCE_H_
