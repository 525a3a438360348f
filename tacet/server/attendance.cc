#include "tacet/server/attendance.h"

namespace tacet::server {
namespace {

// Calls come every 15 s, and every 30 s at least from a member that is refused.
constexpr uint64_t kSettledSeconds = 30;

}  // namespace

void Attendance::NoteRefused(const RefusedCall& call, uint64_t now) {
  std::optional<Refused>& known = refused_[call.member];
  // A clock that was set begins the wait again.
  const bool goes_on = known.has_value() && known->call.why == call.why && known->last <= now &&
                       known->last + kHereSeconds >= now;
  known = Refused{.call = call, .first = goes_on ? known->first : now, .last = now};
}

std::vector<RefusedCall> Attendance::RefusedNow(uint64_t now) const {
  std::vector<RefusedCall> calls;
  for (const std::optional<Refused>& refused : refused_) {
    if (!refused.has_value() || refused->last > now || refused->last + kHereSeconds < now) continue;
    calls.push_back(refused->call);
    calls.back().settled = now - refused->first >= kSettledSeconds;
  }
  return calls;
}

uint64_t Attendance::CountHere(uint64_t now) const {
  uint64_t here = 0;
  for (uint64_t member = 0; member < seen_.size(); ++member) here += IsHere(member, now) ? 1 : 0;
  return here;
}

}  // namespace tacet::server
