// The state of training between two rounds.
#ifndef TACET_PROTOCOL_CHECKPOINT_H_
#define TACET_PROTOCOL_CHECKPOINT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/secagg/digest_key.h"

namespace tacet::protocol {

struct Checkpoint {
  crypto::Digest federation{};  // Manifest::federation(): whose training this is
  uint32_t training = 0;        // ManifestSpec::training: which one
  uint32_t next_round = 0;      // rounds that are done
  std::vector<float> model;     // d parameters
  std::vector<float> velocity;  // of the server optimiser: d values, none without momentum
};

// Values in a state.
struct StateSize {
  uint64_t parameters = 0;
  uint64_t velocity = 0;  // `parameters` or 0
};
inline StateSize StateSizeOf(const agreement::ManifestSpec& spec) {
  return {.parameters = spec.dimension, .velocity = spec.optimizer.VelocityValues(spec.dimension)};
}

// Kept with a state, so that it is hashed once an epoch.
struct StateDigests {
  crypto::Digest model{};  // DigestKey::OfModel
  crypto::Digest state{};  // DigestKey::OfState

  friend bool operator==(const StateDigests&, const StateDigests&) = default;
};
StateDigests DigestsOf(const Checkpoint& checkpoint, const secagg::DigestKey& key);

// docs/formats/checkpoint.md: the fields alone, as they are encrypted, and with the checksum, as
// they are stored.
base::Bytes WriteCheckpointFields(const Checkpoint& checkpoint);
base::Bytes WriteCheckpoint(const Checkpoint& checkpoint);
// The length of the fields with so many values.
uint64_t CheckpointFieldBytes(const StateSize& size);

// DataLoss when cut short, damaged or of another size than `size`; FailedPrecondition when it
// belongs to another federation, or to another training of it.
absl::StatusOr<Checkpoint> ReadCheckpoint(std::span<const uint8_t> bytes,
                                          const crypto::Digest& federation, uint32_t training,
                                          const StateSize& size);
absl::StatusOr<Checkpoint> ReadCheckpointFields(std::span<const uint8_t> bytes,
                                                const crypto::Digest& federation, uint32_t training,
                                                const StateSize& size);
// The training of a whole checkpoint of this federation, whatever its size. DataLoss when it
// is cut short or damaged; FailedPrecondition when it belongs to another federation.
absl::StatusOr<uint32_t> TrainingOfCheckpoint(std::span<const uint8_t> bytes,
                                              const crypto::Digest& federation);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_CHECKPOINT_H_
