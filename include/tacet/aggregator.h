// The server's side of secure aggregation: adds sealed updates without a key.
#ifndef TACET_AGGREGATOR_H_
#define TACET_AGGREGATOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement.h"
#include "tacet/attempt_id.h"
#include "tacet/messages.h"

namespace tacet {

namespace api {
struct AggregatorParts;
}  // namespace api

// An upload and its sender, which the transport has authenticated. The bytes are read during the
// call that takes the submission, and not afterwards.
struct Submission {
  uint64_t member = 0;
  std::span<const uint8_t> upload = {};
};

// Collects the uploads of one attempt and closes them into one sum. Memory is O(d) and about 56
// bytes an upload. Can be moved. Not thread-safe.
class Aggregator {
 public:
  // `key_packets` are Client::key_packet() of the members whose uploads may come. Unusable ones are
  // skipped (Agreement::CheckKeyPacket), and the first one of a member counts: keep the first one
  // that came, and give the seats the same. InvalidArgument for an attempt that the agreement does
  // not permit.
  static absl::StatusOr<Aggregator> Create(const Agreement& agreement, const AttemptId& attempt,
                                           std::span<const Bytes> key_packets);
  ~Aggregator();
  Aggregator(Aggregator&&) noexcept;
  Aggregator& operator=(Aggregator&&) noexcept;

  // Adds an upload. The same upload again is accepted and changes nothing. An error leaves the sum
  // unchanged:
  //   DataLoss            the upload is damaged,
  //   FailedPrecondition  it is for another attempt or agreement; there are too many; closed
  //                       already; no usable key packet of the member was given,
  //   AlreadyExists       the member sent another upload before, or its nonce was seen before,
  //   InvalidArgument     there is no such member.
  absl::Status Submit(uint64_t member, std::span<const uint8_t> upload);

  // The same for several uploads in one pass over the sum, several times as fast. Returns the
  // result of each.
  std::vector<absl::Status> SubmitEach(std::span<const Submission> submissions);

  // Uploads in the sum.
  uint32_t count() const;

  // Closes the attempt; nothing is accepted afterwards. FailedPrecondition with fewer than K_min
  // uploads, and when it is closed already.
  absl::StatusOr<ClosedAttempt> Close();

 private:
  explicit Aggregator(std::unique_ptr<api::AggregatorParts> parts);

  std::unique_ptr<api::AggregatorParts> parts_;
};

}  // namespace tacet

#endif  // TACET_AGGREGATOR_H_
