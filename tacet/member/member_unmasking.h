// Work of a committee member at the end of an attempt.
#ifndef TACET_MEMBER_MEMBER_UNMASKING_H_
#define TACET_MEMBER_MEMBER_UNMASKING_H_

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"
#include "tacet/protocol/announcement.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/committee_member.h"

namespace tacet::member {

// Fetches the closed round and the roster, votes, gives its unmask share once a quorum voted, and
// confirms the aggregate once it decrypts, or gives its check row where it does not: step by step,
// as often as it is called, for the attempt that is unmasking. Votes and shares are in the site's
// journal before they are sent, so that another process goes on with the same words.
class MemberUnmasking {
 public:
  MemberUnmasking(const MemberParts& parts, MemberNotes& notes) : parts_(parts), notes_(notes) {}

  enum class Outcome {
    kNothing,  // not on the committee, or all is said
    kWaiting,  // for votes or unmask shares
    kDropped,  // this member's accepted upload is not in the closed round: no vote
  };

  // Errors are those that IsRetryable, and the journal's; a fault of the server becomes a protocol
  // violation and, to the server, a bare refusal.
  absl::StatusOr<Outcome> Act(const protocol::AnnouncedAttempt& current,
                              const secagg::OwnUpload& own);

  // Whether this process decrypted the attempt's aggregate and found it sound.
  bool HasConfirmed(const secagg::Attempt& attempt) const {
    return confirmed_ && attempt_ == attempt;
  }

 private:
  void Begin(const secagg::Attempt& attempt);
  absl::StatusOr<Outcome> Vote(const protocol::AnnouncedAttempt& current,
                               const secagg::OwnUpload& own);
  absl::StatusOr<Outcome> Unmask();
  absl::StatusOr<Outcome> Confirm();
  absl::StatusOr<Outcome> Refuse(const Suspicion& suspicion);
  // Of something that was sent: nothing unless it may pass.
  absl::Status Settle(std::string_view what, const absl::Status& sent);
  absl::StatusOr<crypto::SecretBytes> PairKeyOf(uint64_t client);

  MemberParts parts_;
  MemberNotes& notes_;
  std::optional<secagg::Attempt> attempt_;
  std::optional<uint32_t> seat_;
  secagg::AttemptKeys keys_;
  secagg::PairKeyOf pair_key_of_;
  std::map<uint64_t, crypto::SecretBytes> pair_keys_;  // by client, each computed once an epoch
  // Once it has voted.
  base::Bytes closed_round_;
  crypto::Digest round_hash_{};
  base::Bytes vote_;
  std::unique_ptr<secagg::CommitteeMember> committee_member_;
  std::vector<base::Bytes> votes_;  // a quorum, once there is one
  bool unmasked_ = false;
  bool checked_ = false;  // its check row was sent
  bool confirmed_ = false;
  bool done_ = false;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_UNMASKING_H_
