#include "tacet/server/upload_sum.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/upload.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

// Shares of more uploads are not checked: they are read at once.
constexpr uint64_t kMaxCheckedShares = uint64_t{64} << 20;  // bytes

// Passes each member's shares to `use`, in this order.
template <typename Use>
absl::Status ForEachShares(const BlobStore& blobs, const he::AggregationParams& params,
                           const secagg::Attempt& attempt, std::span<const uint64_t> members,
                           Use use) {
  base::Bytes shares(params.share_bytes());
  for (const uint64_t member : members) {
    TACET_ASSIGN_OR_RETURN(const std::unique_ptr<BlobReader> upload,
                           blobs.Open(BlobKeyOf({protocol::BulkKind::kUpload, attempt}, member)));
    TACET_RETURN_IF_ERROR(upload->Read(secagg::SharesOffset(params), shares));
    TACET_RETURN_IF_ERROR(use(shares));
  }
  return absl::OkStatus();
}

// An object's name has its digest: they are read once for that, and once for what is stored.
absl::StatusOr<crypto::Digest> StoreAll(BlobStore& blobs, const he::AggregationParams& params,
                                        const secagg::Attempt& attempt,
                                        std::span<const uint64_t> members) {
  crypto::Sha256Hasher first, second;
  TACET_RETURN_IF_ERROR(
      ForEachShares(blobs, params, attempt, members, [&](std::span<const uint8_t> shares) {
        first.Update(shares);
        return absl::OkStatus();
      }));
  const crypto::Digest digest = first.Finish();
  const BlobKey key = BlobKeyOf({protocol::BulkKind::kShares, attempt}, 0);
  // A call that failed may have left it.
  TACET_ASSIGN_OR_RETURN(const bool is_there, blobs.Holds(key, digest));
  if (is_there) return digest;
  TACET_ASSIGN_OR_RETURN(uint64_t known, blobs.Arrived(key, digest));
  const bool is_new = known == 0;
  TACET_ASSIGN_OR_RETURN(const std::unique_ptr<BlobWriter> writer, blobs.Begin(key, digest, known));
  TACET_RETURN_IF_ERROR(
      ForEachShares(blobs, params, attempt, members, [&](std::span<const uint8_t> shares) {
        second.Update(shares);
        const auto skipped = std::min<uint64_t>(known, shares.size());
        known -= skipped;
        return writer->Write(shares.subspan(skipped));
      }));
  if (second.Finish() != digest) return base::DataLoss("an upload changed while it was read");
  TACET_RETURN_IF_ERROR(writer->Commit());
  TACET_RETURN_IF_ERROR(is_new ? blobs.CompleteUnread(key, digest)
                               : blobs.Complete(key, digest).status());
  return digest;
}

}  // namespace

absl::StatusOr<std::vector<uint64_t>> UploadSum::Make(const MakeSum& make) {
  const secagg::Terms& terms = manifest_.terms();
  auto sum = std::make_unique<secagg::Aggregator>(terms.aggregation(), make.attempt,
                                                  terms.min_participants());
  std::vector<uint64_t> lost;
  for (const Submission& accepted : make.accepted) {
    TACET_ASSIGN_OR_RETURN(const crypto::Digest digest, DigestFrom(accepted.bytes()));
    const BlobKey key = BlobKeyOf({protocol::BulkKind::kUpload, make.attempt}, accepted.member);
    const absl::StatusOr<base::Bytes> upload = blobs_.Read(key, digest);
    const absl::StatusCode code = upload.status().code();
    if (code == absl::StatusCode::kNotFound || code == absl::StatusCode::kDataLoss) {
      lost.push_back(accepted.member);
      continue;
    }
    TACET_RETURN_IF_ERROR(upload.status());
    TACET_RETURN_IF_ERROR(sum->Submit(accepted.member, *upload));
  }
  aggregator_ = std::move(sum);
  return lost;
}

absl::Status UploadSum::Add(const AddUpload& add) {
  return aggregator_->Submit(add.member, add.upload);
}

absl::StatusOr<UploadSum::Closed> UploadSum::Close(const CloseSum& close,
                                                   crypto::Entropy& entropy) {
  Closed closed{.participants = aggregator_->count(), .messages = {}};
  std::map<uint64_t, crypto::Digest> lists;
  for (const Submission& packet : close.key_packets) lists[packet.member] = ListDigestIn(packet);
  // No upload was taken before its member's packet. A store that lost one gets no vote.
  const auto list_of = [&lists](uint64_t member) { return lists[member]; };
  TACET_ASSIGN_OR_RETURN(closed.messages, aggregator_->Close(entropy, list_of));
  return closed;
}

absl::StatusOr<std::optional<crypto::Digest>> UploadSum::StoreShares(
    const secagg::Attempt& attempt, std::span<const uint8_t> roster) const {
  const he::AggregationParams& params = manifest_.terms().aggregation();
  TACET_ASSIGN_OR_RETURN(const secagg::Roster read,
                         secagg::ReadRoster(roster, attempt, params.max_participants()));
  const std::vector<uint64_t>& members = read.members;
  if (params.share_bytes() * members.size() > kMaxCheckedShares) return std::nullopt;
  const absl::StatusOr<crypto::Digest> stored = StoreAll(blobs_, params, attempt, members);
  if (stored.ok()) return *stored;
  if (stored.status().code() == absl::StatusCode::kUnavailable) return stored.status();
  return std::nullopt;  // an upload was damaged meanwhile: the sum is what counts
}

}  // namespace tacet::server
