// Catching up: a member's fetches of the published rounds, or of the state of a later round, that
// it has missed.
#ifndef TACET_MEMBER_CATCHING_UP_H_
#define TACET_MEMBER_CATCHING_UP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/member/attestors.h"
#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/secagg/aggregate.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/unmask_share.h"

namespace tacet::member {

// The server's answers are checked with signatures and keys that it lacks. An answer that fails is
// a protocol violation with its index, and the next one is tried. Errors are those that
// IsRetryable, and the log's.

// What the seats say about the opening of the epoch; nothing that the server refuses to hand out.
// Errors that IsRetryable.
absl::StatusOr<std::vector<base::Bytes>> FetchOpening(const MemberParts& parts);

// The closed round of an attempt that is unmasking or was published. The server's errors.
absl::StatusOr<base::Bytes> FetchClosedRound(const MemberParts& parts,
                                             const secagg::Attempt& attempt);

// The unmask shares that the server has, as many as there are seats at most. One that is not signed
// by its seat, or is another attempt's, is a protocol violation and left out.
absl::StatusOr<std::vector<secagg::UnmaskShare>> FetchUnmaskShares(const MemberParts& parts,
                                                                   MemberNotes& notes,
                                                                   const secagg::Attempt& attempt);

// The aggregate of a published attempt, which this member decrypts itself; nothing when it cannot
// (yet).
absl::StatusOr<std::optional<secagg::Aggregate>> FetchAggregate(const MemberParts& parts,
                                                                MemberNotes& notes,
                                                                const secagg::Attempt& attempt);

// The state with which `round` begins as a majority of its attestors states it, from whichever
// encrypted checkpoint holds exactly that; nothing when there is none (yet).
absl::StatusOr<std::optional<protocol::Checkpoint>> FetchAttestedState(const MemberParts& parts,
                                                                       MemberNotes& notes,
                                                                       uint32_t round);

}  // namespace tacet::member

#endif  // TACET_MEMBER_CATCHING_UP_H_
