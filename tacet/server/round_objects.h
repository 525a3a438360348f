// Large objects of a round: which a member may give now, and which it is given.
#ifndef TACET_SERVER_ROUND_OBJECTS_H_
#define TACET_SERVER_ROUND_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/protocol/member_request.h"
#include "tacet/server/round_protocol.h"

namespace tacet::server {

// The fate of an object that a member wants to give.
enum class Offer {
  kWanted,
  kAccepted,  // it was accepted before
};

// Errors as RoundServer::BeginPart; `whole` of the offer is not looked at.
absl::StatusOr<Offer> CheckOffer(const RoundState& state, const ObjectArrived& offer);
// An upper bound of the bytes of any part that is wanted from this member now.
size_t LargestPart(const RoundState& state, uint64_t member);
// The object that is asked for: all unmask shares together, or one of any other kind. Errors as
// RoundServer::OpenPart.
absl::StatusOr<std::vector<BlobKey>> FindObject(const RoundState& state, uint64_t member,
                                                const protocol::FetchPartRequest& request);

}  // namespace tacet::server

#endif  // TACET_SERVER_ROUND_OBJECTS_H_
