// Sum of the uploads of the open attempt, while it collects.
#ifndef TACET_SERVER_UPLOAD_SUM_H_
#define TACET_SERVER_UPLOAD_SUM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/round_protocol.h"

namespace tacet::server {

// Not thread-safe.
class UploadSum {
 public:
  // Both must outlive it.
  UploadSum(const agreement::Manifest& manifest, BlobStore& blobs)
      : manifest_(manifest), blobs_(blobs) {}

  // For another attempt, or for the same again. Returns the members whose uploads are gone.
  absl::StatusOr<std::vector<uint64_t>> Make(const MakeSum& make);
  // As secagg::Aggregator::Submit.
  absl::Status Add(const AddUpload& add);
  struct Closed {
    uint32_t participants = 0;
    secagg::Aggregator::Closed messages;
  };
  // As secagg::Aggregator::Close; may be called again.
  absl::StatusOr<Closed> Close(const CloseSum& close, crypto::Entropy& entropy);
  // Stores the shares of all uploads in the order of the roster, and returns the digest of that
  // object; nothing where they are too many, or damaged. One upload's are in memory at a time.
  absl::StatusOr<std::optional<crypto::Digest>> StoreShares(const secagg::Attempt& attempt,
                                                            std::span<const uint8_t> roster) const;
  void Forget() { aggregator_.reset(); }

 private:
  const agreement::Manifest& manifest_;
  BlobStore& blobs_;
  std::unique_ptr<secagg::Aggregator> aggregator_;  // null unless an attempt collects
};

}  // namespace tacet::server

#endif  // TACET_SERVER_UPLOAD_SUM_H_
