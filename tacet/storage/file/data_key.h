// The data that a run was begun with, by a digest under a secret key (docs/formats/keys.md): a run
// is not resumed, and an attack not judged, on others without a word.
#ifndef TACET_STORAGE_FILE_DATA_KEY_H_
#define TACET_STORAGE_FILE_DATA_KEY_H_

#include <filesystem>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"

namespace tacet::storage::file {

inline constexpr std::string_view kDataKeyFile = "data.key";
inline constexpr std::string_view kDataDigestFile = "data.digest";

// The key in `path`, drawn from the operating system and made with mode 0600 when there is neither
// the file nor `digest`. FailedPrecondition when only the digest is there: the data could not be
// recognised any more. Errors of ReadDataKey.
absl::StatusOr<crypto::SecretBytes> EnsureDataKey(const std::filesystem::path& path,
                                                  const std::filesystem::path& digest);

// The same where a lost or damaged key costs a warning only: then another one is made.
absl::StatusOr<crypto::SecretBytes> DataKeyOrNew(const std::filesystem::path& path);

// Whether the digest in `path` is that of `data` (in memory, unkeyed) under the key; true, and
// written down, when there is none. DataLoss when the file does not hold one.
absl::StatusOr<bool> AreDataOfRun(const std::filesystem::path& path, const crypto::SecretBytes& key,
                                  const crypto::Digest& data);
// Writes down other data from here on.
absl::Status WriteDataOfRun(const std::filesystem::path& path, const crypto::SecretBytes& key,
                            const crypto::Digest& data);

// NotFound; PermissionDenied when others than its owner can use the file; DataLoss when it does not
// hold kDataKeyBytes.
absl::StatusOr<crypto::SecretBytes> ReadDataKey(const std::filesystem::path& path);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_DATA_KEY_H_
