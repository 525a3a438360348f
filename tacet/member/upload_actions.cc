#include "tacet/member/upload_actions.h"

#include <algorithm>
#include <utility>

#include "fmt/core.h"

#include "tacet/agreement/pair_keys.h"
#include "tacet/base/status.h"
#include "tacet/member/own_abstention.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/sealer.h"

namespace tacet::member {

ledger::AttemptCost CostOf(const MemberParts& parts) {
  ledger::AttemptCost cost = ledger::AttemptCostOf(parts.manifest.manifest(), parts.ledger.header(),
                                                   parts.rule, 0, parts.earlier);
  cost.member = static_cast<uint32_t>(parts.member);
  return cost;
}

UploadActions::UploadActions(const MemberParts& parts, const MemberModel& model)
    : parts_(parts), model_(model), cost_(CostOf(parts)) {}

absl::StatusOr<Event> UploadActions::Do(const UploadAction& action) {
  return std::visit([this](const auto& chosen) { return Do(chosen); }, action);
}

void UploadActions::Forget() {
  update_ = {};
  upload_ = {};
}

ledger::AttemptCost UploadActions::CostFrom(std::optional<uint32_t> first_round) const {
  ledger::AttemptCost cost = cost_;
  if (first_round.has_value()) cost.first_round = *first_round;
  return cost;
}

absl::StatusOr<Event> UploadActions::Do(const action::Charge& action) {
  TACET_RETURN_IF_ERROR(
      parts_.ledger.ChargeAnnounced(CostFrom(action.first_round), action.announced));
  return event::Done{};
}

absl::StatusOr<Event> UploadActions::Do(const action::FindUpload& action) {
  absl::StatusOr<base::Bytes> stored = parts_.state.LoadUpload(action.attempt);
  if (stored.status().code() == absl::StatusCode::kNotFound) {
    upload_ = {};
    return event::UploadFound{.found = false};
  }
  TACET_RETURN_IF_ERROR(stored.status());
  upload_ = *std::move(stored);
  return event::UploadFound{.found = true};
}

absl::StatusOr<Event> UploadActions::Do(const action::AskForUpload& action) {
  const absl::StatusOr<base::Bytes> upload = parts_.state.LoadUpload(action.attempt);
  if (upload.status().code() == absl::StatusCode::kNotFound) return event::UploadKept{};
  TACET_RETURN_IF_ERROR(upload.status());
  const absl::StatusOr<bool> has =
      parts_.server.Has({.kind = protocol::BulkKind::kUpload, .attempt = action.attempt}, *upload);
  if (!has.ok() && protocol::IsRetryable(has.status())) return has.status();
  return event::UploadKept{.lost = has.ok() && !*has};
}

absl::StatusOr<Event> UploadActions::Do(const action::ChargeForSealing& action) {
  const ledger::ChargeLabel label{.manifest_hash = parts_.manifest.manifest().hash(),
                                  .number = action.number};
  const bool charged_before = parts_.ledger.Holds(label);
  const absl::Status charged =
      parts_.ledger.ChargeForSealing(CostFrom(action.first_round), action.number, action.announced);
  const bool refused = charged.code() == absl::StatusCode::kResourceExhausted ||
                       (charged_before && charged.code() == absl::StatusCode::kFailedPrecondition);
  if (!refused) {
    TACET_RETURN_IF_ERROR(charged);
    return event::SealingCharged{};
  }
  const secagg::Attempt attempt{.manifest_hash = label.manifest_hash, .number = action.number};
  return event::SealingCharged{
      .refused = base::Message(charged),
      .was_sealed = !parts_.ledger.Knows(label) || parts_.ledger.HoldsForSealing(label),
      .abstains = OwnAbstention(parts_, attempt).has_value()};
}

absl::StatusOr<Event> UploadActions::Do(const action::Train& action) {
  const agreement::ManifestSpec& spec = parts_.manifest.manifest().spec();
  update_ = crypto::SecretVector<float>(spec.dimension);
  const trainer::AttemptContext context =
      trainer::ContextOf(spec, action.attempt.number, parts_.updates.units(), parts_.entropy);
  const absl::Status trained =
      parts_.updates.Update(context, model_.checkpoint().model, update_.Expose());
  if (trained.ok()) return event::Trained{};
  if (trained.code() == absl::StatusCode::kCancelled) return trained;
  return event::Trained{base::Message(trained)};
}

absl::Status UploadActions::MakeKeys() {
  if (keys_.has_value()) return absl::OkStatus();
  const std::vector<crypto::KemPublicKey> seat_keys = parts_.manifest.seat_keys();
  TACET_ASSIGN_OR_RETURN(keys_,
                         agreement::KeysWithSeats(parts_.manifest.manifest(), parts_.pair_secrets(),
                                                  parts_.member, seat_keys, parts_.signing_key));
  return absl::OkStatus();
}

absl::Status UploadActions::SendPacket() {
  if (packet_sent_) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(MakeKeys());
  const protocol::BulkName name{.kind = protocol::BulkKind::kKeyPacket,
                                .attempt = protocol::PacketAttempt(
                                    parts_.manifest.manifest().hash(), parts_.manifest.epoch())};
  TACET_RETURN_IF_ERROR(parts_.server.Put(name, keys_->packet));
  packet_sent_ = true;
  return absl::OkStatus();
}

absl::StatusOr<Event> UploadActions::Do(const action::Seal& action) {
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  crypto::SecretVector<float> update = std::exchange(update_, {});
  if (action.zeros) std::ranges::fill(update.Expose(), 0.0f);
  TACET_ASSIGN_OR_RETURN(
      const std::unique_ptr<secagg::Sealer> sealer,
      secagg::Sealer::Create(
          manifest.terms(), action.attempt,
          secagg::DeriveAttemptKeys(parts_.epoch_key, manifest.spec().scheme, action.attempt)));
  TACET_RETURN_IF_ERROR(MakeKeys());
  TACET_ASSIGN_OR_RETURN(secagg::SealedUpload sealed,
                         sealer->Seal(update.Expose(), keys_->pair_keys, parts_.entropy));
  upload_ = std::move(sealed.bytes);
  return event::Sealed{.finite = sealed.clip.finite};
}

absl::StatusOr<Event> UploadActions::Do(const action::SaveUpload& action) {
  TACET_RETURN_IF_ERROR(parts_.state.SaveUpload(action.attempt, upload_));
  return event::Done{};
}

absl::StatusOr<Event> UploadActions::Do(const action::SendUpload& action) {
  using Answer = event::UploadSent::Answer;
  const crypto::Digest digest = crypto::Sha256(upload_);
  const bool sent_before = packet_sent_;
  absl::Status packet = SendPacket();
  const auto put = [&] {
    if (!packet.ok()) return packet;
    return parts_.server.Put({.kind = protocol::BulkKind::kUpload, .attempt = action.attempt},
                             upload_, digest);
  };
  absl::Status sent = put();
  // A server that was put back to an earlier state may lack the packet.
  if (sent_before && sent.code() == absl::StatusCode::kFailedPrecondition) {
    packet_sent_ = false;
    packet = SendPacket();
    sent = put();
  }
  if (sent.ok()) {
    return event::UploadSent{.answer = Answer::kTaken, .bytes = upload_.size(), .digest = digest};
  }
  if (protocol::IsRetryable(sent)) return sent;
  Answer answer = Answer::kNotTaken;
  if (sent.code() == absl::StatusCode::kAlreadyExists) {
    answer = packet.ok() ? Answer::kHasAnother : Answer::kHasAnotherPacket;
  }
  return event::UploadSent{.answer = answer, .why = base::Message(sent)};
}

}  // namespace tacet::member
