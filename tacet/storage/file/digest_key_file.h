// Secret files that key the digests of a run's models (docs/formats/keys.md).
#ifndef TACET_STORAGE_FILE_DIGEST_KEY_FILE_H_
#define TACET_STORAGE_FILE_DIGEST_KEY_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/status/statusor.h"

#include "tacet/secagg/digest_key.h"

namespace tacet::storage::file {

// digest-EPOCH.key
std::string DigestKeyFile(uint32_t epoch);

// NotFound; PermissionDenied when others than its owner can use the file; DataLoss when it does not
// hold DigestKey::kBytes.
absl::StatusOr<secagg::DigestKey> ReadDigestKey(const std::filesystem::path& path);

}  // namespace tacet::storage::file

#endif  // TACET_STORAGE_FILE_DIGEST_KEY_FILE_H_
