// Client of the server. It signs requests, sends large objects in parts and resumes where a
// transfer stopped. The caller checks every answer: the server is not trusted.
#ifndef TACET_MEMBER_REMOTE_SERVER_H_
#define TACET_MEMBER_REMOTE_SERVER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/signing.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/member_request.h"
#include "tacet/protocol/wire.h"

namespace tacet::member {

// Every call may fail with the errors of Wire::Call, with DataLoss for an answer that cannot be
// read, and with what RoundServer says of the request. An answer that cannot be read, or is another
// call's, costs a repetition: the same is asked kMostUnreadable times more before the call fails.
// Thread-safe as far as `try_again` is.
class RemoteServer {
 public:
  static constexpr int kMostUnreadable = 2;

  // Asked, and given time to wait, when one call but Await has failed in a way that IsRetryable for
  // the `failures`th time in a row, and after an answer that could not be read: whether it is to be
  // made again.
  using TryAgain = std::function<bool(const absl::Status& why, int failures)>;
  // Reads what was received: OK when it is what was asked for.
  using Read = std::function<absl::Status(std::span<const uint8_t> received)>;

  // `manifest`, `key` and `wire` must outlive it. Without `try_again` no call that failed is tried
  // again.
  RemoteServer(const agreement::SignedManifest& manifest, uint64_t member,
               const crypto::SigningKey& key, protocol::Wire& wire,
               base::UnixClock clock = base::SystemUnixSeconds, TryAgain try_again = nullptr);

  absl::StatusOr<protocol::Announcement> Await(const protocol::AwaitRequest& request) const;

  // Whether all of it has arrived. Sends none of it.
  absl::StatusOr<bool> Has(const protocol::BulkName& name, std::span<const uint8_t> bytes) const;
  // Sends what has not arrived of it; OK when all has. `digest` is its SHA-256.
  absl::Status Put(const protocol::BulkName& name, std::span<const uint8_t> bytes) const;
  absl::Status Put(const protocol::BulkName& name, std::span<const uint8_t> bytes,
                   const crypto::Digest& digest) const;
  // The object whole; OutOfRange when there are not more than `index`; DataLoss for more than
  // `most_bytes`. An object that `read` cannot read is fetched kMostUnreadable times more; the last
  // one is returned. Its caller judges it.
  absl::StatusOr<base::Bytes> Fetch(const protocol::BulkName& name, uint32_t index,
                                    uint64_t most_bytes, const Read& read = nullptr) const;
  // Whether the server says that it has an object with this index, and at least `bytes` of it.
  // Fetches none of them.
  absl::StatusOr<bool> Keeps(const protocol::BulkName& name, uint32_t index, uint64_t bytes) const;

  absl::Status PutVote(const secagg::Attempt& attempt, std::span<const uint8_t> vote) const;
  // As Fetch, for each of the votes.
  absl::StatusOr<std::vector<base::Bytes>> FetchVotes(const secagg::Attempt& attempt,
                                                      const Read& read = nullptr) const;
  // Key packets of the roster's members from `from` on, as many as come together. As Fetch, for
  // each of them; the error of `read` when one of the last cannot be read.
  absl::Status FetchPackets(const secagg::Attempt& attempt, uint64_t from, const Read& read) const;
  absl::Status PutVerdict(const secagg::Attempt& attempt, bool confirmed) const;
  absl::Status PutAttestation(std::span<const uint8_t> attestation) const;
  // The same, and the object of at most kMaxPartBytes as Put, in one message of a wire that can:
  // what each of them came to.
  std::pair<absl::Status, absl::Status> PutAttestationWith(std::span<const uint8_t> attestation,
                                                           const protocol::BulkName& name,
                                                           std::span<const uint8_t> bytes,
                                                           const crypto::Digest& digest) const;
  absl::StatusOr<std::vector<base::Bytes>> FetchAttestations(uint32_t round) const;
  absl::Status PutOpeningStatement(std::span<const uint8_t> statement) const;
  absl::StatusOr<std::vector<base::Bytes>> FetchOpeningStatements() const;

  // A statement whose answer says nothing, such as an abstention or an objection.
  absl::Status Say(protocol::RequestBody body) const;

 private:
  // The same; it may keep the bytes of an answer that it has read.
  using TakeAnswer = std::function<absl::Status(base::Bytes& answer)>;

  // Until `take` has read the answer.
  absl::Status Call(protocol::RequestBody body, const TakeAnswer& take,
                    std::span<const uint8_t> content = {}) const;
  absl::StatusOr<std::vector<base::Bytes>> FetchList(protocol::RequestBody body) const;
  absl::StatusOr<base::Bytes> FetchOnce(const protocol::BulkName& name, uint32_t index,
                                        uint64_t most_bytes) const;

  const agreement::SignedManifest& manifest_;
  uint64_t member_;
  const crypto::SigningKey& key_;
  protocol::Wire& wire_;
  base::UnixClock clock_;
  TryAgain try_again_;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_REMOTE_SERVER_H_
