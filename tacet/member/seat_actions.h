// Driver of a committee seat's actions at the end of an attempt.
#ifndef TACET_MEMBER_SEAT_ACTIONS_H_
#define TACET_MEMBER_SEAT_ACTIONS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/member/member_action.h"
#include "tacet/member/member_event.h"
#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"
#include "tacet/member/upload_actions.h"
#include "tacet/secagg/attempt_keys.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/committee_member.h"
#include "tacet/secagg/journal.h"

namespace tacet::member {

// Votes and shares are in the site's journal before they are sent, so that another process
// continues with the same words. Errors are those that IsRetryable, and the journal's.
class SeatActions {
 public:
  // All must outlive it. `uploads` has found this member's upload to the attempt, if it made one.
  SeatActions(const MemberParts& parts, MemberNotes& notes, const UploadActions& uploads);
  SeatActions(const SeatActions&) = delete;
  SeatActions& operator=(const SeatActions&) = delete;

  absl::StatusOr<Event> Do(const SeatAction& action);
  // Has the anchor say that the seat heard of the attempt, if it is a later one. Where it cannot be
  // written, the next process finds it older than the memory.
  void Hear(const secagg::Attempt& attempt);

 private:
  absl::StatusOr<Event> Do(const action::FetchClosedRound& action);
  absl::StatusOr<Event> Do(const action::RecordVote& action);
  absl::StatusOr<Event> Do(const action::SendRoundVote& action);
  absl::StatusOr<Event> Do(const action::FetchVotes& action);
  absl::StatusOr<Event> Do(const action::ForgetEarlier& action);
  absl::StatusOr<Event> Do(const action::RecordShare& action);
  absl::StatusOr<Event> Do(const action::SendShare& action);
  absl::StatusOr<Event> Do(const action::DecryptSum& action);
  absl::StatusOr<Event> Do(const action::SendCheckRow& action);
  absl::StatusOr<Event> Do(const action::SendVerdict& action);
  absl::StatusOr<Event> Do(const action::MakeAnchor& action);
  absl::StatusOr<Event> Do(const action::GiveBack& action);
  absl::Status LoadWords();
  // Before it is sent, and also where it was recorded before.
  absl::Status Anchor(secagg::JournalStep step, const base::Bytes& message);
  absl::StatusOr<Event> Settle(std::string_view what, const absl::Status& sent,
                               const base::Bytes& bytes);
  absl::StatusOr<secagg::ListedPairKey> PairKeyOf(uint64_t client) const;
  // Those with members of the roster that this seat lacks, or has of another list, by the key
  // packets that the server gives. Errors of the server; those of PairKeyByPacket.
  absl::Status MakePairKeys(const secagg::Roster& roster);

  const MemberParts& parts_;
  MemberNotes& notes_;
  const UploadActions& uploads_;
  const secagg::PairKeyOf pair_key_of_;
  // By client. The first packet of a client that is read in an epoch counts.
  std::map<uint64_t, secagg::ListedPairKey> pair_keys_;
  // The attempt at work, or the last one.
  struct Work {
    secagg::Attempt attempt;
    uint32_t seat = 0;
    secagg::AttemptKeys keys;
    std::optional<secagg::SealNonce> own_upload;
    base::Bytes closed_round, roster;
    crypto::Digest round_hash{};
    std::unique_ptr<secagg::CommitteeMember> member;
    base::Bytes vote, share;
    std::vector<base::Bytes> votes;  // the last ones fetched, and this seat's
  };
  Work work_;
  std::optional<SeatWords> words_;  // in the anchor, once it was asked
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_SEAT_ACTIONS_H_
