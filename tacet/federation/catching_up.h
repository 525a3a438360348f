// How a member gets what it has not seen itself: opened sums, and the state of a later round.
#ifndef TACET_FEDERATION_CATCHING_UP_H_
#define TACET_FEDERATION_CATCHING_UP_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

#include "tacet/federation/checkpoint.h"
#include "tacet/federation/member_notes.h"
#include "tacet/federation/member_parts.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/opened_sum.h"

namespace tacet::federation {

// What the server tells is held against signatures and keys that it lacks; what does not hold is an
// alarm with its index, and the next one is tried. Errors are those that MayPass, and the log's.

// The sum that a majority of the attempt's openers returned; nothing when there is none (yet).
absl::StatusOr<std::optional<secagg::OpenedSum>> FetchAgreedSum(const MemberParts& parts,
                                                                MemberNotes& notes,
                                                                const secagg::Attempt& attempt);

// The state with which `round` begins as a majority of its witnesses states it, from whichever
// sealed checkpoint holds exactly that; nothing when there is none (yet).
absl::StatusOr<std::optional<Checkpoint>> FetchWitnessedState(const MemberParts& parts,
                                                              MemberNotes& notes, uint32_t round);

}  // namespace tacet::federation

#endif  // TACET_FEDERATION_CATCHING_UP_H_
