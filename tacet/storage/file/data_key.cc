#include "tacet/storage/file/data_key.h"

#include <algorithm>
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
                                                  const std::filesystem::path& digest) {
  absl::StatusOr<crypto::SecretBytes> key = ReadDataKey(path);
  if (key.status().code() != absl::StatusCode::kNotFound) return key;
  std::error_code error;
  if (std::filesystem::exists(digest, error) || error) {
    return base::FailedPrecondition(
        "{} is missing, but the digest {} was made with it: put the key back, without it nobody "
        "recognises the run's data",
        path.string(), digest.string());
  }
  key = crypto::SystemEntropy().Draw(ledger::kDataKeyBytes);
  TACET_RETURN_IF_ERROR(WriteSecretFile(path, key->Expose()));
  return key;
}

absl::StatusOr<crypto::SecretBytes> DataKeyOrNew(const std::filesystem::path& path) {
  absl::StatusOr<crypto::SecretBytes> key = ReadDataKey(path);
  const bool is_lost = key.status().code() == absl::StatusCode::kNotFound ||
                       key.status().code() == absl::StatusCode::kDataLoss;
  if (!is_lost) return key;
  key = crypto::SystemEntropy().Draw(ledger::kDataKeyBytes);
  TACET_RETURN_IF_ERROR(ReplaceFile(path, key->Expose(), DiskCalls::System(), kOwnerOnly));
  return key;
}

absl::StatusOr<bool> AreDataOfRun(const std::filesystem::path& path, const crypto::SecretBytes& key,
                                  const crypto::Digest& data) {
  const absl::StatusOr<base::Bytes> known = ReadFile(path);
  if (known.status().code() == absl::StatusCode::kNotFound) {
    TACET_RETURN_IF_ERROR(WriteDataOfRun(path, key, data));
    return true;
  }
  TACET_RETURN_IF_ERROR(known.status());
  const crypto::Digest digest = ledger::KeyedDataDigest(key, ledger::kRunDigest, data);
  if (known->size() != digest.size()) {
    return base::DataLoss("{} has {} bytes, a digest of data has {}", path.string(), known->size(),
                          digest.size());
  }
  return std::ranges::equal(*known, digest);
}

absl::Status WriteDataOfRun(const std::filesystem::path& path, const crypto::SecretBytes& key,
                            const crypto::Digest& data) {
  return ReplaceFile(path, ledger::KeyedDataDigest(key, ledger::kRunDigest, data));
}

}  // namespace tacet::storage::file
