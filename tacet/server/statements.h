// Statements of members about rounds, as they arrive in requests.
#ifndef TACET_SERVER_STATEMENTS_H_
#define TACET_SERVER_STATEMENTS_H_

#include <cstdint>
#include <variant>

#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/protocol/member_request.h"
#include "tacet/server/round_protocol.h"

namespace tacet::server {

// A member's own vote, verdict, attestation, abstention or objection, or any seat's opening
// statement.
using Statement = std::variant<protocol::PutVoteRequest, protocol::PutVerdictRequest,
                               protocol::PutAttestationRequest, protocol::PutOpeningRequest,
                               protocol::PutAbstentionRequest, protocol::PutObjectionRequest>;
// Key packets for the seat of `member`.
struct PacketsForSeat {
  uint64_t member = 0;
  protocol::FetchPacketsRequest request;
};
// Which statements of others are asked for.
using StatementList = std::variant<protocol::FetchVotesRequest, protocol::FetchAttestationsRequest,
                                   protocol::FetchOpeningRequest, PacketsForSeat>;

// The event that it is, with its signature checked. Errors that depend on no state: those of
// ReadAttestation, ReadOpeningStatement, ReadAbstention and ReadObjection; PermissionDenied for an
// attestation, an abstention or an objection of another member, and for votes, verdicts and opening
// statements from members without a seat; FailedPrecondition for an opening statement in an epoch
// that begins a training.
absl::StatusOr<Event> ReadStatement(const agreement::SignedManifest& manifest, uint64_t member,
                                    const Statement& statement);

}  // namespace tacet::server

#endif  // TACET_SERVER_STATEMENTS_H_
