// A committee member's side of one attempt: one vote, then one unmask share.
#ifndef TACET_COMMITTEE_SEAT_H_
#define TACET_COMMITTEE_SEAT_H_

#include <memory>
#include <optional>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/messages.h"
#include "tacet/types.h"

namespace tacet {

namespace api {
struct Access;
struct SeatParts;
}  // namespace api

// The committee member's own upload to the attempt.
struct OwnUpload {
  // SealedUpdate::nonce; absent when it sealed none.
  std::optional<SealNonce> nonce = std::nullopt;
  // True once the server has acknowledged the upload: a sum without it is refused then.
  bool acknowledged = false;
};

// Made by Client::Seat. An error says what was wrong, for the member's own log; tell the server
// only that the attempt was refused. Can be moved. Not thread-safe.
class CommitteeSeat {
 public:
  ~CommitteeSeat();
  CommitteeSeat(CommitteeSeat&&) noexcept;
  CommitteeSeat& operator=(CommitteeSeat&&) noexcept;

  // Checks both messages and returns this seat's vote, which goes to every member: at least K_min
  // uploads, of different members of the federation; this member's own upload among them if it was
  // acknowledged, and no other in its name. A seat votes for one sum an attempt. The same messages
  // again give the same vote. Errors:
  //   DataLoss            a message is damaged, or a check failed,
  //   FailedPrecondition  another attempt; this seat has voted for another sum before; or the
  //                       roster has another key packet of a participant than this seat took or
  //                       was given,
  //   NotFound            the key packet of a participant is missing,
  //   and the journal's.
  absl::StatusOr<Bytes> Vote(std::span<const uint8_t> closed_round,
                             std::span<const uint8_t> roster);

  // The unmask share of the sum that this seat voted for, which goes to every member. Needs
  // Agreement::votes_needed() votes; its own counts and need not be among them. Again, the same
  // bytes. Errors: Unavailable with fewer votes; FailedPrecondition before Vote; the journal's.
  absl::StatusOr<Bytes> Unmask(std::span<const Bytes> votes);

 private:
  friend struct api::Access;
  explicit CommitteeSeat(std::unique_ptr<api::SeatParts> parts);

  std::unique_ptr<api::SeatParts> parts_;
};

}  // namespace tacet

#endif  // TACET_COMMITTEE_SEAT_H_
