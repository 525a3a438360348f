#include "tacet/server/blob_store.h"

#include "tacet/base/status.h"

namespace tacet::server {

absl::Status BlobStore::Append(const BlobKey& key, const crypto::Digest& digest, uint64_t offset,
                               std::span<const uint8_t> part) {
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<BlobWriter> writer, Begin(key, digest, offset));
  if (!part.empty()) TACET_RETURN_IF_ERROR(writer->Write(part));
  return writer->Commit();
}

}  // namespace tacet::server
