// Memory of a member: what it was told and what it decided. With it neither a lying server nor a
// crash makes the member decide twice.
#ifndef TACET_MEMBER_MEMBER_MEMORY_H_
#define TACET_MEMBER_MEMBER_MEMORY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/protocol/announcement.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member {

// The numbers are part of the format.
enum class Participation : uint8_t {
  kUndecided = 0,
  kNo = 1,
  kYes = 2,
  kSpent = 3,  // chosen, but its data were given as often as was agreed: zeros go in their place
};

// The last attempt announced. docs/formats/site-state.md.
struct MemberMemory {
  secagg::Attempt attempt;
  protocol::AttemptPhase phase = protocol::AttemptPhase::kCollecting;
  uint32_t participants = 0;  // K', once it was told
  Participation participation = Participation::kUndecided;
  bool accepted = false;  // the server has acknowledged this member's upload
  // Attempts, this one included, to which this member gives its data; counted, from the first epoch
  // on, where the agreement limits them.
  uint32_t participations = 0;
  // Where the server draws cohorts: whether this attempt was seen while it collected; of the epoch,
  // how many were, and to how many of them the server invited this member.
  bool watched = false;
  uint32_t watched_attempts = 0;
  uint32_t invitations = 0;
  // Attempts about which the server was caught lying: nothing of them is sealed, signed or applied.
  std::vector<secagg::AttemptNumber> distrusted;

  friend bool operator==(const MemberMemory&, const MemberMemory&) = default;
};

base::Bytes WriteMemberMemory(const MemberMemory& memory);
// DataLoss when cut short or damaged.
absl::StatusOr<MemberMemory> ReadMemberMemory(std::span<const uint8_t> bytes);

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_MEMORY_H_
