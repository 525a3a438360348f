// Message with which a seat helps to find participants whose shares are wrong, once a sum could not
// be decrypted.
//
// After v votes and its unmask share a seat gives, for each upload of the roster, eight
// combinations of the mask that it shares with the participant (he/share_check.h). The factors
// follow from the hash for which v seats voted, of which there is one an attempt.
#ifndef TACET_SECAGG_CHECK_ROW_H_
#define TACET_SECAGG_CHECK_ROW_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/share_check.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/committee.h"

namespace tacet::secagg {

// The check of an attempt's shares: factors from SHA-256("tacet/1/share check" ‖ round hash).
he::ShareCheck ShareCheckOf(const he::KeySharing& sharing, const crypto::Digest& round_hash);

// preamble, attempt, round hash, seat u32, blob of 16 bytes an upload in the order of the roster,
// signature: docs/formats/messages.md, "Check row".
base::Bytes WriteCheckRow(const Attempt& attempt, const crypto::Digest& round_hash, uint32_t seat,
                          std::span<const he::ShareCombination> combinations,
                          const crypto::SigningKey& key);

struct CheckRow {
  uint32_t seat = 0;
  crypto::Digest round_hash{};
  std::vector<he::ShareCombination> combinations;  // by place in the roster; words below p
};

// DataLoss or FailedPrecondition when damaged, for another attempt or of another number of uploads
// than `participants`; PermissionDenied when it is not signed by the member on the seat that it
// names.
absl::StatusOr<CheckRow> ReadCheckRow(std::span<const uint8_t> bytes, const Attempt& attempt,
                                      const Committee& committee, uint32_t participants);

// The length of every check row of so many participants.
size_t CheckRowBytes(uint32_t participants);

// The conclusion from `rows` about the participants' shares (he::FindWrongShares), by place in the
// roster. Rows that cannot be read, or belong to another closed round, do not count, and of one
// seat only the first does. `shares[i]` are the shares in the upload of the i-th place: the last
// share_bytes() bytes of its ciphertext, canonical.
he::WrongShares FindWrongParticipants(const he::AggregationParams& params,
                                      const Committee& committee, const Attempt& attempt,
                                      const crypto::Digest& round_hash,
                                      std::span<const base::Bytes> rows,
                                      std::span<const std::span<const uint8_t>> shares);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_CHECK_ROW_H_
