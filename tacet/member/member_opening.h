// A member's work as one of an attempt's openers.
#ifndef TACET_MEMBER_MEMBER_OPENING_H_
#define TACET_MEMBER_MEMBER_OPENING_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"
#include "tacet/protocol/announcement.h"
#include "tacet/secagg/opener.h"
#include "tacet/secagg/upload.h"

namespace tacet::member {

// Fetches the closed round, votes for it, and opens it once a majority of openers has: step by
// step, as often as it is called, for the attempt that is opening. Everything said is in the site's
// journal before it is sent, so that another process goes on with the same words.
class MemberOpening {
 public:
  MemberOpening(const MemberParts& parts, MemberNotes& notes) : parts_(parts), notes_(notes) {}

  enum class Outcome {
    kNothing,  // not an opener, or all is said
    kWaiting,  // for votes
    kDropped,  // this member's accepted upload is not in the closed round: no vote
  };

  // `own` is the nonce of this member's upload that the server has acknowledged. Errors are those
  // that IsRetryable, and the journal's; a fault of the server becomes a protocol violation and, to
  // the server, a bare refusal.
  absl::StatusOr<Outcome> Act(const protocol::AnnouncedAttempt& current,
                              const std::optional<secagg::SealNonce>& own);

 private:
  void Begin(const secagg::Attempt& attempt);
  absl::StatusOr<Outcome> Review(const protocol::AnnouncedAttempt& current,
                                 const std::optional<secagg::SealNonce>& own);
  absl::StatusOr<Outcome> Open();
  absl::StatusOr<Outcome> Refuse(const Suspicion& suspicion);
  // Of something that was sent: nothing unless it may pass.
  absl::Status Settle(std::string_view what, const absl::Status& sent);

  MemberParts parts_;
  MemberNotes& notes_;
  std::optional<secagg::Attempt> attempt_;
  std::vector<secagg::OpenerIdentity> openers_;
  std::unique_ptr<secagg::Opener> opener_;  // once it has voted
  bool done_ = false;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_OPENING_H_
