// Durable changes and reads of the rounds' state, over a server store and a blob store.
#ifndef TACET_SERVER_ROUND_STORE_H_
#define TACET_SERVER_ROUND_STORE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/round_protocol.h"
#include "tacet/server/server_store.h"

namespace tacet::server {

// When a change fails, nobody knows whether it happened. The store is then stale, refuses every
// further change as Unavailable, and must be read again. Not thread-safe.
class RoundStore {
 public:
  // All must outlive it.
  RoundStore(const agreement::SignedManifest& manifest, uint32_t kept_rounds, ServerStore& store,
             BlobStore& blobs)
      : manifest_(manifest), kept_rounds_(kept_rounds), store_(store), blobs_(blobs) {}

  // Everything. An attempt that an earlier epoch left open has failed, and attempts of earlier
  // trainings of the federation stay in the store only. FailedPrecondition when the store is ahead
  // of the manifest's epoch, or has an open attempt of another manifest. DataLoss when it is
  // damaged, as far as that shows.
  absl::StatusOr<StoredRounds> Read();
  // A state was made of what Read returned.
  void SetFresh() { stale_ = false; }
  // Unavailable when it is stale.
  absl::Status CheckFresh() const;

  // Durable when it returns OK.
  absl::Status Make(const Change& change);
  // An object of the server itself: durable, and its digest.
  absl::StatusOr<crypto::Digest> PutObject(const protocol::BulkName& name,
                                           std::span<const uint8_t> object);
  // The objects that were given to the beginning of a round.
  absl::StatusOr<std::vector<Item>> ReadBeginning(const secagg::AttemptNumber& at);
  // Passes the epoch's key packets of members from `from` to `last` to `use`, by member. Few are in
  // memory at a time. DataLoss for one of another length, or of no member.
  using PacketUse = std::function<void(uint64_t member, std::span<const uint8_t> packet)>;
  absl::Status ForEachPacket(uint64_t from, uint64_t last, const PacketUse& use) const;
  // Keeps the objects in `arriving` as well. If it fails, nothing is known less well.
  absl::Status Clean(const Sweep& sweep, std::span<const BlobKey> arriving);

 private:
  absl::Status CheckManifestOf(const AttemptRecord& last) const;
  absl::StatusOr<std::vector<KeptRound>> ReadKept(const AttemptRecords& attempts,
                                                  uint32_t finished) const;
  absl::Status CheckPacket(const Item& packet) const;
  // Runs one change of the store.
  template <typename Act>
  absl::Status Run(Act act);

  const agreement::SignedManifest& manifest_;
  uint32_t kept_rounds_;
  ServerStore& store_;
  BlobStore& blobs_;
  bool stale_ = false;
};

// The statements in it that can be read; their signatures are checked.
SignedStatements ReadStatements(const agreement::SignedManifest& manifest,
                                std::span<const Item> of_beginning, const Submissions& votes);

}  // namespace tacet::server

#endif  // TACET_SERVER_ROUND_STORE_H_
