// Message with the partial sum of one of several aggregators, sent to the aggregator that closes
// the attempt.
#ifndef TACET_SECAGG_PARTIAL_SUM_H_
#define TACET_SECAGG_PARTIAL_SUM_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/he/aggregation.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/upload.h"

namespace tacet::secagg {

// Sender of an upload that is in the sum, and its nonce.
struct AddedUpload {
  uint64_t participant = 0;
  SealNonce nonce{};
};

struct PartialSum {
  Attempt attempt;
  std::vector<AddedUpload> uploads;                // participants strictly increasing; may be none
  std::span<const uint8_t> aggregated_ciphertext;  // read: points into the message
};

base::Bytes WritePartialSum(const PartialSum& sum, const he::AggregationParams& params);

// Checks form and bounds: the attempt the expected one, scheme and dimension those of `params`, at
// most params.max_participants() uploads with participants strictly increasing, the aggregated
// ciphertext as long as the parameters say. Its words, and that nonces differ, are checked when
// they are added. DataLoss for damage, FailedPrecondition for a sum that belongs elsewhere.
absl::StatusOr<PartialSum> ReadPartialSum(std::span<const uint8_t> bytes, const Attempt& attempt,
                                          const he::AggregationParams& params);

// No partial sum under these parameters is longer.
size_t MaxPartialSumBytes(const he::AggregationParams& params);

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_PARTIAL_SUM_H_
