// Entering an epoch that continues with a training.
#include <utility>

#include "tacet/member/turn.h"
#include "tacet/secagg/committee.h"

namespace tacet::member {
namespace {

bool HasSeat(const Turn& turn) {
  return secagg::SeatOf(turn.manifest.manifest().committee(), turn.member).has_value();
}

protocol::OpeningTally TallyOf(const Turn& turn, const event::OpeningHeard& heard) {
  protocol::OpeningTally said(turn.manifest.manifest());
  for (const protocol::OpeningStatement& statement : heard.statements) said.Add(statement);
  return said;
}

// After what a seat says.
Action BeginWith(Turn& turn, Step step, const OwnStates& own,
                 const std::optional<protocol::OpeningState>& opened) {
  if (!opened.has_value()) {
    if (step.told->current.has_value()) {
      Violate(turn,
              {violations::kNotOpened,
               "an attempt is announced, but no quorum of the committee has voted for the state "
               "with which its epoch begins"},
              step.told->current->attempt.number);
    }
    return StayOutside(turn, std::move(step), HasSeat(turn));
  }
  const Beginning beginning = BeginningOf(*opened, own, *step.told);
  if (std::holds_alternative<beginning::Waits>(beginning)) {
    return StayOutside(turn, std::move(step), true);
  }
  if (const auto* refuses = std::get_if<beginning::Refuses>(&beginning)) {
    Violate(turn, refuses->suspicion, refuses->at);
    return StayOutside(turn, std::move(step), refuses->waits);
  }
  if (const auto* back = std::get_if<beginning::GoesBack>(&beginning)) {
    const Undo undo{.first_undone = back->first_undone, .opened = opened->round};
    Become(turn, state::GoingBack{std::move(step), undo});
    return StateAction(action::StepBack{undo.first_undone});
  }
  if (const auto* takes = std::get_if<beginning::TakesState>(&beginning)) {
    return SeekState(turn, std::move(step),
                     Undo{.first_undone = takes->first_undone, .opened = opened->round});
  }
  return EnterEpoch(turn, std::move(step));
}

Action SaySoFar(Turn& turn, state::Speaking at) {
  if (at.next == at.turn.size()) {
    return BeginWith(turn, std::move(at.step), at.own, at.opened);
  }
  OpeningAction action = at.turn[at.next++];
  Become(turn, std::move(at));
  return action;
}

Action Speak(Turn& turn, Step step, const event::OpeningHeard& heard, const OwnStates& own) {
  const protocol::OpeningTally said = TallyOf(turn, heard);
  state::Speaking speaking{.step = std::move(step), .own = own, .opened = said.Opened()};
  if (HasSeat(turn)) {
    speaking.turn =
        SeatTurn(turn.member, own, heard.own_vote, said,
                 protocol::OpeningRulesOf(turn.manifest.manifest()), speaking.step.told->finished);
  }
  return SaySoFar(turn, std::move(speaking));
}

}  // namespace

Action BeginOpening(Turn& turn, Step step) {
  Become(turn, state::HearingOpening{std::move(step)});
  return OpeningAction(action::FetchOpening{.with_own_vote = HasSeat(turn)});
}

// The earlier state is read from the disk and hashed once: it may be large, and a seat speaks
// often. A member that needs none does not read it.
Action On(Turn& turn, state::HearingOpening at, const event::OpeningHeard& event) {
  const std::optional<OwnStates>& read = turn.here.own_states;
  const protocol::OpeningState last = OwnState(turn.here);
  if (read.has_value() && read->last == last) {
    return Speak(turn, std::move(at.step), event, *read);
  }
  const auto opened = TallyOf(turn, event).Opened();
  const bool needs_earlier = opened.has_value() ? !IsAtOrBehind(last, *opened) : HasSeat(turn);
  if (needs_earlier) {
    Become(turn, state::ReadingEarlier{std::move(at.step), event});
    return OpeningAction(action::ReadEarlier{});
  }
  return Speak(turn, std::move(at.step), event, {.last = last});
}

Action On(Turn& turn, state::ReadingEarlier at, const event::EarlierRead& event) {
  const OwnStates own{.last = OwnState(turn.here), .earlier = event.earlier};
  turn.here.own_states = own;
  return Speak(turn, std::move(at.step), at.heard, own);
}

Action On(Turn& turn, state::Speaking at, const event::Done&) {
  return SaySoFar(turn, std::move(at));
}

Action On(Turn& turn, state::GoingBack at, const event::StateReached& event) {
  turn.here.holding = event.holding;
  turn.here.own_states.reset();
  return EnterEpochUndoing(turn, std::move(at.step), at.undo);
}

Action StayOutside(Turn& turn, Step step, bool waits) {
  turn.here.entered = false;
  turn.here.waits = waits;
  // The server may have lost what it was told.
  if (!step.told->current.has_value()) turn.here.stated = stated::Nothing{};
  return ChargeEnded(turn, std::move(step));
}

Action EnterEpoch(Turn& turn, Step step) {
  turn.here.entered = true;
  turn.here.waits = false;
  if (!step.told->current.has_value()) turn.here.stated = stated::Nothing{};
  return RememberCurrent(turn, std::move(step));
}

Action EnterEpochUndoing(Turn& turn, Step step, const Undo& undo) {
  Note(turn, NodeEventKind::kApplied, "earlier-state",
       {.epoch = turn.manifest.epoch(), .round = undo.opened},
       "the last round is undone: a quorum of the committee begins the epoch without it");
  turn.here.reached = turn.now;
  return EnterEpoch(turn, std::move(step));
}

}  // namespace tacet::member
