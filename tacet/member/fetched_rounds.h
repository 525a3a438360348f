// A member's fetches of closed rounds and of their unmask shares, with its checks of them.
#ifndef TACET_MEMBER_FETCHED_ROUNDS_H_
#define TACET_MEMBER_FETCHED_ROUNDS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"
#include "tacet/protocol/abstention.h"
#include "tacet/secagg/aggregate.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/unmask_share.h"

namespace tacet::member {

// The server's answers are checked with signatures and keys that it lacks. An answer that fails is
// a protocol violation with its index, and the next one is tried. Errors are those that
// IsRetryable, and the log's.

// The closed round of an attempt that is unmasking or was published, and `round`, its content or
// why it cannot be read. The server's errors.
absl::StatusOr<base::Bytes> FetchClosedRound(const MemberParts& parts,
                                             const secagg::Attempt& attempt,
                                             absl::StatusOr<secagg::ClosedRound>& round);

// The votes of an attempt that the server has. Its errors.
absl::StatusOr<std::vector<base::Bytes>> FetchVotes(const MemberParts& parts,
                                                    const secagg::Attempt& attempt);

// The unmask shares that the server has, as many as there are seats at most. One that is not signed
// by its seat, or is another attempt's, is a protocol violation and left out.
absl::StatusOr<std::vector<secagg::UnmaskShare>> FetchUnmaskShares(const MemberParts& parts,
                                                                   MemberNotes& notes,
                                                                   const secagg::Attempt& attempt);

struct FetchedSum {
  secagg::Aggregate aggregate;
  std::vector<protocol::SignedAbstention> abstentions;  // of participants, by member
};
// The sum of a published attempt, which this member decrypts itself; nothing when it cannot (yet).
// An abstention of its own that the server does not give is a protocol violation, and counts.
absl::StatusOr<std::optional<FetchedSum>> FetchSum(const MemberParts& parts, MemberNotes& notes,
                                                   const secagg::Attempt& attempt);

}  // namespace tacet::member

#endif  // TACET_MEMBER_FETCHED_ROUNDS_H_
