#include "apps/tacet/run/audit_key.h"

#include "apps/tacet/run/run_output.h"
#include "tacet/base/random.h"
#include "tacet/base/status.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::app {

absl::StatusOr<base::PublicKey> EnsureAuditKey(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kAuditKeyFile;
  absl::StatusOr<base::SigningKey> key = LoadSigningKey(path);
  if (key.status().code() == absl::StatusCode::kNotFound) {
    const base::SecretBytes seed = base::SystemEntropy().Draw(base::SigningKey::kSeedBytes);
    TACET_RETURN_IF_ERROR(storage::file::WriteSecretFile(path, seed.Expose()));
    key = base::SigningKey::FromSeed(seed);
  }
  TACET_RETURN_IF_ERROR(key.status());
  return key->public_key();
}

absl::StatusOr<base::SigningKey> LoadSigningKey(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(const base::SecretBytes seed, storage::file::ReadSecretFile(path));
  return base::SigningKey::FromSeed(seed);
}

}  // namespace tacet::app
