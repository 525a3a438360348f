// Encrypted checkpoint for members that were absent: the server passes it on, only members can read
// it.
#ifndef TACET_PROTOCOL_ENCRYPTED_CHECKPOINT_H_
#define TACET_PROTOCOL_ENCRYPTED_CHECKPOINT_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/secret.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/secagg/attempt.h"

namespace tacet::protocol {

// The beginning of a round, as checkpoints and attestors name it: attempt 0 of the round, with the
// model that it starts from.
secagg::Attempt RoundStart(const agreement::Manifest& manifest, uint32_t epoch, uint32_t round,
                           const crypto::Digest& model_digest = {});

// The length of every encrypted checkpoint of a federation that agreed on `spec`.
uint64_t EncryptedCheckpointBytes(const agreement::ManifestSpec& spec);

// `checkpoint`, whose DigestKey::OfModel is `model_digest`, under a key of the epoch and its round
// (XChaCha20-Poly1305), bound to RoundStart and to `writer`, the member that makes it. The same
// bytes whenever it makes it: a server that has lost them is given them again.
// docs/formats/checkpoint.md.
base::Bytes SealCheckpoint(const Checkpoint& checkpoint, const crypto::Digest& model_digest,
                           const agreement::Manifest& manifest, uint32_t epoch, uint64_t writer,
                           const crypto::SecretBytes& epoch_key);

// The state with which the round of `start` begins. FailedPrecondition when it is for another
// manifest, epoch, round or model; DataLoss when it was altered, cut short, encrypted under another
// key, or does not hold the model that it names. That this is the federation's own state is for the
// caller to see (attestation.h): anyone who holds the epoch key can make one.
absl::StatusOr<Checkpoint> DecryptCheckpoint(std::span<const uint8_t> bytes,
                                             const agreement::Manifest& manifest,
                                             const secagg::Attempt& start,
                                             const crypto::SecretBytes& epoch_key);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_ENCRYPTED_CHECKPOINT_H_
