// Part of an object that a member is sending: taken piece by piece, accepted at its end.
#ifndef TACET_SERVER_INCOMING_PART_H_
#define TACET_SERVER_INCOMING_PART_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/protocol/member_request.h"
#include "tacet/server/blob_store.h"

namespace tacet::server {

class RoundServer;

// Made by RoundServer::BeginPart, which must outlive it. Not thread-safe. If it goes before Finish,
// nothing of the part has arrived.
class IncomingPart {
 public:
  IncomingPart(const IncomingPart&) = delete;
  IncomingPart& operator=(const IncomingPart&) = delete;

  // The next bytes: no more than were announced. Unavailable when the blob store failed.
  absl::Status Write(std::span<const uint8_t> bytes);
  // After all announced bytes, which have the SHA-256 `digest`; call it once. Returns how many
  // bytes of the object have arrived. Errors as RoundServer::BeginPart, and DataLoss for an object
  // without the announced digest.
  absl::StatusOr<uint64_t> Finish(const crypto::Digest& digest);

 private:
  friend class RoundServer;
  IncomingPart(RoundServer& server, uint64_t member, protocol::PutPartRequest request)
      : server_(server), member_(member), request_(std::move(request)) {}

  RoundServer& server_;
  uint64_t member_;
  protocol::PutPartRequest request_;
  // The member's only one at the server, as long as this part is there; null for bytes of an object
  // that was accepted before.
  std::shared_ptr<const BlobKey> giving_;
  uint64_t arrived_ = 0;                // of the object, once this part is finished
  std::unique_ptr<BlobWriter> writer_;  // none for bytes that have arrived before
};

}  // namespace tacet::server

#endif  // TACET_SERVER_INCOMING_PART_H_
