// Driver of a member's charges and uploads.
#ifndef TACET_MEMBER_UPLOAD_ACTIONS_H_
#define TACET_MEMBER_UPLOAD_ACTIONS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/secret.h"
#include "tacet/ledger/attempt_cost.h"
#include "tacet/member/member_action.h"
#include "tacet/member/member_event.h"
#include "tacet/member/member_model.h"
#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"

namespace tacet::member {

// For an attempt of the manifest, but for `first_round`.
ledger::AttemptCost CostOf(const MemberParts& parts);

// Errors are those that IsRetryable, the ledger's and the disk's.
class UploadActions {
 public:
  // All must outlive it.
  UploadActions(const MemberParts& parts, const MemberModel& model);

  absl::StatusOr<Event> Do(const UploadAction& action);
  // The upload that was found, or sealed and saved, in this step; empty when there is none.
  const base::Bytes& upload() const { return upload_; }
  // Frees what is kept of a step.
  void Forget();

 private:
  absl::StatusOr<Event> Do(const action::Charge& action);
  absl::StatusOr<Event> Do(const action::FindUpload& action);
  absl::StatusOr<Event> Do(const action::AskForUpload& action);
  absl::StatusOr<Event> Do(const action::ChargeForSealing& action);
  absl::StatusOr<Event> Do(const action::Train& action);
  absl::StatusOr<Event> Do(const action::Seal& action);
  absl::StatusOr<Event> Do(const action::SaveUpload& action);
  absl::StatusOr<Event> Do(const action::SendUpload& action);
  ledger::AttemptCost CostFrom(std::optional<uint32_t> first_round) const;
  // The keys of this member with the seats, computed once an epoch.
  absl::Status MakeKeys();
  // Before the first upload of this process, and again when the server refuses an upload that may
  // lack it. The server may have the packet from an earlier process.
  absl::Status SendPacket();

  const MemberParts& parts_;
  const MemberModel& model_;
  const ledger::AttemptCost cost_;  // finding its worst observer takes milliseconds
  std::optional<agreement::ClientKeys> keys_;
  bool packet_sent_ = false;
  crypto::SecretVector<float> update_;
  base::Bytes upload_;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_UPLOAD_ACTIONS_H_
