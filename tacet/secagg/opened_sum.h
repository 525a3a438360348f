// Message with an opened sum, from an opener to the other members, and its packing.
#ifndef TACET_SECAGG_OPENED_SUM_H_
#define TACET_SECAGG_OPENED_SUM_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"
#include "tacet/crypto/signing.h"
#include "tacet/he/aggregation.h"
#include "tacet/secagg/attempt.h"

namespace tacet::secagg {

// Sums of counts and how many participants they are of.
struct OpenedSum {
  uint32_t participants = 0;   // K'
  std::vector<uint64_t> sums;  // d values
};

// A member that may open, and the key its votes and results are signed with.
struct OpenerIdentity {
  uint64_t member = 0;
  crypto::PublicKey key{};
};

// The sums centred at K'·offset, each as a `bits`-wide two's complement number, lowest bit first,
// value after value without gaps: ceil(d·bits / 8) bytes. Every sum must lie within
// K'·offset ± 2^(bits-1).
base::Bytes PackCentred(std::span<const uint64_t> sums, uint64_t centre, uint32_t bits);
// The inverse; DataLoss when the length is wrong, a sum is negative, or spare bits are not zero.
absl::StatusOr<std::vector<uint64_t>> UnpackCentred(std::span<const uint8_t> packed, uint64_t count,
                                                    uint64_t centre, uint32_t bits);

// The same, block after block.
class CentredPacker {
 public:
  // Of `count` sums.
  CentredPacker(uint64_t count, uint64_t centre, uint32_t bits);

  void Append(std::span<const uint64_t> sums);
  base::Bytes Finish();

 private:
  uint64_t centre_;
  uint32_t bits_;
  base::Bytes packed_;
  unsigned __int128 pending_ = 0;
  uint32_t pending_bits_ = 0;
};

// Sums that are packed already: of each the bits that the agreement gives it instead of 64.
struct PackedSum {
  uint32_t participants = 0;  // K'
  base::Bytes packed;
};

// The OpenedSum message: the packed sums under `result_key` (XChaCha20-Poly1305, bound to scheme,
// attempt, `round_hash` and opener), the whole signed by the opener.
base::Bytes WriteOpenedSum(const OpenedSum& opened, const Attempt& attempt,
                           const he::AggregationParams& params, const crypto::Digest& round_hash,
                           uint64_t opener, const crypto::SecretBytes& result_key,
                           const crypto::SigningKey& signing_key, crypto::Entropy& entropy);
base::Bytes WritePackedSum(const PackedSum& sum, const Attempt& attempt,
                           const he::AggregationParams& params, const crypto::Digest& round_hash,
                           uint64_t opener, const crypto::SecretBytes& result_key,
                           const crypto::SigningKey& signing_key, crypto::Entropy& entropy);
// The length of every such message under these parameters.
size_t OpenedSumBytes(const he::AggregationParams& params);

struct OpenedSumMessage {
  crypto::Digest round_hash{};
  uint64_t opener = 0;
  OpenedSum opened;
};

// Reads a message of one of `openers`. PermissionDenied when it is of nobody in the list or not
// signed by its opener; DataLoss or FailedPrecondition when damaged or for another attempt.
absl::StatusOr<OpenedSumMessage> ReadOpenedSum(std::span<const uint8_t> bytes,
                                               const Attempt& attempt,
                                               const he::AggregationParams& params,
                                               std::span<const OpenerIdentity> openers,
                                               const crypto::SecretBytes& result_key);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_OPENED_SUM_H_
