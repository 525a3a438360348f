// Execution of the actions of the rounds' protocol: store, objects, sum and draws.
#ifndef TACET_SERVER_ACTION_RUNNER_H_
#define TACET_SERVER_ACTION_RUNNER_H_

#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/crypto/random.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/round_protocol.h"
#include "tacet/server/round_store.h"
#include "tacet/server/server_store.h"
#include "tacet/server/upload_sum.h"

namespace tacet::server {

// Not thread-safe.
class ActionRunner {
 public:
  // All must outlive it. `entropy` draws cohorts and the salts of rosters.
  ActionRunner(const agreement::SignedManifest& manifest, uint32_t kept_rounds, ServerStore& store,
               BlobStore& blobs, crypto::Entropy& entropy)
      : manifest_(manifest),
        blobs_(blobs),
        entropy_(entropy),
        store_(manifest, kept_rounds, store, blobs),
        sum_(manifest.manifest(), blobs) {}

  RoundStore& store() { return store_; }
  const RoundStore& store() const { return store_; }
  // The content of the store, with its statements read.
  absl::StatusOr<StoreRead> Read();

  // Returns the event to which the action leads, if there is one. A sweep keeps `arriving`, the
  // objects on their way in. Unavailable when the store failed; errors of AddUpload are the
  // sender's.
  absl::StatusOr<std::optional<Event>> Run(const Action& action, std::span<const BlobKey> arriving);

 private:
  struct Running;

  const agreement::SignedManifest& manifest_;
  BlobStore& blobs_;
  crypto::Entropy& entropy_;
  RoundStore store_;
  UploadSum sum_;
};

}  // namespace tacet::server

#endif  // TACET_SERVER_ACTION_RUNNER_H_
