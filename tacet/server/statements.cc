#include "tacet/server/statements.h"

#include "tacet/base/status.h"

namespace tacet::server {
namespace {

struct Reader {
  const agreement::SignedManifest& manifest;
  uint64_t member;

  using Result = absl::StatusOr<Event>;
  absl::Status CheckSeat() const { return RoundRules(manifest, {}).CheckSeat(member); }

  Result operator()(const protocol::PutVoteRequest& request) const {
    TACET_RETURN_IF_ERROR(CheckSeat());
    return VoteGiven{.member = member, .attempt = request.attempt, .vote = request.vote};
  }
  Result operator()(const protocol::PutVerdictRequest& request) const {
    TACET_RETURN_IF_ERROR(CheckSeat());
    return VerdictGiven{
        .member = member, .attempt = request.attempt, .confirmed = request.confirmed};
  }
  Result operator()(const protocol::PutAttestationRequest& request) const {
    TACET_ASSIGN_OR_RETURN(const protocol::Attestation attestation,
                           protocol::ReadAttestation(request.attestation, manifest));
    if (attestation.member == member) {
      return AttestationGiven{.attestation = attestation, .bytes = request.attestation};
    }
    return base::PermissionDenied("an attestation of member {} was sent by member {}",
                                  attestation.member, member);
  }
  Result operator()(const protocol::PutAbstentionRequest& request) const {
    TACET_ASSIGN_OR_RETURN(const protocol::Abstention abstention,
                           protocol::ReadAbstention(request.abstention, manifest));
    if (abstention.member == member) {
      return AbstentionGiven{.abstention = abstention, .bytes = request.abstention};
    }
    return base::PermissionDenied("an abstention of member {} was sent by member {}",
                                  abstention.member, member);
  }
  Result operator()(const protocol::PutObjectionRequest& request) const {
    TACET_ASSIGN_OR_RETURN(const protocol::Objection objection,
                           protocol::ReadObjection(request.objection, manifest));
    if (objection.member == member) return ObjectionGiven{objection};
    return base::PermissionDenied("an objection of member {} was sent by member {}",
                                  objection.member, member);
  }
  Result operator()(const protocol::PutOpeningRequest& request) const {
    TACET_RETURN_IF_ERROR(CheckSeat());
    TACET_ASSIGN_OR_RETURN(const protocol::OpeningStatement statement,
                           protocol::ReadOpeningStatement(request.statement, manifest));
    if (!manifest.begins_training()) {
      return OpeningStatementGiven{.statement = statement, .bytes = request.statement};
    }
    return base::FailedPrecondition("epoch {} begins a training: it needs no opening",
                                    manifest.epoch());
  }
};

}  // namespace

absl::StatusOr<Event> ReadStatement(const agreement::SignedManifest& manifest, uint64_t member,
                                    const Statement& statement) {
  return std::visit(Reader{manifest, member}, statement);
}

}  // namespace tacet::server
