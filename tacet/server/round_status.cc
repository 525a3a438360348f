#include "tacet/server/round_status.h"

#include <algorithm>
#include <span>
#include <utility>

#include "tacet/server/silent_seats.h"

namespace tacet::server {
namespace {

// Members without which no attempt begins: all that may upload, and are not here.
std::vector<uint64_t> AwaitedForAttempt(const RoundState& state, const Moment& moment) {
  std::vector<uint64_t> awaited;
  for (uint64_t member = 0; member < moment.attendance.members(); ++member) {
    if (!IsLeftOut(state, member) && !moment.attendance.IsHere(member, moment.now)) {
      awaited.push_back(member);
    }
  }
  return awaited;
}

// Whether a deadline has passed at which the open attempt waited for members. A start moves the
// deadline, too, and members are not at fault for that.
bool IsExtended(const RoundState& state, const Moment& moment) {
  if (const auto* const unmasking = StageOf<Unmasking>(state)) {
    return moment.now >= unmasking->since + state.rules->options().unmasking_seconds;
  }
  return StageOf<Collecting>(state) != nullptr && state.extensions > 0;
}

// Whether the deadline of an attempt that collects was moved, by a start or for another reason.
bool WasMoved(const RoundState& state) {
  const AttemptRecord& open = *OpenAttempt(state);
  return open.deadline > open.begun + state.rules->options().collecting_seconds;
}

// Every member that is here hears of an attempt, drawn or not. So who was last seen before it
// began, and longer ago than a member that is here, is absent, if this process saw that. Later
// silence may be training: it tells nothing where every member uploads.
std::vector<uint64_t> AwaitedUploaders(const RoundState& state, const Moment& moment) {
  std::vector<uint64_t> awaited;
  const Attendance& attendance = moment.attendance;
  const uint64_t begun = OpenAttempt(state)->begun;
  const bool saw = begun >= attendance.since() && moment.now >= attendance.since() + kHereSeconds;
  const bool uploads_are_public = state.rules->EveryMemberUploads() && WasMoved(state);
  for (uint64_t member = 0; member < state.rules->members(); ++member) {
    if (IsLeftOut(state, member) || Find(state, ItemKind::kAccepted, member) != nullptr) continue;
    const bool never_came =
        saw && !attendance.SeenSince(member, begun) && !attendance.IsHere(member, moment.now);
    if (never_came || uploads_are_public) awaited.push_back(member);
  }
  return awaited;
}

// Those that answered are not awaited, although they may have more to say once others have.
std::vector<uint64_t> AwaitedSeats(const RoundState& state, const Unmasking& unmasking) {
  std::vector<uint64_t> awaited;
  for (const secagg::CommitteeSeat& seat : state.rules->committee()) {
    if (OwesAnswer(state, unmasking, seat.member)) awaited.push_back(seat.member);
  }
  return awaited;
}

std::vector<Abstainer> AbstainersOf(const RoundState& state) {
  std::vector<Abstainer> abstainers;
  if (state.attempts->empty()) return abstainers;
  const Submissions* said = nullptr;
  if (const auto* const collecting = StageOf<Collecting>(state)) {
    said = &collecting->abstentions;
  } else if (const auto* const unmasking = StageOf<Unmasking>(state)) {
    said = &unmasking->abstained;
  } else {
    said = AbstentionsOf(state, state.attempts->back().attempt);
  }
  if (said == nullptr) return abstainers;
  for (const Submission& one : *said) {
    abstainers.push_back(
        {.member = one.member, .reason = protocol::ReasonOfAbstention(one.bytes())});
  }
  return abstainers;
}

std::vector<uint64_t> Awaited(const RoundState& state, const Moment& moment, bool waiting) {
  if (waiting) return AwaitedForAttempt(state, moment);
  if (StageOf<Collecting>(state) != nullptr) return AwaitedUploaders(state, moment);
  if (const auto* const unmasking = StageOf<Unmasking>(state)) {
    return AwaitedSeats(state, *unmasking);
  }
  return {};
}

// A member attests a model once it has it on disk. One that objects does not take it.
std::vector<uint64_t> WithoutResult(const RoundState& state, const Moment& moment) {
  std::vector<uint64_t> without;
  const OpenedEpoch* const opened = Opened(state);
  if (opened == nullptr || opened->round == 0) return without;
  for (uint64_t member = 0; member < moment.attendance.members(); ++member) {
    const bool objects = std::ranges::any_of(
        state.objections, [&](const protocol::Objection& one) { return one.member == member; });
    if (!objects && moment.attendance.IsHere(member, moment.now) &&
        opened->attestations.Find(member) == nullptr) {
      without.push_back(member);
    }
  }
  return without;
}

std::string_view OwedBy(const RoundState& state, uint64_t member) {
  if (StageOf<Collecting>(state) != nullptr) {
    return state.rules->EveryMemberUploads() ? "upload" : "";
  }
  if (StageOf<Unmasking>(state) == nullptr) return "";
  return Find(state, ItemKind::kVote, member) == nullptr ? "vote" : "unmask share";
}

uint64_t CountTaken(const Moment& moment, std::span<const RefusedCall> refused) {
  const auto also_here = std::ranges::count_if(refused, [&moment](const RefusedCall& call) {
    return moment.attendance.IsHere(call.member, moment.now);
  });
  return moment.attendance.CountHere(moment.now) - static_cast<uint64_t>(also_here);
}

std::map<protocol::BulkKind, uint64_t> LostByKind(const RoundState& state) {
  std::map<protocol::BulkKind, uint64_t> lost;
  for (const LostObject& one : state.lost) ++lost[one.object.key.name.kind];
  const auto* const collecting = StageOf<Collecting>(state);
  if (collecting != nullptr && !collecting->lost.empty()) {
    lost[protocol::BulkKind::kUpload] += collecting->lost.size();
  }
  return lost;
}

}  // namespace

ServerStatus StatusOf(const RoundState& state, const Moment& moment) {
  const auto count = [&state](ItemKind kind) {
    return static_cast<uint32_t>(SubmissionsOf(state, kind).size());
  };
  const AttemptRecords& begun = *state.attempts;
  const auto* const opening = std::get_if<OpeningEpoch>(&state.epoch);
  const auto* const stopped = StageOf<Stopped>(state);
  const bool is_open = OpenAttempt(state) != nullptr;
  std::vector<RefusedCall> refused = moment.attendance.RefusedNow(moment.now);
  ServerStatus status{.last = std::nullopt,
                      .invited = static_cast<uint32_t>(CohortOf(state).size()),
                      .accepted = count(ItemKind::kAccepted),
                      .votes = count(ItemKind::kVote),
                      .unmask_shares = count(ItemKind::kUnmaskShare),
                      .finished = opening == nullptr ? FinishedRounds(state) : LastPublished(state),
                      .attempts = begun.size(),
                      .draining = state.draining,
                      .paused = state.paused,
                      .opening = std::nullopt,
                      .stopped = stopped == nullptr ? "" : stopped->why,
                      .here = moment.attendance.CountHere(moment.now),
                      .taken = CountTaken(moment, refused),
                      .waiting = !is_open && !state.draining && !state.paused && stopped == nullptr,
                      .gathering = std::nullopt,
                      .awaited = {},
                      .extended = IsExtended(state, moment),
                      .extensions = is_open ? state.extensions : 0,
                      .watched_since = moment.attendance.since(),
                      .objections = state.objections,
                      .refused = std::move(refused),
                      .abstainers = AbstainersOf(state),
                      .lost = LostByKind(state),
                      .left_out = {},
                      .without_result = WithoutResult(state, moment)};
  status.failed = static_cast<uint64_t>(
      std::ranges::count(begun, protocol::AttemptPhase::kFailed, &AttemptRecord::phase));
  if (!begun.empty()) status.last = begun.back();
  if (opening != nullptr) status.opening = opening->tally.heard();
  const std::vector<uint64_t> silent = SilentSeats(state, moment);
  for (const uint64_t member : Awaited(state, moment, status.waiting)) {
    status.awaited.push_back({.member = member,
                              .last_seen = moment.attendance.LastSeen(member),
                              .owes = OwedBy(state, member),
                              .silent = std::ranges::find(silent, member) != silent.end()});
  }
  for (const Submission& left_out : SubmissionsOf(state, ItemKind::kLeftOut)) {
    if (left_out.bytes() != base::Bytes{kOnTrial}) status.left_out.push_back(left_out.member);
  }
  if (!status.waiting) return status;
  status.gathering = GatheringFor(state, moment);
  const auto* const waiting = StageOf<BetweenAttempts>(state);
  if (status.gathering.has_value() && waiting != nullptr && moment.now < waiting->pause_ends) {
    status.pause_ends = waiting->pause_ends;
  }
  return status;
}

}  // namespace tacet::server
