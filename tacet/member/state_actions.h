// Driver of a member's actions by which it gets to a later, or an earlier, state.
#ifndef TACET_MEMBER_STATE_ACTIONS_H_
#define TACET_MEMBER_STATE_ACTIONS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"
#include "tacet/member/fetched_rounds.h"
#include "tacet/member/member_action.h"
#include "tacet/member/member_event.h"
#include "tacet/member/member_model.h"
#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"
#include "tacet/protocol/checkpoint.h"
#include "tacet/secagg/aggregate.h"

namespace tacet::member {

// A round whose sum was applied in this process.
struct AppliedRound {
  uint32_t round = 0;
  uint32_t participants = 0;                                 // K'
  crypto::Digest model{};                                    // after the round
  std::vector<protocol::SignedAbstention> abstentions = {};  // of participants, by member
};

// The server's answers are checked with signatures and keys that it lacks. An answer that fails is
// a protocol violation with its index, and the next one is tried. Errors are those that
// IsRetryable, the log's and the disk's.
class StateActions {
 public:
  // All must outlive it.
  StateActions(const MemberParts& parts, MemberNotes& notes, MemberModel& model)
      : parts_(parts), notes_(notes), model_(model) {}

  absl::StatusOr<Event> Do(const StateAction& action);

  const std::vector<AppliedRound>& applied() const { return applied_; }
  // The first of the rounds that were undone, each time that this process did so, in order.
  const std::vector<uint32_t>& undone() const { return undone_; }

 private:
  absl::StatusOr<Event> Do(const action::FetchSum& action);
  absl::StatusOr<Event> Do(const action::ApplySum& action);
  absl::StatusOr<Event> Do(const action::FetchAttestations& action);
  absl::StatusOr<Event> Do(const action::FetchCheckpoint& action);
  absl::StatusOr<Event> Do(const action::InstallCheckpoint& action);
  absl::StatusOr<Event> Do(const action::StepBack& action);
  Event Reached() const;
  void Undo(uint32_t first_undone);

  const MemberParts& parts_;
  MemberNotes& notes_;
  MemberModel& model_;
  std::optional<FetchedSum> sum_;                   // that was fetched
  std::optional<protocol::Checkpoint> checkpoint_;  // that was fetched
  std::vector<AppliedRound> applied_;
  std::vector<uint32_t> undone_;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_STATE_ACTIONS_H_
