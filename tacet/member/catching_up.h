// Catching up: a member's fetches of the opened sums, or of the state of a later round, that it has
// missed.
#ifndef TACET_MEMBER_CATCHING_UP_H_
#define TACET_MEMBER_CATCHING_UP_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/opened_sum.h"

namespace tacet::member {

// The server's answers are checked with signatures and keys that it lacks. An answer that fails is
// a protocol violation with its index, and the next one is tried. Errors are those that
// IsRetryable, and the log's.

// The sum that a majority of the attempt's openers returned; nothing when there is none (yet).
absl::StatusOr<std::optional<secagg::OpenedSum>> FetchAgreedSum(const MemberParts& parts,
                                                                MemberNotes& notes,
                                                                const secagg::Attempt& attempt);

// The state with which `round` begins as a majority of its attestors states it, from whichever
// sealed checkpoint holds exactly that; nothing when there is none (yet).
absl::StatusOr<std::optional<protocol::Checkpoint>> FetchWitnessedState(const MemberParts& parts,
                                                                        MemberNotes& notes,
                                                                        uint32_t round);

}  // namespace tacet::member

#endif  // TACET_MEMBER_CATCHING_UP_H_
