// Parts of objects, given and fetched whole: RoundServer itself takes them piece by piece.
#ifndef TACET_SERVER_WHOLE_PARTS_FOR_TEST_H_
#define TACET_SERVER_WHOLE_PARTS_FOR_TEST_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/protocol/member_request.h"
#include "tacet/server/round_server.h"

namespace tacet::server::testing {

// Returns how many bytes of the object have arrived.
inline absl::StatusOr<uint64_t> TakePart(RoundServer& server, uint64_t member,
                                         const protocol::PutPartRequest& request) {
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<IncomingPart> part,
                         server.BeginPart(member, request, request.part.size()));
  TACET_RETURN_IF_ERROR(part->Write(request.part));
  return part->Finish(crypto::Sha256(request.part));
}

// The part that a member is given when it asks.
inline absl::StatusOr<base::Bytes> PartOf(const RoundServer& server, uint64_t member,
                                          const protocol::FetchPartRequest& request) {
  TACET_ASSIGN_OR_RETURN(const ObjectPart part, server.OpenPart(member, request));
  base::Bytes bytes(part.bytes);
  TACET_RETURN_IF_ERROR(part.object->Read(part.offset, bytes));
  return bytes;
}

}  // namespace tacet::server::testing

#endif  // TACET_SERVER_WHOLE_PARTS_FOR_TEST_H_
