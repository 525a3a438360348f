// Status of a round server, for people and gauges.
#include <algorithm>

#include "tacet/server/round_server.h"

namespace tacet::server {

ServerStatus RoundServer::Status() const {
  const base::MutexLock lock(mutex_);
  const std::vector<AttemptRecord>& begun = state_->attempts();
  ServerStatus status{
      .last = std::nullopt,
      .invited = static_cast<uint32_t>(state_->cohort().size()),
      .accepted = static_cast<uint32_t>(state_->SubmissionsOf(ItemKind::kAccepted).size()),
      .votes = static_cast<uint32_t>(state_->SubmissionsOf(ItemKind::kVote).size()),
      .unmask_shares = static_cast<uint32_t>(state_->SubmissionsOf(ItemKind::kUnmaskShare).size()),
      .finished = state_->is_opened() ? state_->finished() : state_->last_published(),
      .attempts = begun.size(),
      .draining = draining_,
      .opening = std::nullopt,
      .stopped = stopped_,
      .here = attendance_.CountHere(clock_()),
      .waiting = state_->Open() == nullptr && !draining_ && stopped_.empty(),
      .gathering = std::nullopt,
      .awaited = Awaited(),
      .left_out = {}};
  status.failed = static_cast<uint64_t>(
      std::ranges::count(begun, protocol::AttemptPhase::kFailed, &AttemptRecord::phase));
  if (!begun.empty()) status.last = begun.back();
  if (!state_->is_opened()) status.opening = opening_.heard();
  for (const Submission& left_out : state_->SubmissionsOf(ItemKind::kLeftOut)) {
    status.left_out.push_back(left_out.member);
  }
  if (!status.waiting) return status;
  status.gathering = gathering_;
  if (gathering_.has_value() && clock_() < pause_ends_) status.pause_ends = pause_ends_;
  return status;
}

std::vector<Absence> RoundServer::Awaited() const {
  std::vector<uint64_t> awaited;
  const AttemptRecord* const open = state_->Open();
  if (open == nullptr && !draining_ && stopped_.empty()) {
    for (uint64_t member = 0; member < attendance_.members(); ++member) {
      const bool expected = !IsLeftOut(member);
      if (expected && !attendance_.IsHere(member, clock_())) awaited.push_back(member);
    }
  } else if (open != nullptr && open->phase == protocol::AttemptPhase::kCollecting) {
    // It was extended; who uploads says nothing where everybody does.
    const bool late = open->deadline > open->begun + options_.collecting_seconds;
    for (uint64_t member = 0;
         agreement::EveryMemberUploads(spec()) && late && member < attendance_.members();
         ++member) {
      const bool expected = !IsLeftOut(member);
      if (expected && state_->Find(ItemKind::kAccepted, member) == nullptr) {
        awaited.push_back(member);
      }
    }
  } else if (open != nullptr && open->phase == protocol::AttemptPhase::kUnmasking) {
    for (const secagg::CommitteeSeat& seat : manifest_.manifest().committee()) {
      const bool answered = state_->Find(ItemKind::kRefusal, seat.member) != nullptr ||
                            state_->Find(ItemKind::kUnmaskShare, seat.member) != nullptr;
      if (!answered) awaited.push_back(seat.member);
    }
  }
  std::vector<Absence> absences;
  for (uint64_t member : awaited) {
    absences.push_back({.member = member, .last_seen = attendance_.LastSeen(member)});
  }
  return absences;
}

std::vector<AttemptRecord> RoundServer::Attempts() const {
  const base::MutexLock lock(mutex_);
  return state_->attempts();
}

}  // namespace tacet::server
