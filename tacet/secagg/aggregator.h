// The server's side of one attempt: adds uploads without holding a key.
#ifndef TACET_SECAGG_AGGREGATOR_H_
#define TACET_SECAGG_AGGREGATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/base/parallel.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/he/aggregation.h"
#include "tacet/secagg/attempt.h"
#include "tacet/secagg/partial_sum.h"
#include "tacet/secagg/upload.h"

namespace tacet::secagg {

// An upload and who sent it, which the transport has established.
struct Submission {
  uint64_t participant = 0;
  std::span<const uint8_t> upload;
};

// Collects the uploads of one attempt and closes them into one sum. Memory is O(d) and 40 bytes a
// participant. Not thread-safe.
class Aggregator {
 public:
  // `min_participants` uploads are needed to close; more than params.max_participants() are
  // refused. `run` may spread the adding of a large update over up to `tasks` threads.
  Aggregator(const he::AggregationParams& params, const Attempt& attempt, uint32_t min_participants,
             size_t tasks = 1, base::ParallelFor run = base::RunInTurn);

  // Adds the upload of `participant`. The same upload again is accepted and changes nothing. Errors
  // leave the sum as it was: DataLoss (damaged), FailedPrecondition (for another attempt, scheme or
  // dimension; too many; already closed), AlreadyExists (the participant sent another one before,
  // or the nonce was seen before).
  absl::Status Submit(uint64_t participant, std::span<const uint8_t> upload);

  // As if each were submitted in turn, in one pass over the sum: uploads that are waiting are added
  // several times faster together. Returns what became of each.
  std::vector<absl::Status> SubmitEach(std::span<const Submission> submissions);

  // Adds what another aggregator of the same attempt has added and closed as partial. Errors leave
  // the sum as it was: DataLoss (damaged), FailedPrecondition (for another attempt, scheme or
  // dimension; together too many; already closed), AlreadyExists (a participant or a nonce is in
  // both).
  absl::Status Merge(std::span<const uint8_t> partial_sum);

  // Uploads in the sum, those of merged sums among them.
  uint32_t count() const { return static_cast<uint32_t>(accepted_.size()); }

  // The ClosedRound message for all members, and the Roster message for the committee.
  struct Closed {
    base::Bytes closed_round;
    base::Bytes roster;
  };
  // FailedPrecondition with fewer than `min_participants` uploads: an attempt that small is never
  // decrypted. Nothing is accepted afterwards. `entropy` gives the roster's salt, `list_of` a
  // member's list (ListDigest). `member_of` names the member behind a participant where uploads
  // were submitted under other numbers.
  absl::StatusOr<Closed> Close(
      crypto::Entropy& entropy, const std::function<crypto::Digest(uint64_t member)>& list_of,
      const std::function<uint64_t(uint64_t)>& member_of = std::identity());

  // The PartialSum message for the aggregator that closes the attempt; any number of uploads, also
  // none. FailedPrecondition when it was closed before. Nothing is accepted afterwards.
  absl::StatusOr<base::Bytes> ClosePartial();

 private:
  struct Accepted {
    SealNonce nonce;
    std::array<uint64_t, 2> checksum;

    explicit Accepted(const UploadView& upload) : nonce(upload.nonce), checksum(upload.checksum) {}
    friend bool operator==(const Accepted& a, const Accepted& b) = default;
  };

  // Content of a submission, unless it is refused or was accepted before.
  absl::StatusOr<std::optional<UploadView>> ReadNew(const Submission& submission) const;
  absl::Status CheckOpen() const;
  absl::Status CheckNew(const AddedUpload& upload) const;
  void WriteAggregatedCiphertext(std::span<uint8_t> sum) const;

  he::AggregationParams params_;
  Attempt attempt_;
  uint32_t min_participants_;
  std::unique_ptr<he::Adder> adder_;
  base::Bytes merged_;  // aggregated ciphertext of what other aggregators added; empty: nothing
  // By participant; empty for uploads that another aggregator added.
  std::map<uint64_t, std::optional<Accepted>> accepted_;
  std::map<SealNonce, uint64_t> sender_of_nonce_;  // sorted, as a closed round lists them
  bool closed_ = false;
};

}  // namespace tacet::secagg

#endif  // TACET_SECAGG_AGGREGATOR_H_
