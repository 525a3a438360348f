#include "tacet/server/silent_seats.h"

#include <algorithm>

namespace tacet::server {

bool IsSilenced(const RoundState& state, uint64_t member) {
  const AttemptRecord* const open = OpenAttempt(state);
  return open != nullptr && Find(state, ItemKind::kVote, member) == nullptr &&
         std::ranges::any_of(state.objections, [&](const protocol::Objection& one) {
           return one.member == member && one.attempt == open->attempt.number &&
                  one.reason == protocol::ObjectionReason::kMayHaveVoted;
         });
}

bool OwesAnswer(const RoundState& state, const Unmasking& unmasking, uint64_t member) {
  if (unmasking.refusals.Find(member) != nullptr || IsSilenced(state, member)) return false;
  if (unmasking.votes.Find(member) == nullptr) return true;
  return unmasking.votes.size() >= state.rules->VoteQuorum() &&
         unmasking.unmask_shares.Find(member) == nullptr;
}

size_t CountAnswering(const RoundState& state, const Moment& moment, const Unmasking& unmasking) {
  return static_cast<size_t>(
      std::ranges::count_if(state.rules->committee(), [&](const secagg::CommitteeSeat& seat) {
        return moment.attendance.IsHere(seat.member, moment.now) &&
               !OwesAnswer(state, unmasking, seat.member);
      }));
}

namespace {

uint64_t LongSince(const RoundRules& rules, const Moment& moment, const Unmasking& unmasking) {
  // A clock that was set back begins the wait again: deadlines follow it as well.
  return std::min(unmasking.since, moment.now) +
         kUnmaskingDeadlines * rules.options().unmasking_seconds;
}

}  // namespace

bool IsLongUnmasking(const RoundRules& rules, const Moment& moment, const Unmasking& unmasking) {
  return moment.now >= LongSince(rules, moment, unmasking);
}

std::vector<uint64_t> SilentSeats(const RoundState& state, const Moment& moment) {
  std::vector<uint64_t> silent;
  const auto* const unmasking = StageOf<Unmasking>(state);
  const RoundRules& rules = *state.rules;
  if (unmasking == nullptr || !IsLongUnmasking(rules, moment, *unmasking)) return silent;
  // One that has not called since then may be dead, and here for a while yet.
  const uint64_t since = LongSince(rules, moment, *unmasking);
  for (const secagg::CommitteeSeat& seat : rules.committee()) {
    if (moment.attendance.IsHere(seat.member, moment.now) &&
        moment.attendance.SeenSince(seat.member, since) &&
        OwesAnswer(state, *unmasking, seat.member)) {
      silent.push_back(seat.member);
    }
  }
  return silent;
}

}  // namespace tacet::server
