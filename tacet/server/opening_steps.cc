// Steps in the opening of an epoch: with which state it begins, as its seats say.
#include <algorithm>

#include "tacet/base/status.h"
#include "tacet/server/round_steps.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

constexpr size_t kMaxStatements = 2;  // of a seat whose state is another one than it was

OpeningEpoch* OpeningOf(Transition& step) { return std::get_if<OpeningEpoch>(&step.state.epoch); }

bool HasHeardSeatsHere(const Transition& step, const OpeningEpoch& opening) {
  return std::ranges::all_of(step.rules().committee(), [&](const secagg::CommitteeSeat& seat) {
    return !step.moment.attendance.IsHere(seat.member, step.moment.now) ||
           opening.tally.HasHeard(seat.member);
  });
}

// The state that votes are asked for: the last one that enough seats have. An earlier choice stays,
// so that they are not divided; after a restart the seats say what they have, and send their votes,
// again.
std::optional<protocol::OpeningState> CandidateOf(const OpeningEpoch& opening) {
  const auto* const asking = std::get_if<AskingForVotes>(&opening.step);
  const bool stays = asking != nullptr && opening.tally.IsHeld(asking->candidate) &&
                     opening.tally.CanBeOpened(asking->candidate);
  return stays ? asking->candidate : opening.tally.Held();
}

uint64_t HeardSince(const OpeningEpoch& opening, uint64_t now) {
  if (const auto* const heard = std::get_if<Heard>(&opening.step))
    return std::min(heard->since, now);
  const auto* const asking = std::get_if<AskingForVotes>(&opening.step);
  return asking == nullptr ? now : std::min(asking->since, now);
}

absl::Status CheckRounds(const RoundRules& rules, const protocol::OpeningStatement& statement) {
  for (const std::optional<protocol::OpeningState>& state :
       {std::optional(statement.state), statement.earlier}) {
    if (state.has_value() && state->round > rules.spec().rounds) {
      return base::FailedPrecondition(
          "opening statement about round {}: the agreement has {} rounds", state->round,
          rules.spec().rounds);
    }
  }
  return absl::OkStatus();
}

absl::Status TakeVote(Transition& step, const OpeningStatementGiven& given) {
  const uint64_t member = given.statement.member;
  if (const Submission* const known = step.state.opening_votes.Find(member)) {
    TACET_RETURN_IF_ERROR(
        CheckSameItem({.kind = ItemKind::kOpeningVote, .bytes = given.bytes}, known->bytes()));
  } else {
    step.Put(ItemKind::kOpeningVote, member, given.bytes);
    step.CountRevision(false);
  }
  if (OpeningEpoch* const opening = OpeningOf(step)) {
    opening->tally.Add(given.statement);
    MayAskForVotes(step);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status On(Transition& step, const OpeningStatementGiven& given) {
  const protocol::OpeningStatement& statement = given.statement;
  TACET_RETURN_IF_ERROR(CheckRounds(step.rules(), statement));
  if (statement.word == protocol::OpeningWord::kVote) return TakeVote(step, given);
  OpeningEpoch* const opening = OpeningOf(step);
  if (opening == nullptr) return absl::OkStatus();  // the votes say more
  size_t others = 0;
  for (const HeldState& held : opening->held) {
    if (held.statement == statement) return absl::OkStatus();
    if (held.statement.member == statement.member) ++others;
  }
  if (others >= kMaxStatements) {
    return base::FailedPrecondition("{} other opening statements of this member are kept", others);
  }
  opening->held.push_back({statement, given.bytes});
  opening->tally.Add(statement);
  step.CountRevision(false);
  return absl::OkStatus();
}

// Once a quorum and all that are here were heard. A seat that says nothing is not waited for.
void MayAskForVotes(Transition& step) {
  OpeningEpoch& opening = *OpeningOf(step);
  if (opening.tally.Opened().has_value() ||
      opening.tally.heard() < protocol::OpeningQuorum(step.rules().manifest().manifest())) {
    return;
  }
  const uint64_t since = HeardSince(opening, step.moment.now);
  const bool waited = step.moment.now - since > step.rules().options().grace_seconds;
  std::optional<protocol::OpeningState> candidate;
  if (HasHeardSeatsHere(step, opening) || waited) candidate = CandidateOf(opening);
  const auto* const asking = std::get_if<AskingForVotes>(&opening.step);
  if (!candidate.has_value()) {
    // The earlier choice stays until another candidate is there.
    if (asking == nullptr) opening.step = Heard{.since = since};
    return;
  }
  const bool is_new = asking == nullptr || asking->candidate != *candidate;
  opening.step = AskingForVotes{.since = since, .candidate = *candidate};
  if (is_new) step.CountRevision(false);
}

absl::Status MayOpen(Transition& step) {
  const std::optional<protocol::OpeningState> opened = OpeningOf(step)->tally.Opened();
  if (opened.has_value()) {
    step.Ask(ReadBeginning{{.epoch = step.rules().manifest().epoch(), .round = opened->round}});
  }
  return absl::OkStatus();
}

absl::Status On(Transition& step, const BeginningRead& read) {
  const OpeningEpoch* const opening = OpeningOf(step);
  const auto opened = opening == nullptr ? std::nullopt : opening->tally.Opened();
  if (!opened.has_value() || opened->round != read.round) {
    return base::FailedPrecondition("no epoch is to be opened at round {}", read.round);
  }
  OpenAt(step.state, read.round, read.items, read.signed_ones);
  step.CountRevision(true);
  return absl::OkStatus();
}

}  // namespace tacet::server
