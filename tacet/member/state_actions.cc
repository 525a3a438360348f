#include "tacet/member/state_actions.h"

#include <algorithm>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/member/attestors.h"
#include "tacet/protocol/encrypted_checkpoint.h"

namespace tacet::member {
namespace {

constexpr uint32_t kMaxCheckpoints = 64;  // a server is not asked for more of one round

}  // namespace

absl::StatusOr<Event> StateActions::Do(const StateAction& action) {
  return std::visit([this](const auto& chosen) { return Do(chosen); }, action);
}

absl::StatusOr<Event> StateActions::Do(const action::FetchSum& action) {
  TACET_ASSIGN_OR_RETURN(sum_, FetchSum(parts_, notes_, action.attempt));
  if (!sum_.has_value()) return event::SumFetched{};
  return event::SumFetched{sum_->aggregate.participants};
}

absl::StatusOr<Event> StateActions::Do(const action::ApplySum&) {
  const uint32_t round = model_.next_round();
  TACET_RETURN_IF_ERROR(model_.Apply(sum_->aggregate));
  applied_.push_back({.round = round,
                      .participants = sum_->aggregate.participants,
                      .model = model_.digests().model,
                      .abstentions = std::move(sum_->abstentions)});
  sum_.reset();
  return Reached();
}

absl::StatusOr<Event> StateActions::Do(const action::FetchAttestations& action) {
  const auto attestations = parts_.server.FetchAttestations(action.round);
  if (attestations.ok()) {
    return event::AttestationsHeard{ReadableAttestations(*attestations, parts_.manifest)};
  }
  if (protocol::IsRetryable(attestations.status())) return attestations.status();
  return event::AttestationsHeard{};
}

absl::StatusOr<Event> StateActions::Do(const action::FetchCheckpoint& action) {
  const agreement::Manifest& manifest = parts_.manifest.manifest();
  const secagg::Attempt start = protocol::RoundStart(manifest, parts_.manifest.epoch(),
                                                     action.state.round, action.state.model_digest);
  const auto read = [&](const base::Bytes& sealed) -> absl::StatusOr<protocol::Checkpoint> {
    TACET_ASSIGN_OR_RETURN(protocol::Checkpoint checkpoint,
                           protocol::DecryptCheckpoint(sealed, manifest, start, parts_.epoch_key));
    if (protocol::DigestsOf(checkpoint, parts_.digest_key()).state != action.state.state_digest) {
      return base::DataLoss(
          "the optimiser's state is not the one that a majority of the attestors attests");
    }
    return checkpoint;
  };
  checkpoint_.reset();
  for (uint32_t index = 0; index < kMaxCheckpoints; ++index) {
    const absl::StatusOr<base::Bytes> sealed =
        parts_.server.Fetch({.kind = protocol::BulkKind::kCheckpoint, .attempt = start}, index,
                            protocol::EncryptedCheckpointBytes(manifest.spec()));
    absl::Status judged = sealed.status();
    if (sealed.ok()) {
      absl::StatusOr<protocol::Checkpoint> checkpoint = read(*sealed);
      if (checkpoint.ok()) {
        checkpoint_ = *std::move(checkpoint);
        return event::CheckpointFetched{.found = true};
      }
      judged = checkpoint.status();
    } else if (protocol::IsRetryable(judged)) {
      return judged;
    } else if (judged.code() != absl::StatusCode::kDataLoss) {
      break;  // there are no more
    }
    TACET_RETURN_IF_ERROR(notes_.Violation(
        {violations::kBadCheckpoint, fmt::format("number {}: {}", index, base::Message(judged))},
        start.number, index));
  }
  return event::CheckpointFetched{.found = false};
}

absl::StatusOr<Event> StateActions::Do(const action::InstallCheckpoint& action) {
  TACET_RETURN_IF_ERROR(model_.Install(*std::exchange(checkpoint_, std::nullopt)));
  if (action.first_undone.has_value()) Undo(*action.first_undone);
  return Reached();
}

absl::StatusOr<Event> StateActions::Do(const action::StepBack& action) {
  TACET_RETURN_IF_ERROR(model_.StepBack());
  Undo(action.first_undone);
  return Reached();
}

Event StateActions::Reached() const {
  return event::StateReached{{.next_round = model_.next_round(), .digests = model_.digests()}};
}

void StateActions::Undo(uint32_t first_undone) {
  undone_.push_back(first_undone);
  std::erase_if(applied_,
                [&](const AppliedRound& applied) { return applied.round >= first_undone; });
}

}  // namespace tacet::member
