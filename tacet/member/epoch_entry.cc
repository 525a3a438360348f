#include "tacet/member/epoch_entry.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/member/catching_up.h"
#include "tacet/secagg/committee.h"

namespace tacet::member {

absl::StatusOr<EpochEntry::Outcome> EpochEntry::Enter(const protocol::Announcement& announcement) {
  TACET_ASSIGN_OR_RETURN(const Statements statements, FetchOpening(parts_));
  const protocol::OpeningTally said = protocol::TallyOf(statements, parts_.manifest);
  const bool has_seat =
      secagg::SeatOf(parts_.manifest.manifest().committee(), parts_.member).has_value();
  if (has_seat) TACET_RETURN_IF_ERROR(Speak(statements, said, announcement.finished));
  if (const auto opened = said.Opened()) return BeginWith(*opened, announcement);
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
absl::Status EpochEntry::Speak(const Statements& statements, const protocol::OpeningTally& said,
                               uint32_t asked) {
  TACET_ASSIGN_OR_RETURN(const Statements vote, OwnVote(statements, said));
  if (!vote.empty() && said.VoteOf(parts_.member) == nullptr) {
    TACET_RETURN_IF_ERROR(Put("opening-vote", vote.front()));
  }
  if (said.Opened().has_value()) return absl::OkStatus();
  if (!vote.empty()) TACET_RETURN_IF_ERROR(PutReasons(vote, said));
  TACET_ASSIGN_OR_RETURN(const protocol::OpeningStatement own, OwnStates());
  const base::Bytes signed_own = Signed(own);
  TACET_RETURN_IF_ERROR(Put("opening-state", signed_own));
  if (!vote.empty()) return absl::OkStatus();

  protocol::OpeningTally all = said;
  all.Add(own);
  const std::optional<protocol::OpeningState> held = all.HeldAt(asked);
  if (!held.has_value()) return absl::OkStatus();
  TACET_ASSIGN_OR_RETURN(const bool can_begin, CanBeginWith(*held, all));
  if (!can_begin) return absl::OkStatus();
  Statements kept = {Signed(Own(protocol::OpeningWord::kVote, *held)), signed_own};
  kept.insert(kept.end(), statements.begin(), statements.end());
  TACET_RETURN_IF_ERROR(parts_.state.SaveOpeningVote(protocol::WriteBlobs(kept)));
  return Put("opening-vote", kept.front());
}

// Others have to rely on the same, and may not hear it from those who said it.
absl::Status EpochEntry::PutReasons(const Statements& vote, const protocol::OpeningTally& said) {
  TACET_ASSIGN_OR_RETURN(const protocol::OpeningStatement own,
                         protocol::ReadOpeningStatement(vote.front(), parts_.manifest));
  if (said.IsHeld(own.state)) return absl::OkStatus();
  for (size_t i = 1; i < vote.size(); ++i) {
    TACET_RETURN_IF_ERROR(Put("opening-state", vote[i]));
  }
  return absl::OkStatus();
}

protocol::OpeningStatement EpochEntry::Own(protocol::OpeningWord word,
                                           const protocol::OpeningState& state) const {
  return {.word = word, .member = parts_.member, .state = state};
}

base::Bytes EpochEntry::Signed(const protocol::OpeningStatement& statement) const {
  return protocol::WriteOpeningStatement(statement, parts_.manifest, parts_.signing_key);
}

absl::Status EpochEntry::Put(std::string_view what, const base::Bytes& statement) {
  const secagg::AttemptNumber here{.epoch = parts_.manifest.epoch(), .round = model_.next_round()};
  const absl::Status sent = parts_.server.PutOpeningStatement(statement);
  if (sent.ok()) return notes_.Sent(what, here, statement);
  if (protocol::IsRetryable(sent)) return sent;
  return notes_.Note(fmt::format("{}-not-taken", what), here, base::Message(sent));
}

absl::StatusOr<EpochEntry::Statements> EpochEntry::OwnVote(const Statements& statements,
                                                           const protocol::OpeningTally& said) {
  const absl::StatusOr<base::Bytes> bytes = parts_.state.LoadOpeningVote();
  if (bytes.ok()) {
    TACET_ASSIGN_OR_RETURN(Statements kept, protocol::ReadBlobs(*bytes));
    const absl::Status read =
        kept.empty() ? base::DataLoss("it is empty")
                     : protocol::ReadOpeningStatement(kept.front(), parts_.manifest).status();
    if (read.ok()) return kept;
    if (read.code() != absl::StatusCode::kFailedPrecondition) {  // that is another epoch's
      return base::DataLoss("site state: the vote of the epoch's opening is damaged: {}",
                            base::Message(read));
    }
  } else if (bytes.status().code() != absl::StatusCode::kNotFound) {
    return bytes.status();
  }
  const protocol::OpeningState* const given = said.VoteOf(parts_.member);
  if (given == nullptr) return Statements();
  Statements kept = {Signed(Own(protocol::OpeningWord::kVote, *given))};
  kept.insert(kept.end(), statements.begin(), statements.end());
  TACET_RETURN_IF_ERROR(parts_.state.SaveOpeningVote(protocol::WriteBlobs(kept)));
  return kept;
}

// The earlier state is read from the disk and hashed once: it may be large, and a seat speaks
// often.
absl::StatusOr<protocol::OpeningStatement> EpochEntry::OwnStates() {
  if (own_states_.has_value() && own_states_->state == OwnState()) return *own_states_;
  protocol::OpeningStatement own = Own(protocol::OpeningWord::kHas, OwnState());
  TACET_ASSIGN_OR_RETURN(const std::optional<protocol::Checkpoint> earlier, model_.Earlier());
  if (earlier.has_value() && earlier->next_round + 1 == model_.next_round()) {
    own.earlier = protocol::OpeningStateOf(earlier->next_round,
                                           protocol::DigestsOf(*earlier, model_.digest_key()));
  }
  own_states_ = own;
  return own;
}

protocol::OpeningState EpochEntry::OwnState() const {
  return protocol::OpeningStateOf(model_.next_round(), model_.digests());
}

bool EpochEntry::IsAtOrBehind(const protocol::OpeningState& state) const {
  return model_.next_round() < state.round || OwnState() == state;
}

absl::StatusOr<bool> EpochEntry::CanBeginWith(const protocol::OpeningState& state,
                                              const protocol::OpeningTally& said) const {
  if (IsAtOrBehind(state)) return true;
  const bool is_quorum = said.heard() >= protocol::OpeningQuorum(parts_.manifest.manifest());
  const bool may_be_own = said.CanBeOpened(OwnState()) && (said.IsHeld(OwnState()) || !is_quorum);
  if (may_be_own) return false;
  TACET_ASSIGN_OR_RETURN(const std::optional<protocol::Checkpoint> earlier, model_.Earlier());
  return earlier.has_value() && earlier->next_round <= state.round;
}

absl::StatusOr<EpochEntry::Outcome> EpochEntry::BeginWith(
    const protocol::OpeningState& state, const protocol::Announcement& announcement) {
  // Who begins behind it could be led along another history.
  const auto is_behind = [&](const secagg::Attempt& attempt) {
    return attempt.number.round < state.round;
  };
  if (announcement.current.has_value() && is_behind(announcement.current->attempt)) {
    TACET_RETURN_IF_ERROR(notes_.Violation(
        {violations::kNotOpened,
         fmt::format("an attempt at round {} is announced, but the committee has voted to begin "
                     "the epoch with round {}",
                     announcement.current->attempt.number.round, state.round)},
        announcement.current->attempt.number));
    return Outcome{.entered = false, .waits = true};
  }
  if (announcement.finished < state.round || std::ranges::any_of(announcement.kept, is_behind)) {
    return Outcome{.entered = false, .waits = true};
  }
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
  if (protocol::OpeningStateOf(earlier->next_round,
                               protocol::DigestsOf(*earlier, model_.digest_key())) == state) {
    TACET_RETURN_IF_ERROR(model_.StepBack());
  } else {
    TACET_ASSIGN_OR_RETURN(std::optional<protocol::Checkpoint> attested,
                           FetchAttestedState(parts_, notes_, announcement.finished));
    if (!attested.has_value()) return Outcome{.entered = false, .waits = true};
    TACET_RETURN_IF_ERROR(model_.Install(*std::move(attested)));
  }
  TACET_RETURN_IF_ERROR(notes_.Applied(
      "earlier-state", here,
      "the last round is undone: a quorum of the committee begins the epoch without it"));
  return Outcome{.entered = true, .waits = false, .first_undone = earlier->next_round};
}

}  // namespace tacet::member
