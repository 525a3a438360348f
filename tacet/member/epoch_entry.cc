#include "tacet/member/epoch_entry.h"

#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/member/catching_up.h"
#include "tacet/secagg/committee.h"

namespace tacet::member {

absl::StatusOr<EpochEntry::Outcome> EpochEntry::Enter(const protocol::Announcement& announcement) {
  const absl::StatusOr<std::vector<base::Bytes>> statements =
      parts_.server.FetchOpeningStatements();
  if (!statements.ok() && protocol::IsRetryable(statements.status())) return statements.status();
  const protocol::OpeningTally said = protocol::TallyOf(
      statements.ok() ? *statements : std::vector<base::Bytes>(), parts_.manifest);
  const bool has_seat =
      secagg::SeatOf(parts_.manifest.manifest().committee(), parts_.member).has_value();
  if (has_seat) TACET_RETURN_IF_ERROR(Speak(said));
  if (const auto opened = said.Opened()) return BeginWith(*opened, announcement.finished);
  if (announcement.current.has_value()) {
    TACET_RETURN_IF_ERROR(notes_.Violation(
        {violations::kNotOpened,
         "an attempt is announced, but no quorum of the committee has voted for the state with "
         "which its epoch begins"},
        announcement.current->attempt.number));
  }
  return Outcome{.entered = false, .waits = has_seat};
}

// The vote goes first: a server that has lost it must not ask for votes before it knows it again.
absl::Status EpochEntry::Speak(const protocol::OpeningTally& said) {
  TACET_ASSIGN_OR_RETURN(std::optional<base::Bytes> vote, OwnVote());
  if (vote.has_value() && said.VoteOf(parts_.member) == nullptr) {
    TACET_RETURN_IF_ERROR(Put("opening-vote", *vote));
  }
  if (said.Opened().has_value()) return absl::OkStatus();
  TACET_RETURN_IF_ERROR(Put("opening-state", Statement(protocol::OpeningWord::kHas, Own())));
  TACET_ASSIGN_OR_RETURN(const std::optional<protocol::Checkpoint> earlier, model_.Earlier());
  if (earlier.has_value() && earlier->next_round + 1 == model_.next_round()) {
    const auto before =
        protocol::OpeningStateOf(earlier->next_round, protocol::DigestsOf(*earlier));
    TACET_RETURN_IF_ERROR(Put("opening-state", Statement(protocol::OpeningWord::kHas, before)));
  }
  const std::optional<protocol::OpeningState> held = said.Held();
  if (vote.has_value() || !held.has_value()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const bool can_begin, CanBeginWith(*held));
  if (!can_begin) return absl::OkStatus();
  vote = Statement(protocol::OpeningWord::kVote, *held);
  TACET_RETURN_IF_ERROR(parts_.state.SaveOpeningVote(*vote));
  return Put("opening-vote", *vote);
}

base::Bytes EpochEntry::Statement(protocol::OpeningWord word,
                                  const protocol::OpeningState& state) const {
  return protocol::WriteOpeningStatement({.word = word, .member = parts_.member, .state = state},
                                         parts_.manifest, parts_.signing_key);
}

absl::Status EpochEntry::Put(std::string_view what, const base::Bytes& statement) {
  const secagg::AttemptNumber here{.epoch = parts_.manifest.epoch(), .round = model_.next_round()};
  const absl::Status sent = parts_.server.PutOpeningStatement(statement);
  if (sent.ok()) return notes_.Sent(what, here, statement);
  if (protocol::IsRetryable(sent)) return sent;
  return notes_.Note(fmt::format("{}-not-taken", what), here, base::Message(sent));
}

absl::StatusOr<std::optional<base::Bytes>> EpochEntry::OwnVote() const {
  absl::StatusOr<base::Bytes> kept = parts_.state.LoadOpeningVote();
  if (kept.status().code() == absl::StatusCode::kNotFound) return std::nullopt;
  TACET_RETURN_IF_ERROR(kept.status());
  const absl::Status read = protocol::ReadOpeningStatement(*kept, parts_.manifest).status();
  if (read.ok()) return *std::move(kept);
  if (read.code() == absl::StatusCode::kFailedPrecondition) return std::nullopt;  // another epoch's
  return base::DataLoss("site state: the vote of the epoch's opening is damaged: {}",
                        base::Message(read));
}

protocol::OpeningState EpochEntry::Own() const {
  return protocol::OpeningStateOf(model_.next_round(), model_.digests());
}

bool EpochEntry::IsAtOrBehind(const protocol::OpeningState& state) const {
  return model_.next_round() < state.round || Own() == state;
}

absl::StatusOr<bool> EpochEntry::CanBeginWith(const protocol::OpeningState& state) const {
  if (IsAtOrBehind(state)) return true;
  TACET_ASSIGN_OR_RETURN(const std::optional<protocol::Checkpoint> earlier, model_.Earlier());
  return earlier.has_value() && earlier->next_round <= state.round;
}

absl::StatusOr<EpochEntry::Outcome> EpochEntry::BeginWith(const protocol::OpeningState& state,
                                                          uint32_t finished) {
  if (IsAtOrBehind(state)) return Outcome{.entered = true};
  const secagg::AttemptNumber here{.epoch = parts_.manifest.epoch(), .round = state.round};
  TACET_ASSIGN_OR_RETURN(const std::optional<protocol::Checkpoint> earlier, model_.Earlier());
  if (!earlier.has_value() || earlier->next_round > state.round) {
    TACET_RETURN_IF_ERROR(notes_.Violation(
        {model_.next_round() == state.round ? violations::kFork : violations::kRollback,
         fmt::format("the epoch begins with another model of {} rounds; this member has applied "
                     "{} and cannot undo them",
                     state.round, model_.next_round())},
        here));
    return Outcome{};
  }
  if (protocol::OpeningStateOf(earlier->next_round, protocol::DigestsOf(*earlier)) == state) {
    TACET_RETURN_IF_ERROR(model_.StepBack());
  } else {
    TACET_ASSIGN_OR_RETURN(std::optional<protocol::Checkpoint> attested,
                           FetchAttestedState(parts_, notes_, finished));
    if (!attested.has_value()) return Outcome{.entered = false, .waits = true};
    TACET_RETURN_IF_ERROR(model_.Install(*std::move(attested)));
  }
  TACET_RETURN_IF_ERROR(notes_.Applied(
      "earlier-state", here,
      "the last round is undone: a quorum of the committee begins the epoch without it"));
  return Outcome{.entered = true, .waits = false, .first_undone = earlier->next_round};
}

}  // namespace tacet::member
