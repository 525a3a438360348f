#include "tacet/member/member_machine.h"

#include <algorithm>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/member/announcement_checks.h"
#include "tacet/member/turn.h"

namespace tacet::member {

MemberMachine::MemberMachine(const agreement::SignedManifest& manifest, uint64_t member,
                             const Holding& holding, std::optional<MemberMemory> memory,
                             uint64_t now, Past past)
    : manifest_(&manifest),
      member_(member),
      here_{.holding = holding,
            .memory = std::move(memory),
            .past = std::move(past),
            .reached = now} {}

bool MemberMachine::has_entered() const { return here_.entered || HasBegun(*manifest_, here_); }

Reaction MemberMachine::On(const Event& event, uint64_t now) {
  if (const auto* failed = std::get_if<event::Failed>(&event)) {
    if (!std::holds_alternative<state::Awaiting>(here_.state)) here_.known_revision.reset();
    here_.state = state::Resting{};
    return {.notes = {}, .action = action::EndStep{failed->why}};
  }
  Turn turn{.manifest = *manifest_, .member = member_, .now = now, .here = here_, .notes = {}};
  std::optional<Action> next;
  const auto* rejected = std::get_if<event::NotAnnounced>(&event);
  if (rejected != nullptr && std::holds_alternative<state::Awaiting>(here_.state)) {
    next = member::On(turn, state::Awaiting{}, *rejected);
  } else {
    next = std::visit(
        [&]<typename S>(const S& at) -> std::optional<Action> {
          const auto* awaited = std::get_if<typename S::Awaits>(&event);
          if (awaited == nullptr) return std::nullopt;
          return member::On(turn, S(at), *awaited);
        },
        State(here_.state));
  }
  if (!next.has_value()) {
    return {.notes = {},
            .action = action::EndStep{absl::InternalError(
                "a member's state machine was told of something that it does not wait for")}};
  }
  return {.notes = std::move(turn.notes), .action = *std::move(next)};
}

// Facts.

bool HasBegun(const agreement::SignedManifest& manifest, const MemberSituation& here) {
  return manifest.begins_training() ||
         (here.memory.has_value() && here.memory->attempt.number.epoch == manifest.epoch());
}

bool Distrusts(const MemberSituation& here, const secagg::AttemptNumber& number) {
  return here.memory.has_value() &&
         std::ranges::find(here.memory->distrusted, number) != here.memory->distrusted.end();
}

bool IsSilent(const MemberSituation& here, const secagg::AttemptNumber& number) {
  return here.past.silent_through.has_value() && number <= *here.past.silent_through;
}

namespace {

bool Doubts(const MemberSituation& here, const secagg::AttemptNumber& number) {
  return std::ranges::find(here.past.doubted, number) != here.past.doubted.end();
}

}  // namespace

secagg::AttemptNumber Here(const Turn& turn) {
  return turn.here.memory.has_value()
             ? turn.here.memory->attempt.number
             : secagg::AttemptNumber{.epoch = turn.manifest.epoch(),
                                     .round = turn.here.holding.next_round};
}

protocol::OpeningState OwnState(const MemberSituation& here) {
  return protocol::OpeningStateOf(here.holding.next_round, here.holding.digests);
}

// Under a training's first manifest announcements began with round 0.
std::optional<uint32_t> FirstRound(const Turn& turn) {
  if (turn.manifest.begins_training() || turn.here.listed.empty()) return std::nullopt;
  return turn.here.listed.front().round;
}

void Note(Turn& turn, NodeEventKind kind, std::string_view what, const secagg::AttemptNumber& at,
          std::string_view text) {
  turn.notes.push_back(
      {.event = {
           .kind = kind, .what = std::string(what), .attempt = at, .text = std::string(text)}});
}

void Violate(Turn& turn, const Suspicion& suspicion, const secagg::AttemptNumber& at) {
  Note(turn, NodeEventKind::kViolation, suspicion.violation, at, suspicion.text);
  const auto reason = protocol::ObjectionReasonNamed(suspicion.violation);
  if (reason.has_value()) Object(turn, *reason, at);
}

void Object(Turn& turn, protocol::ObjectionReason reason, const secagg::AttemptNumber& at) {
  // Without it the server's operators wait for the seat.
  if (turn.here.objection.has_value() &&
      turn.here.objection->reason == protocol::ObjectionReason::kMayHaveVoted) {
    return;
  }
  const secagg::AttemptNumber begins{.epoch = turn.manifest.epoch(),
                                     .round = turn.here.holding.next_round};
  turn.here.objection = protocol::Objection{
      .member = turn.member, .attempt = at.epoch == begins.epoch ? at : begins, .reason = reason};
}

// The announcement.

Action On(Turn& turn, state::Resting, const event::Begin&) {
  Become(turn, state::Awaiting{});
  return action::AwaitAnnouncement{.known_revision = turn.here.known_revision.value_or(0),
                                   .listed_from = turn.here.listed.size(),
                                   .unmasking = turn.here.waits};
}

Action On(Turn& turn, state::Awaiting, const event::NotAnnounced& event) {
  if (event.unreadable) {
    Violate(turn, {violations::kUnreadable, event.why}, Here(turn));
  } else {
    Note(turn, NodeEventKind::kNote, "not-admitted", Here(turn), event.why);
  }
  Become(turn, state::Resting{});
  return action::EndStep{
      base::Unavailable("the server does not announce the state of the federation: {}", event.why)};
}

Action On(Turn& turn, state::Awaiting, const event::Announced& event) {
  MemberSituation& here = turn.here;
  Step step{.told = event.told, .news = here.known_revision != event.told->revision};
  const protocol::Announcement& told = *step.told;
  // A step that fails half way is a notification again: the next one may come after the deadline.
  here.known_revision.reset();
  here.objection.reset();
  if (!step.news) return Finish(turn, std::move(step));
  here.waits = false;
  if (const auto wrong = CheckAnnouncement(told, turn.manifest, here.listed.size())) {
    Violate(turn, *wrong, Here(turn));
    return Finish(turn, std::move(step));
  }
  if (const auto wrong =
          CheckContinues(told, here.memory, here.holding.next_round, turn.manifest.training())) {
    Violate(turn, *wrong, Here(turn));
    const bool same_attempt = here.memory.has_value() && told.current.has_value() &&
                              told.current->attempt.number == Here(turn);
    if (same_attempt) return Distrust(turn, std::move(step), Here(turn), Then::kEnd);
    return Finish(turn, std::move(step));
  }
  here.listed.insert(here.listed.end(), told.listed.begin(), told.listed.end());
  here.finished = told.finished;
  return MakeAnchor(turn, std::move(step));
}

// The member's memory.

namespace {

Action Resume(Turn& turn, Step step, Then then) {
  switch (then) {
    case Then::kEnd:
      break;
    case Then::kForgetOthers: {
      const secagg::AttemptNumber number = turn.here.memory->attempt.number;
      Become(turn, state::ForgettingOthers{std::move(step)});
      return action::KeepOnly{number};
    }
    case Then::kCatchUp:
      return GiveBack(turn, std::move(step));
    case Then::kSeekState:
      return SeekState(turn, std::move(step), std::nullopt);
    case Then::kActOrEnd:
      return ActOrEnd(turn, std::move(step));
    case Then::kChargeAll: {
      const secagg::AttemptNumber number = step.told->current->attempt.number;
      Become(turn, state::ChargingEnded{std::move(step)});
      return ChargeAll(turn, number);
    }
    case Then::kDecided:
      return Participate(turn, std::move(step));
  }
  return Finish(turn, std::move(step));
}

}  // namespace

Action Save(Turn& turn, Step step, MemberMemory next, Then then, std::optional<NodeEvent> note) {
  if (turn.here.memory == next) {
    if (note.has_value()) turn.notes.push_back({.event = *std::move(note)});
    return Resume(turn, std::move(step), then);
  }
  action::SaveMemory save{.memory = next, .anchored = !turn.here.past.unanchored};
  Become(turn, state::Saving{std::move(step), std::move(next), then, std::move(note)});
  return save;
}

Action On(Turn& turn, state::Saving at, const event::Done&) {
  turn.here.memory = std::move(at.next);
  if (at.note.has_value()) turn.notes.push_back({.event = *std::move(at.note)});
  return Resume(turn, std::move(at.step), at.then);
}

Action Distrust(Turn& turn, Step step, const secagg::AttemptNumber& number, Then then) {
  if (!turn.here.memory.has_value() || Distrusts(turn.here, number)) {
    return Resume(turn, std::move(step), then);
  }
  MemberMemory next = *turn.here.memory;
  next.distrusted.push_back(number);
  return Save(turn, std::move(step), std::move(next), then);
}

Action RememberCurrent(Turn& turn, Step step) {
  if (!step.told->current.has_value()) return CatchUp(turn, std::move(step));
  const protocol::AnnouncedAttempt& current = *step.told->current;
  const std::optional<MemberMemory>& memory = turn.here.memory;
  const bool known = memory.has_value() && memory->attempt == current.attempt;
  MemberMemory next;
  if (known) {
    next = *memory;
  } else {
    next.attempt = current.attempt;
    if (memory.has_value()) {
      next.distrusted = memory->distrusted;
      next.participations = memory->participations;
      if (memory->attempt.number.epoch == current.attempt.number.epoch) {
        next.watched_attempts = memory->watched_attempts;
        next.invitations = memory->invitations;
      }
    }
    std::erase_if(next.distrusted, [&](const secagg::AttemptNumber& number) {
      return number.round < turn.here.holding.next_round;
    });
  }
  if (const auto& number = next.attempt.number;
      Doubts(turn.here, number) && !Distrusts(turn.here, number)) {
    next.distrusted.push_back(number);
  }
  next.participations = std::max(next.participations, turn.here.past.participations);
  next.phase = current.phase;
  next.participants = std::max(next.participants, current.participants);
  return Save(turn, std::move(step), std::move(next), known ? Then::kCatchUp : Then::kForgetOthers);
}

Action On(Turn& turn, state::ForgettingOthers at, const event::Done&) {
  return GiveBack(turn, std::move(at.step));
}

Action ActOrEnd(Turn& turn, Step step) {
  const auto& current = step.told->current;
  if (current.has_value() && current->attempt.number.round == turn.here.holding.next_round) {
    // Before this member trains: others may need the state to take part in the attempt.
    return StateModel(turn, std::move(step), true);
  }
  return ChargeEnded(turn, std::move(step));
}

// The end of a step.

Action Charge(const Turn& turn, std::vector<secagg::AttemptNumber> announced) {
  return UploadAction(
      action::Charge{.announced = std::move(announced), .first_round = FirstRound(turn)});
}

Action ChargeAll(const Turn& turn, const secagg::AttemptNumber& current) {
  std::vector<secagg::AttemptNumber> all = turn.here.listed;
  if (std::ranges::find(all, current) == all.end()) all.push_back(current);
  return Charge(turn, std::move(all));
}

// The announcement of its end, or another process, charges an attempt that collects, unless this
// member seals its update meanwhile.
Action ChargeEnded(Turn& turn, Step step) {
  std::vector<secagg::AttemptNumber> ended = turn.here.listed;
  const auto& current = step.told->current;
  if (current.has_value() && current->phase == protocol::AttemptPhase::kCollecting) {
    std::erase(ended, current->attempt.number);
  }
  Become(turn, state::ChargingEnded{std::move(step)});
  return Charge(turn, std::move(ended));
}

Action On(Turn& turn, state::ChargingEnded at, const event::Done&) {
  return Finish(turn, std::move(at.step));
}

Action EndStep(Turn& turn, Step step) {
  MemberSituation& here = turn.here;
  if (here.objection.has_value()) {
    protocol::Objection objection = *std::exchange(here.objection, std::nullopt);
    objection.revision = step.told->revision;
    Become(turn, state::SendingObjection{std::move(step)});
    return StatementAction(action::SendObjection{objection});
  }
  here.known_revision = step.told->revision;
  Become(turn, state::Resting{});
  const bool has_entered = here.entered || HasBegun(turn.manifest, here);
  if (step.told->stopped && has_entered && here.finished == step.told->finished &&
      here.holding.next_round == here.finished) {
    return action::EndStep{Progress::kDone};
  }
  return action::EndStep{step.news ? Progress::kActed : Progress::kUnchanged};
}

}  // namespace tacet::member
