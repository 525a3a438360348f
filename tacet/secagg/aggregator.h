// The server's side of one attempt: adds uploads without any key.
#ifndef TACET_SECAGG_AGGREGATOR_H_
#define TACET_SECAGG_AGGREGATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/he/aggregation.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/upload.h"

namespace tacet::secagg {

// Collects the uploads of one attempt and closes them into one sum. Memory is O(d) and 56 bytes a
// participant. Not thread-safe.
class Aggregator {
 public:
  // `min_participants` uploads are needed to close; more than params.max_participants() are
  // refused.
  Aggregator(const he::AggregationParams& params, const Attempt& attempt,
             uint32_t min_participants);

  // Adds the upload of `participant`, whose identity the transport has established. The same upload
  // again is accepted and changes nothing. Errors leave the sum as it was: DataLoss (damaged),
  // FailedPrecondition (for another attempt, scheme or dimension; too many; already closed),
  // AlreadyExists (the participant sent another one before, or the nonce was seen before).
  absl::Status Submit(uint64_t participant, std::span<const uint8_t> upload);

  uint32_t count() const { return adder_->count(); }

  // The ClosedRound message for the openers. FailedPrecondition with fewer than `min_participants`
  // uploads: an attempt that small never opens. Nothing is accepted afterwards.
  absl::StatusOr<base::Bytes> Close();

 private:
  struct Accepted {
    SealNonce nonce;
    he::Tag tag;
    std::array<uint64_t, 2> checksum;
    friend bool operator==(const Accepted& a, const Accepted& b) {
      return a.nonce == b.nonce && a.tag.words == b.tag.words && a.checksum == b.checksum;
    }
  };

  he::AggregationParams params_;
  Attempt attempt_;
  uint32_t min_participants_;
  std::unique_ptr<he::Adder> adder_;
  he::Tag tag_sum_;
  std::map<uint64_t, Accepted> accepted_;      // by participant
  std::map<SealNonce, uint64_t> nonce_owner_;  // sorted, as the openers want them
  bool closed_ = false;
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_AGGREGATOR_H_
