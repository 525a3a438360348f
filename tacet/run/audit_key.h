// The key that signs the audits of a run.
#ifndef TACET_RUN_AUDIT_KEY_H_
#define TACET_RUN_AUDIT_KEY_H_

#include <filesystem>

#include "absl/status/statusor.h"

#include "tacet/crypto/signing.h"

namespace tacet::run {

// The public key of the run in `directory`, whose `audit.key` is made when there is none. Fresh
// from the operating system, also in a run with an insecure seed.
absl::StatusOr<crypto::PublicKey> EnsureAuditKey(const std::filesystem::path& directory);

// The key pair of a file with an Ed25519 seed of 32 bytes. NotFound when there is none,
// PermissionDenied when others than its owner can use it.
absl::StatusOr<crypto::SigningKey> LoadSigningKey(const std::filesystem::path& path);

}  // namespace tacet::run

#endif  // TACET_RUN_AUDIT_KEY_H_
