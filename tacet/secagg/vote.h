// Vote of a committee member for the one closed round of an attempt.
#ifndef TACET_SECAGG_VOTE_H_
#define TACET_SECAGG_VOTE_H_

#include <cstdint>
#include <set>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/committee.h"

namespace tacet::secagg {

// preamble, attempt, seat u32, hash, signature: docs/formats/messages.md, "Vote".
base::Bytes WriteVote(const Attempt& attempt, uint32_t seat, const crypto::Digest& hash,
                      const crypto::SigningKey& key);

struct Vote {
  uint32_t seat = 0;
  crypto::Digest hash{};  // ClosedRoundHash
};

// DataLoss or FailedPrecondition when damaged or for another attempt; PermissionDenied when it is
// not signed by the member on the seat that it names.
absl::StatusOr<Vote> ReadVote(std::span<const uint8_t> bytes, const Attempt& attempt,
                              const Committee& committee);

// The seats that voted for `hash`. Votes that cannot be read, and votes for another hash, do not
// count.
std::set<uint32_t> SeatsVotingFor(const crypto::Digest& hash, std::span<const base::Bytes> votes,
                                  const Attempt& attempt, const Committee& committee);
// Unavailable unless so many are at least `needed` of the committee's `seats`.
absl::Status CheckVoters(size_t voters, size_t seats, const Attempt& attempt, uint32_t needed);

// Unavailable unless at least `needed` different seats voted for `hash`. Votes that cannot be read,
// and votes for another hash, do not count.
absl::Status CheckVotes(std::span<const base::Bytes> votes, const crypto::Digest& hash,
                        const Attempt& attempt, const Committee& committee, uint32_t needed);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_VOTE_H_
