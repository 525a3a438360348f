// Messages with which the server closes an attempt: the aggregated ciphertext for every member, and
// the roster for the committee.
#ifndef TACET_SECAGG_CLOSED_ROUND_H_
#define TACET_SECAGG_CLOSED_ROUND_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/he/aggregation.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/upload.h"

namespace tacet::secagg {

// Participants of an attempt. Only the committee is told; every other member sees nonces.
struct Roster {
  std::array<uint8_t, 16> salt{};     // fresh, so that nobody finds the members by trying
  std::vector<uint64_t> members;      // by place: members[i] sent the upload with the i-th nonce
  std::vector<crypto::Digest> lists;  // by place: of the members' key packets (ListDigest)
};

// SHA-256 of the salt, the members and their lists, which the closed round carries.
crypto::Digest RosterDigest(const Roster& roster);

// The bytes of docs/formats/messages.md, "Roster".
base::Bytes WriteRoster(const Roster& roster, const Attempt& attempt);
// Checks form and bounds: the attempt the expected one, at most `max_participants` members.
absl::StatusOr<Roster> ReadRoster(std::span<const uint8_t> bytes, const Attempt& attempt,
                                  uint32_t max_participants);
// The length of a roster of so many participants.
size_t RosterBytes(uint32_t participants);

struct ClosedRound {
  Attempt attempt;
  std::vector<SealNonce> nonces;  // one an upload, strictly increasing; their number is K'
  crypto::Digest roster_digest{};
  base::Bytes aggregated_ciphertext;  // of the scheme: docs/formats/ciphertext.md
};

// In steps: the message with `aggregated_ciphertext_bytes` zeros for an aggregated ciphertext
// (round.aggregated_ciphertext is not looked at), and their place, to be written there.
base::Bytes BeginClosedRound(const ClosedRound& round, size_t aggregated_ciphertext_bytes);
inline std::span<uint8_t> AggregatedCiphertextOf(base::Bytes& message,
                                                 size_t aggregated_ciphertext_bytes) {
  return std::span(message).last(aggregated_ciphertext_bytes);
}
// The length of a closed round of so many participants.
size_t ClosedRoundBytes(const he::AggregationParams& params, uint32_t participants);

// Checks form and bounds: K' between `min_participants` and params.max_participants(), nonces
// strictly increasing, the aggregated ciphertext as long as the parameters say, the attempt the
// expected one.
absl::StatusOr<ClosedRound> ReadClosedRound(std::span<const uint8_t> bytes, const Attempt& attempt,
                                            const he::AggregationParams& params,
                                            uint32_t min_participants);

// Hash for which the committee votes: SHA-256 over attempt, nonces, roster digest and the hash of
// the aggregated ciphertext.
crypto::Digest ClosedRoundHash(const ClosedRound& round);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_CLOSED_ROUND_H_
