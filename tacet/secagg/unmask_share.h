// Message with the unmask share of a seat: the sum of the masks that it shares with the
// participants of a closed round.
#ifndef TACET_SECAGG_UNMASK_SHARE_H_
#define TACET_SECAGG_UNMASK_SHARE_H_

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/he/key_sharing.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/committee.h"

namespace tacet::secagg {

// Words below p, encrypted under the attempt's `result_key` (XChaCha20-Poly1305, bound to attempt,
// `round_hash` and seat), the whole signed by the seat: docs/formats/messages.md, "Unmask share".
base::Bytes WriteUnmaskShare(std::span<const uint16_t> mask_sums, const Attempt& attempt,
                             const crypto::Digest& round_hash, uint32_t seat,
                             const crypto::SecretBytes& result_key,
                             const crypto::SigningKey& signing_key, crypto::Entropy& entropy);

struct UnmaskShare {
  uint32_t seat = 0;
  crypto::Digest round_hash{};
  crypto::SecretVector<uint16_t> mask_sums;  // words below p
};

// PermissionDenied when it is not signed by the member on the seat that it names; DataLoss or
// FailedPrecondition when damaged or for another attempt.
absl::StatusOr<UnmaskShare> ReadUnmaskShare(std::span<const uint8_t> bytes, const Attempt& attempt,
                                            const he::KeySharing& sharing,
                                            const Committee& committee,
                                            const crypto::SecretBytes& result_key);

// The length of every such message.
size_t UnmaskShareBytes(const he::KeySharing& sharing);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_UNMASK_SHARE_H_
