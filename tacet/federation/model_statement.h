// What a member says of the state with which a round begins, signed: how those who were away know
// that a checkpoint is the federation's own.
#ifndef TACET_FEDERATION_MODEL_STATEMENT_H_
#define TACET_FEDERATION_MODEL_STATEMENT_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/hash.h"
#include "tacet/base/signing.h"
#include "tacet/federation/checkpoint.h"
#include "tacet/federation/signed_manifest.h"

namespace tacet::federation {

struct ModelStatement {
  uint64_t member = 0;
  uint32_t round = 0;           // that begins with this state
  base::Digest model_digest{};  // ModelDigest of the parameters
  base::Digest state_digest{};  // StateDigest of parameters and velocity

  friend bool operator==(const ModelStatement&, const ModelStatement&) = default;
};

// SHA-256 over model digest ‖ velocity as little-endian floats.
base::Digest StateDigest(const Checkpoint& checkpoint);

base::Bytes WriteModelStatement(const ModelStatement& statement, const SignedManifest& manifest,
                                const base::SigningKey& key);
// The same by those who have no more of the manifest than its hash.
base::Bytes WriteModelStatement(const ModelStatement& statement, const base::Digest& manifest_hash,
                                uint32_t epoch, const base::SigningKey& key);
// DataLoss when cut short; FailedPrecondition when it is for another manifest or epoch;
// PermissionDenied when the member does not exist or did not sign it.
absl::StatusOr<ModelStatement> ReadModelStatement(std::span<const uint8_t> bytes,
                                                  const SignedManifest& manifest);

// The manifest under which a statement was made, before anything is checked. DataLoss when cut
// short.
absl::StatusOr<base::Digest> ManifestOfStatement(std::span<const uint8_t> bytes);
// For those who have no more of that manifest than its members' keys, by number. Errors as above.
absl::StatusOr<ModelStatement> ReadModelStatement(std::span<const uint8_t> bytes,
                                                  const base::Digest& manifest_hash,
                                                  std::span<const base::PublicKey> members);

}  // namespace tacet::federation

#endif  // TACET_FEDERATION_MODEL_STATEMENT_H_
