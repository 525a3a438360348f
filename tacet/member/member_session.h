// A member's session in a live federation.
#ifndef TACET_MEMBER_MEMBER_SESSION_H_
#define TACET_MEMBER_MEMBER_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/ledger/privacy_ledger.h"
#include "tacet/member/epoch_entry.h"
#include "tacet/member/member_memory.h"
#include "tacet/member/member_model.h"
#include "tacet/member/member_notes.h"
#include "tacet/member/member_parts.h"
#include "tacet/member/member_unmasking.h"
#include "tacet/protocol/announcement.h"
#include "tacet/secagg/attempt.h"

namespace tacet::member {

// One member of one federation in one epoch. It asks the server where the federation stands, holds
// that against manifest, memory and ledger, and does its part: charges, trains, seals, uploads,
// opens, applies, states what it has. The server is not believed: what an honest one does not do is
// a protocol violation, and nothing of such an attempt is sealed, signed or applied. Whatever it
// says is kept first, so that a new session from the same MemberState repeats it byte for byte,
// seals nothing twice and applies nothing twice. Not thread-safe.
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

  enum class Progress {
    kUnchanged,  // no notification
    kActed,
    kDone,  // no attempt will follow, and all that was published is applied
  };

  // Awaits the next announcement and acts on it. An error that IsRetryable: the server or the disk
  // could not be reached, or the server refuses this member's requests; to be called again after a
  // while. Any other is of this site itself (a damaged file, a ledger that failed) and final.
  absl::StatusOr<Progress> Step();

  uint32_t next_round() const { return model_.next_round(); }
  // Whether this member's state is one of this epoch: a quorum of its seats voted for it, or it
  // followed from such a state. An epoch that begins a training needs no vote.
  bool has_entered() const { return HasBegun() || entered_; }
  // Rounds whose sums were applied in this process, in order.
  struct AppliedRound {
    uint32_t round = 0;
    uint32_t participants = 0;  // K'
    crypto::Digest model{};     // model_digest() after the round
  };
  const std::vector<AppliedRound>& applied() const { return applied_; }
  // The first of the rounds that were undone, each time that this process did so, in order.
  const std::vector<uint32_t>& undone() const { return undone_; }
  const std::vector<float>& model() const { return model_.checkpoint().model; }
  // Under the epoch's digest_key().
  const crypto::Digest& model_digest() const { return model_.digests().model; }
  const secagg::DigestKey& digest_key() const { return model_.digest_key(); }
  uint32_t epoch() const { return parts_.manifest.epoch(); }
  // This member's attestation of the state with which the next round begins (attestation.h), once
  // it has_entered.
  base::Bytes Attestation() const;
  // Other members' attestations about that round which the server hands out and which are theirs;
  // they may contradict this member. Errors are the server's.
  absl::StatusOr<std::vector<base::Bytes>> FetchAttestations() const;
  // Of this process.
  const std::vector<NodeEvent>& violations() const { return notes_.violations(); }
  // Attempts in which the ledger refused to have this member's data, in this process.
  const std::vector<NodeEvent>& refusals() const { return notes_.refusals(); }

  // Times that one upload is sent to a server that refuses or loses it.
  static constexpr int kMaxRefusals = 3;

  // Members that are neither attestors nor uploaded to the round before say which model they have
  // when no attempt has begun so many seconds after they could have.
  static constexpr uint64_t kAttestorSeconds = 10;

 private:
  MemberSession(const MemberParts& parts, MemberModel model, std::optional<MemberMemory> memory);

  absl::StatusOr<protocol::Announcement> Await();
  absl::Status Act(const protocol::Announcement& announcement);
  // False when it is not to be acted on.
  absl::StatusOr<bool> Check(const protocol::Announcement& announcement);
  absl::Status Remember(const protocol::AnnouncedAttempt& current);
  absl::Status Keep(MemberMemory memory);
  absl::Status Distrust(const secagg::AttemptNumber& number);
  bool Distrusts(const secagg::AttemptNumber& number) const;
  // Where the last announced attempt stands, for what is not about another one.
  secagg::AttemptNumber Here() const;
  const agreement::ManifestSpec& spec() const { return parts_.manifest.manifest().spec(); }

  // Whether an attempt of this epoch was announced to this member, or none has to be: a training
  // begins with round 0.
  bool HasBegun() const;
  // Before that: whether this member has_entered now.
  absl::Status Enter(const protocol::Announcement& announcement);

  enum class KeptRound { kApplied, kNotThere, kForked };
  absl::Status CatchUp(const protocol::Announcement& announcement);
  absl::StatusOr<KeptRound> ApplyKept(const protocol::Announcement& announcement);

  absl::Status ActOnCurrent(const protocol::AnnouncedAttempt& current);
  // Decides once, and keeps, whether this member is in the cohort; does nothing when not invited.
  absl::Status Decide(protocol::Invited invited);
  // Whether something is uploaded, and whether this member's data are in it.
  bool Uploads() const;
  bool GivesData() const;
  absl::Status Participate(const secagg::Attempt& attempt);
  absl::StatusOr<bool> HasLostUpload(const secagg::Attempt& attempt) const;
  // The upload to send, sealed now or before; nothing when the ledger refuses and nobody's zeros
  // are expected either.
  absl::StatusOr<std::optional<base::Bytes>> SealedUpload(const secagg::Attempt& attempt);
  // Whether zeros are sealed for an attempt in which the ledger refuses to have this member's data.
  bool SendsZeros(const secagg::Attempt& attempt) const;
  // False when the ledger refuses to have this member's data in the attempt.
  absl::StatusOr<bool> ChargeForSealing(const secagg::AttemptNumber& number);
  // With zeros in place of the update when the data are not given.
  absl::StatusOr<base::Bytes> Seal(const secagg::Attempt& attempt, bool gives_data);
  // This member's part on the committee.
  absl::Status Unmask(const protocol::AnnouncedAttempt& current);
  // Charges what was announced and is not this member's to seal.
  absl::Status ChargeAnnounced();
  // The same without an attempt that collects, whose model this member does not have yet.
  absl::Status ChargeEnded(const protocol::Announcement& announcement);
  ledger::AttemptCost Cost() const;

  // Tells the server which state the next round begins with, when it is this member's turn.
  absl::Status StateModel();
  absl::Status PutAttestation();
  absl::Status PutCheckpoint();

  MemberParts parts_;
  MemberNotes notes_;
  MemberModel model_;
  // Of an attempt, but for `first_round`. Finding its worst observer takes milliseconds.
  const ledger::AttemptCost cost_;
  std::optional<MemberMemory> memory_;
  EpochEntry entry_;
  MemberUnmasking unmasking_;
  crypto::SecretBytes pair_keys_;  // with all seats; empty until something is sealed

  std::vector<AppliedRound> applied_;
  std::vector<uint32_t> undone_;
  std::optional<uint64_t> known_revision_;
  std::vector<secagg::AttemptNumber>
      listed_;                        // announced in this epoch, as far as this process was told
  std::optional<uint32_t> finished_;  // rounds, as announced last
  bool entered_ = false;
  bool needs_votes_ = false;  // or attestations: also small changes are awaited
  std::optional<uint32_t>
      attested_;                    // the last round whose beginning was stated, with a checkpoint
  std::optional<uint32_t> stated_;  // the last one that was attested
  std::optional<secagg::Attempt> refused_;  // whose upload the server refused,
  int refusals_ = 0;                        // so many times
  struct EncryptedCheckpoint {
    uint32_t round = 0;
    base::Bytes bytes;
  };
  std::optional<EncryptedCheckpoint> encrypted_checkpoint_;  // while it is being sent
  uint64_t reached_ = 0;  // when the next round could have begun, Unix seconds
};

}  // namespace tacet::member

#endif  // TACET_MEMBER_MEMBER_SESSION_H_
