// Driver of a member's actions in the opening of an epoch.
#ifndef TACET_MEMBER_OPENING_ACTIONS_H_
#define TACET_MEMBER_OPENING_ACTIONS_H_

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/member/member_action.h"
#include "tacet/member/member_event.h"
#include "tacet/member/member_model.h"
#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"

namespace tacet::member {

// Signs, keeps and sends this seat's statements, and reads those of others. Errors are those that
// IsRetryable, the log's and the disk's.
class OpeningActions {
 public:
  // All must outlive it.
  OpeningActions(const MemberParts& parts, MemberNotes& notes, const MemberModel& model)
      : parts_(parts), notes_(notes), model_(model) {}

  absl::StatusOr<Event> Do(const OpeningAction& action);

 private:
  absl::StatusOr<Event> Do(const action::FetchOpening& action);
  absl::StatusOr<Event> Do(const action::ReadEarlier& action);
  absl::StatusOr<Event> Do(const action::KeepVote& action);
  absl::StatusOr<Event> Do(const action::SendVote& action);
  absl::StatusOr<Event> Do(const action::SendReasons& action);
  absl::StatusOr<Event> Do(const action::SendStates& action);
  // The vote that this seat has kept in this epoch, with the statements that it relied on; empty
  // when it kept none.
  absl::Status LoadVote();
  base::Bytes Signed(const protocol::OpeningStatement& statement) const;
  absl::StatusOr<Event> Put(std::string_view what, const base::Bytes& statement);

  const MemberParts& parts_;
  MemberNotes& notes_;
  const MemberModel& model_;
  std::vector<base::Bytes> heard_;
  base::Bytes own_states_;         // as signed last
  std::vector<base::Bytes> kept_;  // the vote, and what it relied on
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_OPENING_ACTIONS_H_
