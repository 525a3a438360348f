#include "tacet/storage/file/data_key.h"

#include <system_error>

#include "tacet/base/status.h"
#include "tacet/crypto/random.h"
#include "tacet/ledger/data_digest.h"
#include "tacet/storage/file/posix_file.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {

absl::StatusOr<crypto::SecretBytes> ReadDataKey(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes key, ReadSecretFile(path));
  if (key.size() == ledger::kDataKeyBytes) return key;
  return base::DataLoss("{} has {} bytes, a data key has {}", path.string(), key.size(),
                        ledger::kDataKeyBytes);
}

absl::StatusOr<crypto::SecretBytes> EnsureDataKey(const std::filesystem::path& path,
                                                  const std::filesystem::path& ledger) {
  absl::StatusOr<crypto::SecretBytes> key = ReadDataKey(path);
  if (key.status().code() != absl::StatusCode::kNotFound) return key;
  std::error_code error;
  if (std::filesystem::exists(ledger, error) || error) {
    return base::FailedPrecondition(
        "{} is missing, but the ledger {} was made with it: put the key back, without it the "
        "ledger cannot recognise the data",
        path.string(), ledger.string());
  }
  key = crypto::SystemEntropy().Draw(ledger::kDataKeyBytes);
  TACET_RETURN_IF_ERROR(WriteSecretFile(path, key->Expose()));
  return key;
}

}  // namespace tacet::storage::file
