// A live server of a federation's rounds: its clock, store, lock and draws around their protocol.
// The server holds no key and trusts nobody; members check everything that it says.
#ifndef TACET_SERVER_ROUND_SERVER_H_
#define TACET_SERVER_ROUND_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/base/mutex.h"
#include "tacet/base/unix_clock.h"
#include "tacet/crypto/random.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/member_request.h"
#include "tacet/server/action_runner.h"
#include "tacet/server/attendance.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/incoming_part.h"
#include "tacet/server/round_protocol.h"
#include "tacet/server/round_status.h"
#include "tacet/server/server_store.h"
#include "tacet/server/statements.h"

namespace tacet::server {

// The piece of an object that a request asks for.
struct ObjectPart {
  std::unique_ptr<BlobReader> object;
  uint64_t offset = 0;
  size_t bytes = 0;  // at most kMaxPartBytes
};

// One object serves one federation in one epoch. Thread-safe. What it does is decided by the
// rounds' protocol (round_protocol.h): this object checks signatures, passes events, executes
// actions and takes the next state once they succeeded. Everything accepted is in the store before
// a call returns OK; a new object from the same store continues where the last one was killed.
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

  // A request of this member has come: it is here, unless the request was refused. `ahead`: seconds
  // by which its clock is ahead.
  void NotePresence(uint64_t member, std::optional<RefusedFor> refused = std::nullopt,
                    int64_t ahead = 0);

  // Lets time pass: deadlines, the next attempt. To be called about every second; Unavailable when
  // the store failed, to be called again.
  absl::Status Tick();
  // Begins no further attempt, ever or for a time; what is open continues.
  void Obey(const OperatorEvent& asked);
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
  // `request.offset` is not where it continues; PermissionDenied for an upload of a member that was
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

  // A statement that `member` sent. Votes and verdicts are of the attempt that is unmasking, votes
  // also of the one that was published last; attestations of the round that is continuing or comes
  // next; opening statements of an epoch that does not begin a training. Errors as ReadStatement;
  // FailedPrecondition at another time; AlreadyExists for another vote, attestation or opening vote
  // of that member.
  absl::Status Take(uint64_t member, const Statement& statement);
  // Those of an attempt or a round, FailedPrecondition or NotFound when they are not kept. Of
  // attestations those of the committee. Of the opening all votes; before there are enough, once
  // seats can vote, also what a quorum of them has. Of key packets with the errors of OpenPart for
  // the attempt's roster.
  absl::StatusOr<std::vector<base::Bytes>> Listed(const StatementList& list) const;

  ServerStatus Status() const;
  std::vector<AttemptRecord> Attempts() const;

 private:
  RoundServer(std::shared_ptr<const RoundRules> rules, ServerStore& store, BlobStore& blobs,
              base::UnixClock clock, crypto::Entropy& cohorts);

  friend class IncomingPart;
  // For the object whose last byte has arrived. Takes the lock itself, for the last step only: the
  // disk is slower than everything else.
  // `is_checked`: the object came in one part and has the announced digest.
  absl::StatusOr<uint64_t> AcceptWhole(uint64_t member, const protocol::PutPartRequest& request,
                                       bool is_checked);
  // Holds the lock, and tells of a revision that changed meanwhile.
  class Change;

  // Reads the store.
  absl::Status Load() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // An event and all that it leads to.
  absl::Status Run(const Event& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // An event and the answers to its actions; whether there were any.
  absl::StatusOr<bool> Advance(const Event& first) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const agreement::SignedManifest& manifest_;
  BlobStore& blobs_;
  base::UnixClock clock_;

  base::Mutex news_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  std::function<void()> news_ ABSL_GUARDED_BY(news_mutex_);

  mutable base::Mutex mutex_;
  Attendance attendance_ ABSL_GUARDED_BY(mutex_);
  RoundState state_ ABSL_GUARDED_BY(mutex_);
  ActionRunner runner_ ABSL_GUARDED_BY(mutex_);
  // By member, the object of which a part is being taken, as long as it is.
  std::map<uint64_t, std::weak_ptr<const BlobKey>> giving_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tacet::server

#endif  // TACET_SERVER_ROUND_SERVER_H_
