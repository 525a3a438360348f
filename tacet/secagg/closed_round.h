// The message with which the server asks the openers to open a closed sum.
#ifndef TACET_SECAGG_CLOSED_ROUND_H_
#define TACET_SECAGG_CLOSED_ROUND_H_

#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/homomorphic_mac.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/upload.h"

namespace tacet::secagg {

struct ClosedRound {
  Attempt attempt;
  std::vector<SealNonce> nonces;  // one an upload, strictly increasing; their number is K'
  he::Tag tag_sum;
  base::Bytes closed_sum;  // of the scheme: docs/formats/ciphertext.md
};

base::Bytes WriteClosedRound(const ClosedRound& round);
// In steps: the message with `closed_sum_bytes` zeros for a closed sum (round.closed_sum is not
// looked at), and their place, to be written there.
base::Bytes BeginClosedRound(const ClosedRound& round, size_t closed_sum_bytes);
inline std::span<uint8_t> ClosedSumOf(base::Bytes& message, size_t closed_sum_bytes) {
  return std::span(message).last(closed_sum_bytes);
}

// Checks form and bounds: K' between `min_participants` and params.max_participants(), nonces
// strictly increasing, the closed sum as long as the parameters say, the attempt the expected one.
absl::StatusOr<ClosedRound> ReadClosedRound(std::span<const uint8_t> bytes, const Attempt& attempt,
                                            const he::AggregationParams& params,
                                            uint32_t min_participants);

// Hash that an opener signs: SHA-256 over attempt, nonces, MAC sum and closed sum.
crypto::Digest ClosedRoundHash(const ClosedRound& round);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_CLOSED_ROUND_H_
