#include "tacet/storage/file/digest_key_file.h"

#include <utility>

#include "tacet/base/status.h"
#include "tacet/storage/file/secret_file.h"

namespace tacet::storage::file {

std::string DigestKeyFile(uint32_t epoch) { return fmt::format("digest-{}.key", epoch); }

absl::StatusOr<secagg::DigestKey> ReadDigestKey(const std::filesystem::path& path) {
  TACET_ASSIGN_OR_RETURN(crypto::SecretBytes key, ReadSecretFile(path));
  if (key.size() == secagg::DigestKey::kBytes) return secagg::DigestKey(std::move(key));
  return base::DataLoss("{} has {} bytes, a digest key has {}", path.string(), key.size(),
                        secagg::DigestKey::kBytes);
}

}  // namespace tacet::storage::file
