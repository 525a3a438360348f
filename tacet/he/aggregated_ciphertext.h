// Addition of aggregated ciphertexts: combines the partial sums of several adders of one
// federation.
#ifndef TACET_HE_AGGREGATED_CIPHERTEXT_H_
#define TACET_HE_AGGREGATED_CIPHERTEXT_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"

#include "tacet/he/aggregation.h"

namespace tacet::he {

// `sum` becomes the aggregated ciphertext of the ciphertexts in both; each is
// aggregated_ciphertext_bytes() long under `params`, and `sum` is one that an adder closed. Whether
// together they pass max_participants is the caller's to check: an aggregated ciphertext does not
// say how many it holds. DataLoss when `addend` has another length or a word that is not canonical;
// `sum` is then unchanged.
absl::Status AddAggregatedCiphertext(const AggregationParams& params,
                                     std::span<const uint8_t> addend, std::span<uint8_t> sum);

}  // namespace tacet::he

#endif  // TACET_HE_AGGREGATED_CIPHERTEXT_H_
