// Messages in one piece. The programs write and read them in steps.
#ifndef TACET_SECAGG_WHOLE_MESSAGES_FOR_TEST_H_
#define TACET_SECAGG_WHOLE_MESSAGES_FOR_TEST_H_

#include <algorithm>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/sealer.h"
#include "tacet/secagg/upload.h"

namespace tacet::secagg {

inline base::Bytes WriteUpload(const Attempt& attempt, const he::AggregationParams& params,
                               const SealNonce& nonce, std::span<const uint8_t> ciphertext) {
  base::Bytes upload = BeginUpload(attempt, params, nonce);
  std::ranges::copy(ciphertext, CiphertextOf(upload).begin());
  FinishUpload(upload);
  return upload;
}

// A complete, undamaged upload for exactly this attempt and these parameters.
inline absl::StatusOr<UploadView> ReadUpload(std::span<const uint8_t> bytes, const Attempt& attempt,
                                             const he::AggregationParams& params) {
  TACET_ASSIGN_OR_RETURN(const UploadView upload, ReadUploadFields(bytes, attempt, params));
  TACET_RETURN_IF_ERROR(CheckCiphertextWords(upload));
  return upload;
}

inline base::Bytes WriteClosedRound(const ClosedRound& round) {
  const size_t size = round.aggregated_ciphertext.size();
  base::Bytes message = BeginClosedRound(round, size);
  std::ranges::copy(round.aggregated_ciphertext, AggregatedCiphertextOf(message, size).begin());
  return message;
}

// Seals counts that are all there; as many as the sealer's terms have values.
inline absl::StatusOr<base::Bytes> SealCounts(const Sealer& sealer,
                                              std::span<const uint32_t> counts,
                                              const crypto::SecretBytes& pair_keys,
                                              const crypto::SecretBytes& seal_key) {
  return sealer.SealBlocks(
      [&](uint64_t first, uint64_t size) { return counts.subspan(first, size); }, pair_keys,
      seal_key);
}

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_WHOLE_MESSAGES_FOR_TEST_H_
