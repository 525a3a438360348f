// A member's session in a live federation.
#ifndef TACET_MEMBER_MEMBER_SESSION_H_
#define TACET_MEMBER_MEMBER_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/member/kept_state.h"
#include "tacet/member/member_action.h"
#include "tacet/member/member_event.h"
#include "tacet/member/member_machine.h"
#include "tacet/member/member_memory.h"
#include "tacet/member/member_model.h"
#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"
#include "tacet/member/opening_actions.h"
#include "tacet/member/seat_actions.h"
#include "tacet/member/state_actions.h"
#include "tacet/member/statement_actions.h"
#include "tacet/member/upload_actions.h"

namespace tacet::member {

// One member of one federation in one epoch: a MemberMachine, and the driver that performs its
// actions with the server, the disk, the ledger, the log, the training and the clock of `parts`.
// Whatever the member says is kept first, so that a new session from the same MemberState repeats
// it byte for byte, seals nothing twice and applies nothing twice. Not thread-safe.
class MemberSession {
 public:
  // `initial_model` is used as long as nothing else was kept. Errors of MemberModel::Load; DataLoss
  // for a damaged memory, and for a ledger that does not know an attempt for which an update was
  // sealed; InvalidArgument for a member that does not exist or has another key;
  // FailedPrecondition for a permission that is not for this manifest, or whose yearly budget the
  // ledger does not keep.
  static absl::StatusOr<std::unique_ptr<MemberSession>> Create(
      const MemberParts& parts, const agreement::InitialModel& initial_model);
  MemberSession(const MemberSession&) = delete;
  MemberSession& operator=(const MemberSession&) = delete;

  using Progress = member::Progress;
  using AppliedRound = member::AppliedRound;
  // Awaits the next announcement and acts on it. An error that IsRetryable: the server or the disk
  // could not be reached, or the server refuses this member's requests; to be called again after a
  // while. Any other is of this site itself (a damaged file, a ledger that failed) and final.
  absl::StatusOr<Progress> Step();

  uint32_t next_round() const { return model_.next_round(); }
  bool has_entered() const { return machine_.has_entered(); }
  // Rounds whose sums were applied in this process, in order.
  const std::vector<AppliedRound>& applied() const { return states_.applied(); }
  // The first of the rounds that were undone, each time that this process did so, in order.
  const std::vector<uint32_t>& undone() const { return states_.undone(); }
  const std::vector<float>& model() const { return model_.checkpoint().model; }
  // Under the epoch's digest_key().
  const crypto::Digest& model_digest() const { return model_.digests().model; }
  const secagg::DigestKey& digest_key() const { return model_.digest_key(); }
  uint32_t epoch() const { return parts_.manifest.epoch(); }
  // This member's attestation of the state with which the next round begins (attestation.h), once
  // it has_entered.
  base::Bytes Attestation() const { return AttestationOf(parts_, model_); }
  // Other members' attestations about that round which the server returns and which are theirs;
  // they may contradict this member. Errors are the server's.
  absl::StatusOr<std::vector<base::Bytes>> FetchAttestations() const;
  // Why the last attempt ended without enough givers: the abstentions from it, by member. Errors
  // are the server's.
  absl::StatusOr<std::vector<protocol::SignedAbstention>> FetchAbstentions() const;
  // For this process.
  const std::vector<NodeEvent>& violations() const { return notes_.violations(); }
  // Attempts in which the ledger refused to have this member's data, in this process.
  const std::vector<NodeEvent>& refusals() const { return notes_.refusals(); }

 private:
  MemberSession(const MemberParts& parts, MemberModel model, KeptState kept);

  absl::StatusOr<Event> Perform(const Action& action);
  absl::StatusOr<Event> Await(const action::AwaitAnnouncement& action);

  const MemberParts parts_;
  MemberNotes notes_;
  MemberModel model_;
  MemberMachine machine_;
  OpeningActions opening_;
  StateActions states_;
  StatementActions statements_;
  UploadActions uploads_;
  SeatActions seat_;
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_SESSION_H_
