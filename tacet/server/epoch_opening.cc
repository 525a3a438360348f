// Opening of an epoch at a round server: with which state it begins, as its seats say.
#include "tacet/protocol/epoch_opening.h"

#include <utility>

#include "tacet/base/status.h"
#include "tacet/server/round_server.h"

namespace tacet::server {

absl::Status RoundServer::NoteOpeningStatement(const protocol::OpeningStatement& statement,
                                               std::span<const uint8_t> bytes) {
  constexpr int kMaxStatements = 2;  // of a seat whose state is another one than it was
  const uint64_t member = statement.member;
  for (const std::optional<protocol::OpeningState>& state :
       {std::optional(statement.state), statement.earlier}) {
    if (state.has_value() && state->round > spec().rounds) {
      return base::FailedPrecondition(
          "opening statement about round {}: the agreement has {} rounds", state->round,
          spec().rounds);
    }
  }
  if (statement.word == protocol::OpeningWord::kVote) {
    const bool is_new = opening_.VoteOf(member) == nullptr;
    TACET_RETURN_IF_ERROR(state_->PutOpeningVote(member, bytes));
    opening_.Add(statement);
    if (is_new) CountRevision(false);
    return state_->is_opened() ? absl::OkStatus() : AdvanceOpening();
  }
  if (state_->is_opened()) return absl::OkStatus();  // the votes say more
  int others = 0;
  for (const HeldState& held : held_) {
    if (held.statement == statement) return absl::OkStatus();
    if (held.statement.member == member) ++others;
  }
  if (others >= kMaxStatements) {
    return base::FailedPrecondition("{} other opening statements of this member are kept", others);
  }
  held_.push_back({statement, {bytes.begin(), bytes.end()}});
  opening_.Add(statement);
  CountRevision(false);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<base::Bytes>> RoundServer::OpeningStatements() const {
  const base::MutexLock lock(mutex_);
  TACET_RETURN_IF_ERROR(state_->CheckFresh());
  std::vector<base::Bytes> statements;
  for (const Submission& vote : state_->opening_votes()) statements.push_back(vote.bytes);
  if (state_->is_opened() || !candidate_.has_value()) return statements;
  std::vector<protocol::OpeningStatement> has;
  for (const HeldState& held : held_) has.push_back(held.statement);
  for (const size_t chosen : protocol::StatementsToHandOut(
           *candidate_, has, protocol::OpeningRulesOf(manifest_.manifest()))) {
    statements.push_back(held_[chosen].bytes);
  }
  return statements;
}

bool RoundServer::HasHeardSeatsHere() const {
  const uint64_t now = clock_();
  for (const secagg::CommitteeSeat& seat : manifest_.manifest().committee()) {
    if (attendance_.IsHere(seat.member, now) && !opening_.HasHeard(seat.member)) return false;
  }
  return true;
}

// What votes were asked for stays, so that they are not divided; after a restart the seats say what
// they have, and send their votes, again.
std::optional<protocol::OpeningState> RoundServer::Candidate() {
  if (opening_.heard() < protocol::OpeningQuorum(manifest_.manifest())) return std::nullopt;
  const uint64_t now = clock_();
  if (!heard_since_.has_value() || *heard_since_ > now) heard_since_ = now;
  // A seat that says nothing is not waited for.
  if (!HasHeardSeatsHere() && now - *heard_since_ <= options_.grace_seconds) return std::nullopt;
  const bool stays =
      candidate_.has_value() && opening_.IsHeld(*candidate_) && opening_.CanBeOpened(*candidate_);
  return stays ? candidate_ : opening_.Held();
}

absl::Status RoundServer::AdvanceOpening() {
  const std::optional<protocol::OpeningState> opened = opening_.Opened();
  if (!opened.has_value()) {
    const std::optional<protocol::OpeningState> candidate = Candidate();
    if (candidate.has_value() && candidate != std::exchange(candidate_, candidate)) {
      CountRevision(false);
    }
    return absl::OkStatus();
  }
  TACET_RETURN_IF_ERROR(state_->OpenAt(opened->round));
  RecallAttested();
  held_.clear();
  candidate_.reset();
  CountRevision(true);
  return Sweep();  // before an attempt begins, whose uploads would be swept
}

}  // namespace tacet::server
