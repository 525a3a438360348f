// Storage interface of a server's large objects.
#ifndef TACET_SERVER_BLOB_STORE_H_
#define TACET_SERVER_BLOB_STORE_H_

#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/member_request.h"

namespace tacet::server {

// Key of an object: one for each member, kind and attempt. The server's own (a closed round and its
// roster) have member 0. Copies that a member gives back have its number + 1.
struct BlobKey {
  protocol::BulkName name;
  uint64_t member = 0;

  friend bool operator==(const BlobKey&, const BlobKey&) = default;
};

// A complete object, by what it is.
struct StoredObject {
  BlobKey key;
  crypto::Digest digest{};

  friend bool operator==(const StoredObject&, const StoredObject&) = default;
};

// Next bytes of an object, on their way in. Not thread-safe.
class BlobWriter {
 public:
  // Without Commit nothing of them has arrived.
  virtual ~BlobWriter() = default;

  // After an error nothing can be committed any more.
  virtual absl::Status Write(std::span<const uint8_t> bytes) = 0;
  // All that was written has arrived. Call it once. Need not be durable.
  virtual absl::Status Commit() = 0;
};

// A complete object. It stays readable until this goes, also when the store has forgotten it.
class BlobReader {
 public:
  virtual ~BlobReader() = default;

  virtual uint64_t size() const = 0;
  // The bytes from `offset` on, unchecked; OutOfRange when there are fewer than `out` has room for.
  virtual absl::Status Read(uint64_t offset, std::span<uint8_t> out) = 0;
};

// Large objects, on their way in and for as long as they are needed. Calls that change one object
// are made one at a time, and a writer counts as one until it goes; otherwise thread-safe.
// Unavailable when the store failed, as ServerStore.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Bytes of the object with this digest that have arrived; 0 for a new one. Another digest than
  // before starts from zero. After a crash they may be fewer than were acknowledged, or more;
  // Complete checks.
  virtual absl::StatusOr<uint64_t> Arrived(const BlobKey& key, const crypto::Digest& digest) = 0;
  // OutOfRange when `offset` is not what Arrived returns, and for a Write to an object that is
  // complete.
  virtual absl::StatusOr<std::unique_ptr<BlobWriter>> Begin(const BlobKey& key,
                                                            const crypto::Digest& digest,
                                                            uint64_t offset) = 0;
  // Makes it durable and returns it whole, also once more. DataLoss unless it has this digest; it
  // is then forgotten. One that was complete stays until another is complete in its place.
  virtual absl::StatusOr<base::Bytes> Complete(const BlobKey& key,
                                               const crypto::Digest& digest) = 0;
  // Makes it durable without reading it: for a caller that wrote all of it by one writer from byte
  // 0 and has seen that those bytes have this digest. DataLoss when nothing of it has arrived.
  virtual absl::Status CompleteUnread(const BlobKey& key, const crypto::Digest& digest) = 0;
  // For one that was completed: whether it is there, as far as shows without reading it; all of it,
  // NotFound when it is gone, DataLoss when it does not have this digest any more, in which case a
  // damaged one is forgotten; or a reader, which checks nothing.
  virtual absl::StatusOr<bool> Holds(const BlobKey& key, const crypto::Digest& digest) const = 0;
  virtual absl::StatusOr<base::Bytes> Read(const BlobKey& key, const crypto::Digest& digest) = 0;
  virtual absl::StatusOr<std::unique_ptr<BlobReader>> Open(const BlobKey& key) const = 0;
  // Everything but `kept`: it is gone when this returns OK.
  virtual absl::Status KeepOnly(std::span<const BlobKey> kept) = 0;

  // Begin, Write and Commit in one step.
  absl::Status Append(const BlobKey& key, const crypto::Digest& digest, uint64_t offset,
                      std::span<const uint8_t> part);
};

}  // namespace tacet::server

#endif  // TACET_SERVER_BLOB_STORE_H_
