// Large objects of a round server: which a member may give now, and which it is given.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tacet/base/status.h"
#include "tacet/protocol/encrypted_checkpoint.h"
#include "tacet/secagg/check_row.h"
#include "tacet/secagg/committee.h"
#include "tacet/secagg/unmask_share.h"
#include "tacet/secagg/upload.h"
#include "tacet/server/round_server.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

ItemKind ItemKindOf(protocol::BulkKind kind) {
  switch (kind) {
    case protocol::BulkKind::kUpload:
      return ItemKind::kAccepted;
    case protocol::BulkKind::kClosedRound:
      return ItemKind::kClosedRound;
    case protocol::BulkKind::kUnmaskShare:
      return ItemKind::kUnmaskShare;
    case protocol::BulkKind::kCheckpoint:
      return ItemKind::kCheckpoint;
    case protocol::BulkKind::kRoster:
      return ItemKind::kRoster;
    case protocol::BulkKind::kCheckRow:
      return ItemKind::kCheckRow;
    case protocol::BulkKind::kShares:
      return ItemKind::kShares;
  }
  return ItemKind::kAccepted;
}

absl::Status CheckLength(const protocol::PutPartRequest& request, uint64_t agreed) {
  if (request.total == agreed) return absl::OkStatus();
  return base::FailedPrecondition("{} of {} bytes, the agreement says {}",
                                  protocol::BulkKindName(request.name.kind), request.total, agreed);
}

// Objects that are read as one, in memory.
class JoinedObjects : public BlobReader {
 public:
  explicit JoinedObjects(base::Bytes bytes) : bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  absl::Status Read(uint64_t offset, std::span<uint8_t> out) override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return base::OutOfRange("{} bytes from byte {} of {}", out.size(), offset, bytes_.size());
    }
    std::ranges::copy(std::span(bytes_).subspan(offset, out.size()), out.begin());
    return absl::OkStatus();
  }

 private:
  base::Bytes bytes_;
};

absl::StatusOr<std::unique_ptr<BlobReader>> OpenAll(const BlobStore& blobs,
                                                    std::span<const BlobKey> keys) {
  if (keys.size() == 1) return blobs.Open(keys.front());
  base::Bytes all;
  for (const BlobKey& key : keys) {
    TACET_ASSIGN_OR_RETURN(const std::unique_ptr<BlobReader> one, blobs.Open(key));
    const size_t before = all.size();
    all.resize(before + one->size());
    TACET_RETURN_IF_ERROR(one->Read(0, std::span(all).subspan(before)));
  }
  return std::make_unique<JoinedObjects>(std::move(all));
}

}  // namespace

absl::Status RoundServer::CheckUpload(uint64_t member,
                                      const protocol::PutPartRequest& request) const {
  TACET_RETURN_IF_ERROR(CheckOpen(request.name.attempt, protocol::AttemptPhase::kCollecting));
  const bool invited = state_->cohort().empty()
                           ? !IsLeftOut(member)
                           : std::ranges::binary_search(state_->cohort(), member);
  if (!invited) {
    return base::PermissionDenied("round {} attempt {}: not one of its participants",
                                  request.name.attempt.number.round,
                                  request.name.attempt.number.attempt);
  }
  return CheckLength(request, secagg::UploadBytes(manifest_.manifest().terms().aggregation()));
}

// While the attempt is unmasking; of a published one also later than the others.
absl::Status RoundServer::CheckUnmaskShare(uint64_t member,
                                           const protocol::PutPartRequest& request) const {
  TACET_RETURN_IF_ERROR(CheckOnCommittee(member));
  TACET_RETURN_IF_ERROR(CheckUnmaskable(request.name.attempt));
  return CheckLength(
      request, secagg::UnmaskShareBytes(manifest_.manifest().terms().aggregation().sharing()));
}

absl::Status RoundServer::CheckCheckRow(uint64_t member,
                                        const protocol::PutPartRequest& request) const {
  TACET_RETURN_IF_ERROR(CheckOnCommittee(member));
  TACET_RETURN_IF_ERROR(CheckOpen(request.name.attempt, protocol::AttemptPhase::kUnmasking));
  return CheckLength(request, secagg::CheckRowBytes(state_->Open()->participants));
}

absl::Status RoundServer::CheckCheckpoint(const protocol::PutPartRequest& request) const {
  if (!state_->is_opened()) {
    return base::FailedPrecondition("checkpoint for round {}: which round comes next is not known",
                                    request.name.attempt.number.round);
  }
  const secagg::AttemptNumber beginning = state_->Beginning();
  if (request.name.attempt.manifest_hash != manifest_.manifest().hash() ||
      request.name.attempt.number != beginning) {
    return base::FailedPrecondition(
        "checkpoint for round {} of epoch {}: round {} of epoch {} comes next",
        request.name.attempt.number.round, request.name.attempt.number.epoch, beginning.round,
        beginning.epoch);
  }
  return CheckLength(request, protocol::EncryptedCheckpointBytes(spec()));
}

absl::StatusOr<std::optional<uint64_t>> RoundServer::CheckOffer(
    uint64_t member, const protocol::PutPartRequest& request) const {
  TACET_RETURN_IF_ERROR(state_->CheckFresh());
  const protocol::BulkName& name = request.name;
  // Who did not hear that its upload was accepted may ask also after the attempt was closed.
  const Submission* const upload = state_->Find(ItemKind::kAccepted, member);
  const AttemptRecord* const open = state_->Open();
  if (name.kind == protocol::BulkKind::kUpload && upload != nullptr && open != nullptr &&
      open->attempt == name.attempt && std::ranges::equal(upload->bytes, request.digest)) {
    return request.total;
  }
  size_t most = 0;
  switch (name.kind) {
    case protocol::BulkKind::kUpload:
      TACET_RETURN_IF_ERROR(CheckUpload(member, request));
      most = spec().sampling.clients;
      break;
    case protocol::BulkKind::kUnmaskShare:
      TACET_RETURN_IF_ERROR(CheckUnmaskShare(member, request));
      most = committee_size();
      break;
    case protocol::BulkKind::kCheckpoint:
      TACET_RETURN_IF_ERROR(CheckCheckpoint(request));
      most = committee_size();
      break;
    case protocol::BulkKind::kCheckRow:
      TACET_RETURN_IF_ERROR(CheckCheckRow(member, request));
      most = committee_size();
      break;
    case protocol::BulkKind::kClosedRound:
    case protocol::BulkKind::kRoster:
    case protocol::BulkKind::kShares:
      return base::PermissionDenied("a {} is the server's to give",
                                    protocol::BulkKindName(name.kind));
  }
  const bool late =
      name.kind == protocol::BulkKind::kUnmaskShare && state_->IsPublishedLast(name.attempt);
  const Submissions& submissions =
      late ? state_->kept().back().unmask_shares : state_->SubmissionsOf(ItemKindOf(name.kind));
  if (const auto given = std::ranges::find(submissions, member, &Submission::member);
      given != submissions.end()) {
    if (std::ranges::equal(given->bytes, request.digest)) return request.total;
    return base::AlreadyExists("round {} attempt {}: another {} of this member was accepted",
                               name.attempt.number.round, name.attempt.number.attempt,
                               protocol::BulkKindName(name.kind));
  }
  if (submissions.size() < most) return std::nullopt;
  return base::FailedPrecondition("round {} attempt {}: {} of kind {} are enough",
                                  name.attempt.number.round, name.attempt.number.attempt,
                                  submissions.size(), protocol::BulkKindName(name.kind));
}

absl::StatusOr<std::unique_ptr<IncomingPart>> RoundServer::BeginPart(
    uint64_t member, const protocol::PutPartRequest& request, size_t part_bytes) {
  const BlobKey key = BlobKeyOf(request.name, member);
  std::unique_ptr<IncomingPart> part(new IncomingPart(*this, member, request));
  {
    const base::MutexLock lock(mutex_);
    TACET_ASSIGN_OR_RETURN(const std::optional<uint64_t> arrived, CheckOffer(member, request));
    if (arrived.has_value()) {
      part->arrived_ = *arrived;
      return part;
    }
    if (!giving_.try_emplace(member, key).second) {
      return base::ResourceExhausted("another part of this member is being taken");
    }
    part->registered_ = true;
  }
  TACET_ASSIGN_OR_RETURN(part->arrived_, blobs_.Arrived(key, request.digest));
  const uint64_t arrived = part->arrived_;
  if (request.offset <= arrived && part_bytes <= arrived - request.offset) return part;
  if (request.offset != arrived || part_bytes > request.total - arrived) {
    return base::OutOfRange("{}: {} bytes at {}, {} of {} have arrived",
                            protocol::BulkKindName(request.name.kind), part_bytes, request.offset,
                            arrived, request.total);
  }
  TACET_ASSIGN_OR_RETURN(part->writer_, blobs_.Begin(key, request.digest, arrived));
  part->arrived_ += part_bytes;
  return part;
}

void RoundServer::EndPart(uint64_t member) {
  const base::MutexLock lock(mutex_);
  giving_.erase(member);
}

size_t RoundServer::LargestPart(uint64_t member) const {
  const base::MutexLock lock(mutex_);
  const he::AggregationParams& aggregation = manifest_.manifest().terms().aggregation();
  uint64_t largest = 0;
  if (const AttemptRecord* const open = state_->Open(); open != nullptr) {
    // Also one that asks again whether its upload was accepted.
    const bool uploads = state_->cohort().empty() ||
                         std::ranges::binary_search(state_->cohort(), member) ||
                         state_->Find(ItemKind::kAccepted, member) != nullptr;
    if (uploads) largest = secagg::UploadBytes(aggregation);
  }
  if (!state_->attempts().empty() && CheckOnCommittee(member).ok()) {
    largest = std::max<uint64_t>(largest, secagg::UnmaskShareBytes(aggregation.sharing()));
    if (state_->Open() != nullptr) {
      largest = std::max<uint64_t>(largest, secagg::CheckRowBytes(state_->Open()->participants));
    }
  }
  const Submissions& checkpoints = state_->SubmissionsOf(ItemKind::kCheckpoint);
  if (checkpoints.size() < committee_size() ||
      state_->Find(ItemKind::kCheckpoint, member) != nullptr) {
    largest = std::max<uint64_t>(largest, protocol::EncryptedCheckpointBytes(spec()));
  }
  return static_cast<size_t>(std::min<uint64_t>(largest, protocol::kMaxPartBytes));
}

absl::Status RoundServer::Accept(uint64_t member, const protocol::PutPartRequest& request,
                                 std::span<const uint8_t> whole) {
  // Things may have changed while the bytes were written.
  TACET_ASSIGN_OR_RETURN(const std::optional<uint64_t> given, CheckOffer(member, request));
  if (given.has_value()) return absl::OkStatus();
  // Something may have been swept away with an attempt that ended meanwhile.
  if (!blobs_.Open(BlobKeyOf(request.name, member)).ok()) {
    return base::Unavailable("{}: it is not kept any more, to be sent again",
                             protocol::BulkKindName(request.name.kind));
  }
  if (request.name.kind == protocol::BulkKind::kUnmaskShare) {
    TACET_RETURN_IF_ERROR(state_->IsPublishedLast(request.name.attempt)
                              ? state_->PutLate(ItemKind::kUnmaskShare, member, request.digest)
                              : state_->Put(ItemKind::kUnmaskShare, member, request.digest));
    CountRevision(false);
    return absl::OkStatus();
  }
  if (request.name.kind == protocol::BulkKind::kUpload) {
    TACET_RETURN_IF_ERROR(aggregator_->Submit(member, whole));
    // A crash before the next line forgets the upload, and its sender sends it again.
  }
  TACET_RETURN_IF_ERROR(state_->Put(ItemKindOf(request.name.kind), member, request.digest));
  if (request.name.kind == protocol::BulkKind::kCheckpoint) CountRevision(false);
  const bool last_row =
      request.name.kind == protocol::BulkKind::kCheckRow && AllChecked() && IsRefused();
  return last_row ? FinishRefused() : absl::OkStatus();
}

absl::StatusOr<std::vector<BlobKey>> RoundServer::FindObject(
    uint64_t member, const protocol::FetchPartRequest& request) const {
  const protocol::BulkName& name = request.name;
  const Submissions* submissions = nullptr;
  switch (name.kind) {
    case protocol::BulkKind::kUpload:
    case protocol::BulkKind::kShares:
      return base::PermissionDenied(
          "a single upload cannot be fetched: only sums leave the server");
    case protocol::BulkKind::kCheckRow:
      return base::PermissionDenied("a check row is for the server alone");
    case protocol::BulkKind::kClosedRound:
      if (FindKept(name.attempt) == nullptr) {
        TACET_RETURN_IF_ERROR(CheckOpen(name.attempt, protocol::AttemptPhase::kUnmasking));
      }
      return std::vector<BlobKey>{{.name = name}};
    case protocol::BulkKind::kRoster:
      TACET_RETURN_IF_ERROR(CheckOnCommittee(member));
      TACET_RETURN_IF_ERROR(CheckUnmaskable(name.attempt));
      if (state_->IsPublishedLast(name.attempt) && StatedModel().has_value()) {
        return base::FailedPrecondition("round {} is final: its roster is not kept",
                                        name.attempt.number.round);
      }
      return std::vector<BlobKey>{{.name = name}};
    case protocol::BulkKind::kUnmaskShare:
      if (const KeptRound* kept = FindKept(name.attempt); kept != nullptr) {
        submissions = &kept->unmask_shares;
      } else {
        TACET_RETURN_IF_ERROR(CheckOpen(name.attempt, protocol::AttemptPhase::kUnmasking));
        TACET_RETURN_IF_ERROR(CheckOnCommittee(member));
        // Else a seat could look at the aggregate before it decides whether others shall see it.
        if (state_->Find(ItemKind::kUnmaskShare, member) == nullptr) {
          return base::FailedPrecondition(
              "round {} attempt {}: a seat gives its own unmask share before it gets others'",
              name.attempt.number.round, name.attempt.number.attempt);
        }
        submissions = &state_->SubmissionsOf(ItemKind::kUnmaskShare);
      }
      break;
    case protocol::BulkKind::kCheckpoint: {
      if (name.attempt.manifest_hash != manifest_.manifest().hash() ||
          name.attempt.number != state_->Beginning()) {
        return base::NotFound("round {}: its checkpoint is not kept, round {} comes next",
                              name.attempt.number.round, state_->finished());
      }
      submissions = &state_->SubmissionsOf(ItemKind::kCheckpoint);
      break;
    }
  }
  // Unmask shares are small and all of them are wanted: together they are one object.
  const bool together = name.kind == protocol::BulkKind::kUnmaskShare && !submissions->empty();
  const size_t objects = together ? 1 : submissions->size();
  if (request.index >= objects) {
    return base::OutOfRange("round {}: there are {} of kind {}", name.attempt.number.round, objects,
                            protocol::BulkKindName(name.kind));
  }
  std::vector<BlobKey> keys;
  for (const Submission& submission : *submissions) {
    keys.push_back(BlobKeyOf(name, submission.member));
  }
  if (together) return keys;
  return std::vector<BlobKey>{keys[request.index]};
}

absl::StatusOr<ObjectPart> RoundServer::OpenPart(uint64_t member,
                                                 const protocol::FetchPartRequest& request) const {
  std::vector<BlobKey> keys;
  {
    const base::MutexLock lock(mutex_);
    TACET_ASSIGN_OR_RETURN(keys, FindObject(member, request));
  }
  ObjectPart part{.object = nullptr, .offset = request.offset};
  TACET_ASSIGN_OR_RETURN(part.object, OpenAll(blobs_, keys));
  const uint64_t size = part.object->size();
  if (request.offset > size) {
    return base::OutOfRange("byte {} of an object of {} bytes", request.offset, size);
  }
  part.bytes =
      static_cast<size_t>(std::min<uint64_t>(protocol::kMaxPartBytes, size - request.offset));
  return part;
}

}  // namespace tacet::server
