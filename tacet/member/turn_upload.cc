// A member's part in an attempt that collects uploads.
#include <utility>

#include "tacet/agreement/cohort.h"
#include "tacet/member/announcement_checks.h"
#include "tacet/member/turn.h"
#include "tacet/protocol/abstention.h"

namespace tacet::member {
namespace {

const secagg::Attempt& Current(const Step& step) { return step.told->current->attempt; }

bool GivesData(const Turn& turn) { return turn.here.memory->participation == Participation::kYes; }

// Whether something is uploaded, with this member's data or with zeros.
bool Uploads(const Turn& turn) {
  const Participation participation = turn.here.memory->participation;
  return participation == Participation::kYes || participation == Participation::kSpent ||
         turn.spec().sampling.dummy_uploads;
}

Action Choose(Turn& turn, Step step, MemberMemory next, bool chosen) {
  next.participation = chosen ? Participation::kYes : Participation::kNo;
  if (chosen && turn.spec().sampling.max_participations != 0) {
    if (next.participations == turn.spec().sampling.max_participations) {
      next.participation = Participation::kSpent;
    } else {
      ++next.participations;
    }
  }
  return Save(turn, std::move(step), std::move(next), Then::kDecided);
}

// Decides once, and keeps, whether this member is in the cohort; does nothing when not invited.
Action Decide(Turn& turn, Step step) {
  if (turn.here.memory->participation != Participation::kUndecided) {
    return Participate(turn, std::move(step));
  }
  const protocol::Invited invited = step.told->current->invited;
  MemberMemory next = *turn.here.memory;
  const bool chosen = invited == protocol::Invited::kYes;
  if (agreement::ServerDrawsCohorts(turn.spec())) {
    if (!std::exchange(next.watched, true)) ++next.watched_attempts;
    if (chosen) ++next.invitations;
    if (const auto bias = CheckDraw(next, turn.spec()); chosen && bias.has_value()) {
      Violate(turn, *bias, next.attempt.number);
    }
  }
  switch (invited) {
    case protocol::Invited::kNo:
      return Save(turn, std::move(step), std::move(next), Then::kDecided);
    case protocol::Invited::kOwnCoin:
      Become(turn, state::TossingCoin{std::move(step), std::move(next)});
      return action::TossCoin{};
    case protocol::Invited::kYes:
      break;
  }
  return Choose(turn, std::move(step), std::move(next), chosen);
}

Action Ask(Turn& turn, Step step) {
  const secagg::Attempt attempt = Current(step);
  Note(turn, NodeEventKind::kAsked, "upload", attempt.number);
  Become(turn, state::FindingUpload{std::move(step)});
  return UploadAction(action::FindUpload{attempt});
}

Action Train(Turn& turn, Step step, bool gives_data) {
  const secagg::Attempt attempt = Current(step);
  Become(turn, state::Training{std::move(step), gives_data});
  return UploadAction(action::Train{attempt});
}

Action Send(Turn& turn, Step step) {
  const secagg::Attempt attempt = Current(step);
  Become(turn, state::SendingUpload{std::move(step)});
  return UploadAction(action::SendUpload{attempt});
}

// Without an upload the others could wait for ever. Not where this member may have sealed its data
// before, and has lost its state.
bool SendsZeros(const Turn& turn, const event::SealingCharged& event) {
  if (turn.spec().sampling.dummy_uploads) return true;
  return agreement::EveryMemberUploads(turn.spec()) && !event.was_sealed;
}

}  // namespace

Action ActOnCurrent(Turn& turn, Step step) {
  const protocol::AnnouncedAttempt& current = *step.told->current;
  const secagg::AttemptNumber number = current.attempt.number;
  const bool distrusts = Distrusts(turn.here, number);
  const bool is_fork = current.attempt.model_digest != turn.here.holding.digests.model;
  if (!distrusts && is_fork) {
    Violate(turn, {violations::kFork, "the attempt starts from another model than this member's"},
            number);
  }
  // Each announcement of it is objected to.
  if (is_fork) Object(turn, protocol::ObjectionReason::kFork, number);
  if (distrusts || is_fork) return Distrust(turn, std::move(step), number, Then::kChargeAll);
  if (current.phase == protocol::AttemptPhase::kCollecting) return Decide(turn, std::move(step));
  Become(turn, state::ChargingClosed{std::move(step)});
  return ChargeAll(turn, number);
}

Action On(Turn& turn, state::ChargingClosed at, const event::Done&) {
  const protocol::AnnouncedAttempt& current = *at.step.told->current;
  switch (current.phase) {
    case protocol::AttemptPhase::kCollecting:
      break;
    case protocol::AttemptPhase::kUnmasking:
    case protocol::AttemptPhase::kPublished:
      // Published, and this member could not apply it yet: votes or shares are missing.
      return Unmask(turn, std::move(at.step));
    case protocol::AttemptPhase::kFailed:
      if (const auto& seat = turn.here.seat;
          seat.has_value() && seat->confirmed && seat->attempt == current.attempt) {
        Violate(turn,
                {violations::kAbortedRound,
                 "this member decrypted and confirmed the aggregate, and the attempt "
                 "is announced as failed"},
                current.attempt.number);
      }
      break;
  }
  return Finish(turn, std::move(at.step));
}

Action On(Turn& turn, state::TossingCoin at, const event::CoinTossed& event) {
  return Choose(turn, std::move(at.step), std::move(at.next), event.heads);
}

Action Participate(Turn& turn, Step step) {
  const secagg::Attempt attempt = Current(step);
  if (!Uploads(turn)) {
    Become(turn, state::ChargingEnded{std::move(step)});
    return ChargeAll(turn, attempt.number);
  }
  // A server that refuses or loses an upload after its last byte, again and again, gets it a few
  // times.
  std::optional<RefusedUpload>& refused = turn.here.refused;
  if (!refused.has_value() || refused->attempt != attempt) refused = RefusedUpload{attempt, 0};
  if (refused->times >= MemberMachine::kMaxRefusals) return Finish(turn, std::move(step));
  if (!turn.here.memory->accepted) return Ask(turn, std::move(step));
  Become(turn, state::AskingForUpload{std::move(step)});
  return UploadAction(action::AskForUpload{attempt});
}

// A server whose state was put back from a backup does not know what it has acknowledged.
Action On(Turn& turn, state::AskingForUpload at, const event::UploadKept& event) {
  if (!event.lost) return Finish(turn, std::move(at.step));
  ++turn.here.refused->times;
  return Ask(turn, std::move(at.step));
}

// An upload that was sealed before is sent again, and nothing else is sealed.
Action On(Turn& turn, state::FindingUpload at, const event::UploadFound& event) {
  if (event.found) return Send(turn, std::move(at.step));
  // Where members abstain, all charge alike: neither the ledger nor an abstention shows a coin.
  if (!GivesData(turn) && !protocol::MembersAbstain(turn.spec())) {
    const secagg::AttemptNumber number = Current(at.step).number;
    Become(turn, state::ChargingForZeros{std::move(at.step)});
    return ChargeAll(turn, number);
  }
  action::ChargeForSealing charge{.number = Current(at.step).number,
                                  .announced = turn.here.listed,
                                  .first_round = FirstRound(turn)};
  Become(turn, state::ChargingForSealing{std::move(at.step)});
  return UploadAction(std::move(charge));
}

Action On(Turn& turn, state::ChargingForSealing at, const event::SealingCharged& event) {
  if (!event.refused.has_value()) return Train(turn, std::move(at.step), GivesData(turn));
  const secagg::Attempt attempt = Current(at.step);
  Note(turn, NodeEventKind::kRefused, "upload", attempt.number, *event.refused);
  if (!SendsZeros(turn, event)) return Finish(turn, std::move(at.step));
  if (!event.abstains) return Train(turn, std::move(at.step), false);
  Become(turn, state::SendingAbstention{std::move(at.step)});
  return StatementAction(action::SendAbstention{attempt});
}

// Before the zeros: the server knows of every abstention when it closes a sum.
Action On(Turn& turn, state::SendingAbstention at, const event::Done&) {
  return Train(turn, std::move(at.step), false);
}

// Also where zeros will go: how long it takes must not tell whose data are in the sum.
Action On(Turn& turn, state::ChargingForZeros at, const event::Done&) {
  return Train(turn, std::move(at.step), false);
}

Action On(Turn& turn, state::Training at, const event::Trained& event) {
  const secagg::Attempt attempt = Current(at.step);
  if (event.failed.has_value()) {
    Note(turn, NodeEventKind::kNote, "update-failed", attempt.number,
         "zeros are sealed instead: " + *event.failed);
  }
  const bool zeros = !at.gives_data || event.failed.has_value();
  Become(turn, state::Sealing{std::move(at.step)});
  return UploadAction(action::Seal{.attempt = attempt, .zeros = zeros});
}

Action On(Turn& turn, state::Sealing at, const event::Sealed& event) {
  const secagg::Attempt attempt = Current(at.step);
  if (!event.finite) {
    Note(turn, NodeEventKind::kNote, "update-not-finite", attempt.number,
         "the update held a value that is not a number or infinite: zeros are sealed instead");
  }
  Become(turn, state::SavingUpload{std::move(at.step)});
  return UploadAction(action::SaveUpload{attempt});
}

Action On(Turn& turn, state::SavingUpload at, const event::Done&) {
  return Send(turn, std::move(at.step));
}

Action On(Turn& turn, state::SendingUpload at, const event::UploadSent& event) {
  using Answer = event::UploadSent::Answer;
  const secagg::AttemptNumber number = Current(at.step).number;
  if (event.answer == Answer::kTaken) {
    MemberMemory next = *turn.here.memory;
    next.accepted = true;
    return Save(turn, std::move(at.step), std::move(next), Then::kEnd,
                NodeEvent{.kind = NodeEventKind::kSent,
                          .what = "upload",
                          .attempt = number,
                          .bytes = event.bytes,
                          .digest = event.digest});
  }
  ++turn.here.refused->times;
  if (event.answer == Answer::kHasAnother) {
    Violate(turn,
            {violations::kReplacedUpload,
             "another upload was accepted in this member's name. An honest server takes only what "
             "this site's key signed: look first for a second copy of this site's folder, and stop "
             "it; else the server lies"},
            number);
  } else if (event.answer == Answer::kHasAnotherPacket) {
    Violate(turn,
            {violations::kReplacedPacket,
             "another key packet was accepted in this member's name, and no upload of this site is "
             "taken in this epoch without it. An honest server takes only what this site's key "
             "signed: look first for a program that signs with this site's key and has another "
             "exchange.key, and stop it; else the server lies"},
            number);
  } else {
    Note(turn, NodeEventKind::kNote, "upload-not-taken", number, event.why);
  }
  return Finish(turn, std::move(at.step));
}

}  // namespace tacet::member
