// A seat's work at the end of an attempt: it fetches the closed round and the roster, votes, gives
// its unmask share once a quorum voted, and confirms the aggregate once it decrypts, or gives its
// check row where it does not.
#include <algorithm>
#include <utility>

#include "fmt/core.h"

#include "tacet/base/status.h"
#include "tacet/member/turn.h"
#include "tacet/secagg/committee.h"
#include "tacet/secagg/vote.h"

namespace tacet::member {
namespace {

// For votes or unmask shares.
Action Wait(Turn& turn, Step step) {
  turn.here.waits = true;
  return Finish(turn, std::move(step));
}

const secagg::Attempt& AttemptOf(const Turn& turn) { return turn.here.seat->attempt; }

Action GiveVerdict(Turn& turn, Step step, bool confirmed, bool distrusts) {
  Become(turn, state::SendingVerdict{std::move(step), distrusts});
  return SeatAction(action::SendVerdict{confirmed});
}

// The server learns no more than that.
Action Refuse(Turn& turn, Step step, const Suspicion& suspicion, bool distrusts = false) {
  Violate(turn, suspicion, AttemptOf(turn).number);
  return GiveVerdict(turn, std::move(step), false, distrusts);
}

Action FetchVotes(Turn& turn, Step step) {
  Become(turn, state::FetchingVotes{std::move(step)});
  return SeatAction(action::FetchVotes{});
}

Action Decrypt(Turn& turn, Step step) {
  Become(turn, state::Decrypting{std::move(step)});
  return SeatAction(action::DecryptSum{});
}

// The server has moved the attempt's deadline: more shares have had their time to come.
bool IsExtended(const Turn& turn, const Step& step) {
  return step.told->current->deadline > turn.here.seat->deadline;
}

Action Judge(Turn& turn, Step step, const event::SumJudged& judged) {
  using Kind = event::SumJudged::Kind;
  if (judged.kind == Kind::kTooFewShares) return Wait(turn, std::move(step));
  if (judged.kind == Kind::kDoubtful && !IsExtended(turn, step)) return Wait(turn, std::move(step));
  if (judged.kind != Kind::kSound) {
    return Refuse(turn, std::move(step), {violations::kUnsoundSum, judged.why});
  }
  turn.here.seat->confirmed = true;
  return GiveVerdict(turn, std::move(step), true, false);
}

// A silent seat is not waited for.
Action BeginStep(Turn& turn, Step step) {
  const auto& current = step.told->current;
  const bool is_open =
      current.has_value() && (current->phase == protocol::AttemptPhase::kCollecting ||
                              current->phase == protocol::AttemptPhase::kUnmasking);
  if (is_open && IsSilent(turn.here, current->attempt.number)) {
    Note(turn, NodeEventKind::kNote, "may-have-voted", current->attempt.number,
         "this site's seat may have voted in this attempt, and its folder does not know for what: "
         "the machine was started again, the folder was put back from a copy, a copy of it runs "
         "elsewhere, or the seat's anchor cannot be written. The seat votes again from the next "
         "attempt on");
    Object(turn, protocol::ObjectionReason::kMayHaveVoted, current->attempt.number);
  }
  return HasBegun(turn.manifest, turn.here) ? RememberCurrent(turn, std::move(step))
                                            : BeginOpening(turn, std::move(step));
}

}  // namespace

// The attempt that is announced first may have been open for an earlier process, too.
Action MakeAnchor(Turn& turn, Step step) {
  const MemberSituation& here = turn.here;
  const auto& current = step.told->current;
  // An anchor that could not be made of a later attempt is made of the next one.
  const bool is_behind = !current.has_value() && here.past.silent_through.has_value();
  if (!here.past.unanchored || is_behind) return BeginStep(turn, std::move(step));
  action::MakeAnchor make;
  if (current.has_value()) {
    const bool knows = here.past.has_vote && here.memory.has_value() &&
                       here.memory->attempt == current->attempt &&
                       !IsSilent(here, current->attempt.number);
    make = {.open = current->attempt, .silent = !knows};
  } else if (here.memory.has_value()) {
    make = {.open = here.memory->attempt, .silent = true};
  }
  state::MakingAnchor making{std::move(step)};
  if (make.silent) making.silent = make.open->number;
  Become(turn, std::move(making));
  return SeatAction(make);
}

// Without an anchor the member does all but a seat's work.
Action On(Turn& turn, state::MakingAnchor at, const event::AnchorMade& event) {
  Past& past = turn.here.past;
  past.unanchored = event.failed.has_value();
  past.silent_through = std::max(past.silent_through, at.silent);
  if (event.failed.has_value()) {
    Note(turn, NodeEventKind::kNote, "no-anchor", at.silent.value_or(Here(turn)), *event.failed);
  }
  return BeginStep(turn, std::move(at.step));
}

Action Unmask(Turn& turn, Step step) {
  if (!secagg::SeatOf(turn.manifest.manifest().committee(), turn.member).has_value() ||
      IsSilent(turn.here, step.told->current->attempt.number)) {
    return Finish(turn, std::move(step));
  }
  const secagg::Attempt attempt = step.told->current->attempt;
  Become(turn, state::FindingOwnUpload{std::move(step)});
  return UploadAction(action::FindUpload{attempt});
}

Action On(Turn& turn, state::FindingOwnUpload at, const event::UploadFound& event) {
  const secagg::Attempt& attempt = at.step.told->current->attempt;
  std::optional<SeatWork>& seat = turn.here.seat;
  const uint64_t deadline = at.step.told->current->deadline;
  if (!seat.has_value() || seat->attempt != attempt) {
    seat = SeatWork{.attempt = attempt, .deadline = deadline};
  }
  seat->deadline = std::min(seat->deadline, deadline);
  if (std::holds_alternative<seat::Silent>(seat->progress)) {
    return Finish(turn, std::move(at.step));
  }
  if (std::holds_alternative<seat::Voted>(seat->progress)) {
    return FetchVotes(turn, std::move(at.step));
  }
  if (std::holds_alternative<seat::Unmasked>(seat->progress)) {
    return Decrypt(turn, std::move(at.step));
  }
  Note(turn, NodeEventKind::kAsked, "vote", attempt.number);
  Become(turn,
         state::FetchingClosedRound{.step = std::move(at.step),
                                    .acknowledged = event.found && turn.here.memory->accepted});
  return SeatAction(action::FetchClosedRound{.attempt = seat->attempt, .has_upload = event.found});
}

Action On(Turn& turn, state::FetchingClosedRound at, const event::ClosedRoundFetched& event) {
  using Kind = event::ClosedRoundFetched::Kind;
  switch (event.kind) {
    case Kind::kNotThere:
      // Over, as far as the server says; what it would have had to give cannot be judged.
      Note(turn, NodeEventKind::kNote, "no-closed-round", AttemptOf(turn).number, event.why);
      Object(turn, protocol::ObjectionReason::kNoClosedRound, AttemptOf(turn).number);
      return Finish(turn, std::move(at.step));
    case Kind::kUnreadable:
      return Refuse(turn, std::move(at.step), {violations::kClosedRound, event.why});
    case Kind::kRead:
      break;
  }
  if (const uint32_t announced = at.step.told->current->participants;
      event.participants != announced) {
    return Refuse(turn, std::move(at.step),
                  {violations::kParticipants,
                   fmt::format("{} participants were announced, the closed round has {}", announced,
                               event.participants)});
  }
  if (at.acknowledged && !event.has_own) {
    return Refuse(turn, std::move(at.step),
                  {violations::kDroppedUpload,
                   "this member's upload was acknowledged and is not in the closed round"},
                  true);
  }
  const bool acknowledged = at.acknowledged;
  Become(turn, state::RecordingVote{std::move(at.step)});
  return SeatAction(action::RecordVote{acknowledged});
}

Action On(Turn& turn, state::RecordingVote at, const event::VoteRecorded& event) {
  if (event.refused.has_value()) {
    return Refuse(turn, std::move(at.step), {violations::kClosedRound, *event.refused});
  }
  Become(turn, state::SendingVote{std::move(at.step)});
  return SeatAction(action::SendRoundVote{});
}

Action On(Turn& turn, state::SendingVote at, const event::Done&) {
  turn.here.seat->progress = seat::Voted{};
  return FetchVotes(turn, std::move(at.step));
}

Action On(Turn& turn, state::FetchingVotes at, const event::VotesFetched& event) {
  if (event.over) return Finish(turn, std::move(at.step));  // as far as the server says
  const agreement::Manifest& manifest = turn.manifest.manifest();
  const absl::Status quorum =
      secagg::CheckVoters(event.seats.size(), manifest.committee().size(), AttemptOf(turn),
                          manifest.terms().aggregation().sharing().votes());
  if (!quorum.ok()) {  // fine as long as votes are missing
    if (event.all_voted) {
      Violate(turn, {violations::kVotesDisagree, base::Message(quorum)}, AttemptOf(turn).number);
    }
    return Wait(turn, std::move(at.step));
  }
  // The others apply with this share a sum that starts from this member's state: no later epoch
  // goes back behind it.
  Become(turn, state::ForgettingEarlier{std::move(at.step)});
  return SeatAction(action::ForgetEarlier{});
}

Action On(Turn& turn, state::ForgettingEarlier at, const event::Done&) {
  Become(turn, state::RecordingShare{std::move(at.step)});
  return SeatAction(action::RecordShare{});
}

Action On(Turn& turn, state::RecordingShare at, const event::Done&) {
  Become(turn, state::SendingShare{std::move(at.step)});
  return SeatAction(action::SendShare{});
}

Action On(Turn& turn, state::SendingShare at, const event::Done&) {
  turn.here.seat->progress = seat::Unmasked{};
  return Decrypt(turn, std::move(at.step));
}

// More shares than recover a sum do not fit, or the sum is wrong: a participant's fault, or a
// seat's. The server can find participants with wrong shares.
Action On(Turn& turn, state::Decrypting at, const event::SumJudged& event) {
  const bool row_sent = std::get<seat::Unmasked>(turn.here.seat->progress).row_sent;
  if (event.kind == event::SumJudged::Kind::kSound || row_sent || !event.shows_wrong_shares) {
    return Judge(turn, std::move(at.step), event);
  }
  Become(turn, state::SendingCheckRow{std::move(at.step), event});
  return SeatAction(action::SendCheckRow{});
}

Action On(Turn& turn, state::SendingCheckRow at, const event::Done&) {
  std::get<seat::Unmasked>(turn.here.seat->progress).row_sent = true;
  return Judge(turn, std::move(at.step), at.judged);
}

// A server that says so again and again gets it a few times. A checkpoint is given again with the
// statement.
Action GiveBack(Turn& turn, Step step) {
  const protocol::Announcement& told = *step.told;
  const bool has_seat =
      secagg::SeatOf(turn.manifest.manifest().committee(), turn.member).has_value();
  if (!told.recalls || !told.current.has_value() || !has_seat ||
      Distrusts(turn.here, told.current->attempt.number) ||
      IsSilent(turn.here, told.current->attempt.number)) {
    return CatchUp(turn, std::move(step));
  }
  const secagg::Attempt& attempt = told.current->attempt;
  std::optional<GivenBack>& given = turn.here.given_back;
  if (!given.has_value() || given->attempt != attempt) given = GivenBack{attempt, 0};
  if (given->times >= MemberMachine::kMostGivenBack) return CatchUp(turn, std::move(step));
  turn.here.stated = stated::Nothing{};
  action::GiveBack give{attempt};
  Become(turn, state::GivingBack{std::move(step)});
  return SeatAction(std::move(give));
}

// A part that failed on the way is tried again.
Action On(Turn& turn, state::GivingBack at, const event::Done&) {
  ++turn.here.given_back->times;
  return CatchUp(turn, std::move(at.step));
}

Action On(Turn& turn, state::SendingVerdict at, const event::Done&) {
  turn.here.seat->progress = seat::Silent{};
  if (!at.distrusts) return Finish(turn, std::move(at.step));
  return Distrust(turn, std::move(at.step), AttemptOf(turn).number, Then::kEnd);
}

}  // namespace tacet::member
