// The message a participant sends: one sealed update.
#ifndef TACET_SECAGG_UPLOAD_H_
#define TACET_SECAGG_UPLOAD_H_

#include <array>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/he/aggregation.h"
#include "tacet/he/homomorphic_mac.h"
#include "tacet/he/word_sums.h"
#include "tacet/secagg/attempt.h"

namespace tacet::secagg {

// 16 fresh random bytes of a seal. Members outside the committee see nonces instead of identities.
using SealNonce = he::TagNonce;

// Context that the MACs of an attempt are bound to: the attempt, and with it the model.
base::Bytes TagContext(const Attempt& attempt);

// The fields of an upload; `ciphertext` points into the message.
struct UploadView {
  Attempt attempt;
  he::Scheme scheme = he::Scheme::kCompact;
  uint64_t dimension = 0;
  SealNonce nonce{};
  std::span<const uint8_t> ciphertext;
  std::array<uint64_t, 2> checksum{};
  // Sums of the ciphertext's words according to the checksum.
  he::WordSums ciphertext_sums;
};

// The bytes of docs/formats/messages.md, "Upload", in steps: a message without ciphertext and
// checksum; the place of its ciphertext, to be written there; the finished message.
base::Bytes BeginUpload(const Attempt& attempt, const he::AggregationParams& params,
                        const SealNonce& nonce);
std::span<uint8_t> CiphertextOf(base::Bytes& upload);
void FinishUpload(base::Bytes& upload);

// Checks that `bytes` has the fields of an upload for exactly this attempt and these parameters,
// without reading the ciphertext: the later reader of its words checks that their sums are
// `ciphertext_sums`, and so the checksum. DataLoss for damage, FailedPrecondition for an upload
// that belongs elsewhere; the message names the field.
absl::StatusOr<UploadView> ReadUploadFields(std::span<const uint8_t> bytes, const Attempt& attempt,
                                            const he::AggregationParams& params);

// DataLoss unless the ciphertext's words are what the checksum says.
absl::Status CheckCiphertextWords(const UploadView& upload);

// Where the shares of the one-time key begin in every upload; params.share_bytes() of them.
size_t SharesOffset(const he::AggregationParams& params);

// The length of every upload under these parameters.
size_t UploadBytes(const he::AggregationParams& params);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_UPLOAD_H_
