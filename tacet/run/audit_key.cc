#include "tacet/run/audit_key.h"

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/run/run_output.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::run {

absl::StatusOr<crypto::PublicKey> EnsureAuditKey(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kAuditKeyFile;
  absl::StatusOr<crypto::SigningKey> key = LoadSigningKey(path);
  const bool is_damaged = key.status().code() == absl::StatusCode::kInvalidArgument;
  if (key.status().code() == absl::StatusCode::kNotFound || is_damaged) {
    const crypto::SecretBytes seed = crypto::SystemEntropy().Draw(crypto::SigningKey::kSeedBytes);
    TACET_RETURN_IF_ERROR(storage::file::ReplaceFile(
        path, seed.Expose(), storage::file::DiskCalls::System(), storage::file::kOwnerOnly));
    key = crypto::SigningKey::FromSeed(seed);
  }
  TACET_RETURN_IF_ERROR(key.status());
  return key->public_key();
}

absl::StatusOr<crypto::SigningKey> LoadSigningKey(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const crypto::SecretBytes seed, storage::file::ReadSecretFile(path));
  return crypto::SigningKey::FromSeed(seed);
}

}  // namespace tacet::run
