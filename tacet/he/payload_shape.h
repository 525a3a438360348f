// Positions of the values of a vector in a payload, shared by all roles of all schemes.
#ifndef TACET_HE_PAYLOAD_SHAPE_H_
#define TACET_HE_PAYLOAD_SHAPE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

#include "tacet/he/aggregation.h"
#include "tacet/ring/modulus.h"
#include "tacet/ring/slot_layout.h"

namespace tacet::he {

// Coefficients of payload polynomial `polynomial` that carry values: N, fewer in the last one.
inline size_t UsedCoefficients(const AggregationParams& params, uint64_t polynomial) {
  return std::min(params.ring_degree(),
                  params.used_coefficients() - polynomial * params.ring_degree());
}

// Values in coefficient `coefficient` of the whole payload: L, fewer in the last one.
inline size_t ValuesIn(const AggregationParams& params, uint64_t coefficient) {
  return std::min<uint64_t>(params.slots(), params.dimension() - coefficient * params.slots());
}

// Slots of scheme compact, as the kernels take them.
inline ring::SlotLayout SlotsOf(const AggregationParams& params) {
  return {.slots = params.slots(),
          .slot_bits = params.plaintext_bits(),
          .scale_bits = params.scale_bits()};
}

// The checks that every role of every scheme makes first.
absl::Status CheckCounts(const AggregationParams& params, size_t counts);
absl::Status CheckSealSecrets(const AggregationParams& params, const SealSecrets& secrets);
absl::Status CheckEncryption(const AggregationParams& params, const SealSecrets& secrets,
                             size_t ciphertext_bytes);
// Aborts unless `counts` values are what payload polynomial `polynomial` takes or gives.
void RequireBlock(const AggregationParams& params, uint64_t polynomial, size_t counts);
// Aborts unless all payload polynomials came, and the tag did not: `polynomial` is the next one.
void RequireEnd(const AggregationParams& params, uint64_t polynomial);
absl::Status CheckCiphertextLength(const AggregationParams& params, size_t bytes);
absl::Status CheckAnnounced(const Contribution& contribution, const WordSums& words);
absl::Status CheckRoomInSum(const AggregationParams& params, uint64_t count_after);
absl::Status CheckMerge(const AggregationParams& params, const AggregationParams* other);
absl::Status CheckAggregatedCiphertext(const AggregationParams& params, size_t bytes,
                                       uint32_t participants);

// The sum of counts from its centred value and K' offset; 0 when that is negative.
inline uint64_t SumOfCounts(int64_t centred, uint64_t total_offset) {
  const int64_t sum = centred + static_cast<int64_t>(total_offset);
  return static_cast<uint64_t>(sum) & ~ring::MaskOfTopBit(static_cast<uint64_t>(sum));
}

}  // namespace tacet::he

#endif  // TACET_HE_PAYLOAD_SHAPE_H_
