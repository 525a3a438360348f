// State that an earlier process of a member kept: its memory, and its answers about the attempt
// that it is about. A part that is damaged counts as lost.
#ifndef TACET_MEMBER_KEPT_STATE_H_
#define TACET_MEMBER_KEPT_STATE_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/member/member_memory.h"
#include "tacet/member/member_parts.h"
#include "tacet/member/node_event.h"
#include "tacet/member/past.h"

namespace tacet::member {

struct KeptState {
  std::optional<MemberMemory> memory;  // of this training
  Past past;
  // The memory is lost in an epoch in which this member was charged. Its model may be rounds ahead
  // of the state that opened the epoch. It is taken from the others again, as if it were lost.
  bool forgets_model = false;
  std::vector<NodeEvent> notes;  // of parts that are lost
};

// The ledger knows which attempts this member was charged for. So it shows when the memory is older
// than it was, and how often this member gave its data. FailedPrecondition when the state is of a
// later epoch or of another manifest, DataLoss when the ledger is older than the state.
absl::StatusOr<KeptState> ReadKeptState(const MemberParts& parts);

}  // namespace tacet::member

#endif  // TACET_MEMBER_KEPT_STATE_H_
