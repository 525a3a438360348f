// Secret file that keys the digests of a site's data in its ledgers (docs/formats/keys.md).
#ifndef TACET_STORAGE_FILE_DATA_KEY_H_
#define TACET_STORAGE_FILE_DATA_KEY_H_

#include <filesystem>
#include <string_view>

#include "absl/status/statusor.h"

#include "tacet/crypto/secret.h"

namespace tacet::storage::file {

inline constexpr std::string_view kDataKeyFile = "data.key";

// The key in `path`, drawn from the operating system and made with mode 0600 when there is neither
// the file nor `ledger`. FailedPrecondition when only the ledger is there: its data could not be
// recognised any more. Errors of ReadDataKey.
absl::StatusOr<crypto::SecretBytes> EnsureDataKey(const std::filesystem::path& path,
                                                  const std::filesystem::path& ledger);

// NotFound; PermissionDenied when others than its owner can use the file; DataLoss when it does not
// hold kDataKeyBytes.
absl::StatusOr<crypto::SecretBytes> ReadDataKey(const std::filesystem::path& path);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_DATA_KEY_H_
