#include "tacet/server/round_status.h"

#include <algorithm>

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

// After it was extended; who uploads says nothing where everybody does.
std::vector<uint64_t> AwaitedUploaders(const RoundState& state) {
  const AttemptRecord& open = *OpenAttempt(state);
  const bool late = open.deadline > open.begun + state.rules->options().collecting_seconds;
  std::vector<uint64_t> awaited;
  if (!late || !state.rules->EveryMemberUploads()) return awaited;
  for (uint64_t member = 0; member < state.rules->members(); ++member) {
    if (!IsLeftOut(state, member) && Find(state, ItemKind::kAccepted, member) == nullptr) {
      awaited.push_back(member);
    }
  }
  return awaited;
}

std::vector<uint64_t> AwaitedSeats(const RoundState& state, const Unmasking& unmasking) {
  std::vector<uint64_t> awaited;
  for (const secagg::CommitteeSeat& seat : state.rules->committee()) {
    const bool answered = unmasking.refusals.Find(seat.member) != nullptr ||
                          unmasking.unmask_shares.Find(seat.member) != nullptr;
    if (!answered) awaited.push_back(seat.member);
  }
  return awaited;
}

std::vector<uint64_t> Awaited(const RoundState& state, const Moment& moment, bool waiting) {
  if (waiting) return AwaitedForAttempt(state, moment);
  if (StageOf<Collecting>(state) != nullptr) return AwaitedUploaders(state);
  if (const auto* const unmasking = StageOf<Unmasking>(state)) {
    return AwaitedSeats(state, *unmasking);
  }
  return {};
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
  ServerStatus status{.last = std::nullopt,
                      .invited = static_cast<uint32_t>(CohortOf(state).size()),
                      .accepted = count(ItemKind::kAccepted),
                      .votes = count(ItemKind::kVote),
                      .unmask_shares = count(ItemKind::kUnmaskShare),
                      .finished = opening == nullptr ? FinishedRounds(state) : LastPublished(state),
                      .attempts = begun.size(),
                      .draining = state.draining,
                      .opening = std::nullopt,
                      .stopped = stopped == nullptr ? "" : stopped->why,
                      .here = moment.attendance.CountHere(moment.now),
                      .waiting = !is_open && !state.draining && stopped == nullptr,
                      .gathering = std::nullopt,
                      .awaited = {},
                      .left_out = {}};
  status.failed = static_cast<uint64_t>(
      std::ranges::count(begun, protocol::AttemptPhase::kFailed, &AttemptRecord::phase));
  if (!begun.empty()) status.last = begun.back();
  if (opening != nullptr) status.opening = opening->tally.heard();
  for (const uint64_t member : Awaited(state, moment, status.waiting)) {
    status.awaited.push_back({.member = member, .last_seen = moment.attendance.LastSeen(member)});
  }
  for (const Submission& left_out : SubmissionsOf(state, ItemKind::kLeftOut)) {
    status.left_out.push_back(left_out.member);
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
