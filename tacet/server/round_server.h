// The server's state machine for the rounds of a federation: the open attempt, its uploads and its
// end. The server holds no key and trusts nobody; members check everything that it says.
#ifndef TACET_SERVER_ROUND_SERVER_H_
#define TACET_SERVER_ROUND_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/attestation.h"
#include "tacet/protocol/epoch_opening.h"
#include "tacet/protocol/member_request.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/server/attempt_state.h"
#include "tacet/server/attendance.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/incoming_part.h"
#include "tacet/server/server_store.h"

namespace tacet::server {

// Failure of an attempt whose sum enough seats refused, and none of whose participants is named.
inline constexpr std::string_view kRefusedFailure = "refused";

struct RoundServerOptions {
  uint64_t collecting_seconds = 600;  // until an attempt closes with what has arrived; > 0
  // Until the committee must have confirmed the aggregate; > 0. As long as seats are away, it is
  // extended by as many seconds again,
  uint64_t unmasking_seconds = 300;
  // but not beyond so many seconds after the beginning of the attempt.
  uint64_t abandon_seconds = 7 * base::kSecondsADay;
  uint32_t kept_rounds = 3;  // published rounds that can still be fetched; > 0
  // How long members that were not here have to come, once enough are: before an attempt begins,
  // and before it closes without them.
  uint64_t grace_seconds = 60;
  // Pause after an attempt with too few uploads. It doubles from one to the next, up to an hour.
  uint64_t retry_seconds = 60;
};

// Members whose presence decides whether an attempt begins.
struct Gathering {
  uint64_t here = 0;  // of those that are not left out
  // That attempts succeed so often that the spare ones suffice; all that are not left out, if
  // fewer.
  uint64_t needed = 0;
  uint64_t seats_here = 0;
  uint64_t seats_needed = 0;  // votes

  bool enough() const { return here >= needed && seats_here >= seats_needed; }

  friend bool operator==(const Gathering&, const Gathering&) = default;
};

// A member that is waited for.
struct Absence {
  uint64_t member = 0;
  std::optional<uint64_t> last_seen;  // Unix seconds; nothing: not since this server started

  friend bool operator==(const Absence&, const Absence&) = default;
};

// Status of a server, for people and gauges: counts. It names members only while it waits for them,
// those who are on the committee, and participants whose shares were wrong: no others.
struct ServerStatus {
  std::optional<AttemptRecord> last;  // the last attempt begun
  uint32_t invited = 0;               // to it; 0 when members decide by coins
  uint32_t accepted = 0;              // uploads in its sum so far
  uint32_t votes = 0;                 // of the committee, while it is unmasking
  uint32_t unmask_shares = 0;         // of the committee, while it is unmasking
  uint32_t finished = 0;              // rounds published
  uint64_t attempts = 0;              // ever begun
  uint64_t failed = 0;                // of them
  bool draining = false;
  // In the opening of an epoch: seats that said which states they have or voted, as long as they
  // have not agreed with which one it begins.
  std::optional<uint64_t> opening;
  std::string stopped;   // why no attempt follows any more; empty as long as one may
  uint64_t here = 0;     // members that are connected
  bool waiting = false;  // no attempt is open, and one is to follow
  // While the next attempt waits only for members.
  std::optional<Gathering> gathering;
  // Who is away: of all members between attempts, of the seats while one is unmasking.
  std::vector<Absence> awaited;
  uint64_t pause_ends = 0;  // Unix seconds; 0 unless a pause follows a failed attempt
  // Participants whose shares were found wrong, in this round: its attempts go on without them.
  std::vector<uint64_t> left_out;
};

// The piece of an object that a request asks for.
struct ObjectPart {
  std::unique_ptr<BlobReader> object;
  uint64_t offset = 0;
  size_t bytes = 0;  // at most kMaxPartBytes
};

// One object serves one federation in one epoch. Thread-safe. Everything accepted is in the store
// before a call returns OK; a new object from the same store goes on where the last one was killed.
//
// An attempt: collecting (uploads of the cohort, each once) -> unmasking (the closed round is
// handed out; the committee votes, gives unmask shares and confirms that the aggregate decrypts) ->
// published, once f + 1 seats confirmed, or failed at any step: too few uploads at the deadline,
// too many refusals, no confirmation although every seat answered, or a committee that stays away.
// It begins when enough members are here for it to succeed, because every attempt is charged; and
// it closes before its deadline when only members are missing that were not here.
// A failed attempt is followed by another with a new cohort, within the agreed number of attempts,
// after a pause when uploads were too few. After a refused sum the seats' check rows may name
// participants whose shares are wrong: these are left out for the rest of the round, in which they
// neither count as here nor are invited, whatever is drawn. Where none is
// named, the next cohort has half the size, down to K_min, so that one bad participant does not
// stop the round. Where every member uploads, another attempt would need the same members: the
// attempt is extended until enough have uploaded, and no other begins.
// A published round is final once a strict majority of the members, or K_min of them where that is
// less, attest the same model. Then the next round begins. Until then votes and unmask shares are
// taken, so that members that cannot decrypt it yet will.
// A later epoch begins with the state for which protocol::OpeningQuorum seats vote under it, be it
// before or behind the last round published: see docs/design/rounds.md.
// Every attempt begun is announced to every member: ledgers charge it.
class RoundServer {
 public:
  // `manifest`, `store`, `blobs` and `cohorts` must outlive it. InvalidArgument for options out of
  // range; FailedPrecondition when the store belongs to another federation or is ahead of the
  // manifest's epoch; DataLoss when what it holds contradicts itself.
  static absl::StatusOr<std::unique_ptr<RoundServer>> Create(
      const agreement::SignedManifest& manifest, const RoundServerOptions& options,
      ServerStore& store, BlobStore& blobs, base::UnixClock clock, crypto::Entropy& cohorts);
  RoundServer(const RoundServer&) = delete;
  RoundServer& operator=(const RoundServer&) = delete;

  // A request of this member has come.
  void NotePresence(uint64_t member);

  // Lets time pass: deadlines, the next attempt. To be called about every second; Unavailable when
  // the store failed, to be called again.
  absl::Status Tick();
  // Begins no further attempt; what is open goes on.
  void Drain();
  // True once nothing is open and no attempt will follow.
  bool Idle() const;

  // Called after every change of a revision, on the thread that made it, one call at a time. It may
  // call everything of this object but OnNotification and what changes a revision. When
  // OnNotification returns, what was set before is not called any more.
  void OnNotification(std::function<void()> news);

  // Unavailable, as everything below, while the store does not work.
  absl::StatusOr<protocol::Announcement> AnnouncementFor(uint64_t member, uint64_t listed_from,
                                                         bool unmasking) const;
  bool IsNews(const protocol::AwaitRequest& request) const;

  // The next bytes of an object, of which `part_bytes` are to come: whether they may is checked
  // before any is taken. With the last ones the object is checked and accepted; bytes that have
  // arrived before change nothing. The part in `request` is not looked at. OutOfRange when
  // `request.offset` is not where it goes on; PermissionDenied for an upload of a member that was
  // not invited; FailedPrecondition for an attempt that is in another phase, a length that is not
  // the agreed one, when there are enough of it, and as secagg::Aggregator::Submit; AlreadyExists
  // when another one was accepted from this member; ResourceExhausted while another part of it is
  // being taken.
  absl::StatusOr<std::unique_ptr<IncomingPart>> BeginPart(uint64_t member,
                                                          const protocol::PutPartRequest& request,
                                                          size_t part_bytes);
  // An upper bound of the bytes of any part that BeginPart would take from this member now.
  size_t LargestPart(uint64_t member) const;
  // FailedPrecondition or NotFound when there is no such object now, OutOfRange behind the last and
  // behind its end. PermissionDenied for a roster that a member outside the committee asks for.
  absl::StatusOr<ObjectPart> OpenPart(uint64_t member,
                                      const protocol::FetchPartRequest& request) const;

  absl::Status TakeVote(uint64_t member, const secagg::Attempt& attempt,
                        std::span<const uint8_t> vote);
  absl::StatusOr<std::vector<base::Bytes>> Votes(const secagg::Attempt& attempt) const;
  // A committee member's last word: it decrypted the aggregate and found it sound, or refuses it.
  absl::Status TakeVerdict(uint64_t member, const secagg::Attempt& attempt, bool confirmed);
  // Of the round that is going on or comes next.
  absl::Status TakeAttestation(uint64_t member, std::span<const uint8_t> attestation);
  absl::StatusOr<std::vector<base::Bytes>> Attestations(uint32_t round) const;
  // From a seat, in an epoch that does not begin a training: its vote or another seat's; before the
  // epoch is opened also what it or another has. AlreadyExists for another vote of that seat.
  absl::Status TakeOpeningStatement(uint64_t member, std::span<const uint8_t> statement);
  // All votes; before there are enough, once seats can vote, also what a quorum of them has.
  absl::StatusOr<std::vector<base::Bytes>> OpeningStatements() const;

  ServerStatus Status() const;
  std::vector<AttemptRecord> Attempts() const;

 private:
  RoundServer(const agreement::SignedManifest& manifest, const RoundServerOptions& options,
              ServerStore& store, BlobStore& blobs, base::UnixClock clock,
              crypto::Entropy& cohorts);

  friend class IncomingPart;
  // Of the object whose last byte has arrived. Takes the lock itself, for the last step only: the
  // disk is slower than everything else.
  absl::StatusOr<uint64_t> AcceptWhole(uint64_t member, const protocol::PutPartRequest& request);
  void EndPart(uint64_t member);
  class Change;
  void Notify() ABSL_LOCKS_EXCLUDED(mutex_);

  // From here on under the lock.
  absl::Status Restore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // attested_, of what the state holds.
  void RecallAttested() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The sum of the open attempt, of what `state` says was accepted. Uploads whose bytes are gone
  // are not: their members are asked again.
  absl::StatusOr<std::unique_ptr<secagg::Aggregator>> SumOf(AttemptState& state) const;
  void CountRevision(bool phase) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const agreement::ManifestSpec& spec() const { return manifest_.manifest().spec(); }
  absl::Status CheckOnCommittee(uint64_t member) const;
  size_t committee_size() const;
  size_t VoteQuorum() const;
  size_t FinalQuorum() const;
  size_t ConfirmationQuorum() const;
  // Whether the refusals of the open attempt end it.
  bool IsRefused() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of the open attempt, or of the one that was published last and may not be final.
  absl::Status CheckUnmaskable(const secagg::Attempt& attempt) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const KeptRound* FindKept(const secagg::Attempt& attempt) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckOpen(const secagg::Attempt& attempt, protocol::AttemptPhase phase) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Whether `member` may give the object; how many bytes of it have arrived when all have.
  absl::StatusOr<std::optional<uint64_t>> CheckOffer(uint64_t member,
                                                     const protocol::PutPartRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckUpload(uint64_t member, const protocol::PutPartRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckUnmaskShare(uint64_t member, const protocol::PutPartRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckCheckRow(uint64_t member, const protocol::PutPartRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckCheckpoint(const protocol::PutPartRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Accept(uint64_t member, const protocol::PutPartRequest& request,
                      std::span<const uint8_t> whole) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The object that is asked for: all unmask shares together, or one of any other kind.
  absl::StatusOr<std::vector<BlobKey>> FindObject(uint64_t member,
                                                  const protocol::FetchPartRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Status TickLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // No deadline is further away than its phase may last: it may have been set by a wrong clock.
  absl::Status BoundDeadline() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The attempt that comes next, as soon as the model that it starts from is known.
  std::optional<secagg::Attempt> NextAttempt() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<crypto::Digest> StatedModel() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string WhyStop(const secagg::Attempt& next) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NoteOpeningStatement(const protocol::OpeningStatement& statement,
                                    std::span<const uint8_t> bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // In the opening of an epoch: opens it once enough seats have voted; until then asks for votes.
  absl::Status AdvanceOpening() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What votes are asked for: the last state that enough seats have, once a quorum and all that are
  // here were heard.
  std::optional<protocol::OpeningState> Candidate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Rounds that are finished; before the epoch is opened the round that votes are asked for.
  uint32_t AnnouncedRounds() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasHeardSeatsHere() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Gathering CountGathering() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Probability that the next attempt has enough uploads, below which it does not begin.
  double WantedChance() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t LeastPresence() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t Expected() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether enough members have been here for long enough.
  bool MayBegin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether all uploads have come that are still expected.
  bool IsComplete() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PauseAfterTooFew(uint64_t ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<Absence> Awaited() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BeginAttempt(const secagg::Attempt& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CloseCollecting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t CohortSize(const secagg::Attempt& attempt) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether all seats said all that they can say about the open attempt, which is unmasking.
  bool IsSettled() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The deadline of the unmasking has passed.
  absl::Status ExtendOrFail() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The shares of all uploads in the order of the roster; none where they are too many.
  absl::StatusOr<base::Bytes> CollectShares(std::span<const uint8_t> roster) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsLeftOut(uint64_t member) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether no seat is expected to give another check row.
  bool AllChecked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Participants without whom the next attempt is to begin, and the failure of the open one: those
  // whose shares its check rows show to be wrong, or where there are none, those in dispute.
  struct Accused {
    std::vector<uint64_t> members;
    std::string_view failure;
  };
  absl::StatusOr<Accused> FindWrongShares() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Most clients that can be left out of one round: K_min others are in every cohort.
  uint64_t MostLeftOut() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The open attempt fails for those participants, if there are any and they are not too many; true
  // if it did.
  absl::StatusOr<bool> FailForWrongShares() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Enough seats refuse the sum.
  absl::Status FinishRefused() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Finish(protocol::AttemptPhase phase, std::string_view failure)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const agreement::SignedManifest& manifest_;
  RoundServerOptions options_;
  ServerStore& store_;
  BlobStore& blobs_;
  base::UnixClock clock_;
  crypto::Entropy& cohorts_;

  base::Mutex news_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  std::function<void()> news_ ABSL_GUARDED_BY(news_mutex_);

  mutable base::Mutex mutex_;
  uint64_t revision_ ABSL_GUARDED_BY(mutex_) = 0;        // of everything that a seat waits for
  uint64_t phase_revision_ ABSL_GUARDED_BY(mutex_) = 0;  // its last value that changed a phase
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  Attendance attendance_ ABSL_GUARDED_BY(mutex_);
  // Of the attempt that comes next; nothing unless it waits only for members.
  std::optional<Gathering> gathering_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint64_t> enough_since_ ABSL_GUARDED_BY(mutex_);  // Unix seconds
  uint64_t pause_ends_ ABSL_GUARDED_BY(mutex_) = 0;               // Unix seconds
  uint64_t pause_seconds_ ABSL_GUARDED_BY(mutex_) = 0;            // of that pause
  std::string stopped_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<AttemptState> state_ ABSL_GUARDED_BY(mutex_);  // never null once created
  // While it collects, of what the state holds as accepted.
  std::unique_ptr<secagg::Aggregator> aggregator_ ABSL_GUARDED_BY(mutex_);
  // By member, the models that the attestations in the state name. Their signatures were checked
  // when they arrived or were read from the store, and are not checked again.
  std::map<uint64_t, crypto::Digest> attested_ ABSL_GUARDED_BY(mutex_);
  // In the opening of an epoch: what was said, and what was said by kHas, as it was signed. The
  // latter is in no store: members say it again to a server that was restarted.
  protocol::OpeningTally opening_ ABSL_GUARDED_BY(mutex_);
  struct HeldState {
    protocol::OpeningStatement statement;
    base::Bytes bytes;
  };
  std::vector<HeldState> held_ ABSL_GUARDED_BY(mutex_);
  std::optional<protocol::OpeningState> candidate_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint64_t> heard_since_ ABSL_GUARDED_BY(mutex_);  // Unix seconds
  // By member, the object of which a part is being taken.
  std::map<uint64_t, BlobKey> giving_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::server

#endif  // TACET_SERVER_ROUND_SERVER_H_
