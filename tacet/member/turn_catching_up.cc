// Catching up with published rounds, or with the state of a later round.
#include <algorithm>
#include <utility>

#include "fmt/core.h"

#include "tacet/member/attestors.h"
#include "tacet/member/turn.h"

namespace tacet::member {
namespace {

// The federation's state is not to be had (yet).
Action HaveNone(Turn& turn, Step step, const std::optional<Undo>& undo) {
  if (undo.has_value()) return StayOutside(turn, std::move(step), true);
  return ActOrEnd(turn, std::move(step));
}

Action Fetch(Turn& turn, Step step, const protocol::OpeningState& state,
             const std::optional<Undo>& undo) {
  Become(turn, state::FetchingCheckpoint{std::move(step), undo});
  return StateAction(action::FetchCheckpoint{state});
}

Action HearAttestations(Turn& turn, Step step, const std::optional<Undo>& undo) {
  const uint32_t round = step.told->finished;
  Become(turn, state::HearingAttestations{std::move(step), undo});
  return StateAction(action::FetchAttestations{round});
}

}  // namespace

Action CatchUp(Turn& turn, Step step) {
  const protocol::Announcement& told = *step.told;
  const uint32_t round = turn.here.holding.next_round;
  if (round >= told.finished) return ActOrEnd(turn, std::move(step));
  const auto kept = std::ranges::find(
      told.kept, round, [](const secagg::Attempt& attempt) { return attempt.number.round; });
  if (kept == told.kept.end()) return SeekState(turn, std::move(step), std::nullopt);
  const secagg::Attempt attempt = *kept;
  if (attempt.model_digest != turn.here.holding.digests.model) {
    Violate(turn,
            {violations::kFork, "a published round started from another model than this member's"},
            attempt.number);
    turn.here.waits = true;
    return Distrust(turn, std::move(step), attempt.number, Then::kActOrEnd);
  }
  if (Distrusts(turn.here, attempt.number)) {
    return SeekState(turn, std::move(step), std::nullopt);
  }
  Become(turn, state::FetchingSum{std::move(step), attempt});
  return StateAction(action::FetchSum{attempt});
}

Action On(Turn& turn, state::FetchingSum at, const event::SumFetched& event) {
  if (!event.participants.has_value()) return SeekState(turn, std::move(at.step), std::nullopt);
  const auto& current = at.step.told->current;
  if (current.has_value() && current->attempt == at.attempt &&
      current->participants != *event.participants) {
    Violate(
        turn,
        {violations::kParticipants, fmt::format("{} participants were announced, the sum is of {}",
                                                current->participants, *event.participants)},
        at.attempt.number);
    return Distrust(turn, std::move(at.step), at.attempt.number, Then::kSeekState);
  }
  Become(turn, state::ApplyingSum{std::move(at.step), at.attempt.number, *event.participants});
  return StateAction(action::ApplySum{});
}

Action On(Turn& turn, state::ApplyingSum at, const event::StateReached& event) {
  turn.here.holding = event.holding;
  turn.here.own_states.reset();
  turn.here.reached = turn.now;
  Note(turn, NodeEventKind::kApplied, "sum", at.number,
       fmt::format("of {} participants", at.participants));
  return CatchUp(turn, std::move(at.step));
}

// Seeks the state that a quorum voted for, where an epoch begins with that round, else the one that
// a majority of the attestors states of its beginning.
Action SeekState(Turn& turn, Step step, std::optional<Undo> undo) {
  if (!undo.has_value()) turn.here.waits = true;
  if (turn.manifest.begins_training()) return HearAttestations(turn, std::move(step), undo);
  Become(turn, state::HearingVotes{std::move(step), undo});
  return OpeningAction(action::FetchOpening{.with_own_vote = false});
}

Action On(Turn& turn, state::HearingVotes at, const event::OpeningHeard& event) {
  protocol::OpeningTally said(turn.manifest.manifest());
  for (const protocol::OpeningStatement& statement : event.statements) said.Add(statement);
  const auto opened = said.Opened();
  if (opened.has_value() && opened->round == at.step.told->finished) {
    return Fetch(turn, std::move(at.step), *opened, at.undo);
  }
  return HearAttestations(turn, std::move(at.step), at.undo);
}

Action On(Turn& turn, state::HearingAttestations at, const event::AttestationsHeard& event) {
  const uint32_t round = at.step.told->finished;
  const std::optional<AttestedState> attested =
      MajorityOf(event.attestations, turn.manifest, AttestorsOf(turn.manifest), round);
  if (!attested.has_value()) return HaveNone(turn, std::move(at.step), at.undo);
  return Fetch(turn, std::move(at.step),
               {.round = round,
                .model_digest = attested->model_digest,
                .state_digest = attested->state_digest},
               at.undo);
}

Action On(Turn& turn, state::FetchingCheckpoint at, const event::CheckpointFetched& event) {
  if (!event.found) return HaveNone(turn, std::move(at.step), at.undo);
  const std::optional<Undo> undo = at.undo;
  if (!undo.has_value()) turn.here.waits = false;
  Become(turn, state::Installing{std::move(at.step), undo});
  return StateAction(action::InstallCheckpoint{undo.has_value() ? std::optional(undo->first_undone)
                                                                : std::nullopt});
}

Action On(Turn& turn, state::Installing at, const event::StateReached& event) {
  turn.here.holding = event.holding;
  turn.here.own_states.reset();
  if (at.undo.has_value()) return EnterEpochUndoing(turn, std::move(at.step), *at.undo);
  turn.here.reached = turn.now;
  Note(turn, NodeEventKind::kApplied, "checkpoint",
       {.epoch = turn.manifest.epoch(), .round = turn.here.holding.next_round},
       "the state with which the round begins, attested by a majority of its attestors");
  return CatchUp(turn, std::move(at.step));
}

}  // namespace tacet::member
