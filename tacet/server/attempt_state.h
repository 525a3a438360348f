// Attempt state: the content of a server's store, also kept in memory.
#ifndef TACET_SERVER_ATTEMPT_STATE_H_
#define TACET_SERVER_ATTEMPT_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/bytes.h"
#include "tacet/protocol/announcement.h"
#include "tacet/protocol/member_request.h"
#include "tacet/secagg/aggregator.h"
#include "tacet/secagg/attempt.h"
#include "tacet/server/blob_store.h"
#include "tacet/server/server_store.h"

namespace tacet::server {

// Submission of one member; of a large object, which is in the blob store, the digest.
struct Submission {
  uint64_t member = 0;
  base::Bytes bytes;
};
using Submissions = std::vector<Submission>;  // of one kind, in the order in which they arrived

// A published attempt whose closed round, votes and unmask shares can still be fetched.
struct KeptRound {
  secagg::Attempt attempt;
  Submissions votes = {};
  Submissions unmask_shares = {};
};

// Key of a member's object in the blob store. A checkpoint is found by its round: which model it is
// of is for its readers to see.
BlobKey BlobKeyOf(const protocol::BulkName& name, uint64_t member);

// State of the attempts: those begun and their outcomes, the submissions to the open attempt and to
// the next round, the sums of the rounds published last. All of it is in the store: each change is
// made there first. When that fails, nobody knows whether it happened. The state is then stale,
// refuses every further change as Unavailable, and must be loaded again. Not thread-safe.
class AttemptState {
 public:
  // Reads the whole store. An attempt that an earlier epoch left open has failed, and attempts of
  // earlier trainings of the federation stay in the store only. `manifest`, `store` and `blobs`
  // must outlive it. FailedPrecondition when the store is ahead of the manifest's epoch, or has an
  // open attempt of another manifest.
  static absl::StatusOr<std::unique_ptr<AttemptState>> Load(
      const agreement::SignedManifest& manifest, uint32_t kept_rounds, ServerStore& store,
      BlobStore& blobs);
  AttemptState(const AttemptState&) = delete;
  AttemptState& operator=(const AttemptState&) = delete;

  // Unavailable when it is stale.
  absl::Status CheckFresh() const;

  // All that the training has begun, in order.
  const std::vector<AttemptRecord>& attempts() const { return attempts_; }
  const AttemptRecord* Open() const;  // null when none is
  // Rounds published, in all epochs of the training. In an opening: with which the epoch begins, 0
  // as long as that is not known.
  uint32_t finished() const;
  // The last of them in the store, which in an opening the members may not have applied.
  uint32_t last_published() const;
  // Whether no attempt of a later epoch than the training's first has begun: which round comes next
  // is for the members to say, since a round that was published last may be known to few of them,
  // and a server may have lost its store.
  bool IsOpening() const;
  bool is_opened() const { return !IsOpening() || opening_round_.has_value(); }
  // The epoch begins with this round.
  absl::Status OpenAt(uint32_t round);
  // Votes of the epoch's opening, kept as long as the store; one a member, as Put.
  const Submissions& opening_votes() const { return opening_votes_; }
  absl::Status PutOpeningVote(uint64_t member, std::span<const uint8_t> vote);
  // Of the open attempt, increasing; empty when members decide by coins.
  const std::vector<uint64_t>& cohort() const { return cohort_; }
  // Attestations, checkpoints and who is left out of the round that is going on, or comes next;
  // everything else of the open attempt.
  const Submissions& SubmissionsOf(ItemKind kind) const;
  const Submission* Find(ItemKind kind, uint64_t member) const;  // null when it gave none
  // Where attestations and checkpoints are kept.
  secagg::AttemptNumber Beginning() const;
  const std::vector<KeptRound>& kept() const { return kept_; }  // by round
  // Whether `attempt` was published and nothing was begun since.
  bool IsPublishedLast(const secagg::Attempt& attempt) const;

  // An attempt that collects; none is open.
  absl::Status Begin(const AttemptRecord& record, std::vector<uint64_t> cohort);
  // Stores a member's submission, where SubmissionsOf finds it; once more is OK and changes
  // nothing. AlreadyExists when it gave another of this kind.
  absl::Status Put(ItemKind kind, uint64_t member, std::span<const uint8_t> bytes);
  // The accepted upload of `member` is lost: it counts as not given. The store keeps its digest, so
  // that only the same upload is taken again.
  void DropUpload(uint64_t member);
  // A vote or an unmask share that comes after the others: to the attempt that IsPublishedLast. As
  // Put.
  absl::Status PutLate(ItemKind kind, uint64_t member, std::span<const uint8_t> bytes);
  // Of the phase in which the open attempt is.
  absl::Status SetDeadline(uint64_t deadline);
  // The open attempt collects no more; `closed` is what members and the committee fetch. `shares`
  // are those of all uploads in the order of the roster, kept until the attempt ends; none where
  // they are not to be checked.
  absl::Status Close(const secagg::Aggregator::Closed& closed, std::span<const uint8_t> shares,
                     uint32_t participants, uint64_t deadline);
  // The open attempt ends, published or, with a word why, failed.
  absl::Status Finish(protocol::AttemptPhase phase, std::string_view failure);

  // Removes what nothing refers to any more, but for `arriving`: single uploads as soon as their
  // sum is closed or their attempt ended. It is due after Close, Finish and Load, until it is OK.
  bool sweep_is_due() const { return sweep_is_due_; }
  // The roster goes with the attempt's end, or stays as long as a published one is not final.
  absl::Status Sweep(std::span<const BlobKey> arriving, bool last_is_final = true);

 private:
  AttemptState(const agreement::SignedManifest& manifest, uint32_t kept_rounds, ServerStore& store,
               BlobStore& blobs);

  absl::Status Read();
  absl::Status ReadLast();
  absl::Status ReadKept();
  absl::Status ReadLeftOut();
  template <typename Wanted>
  absl::Status ReadSubmissions(const secagg::AttemptNumber& at, Wanted wanted);
  secagg::AttemptNumber OpeningNumber() const;
  // Runs one change of the store.
  template <typename Act>
  absl::Status Change(Act act);
  absl::Status PutOwn(const BlobKey& key, const crypto::Digest& digest,
                      std::span<const uint8_t> closed_round);

  const agreement::SignedManifest& manifest_;
  uint32_t kept_rounds_;
  ServerStore& store_;
  BlobStore& blobs_;

  bool stale_ = false;
  std::optional<uint32_t> opening_round_;
  bool sweep_is_due_ = false;
  std::vector<AttemptRecord> attempts_;
  std::vector<uint64_t> cohort_;
  std::map<ItemKind, Submissions> submissions_;
  Submissions opening_votes_;
  std::vector<KeptRound> kept_;
};

}  // namespace tacet::server

#endif  // TACET_SERVER_ATTEMPT_STATE_H_
