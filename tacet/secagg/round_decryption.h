// Decryption of a closed round by any member, who takes nobody's word for the sum.
#ifndef TACET_SECAGG_ROUND_DECRYPTION_H_
#define TACET_SECAGG_ROUND_DECRYPTION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/secagg/aggregate.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/committee.h"
#include "tacet/secagg/terms.h"
#include "tacet/secagg/unmask_share.h"

namespace tacet::secagg {

// Messages of one attempt, as the server passed them on. Votes and shares that cannot be read, or
// belong to another closed round, are left out.
struct RoundMessages {
  std::span<const uint8_t> closed_round;
  std::span<const base::Bytes> votes;
  std::span<const base::Bytes> unmask_shares;
};

struct DecryptedRound {
  Aggregate aggregate;
  // Seats with a wrong unmask share, increasing. Only named with a sum whose MAC fits, and where no
  // f seats can have a right one named. A wrong share of a participant for a seat names it, too.
  std::vector<uint32_t> wrong_seats;
};

// The aggregate, once v seats voted for the closed round and v seats gave unmask shares, t of these
// or more lie on one codeword, the MAC fits and the sum is within AggregateBound. Where the nearest
// codeword is not sound, all others are tried (only_sound_sum.h), so a - t wrong shares of a are
// corrected. Errors: Unavailable as long as other votes or shares may help; FailedPrecondition or
// DataLoss when they cannot. The paper's schemes have no committee: their group secret decrypts.
absl::StatusOr<DecryptedRound> DecryptRound(const Terms& terms, const Committee& committee,
                                            const Attempt& attempt, const AttemptKeys& keys,
                                            const RoundMessages& messages);
// The same with unmask shares that the caller has read: each has a signature to check.
absl::StatusOr<DecryptedRound> DecryptRound(const Terms& terms, const Committee& committee,
                                            const Attempt& attempt, const AttemptKeys& keys,
                                            std::span<const uint8_t> closed_round,
                                            std::span<const base::Bytes> votes,
                                            std::span<const UnmaskShare> unmask_shares);
// The same with a closed round that the caller has read, too: by ReadClosedRound with these terms.
absl::StatusOr<DecryptedRound> DecryptRound(const Terms& terms, const Committee& committee,
                                            const Attempt& attempt, const AttemptKeys& keys,
                                            const ClosedRound& round,
                                            std::span<const base::Bytes> votes,
                                            std::span<const UnmaskShare> unmask_shares);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_ROUND_DECRYPTION_H_
