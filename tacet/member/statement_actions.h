// Driver of a member's statements about the beginning of a round, and about its own upload.
#ifndef TACET_MEMBER_STATEMENT_ACTIONS_H_
#define TACET_MEMBER_STATEMENT_ACTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/member/member_action.h"
#include "tacet/member/member_event.h"
#include "tacet/member/member_model.h"
#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"

namespace tacet::member {

// This member's attestation of its state (attestation.h).
base::Bytes AttestationOf(const MemberParts& parts, const MemberModel& model);

// Errors are those that IsRetryable, and the log's.
class StatementActions {
 public:
  // All must outlive it.
  StatementActions(const MemberParts& parts, MemberNotes& notes, const MemberModel& model)
      : parts_(parts), notes_(notes), model_(model) {}

  absl::StatusOr<Event> Do(const StatementAction& action);

 private:
  absl::StatusOr<Event> Do(const action::SendAttestation& action);
  absl::StatusOr<Event> Do(const action::SendCheckpoint& action);
  absl::StatusOr<Event> Do(const action::SendAbstention& action);
  absl::StatusOr<Event> Do(const action::SendObjection& action);

  struct EncryptedCheckpoint {
    uint32_t round = 0;
    base::Bytes bytes;
  };

  // Where the next round begins, as the checkpoint is named.
  secagg::Attempt Start() const;
  // The same bytes until they are taken: over a line that breaks they continue where they stopped.
  bool IsEncrypted() const;
  void Encrypt();
  // Notes what sending the checkpoint came to.
  absl::Status SettleCheckpoint(const absl::Status& sent, const crypto::Digest& digest);

  const MemberParts& parts_;
  MemberNotes& notes_;
  const MemberModel& model_;
  std::optional<EncryptedCheckpoint> encrypted_;  // while it is being sent
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_STATEMENT_ACTIONS_H_
