#include "tacet/member/statement_actions.h"

#include <utility>

#include "tacet/base/status.h"
#include "tacet/member/own_abstention.h"
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

secagg::Attempt StatementActions::Start() const {
  return protocol::RoundStart(parts_.manifest.manifest(), parts_.manifest.epoch(),
                              model_.next_round(), model_.digests().model);
}

bool StatementActions::IsEncrypted() const {
  return encrypted_.has_value() && encrypted_->round == model_.next_round();
}

void StatementActions::Encrypt() {
  if (IsEncrypted()) return;
  encrypted_ = {model_.next_round(),
                protocol::SealCheckpoint(model_.checkpoint(), model_.digests().model,
                                         parts_.manifest.manifest(), parts_.manifest.epoch(),
                                         parts_.member, parts_.epoch_key)};
}

absl::Status StatementActions::SettleCheckpoint(const absl::Status& sent,
                                                const crypto::Digest& digest) {
  if (protocol::IsRetryable(sent)) return sent;
  const base::Bytes sealed = std::move(encrypted_->bytes);
  encrypted_.reset();
  if (sent.code() == absl::StatusCode::kAlreadyExists) return absl::OkStatus();  // before a restart
  return notes_.Settle("checkpoint", Start().number, sent, sealed, digest);
}

absl::StatusOr<Event> StatementActions::Do(const action::SendAttestation& action) {
  const base::Bytes attestation = AttestationOf(parts_, model_);
  const secagg::AttemptNumber at{.epoch = parts_.manifest.epoch(), .round = model_.next_round()};
  const uint64_t checkpoint_bytes =
      protocol::EncryptedCheckpointBytes(parts_.manifest.manifest().spec());
  if (!action.with_checkpoint || checkpoint_bytes > protocol::kMaxPartBytes) {
    TACET_RETURN_IF_ERROR(
        notes_.Settle("attestation", at, parts_.server.PutAttestation(attestation), attestation));
    return event::Attested{};
  }
  Encrypt();
  const crypto::Digest digest = crypto::Sha256(encrypted_->bytes);
  const auto [attested, given] = parts_.server.PutAttestationWith(
      attestation, {.kind = protocol::BulkKind::kCheckpoint, .attempt = Start()}, encrypted_->bytes,
      digest);
  TACET_RETURN_IF_ERROR(notes_.Settle("attestation", at, attested, attestation));
  // One that could not be sent now is sent again by itself.
  if (protocol::IsRetryable(given)) return event::Attested{};
  TACET_RETURN_IF_ERROR(SettleCheckpoint(given, digest));
  return event::Attested{.with_checkpoint = true};
}

absl::StatusOr<Event> StatementActions::Do(const action::SendAbstention& action) {
  const std::optional<protocol::SignedAbstention> own = OwnAbstention(parts_, action.attempt);
  if (!own.has_value()) return absl::InternalError("there is no abstention to be sent");
  TACET_RETURN_IF_ERROR(notes_.Settle("abstention", action.attempt.number,
                                      parts_.server.Say(protocol::PutAbstentionRequest{own->bytes}),
                                      own->bytes));
  return event::Done{};
}

absl::StatusOr<Event> StatementActions::Do(const action::SendObjection& action) {
  const base::Bytes objection =
      protocol::WriteObjection(action.objection, parts_.manifest, parts_.signing_key);
  TACET_RETURN_IF_ERROR(notes_.Settle("objection", action.objection.attempt,
                                      parts_.server.Say(protocol::PutObjectionRequest{objection}),
                                      objection));
  return event::Done{};
}

absl::StatusOr<Event> StatementActions::Do(const action::SendCheckpoint&) {
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  const protocol::BulkName name{.kind = protocol::BulkKind::kCheckpoint, .attempt = Start()};
  if (!IsEncrypted()) {
    // The server takes as many as the committee has seats. If it lies it could as well drop this.
    const auto last_taken = static_cast<uint32_t>(manifest.committee().size() - 1);
    TACET_ASSIGN_OR_RETURN(
        const bool enough,
        parts_.server.Keeps(name, last_taken, protocol::EncryptedCheckpointBytes(manifest.spec())));
    if (enough) return event::Done{};
    Encrypt();
  }
  const crypto::Digest digest = crypto::Sha256(encrypted_->bytes);
  TACET_RETURN_IF_ERROR(
      SettleCheckpoint(parts_.server.Put(name, encrypted_->bytes, digest), digest));
  return event::Done{};
}

}  // namespace tacet::member
