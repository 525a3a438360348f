// A member's side of the end of an attempt: accepts a sum when a majority of its openers agree.
#ifndef TACET_SECAGG_RESULT_COLLECTOR_H_
#define TACET_SECAGG_RESULT_COLLECTOR_H_

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"

#include "tacet/crypto/hash.h"
#include "tacet/crypto/secret.h"
#include "tacet/he/aggregation.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/opened_sum.h"

namespace tacet::secagg {

// Gathers OpenedSum messages of one attempt. Memory: the sums of at most as many different answers
// as there are openers. Not thread-safe.
class ResultCollector {
 public:
  // `params` and `result_key` must outlive the collector.
  ResultCollector(const he::AggregationParams& params, const Attempt& attempt,
                  std::vector<OpenerIdentity> openers, const crypto::SecretBytes& result_key);

  // Takes one opener's message. Errors of ReadOpenedSum; AlreadyExists when the opener has given
  // another answer before. A message that is refused changes nothing.
  absl::Status Offer(std::span<const uint8_t> message);

  // The sum that more than half of the openers returned, for the same closed round; none before.
  const std::optional<OpenedSum>& agreed() const { return agreed_; }

 private:
  const he::AggregationParams& params_;
  Attempt attempt_;
  std::vector<OpenerIdentity> openers_;
  const crypto::SecretBytes& result_key_;
  std::map<uint64_t, crypto::Digest> answers_;  // by opener: a digest of (closed round, K', sums)
  std::optional<OpenedSum> agreed_;
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_RESULT_COLLECTOR_H_
