#include "tacet/member/statement_actions.h"

#include <utility>

#include "tacet/base/status.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/encrypted_checkpoint.h"

namespace tacet::member {

base::Bytes AttestationOf(const MemberParts& parts, const MemberModel& model) {
  return protocol::WriteAttestation({.member = parts.member,
                                     .round = model.next_round(),
                                     .model_digest = model.digests().model,
                                     .state_digest = model.digests().state},
                                    parts.manifest, parts.signing_key);
}

absl::StatusOr<Event> StatementActions::Do(const StatementAction& action) {
  return std::visit([this](const auto& chosen) { return Do(chosen); }, action);
}

absl::StatusOr<Event> StatementActions::Do(const action::SendAttestation&) {
  const base::Bytes attestation = AttestationOf(parts_, model_);
  TACET_RETURN_IF_ERROR(
      notes_.Settle("attestation", {.epoch = parts_.manifest.epoch(), .round = model_.next_round()},
                    parts_.server.PutAttestation(attestation), attestation));
  return event::Done{};
}

absl::StatusOr<Event> StatementActions::Do(const action::SendCheckpoint&) {
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  const secagg::Attempt start = protocol::RoundStart(manifest, parts_.manifest.epoch(),
                                                     model_.next_round(), model_.digests().model);
  const protocol::BulkName name{.kind = protocol::BulkKind::kCheckpoint, .attempt = start};
  // The same bytes until they are taken: over a line that breaks they go on where they stopped.
  if (!encrypted_.has_value() || encrypted_->round != start.number.round) {
    encrypted_.reset();
    // The server takes as many as the committee has seats. If it lies it could as well drop this.
    const auto last_taken = static_cast<uint32_t>(manifest.committee().size() - 1);
    TACET_ASSIGN_OR_RETURN(
        const bool enough,
        parts_.server.Keeps(name, last_taken, protocol::EncryptedCheckpointBytes(manifest.spec())));
    if (enough) return event::Done{};
    encrypted_ = {start.number.round,
                  protocol::SealCheckpoint(model_.checkpoint(), model_.digests().model, manifest,
                                           parts_.manifest.epoch(), parts_.member, parts_.epoch_key,
                                           parts_.entropy)};
  }
  const crypto::Digest digest = crypto::Sha256(encrypted_->bytes);
  const absl::Status sent = parts_.server.Put(name, encrypted_->bytes, digest);
  if (protocol::IsRetryable(sent)) return sent;
  const base::Bytes sealed = std::move(encrypted_->bytes);
  encrypted_.reset();
  if (sent.code() == absl::StatusCode::kAlreadyExists) return event::Done{};  // before a restart
  TACET_RETURN_IF_ERROR(notes_.Settle("checkpoint", start.number, sent, sealed, digest));
  return event::Done{};
}

}  // namespace tacet::member
