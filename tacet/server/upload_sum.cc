#include "tacet/server/upload_sum.h"

#include <map>
#include <utility>

#include "tacet/base/status.h"
#include "tacet/secagg/closed_round.h"
#include "tacet/secagg/key_packet.h"
#include "tacet/secagg/upload.h"
#include "tacet/server/server_store_rules.h"

namespace tacet::server {
namespace {

// Shares of more uploads are not checked: they are read at once.
constexpr uint64_t kMaxCheckedShares = uint64_t{64} << 20;  // bytes

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
  Closed closed{.participants = aggregator_->count(), .messages = {}, .shares = {}};
  std::map<uint64_t, const base::Bytes*> packets;
  for (const Submission& packet : close.key_packets) packets[packet.member] = &packet.bytes();
  // No upload was taken before its member's packet. A store that lost one gets no vote.
  const auto list_of = [&](uint64_t member) -> crypto::Digest {
    const auto packet = packets.find(member);
    if (packet == packets.end()) return {};
    return secagg::ListDigest(*packet->second, manifest_.committee().size());
  };
  TACET_ASSIGN_OR_RETURN(closed.messages, aggregator_->Close(entropy, list_of));
  absl::StatusOr<base::Bytes> shares = CollectShares(close.attempt, closed.messages.roster);
  if (shares.status().code() == absl::StatusCode::kUnavailable) return shares.status();
  // Damaged meanwhile: the sum is what counts.
  if (shares.ok()) closed.shares = *std::move(shares);
  return closed;
}

absl::StatusOr<base::Bytes> UploadSum::CollectShares(const secagg::Attempt& attempt,
                                                     std::span<const uint8_t> roster) const {
  const he::AggregationParams& params = manifest_.terms().aggregation();
  TACET_ASSIGN_OR_RETURN(const secagg::Roster members,
                         secagg::ReadRoster(roster, attempt, params.max_participants()));
  const size_t size = params.share_bytes();
  if (size * members.members.size() > kMaxCheckedShares) return base::Bytes();
  base::Bytes shares(size * members.members.size());
  for (size_t i = 0; i < members.members.size(); ++i) {
    TACET_ASSIGN_OR_RETURN(
        const std::unique_ptr<BlobReader> upload,
        blobs_.Open(BlobKeyOf({protocol::BulkKind::kUpload, attempt}, members.members[i])));
    TACET_RETURN_IF_ERROR(
        upload->Read(secagg::SharesOffset(params), std::span(shares).subspan(i * size, size)));
  }
  return shares;
}

}  // namespace tacet::server
