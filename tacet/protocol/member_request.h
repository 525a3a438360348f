// A member's request to the server. It carries the member's signature, so that the sender's
// identity survives every intermediary (docs/formats/network.md).
#ifndef TACET_PROTOCOL_MEMBER_REQUEST_H_
#define TACET_PROTOCOL_MEMBER_REQUEST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/signing.h"
#include "tacet/secagg/attempt.h"

namespace tacet::agreement {
class SignedManifest;
}  // namespace tacet::agreement

namespace tacet::protocol {

// Kind of object that is sent or fetched in parts. The numbers are part of the format.
enum class BulkKind : uint8_t {
  kUpload = 1,
  kClosedRound = 2,  // only fetched
  kUnmaskShare = 3,
  kCheckpoint = 4,
  kRoster = 5,     // only fetched, by the committee
  kCheckRow = 6,   // only sent, by the committee
  kShares = 7,     // of all uploads of a closed round: the server's own, never sent
  kKeyPacket = 8,  // only sent, once an epoch: its attempt is PacketAttempt
};
std::string_view BulkKindName(BulkKind kind);

// One object and the attempt that it belongs to. A checkpoint is the state with which a round
// begins: its attempt is {manifest hash, epoch, round, 0, digest of its model}.
struct BulkName {
  BulkKind kind = BulkKind::kUpload;
  secagg::Attempt attempt;

  friend bool operator==(const BulkName&, const BulkName&) = default;
};

// The attempt of key packets (key_packet.h), which belong to an epoch: {manifest hash, epoch, 0, 0,
// zeros}.
inline secagg::Attempt PacketAttempt(const crypto::Digest& manifest_hash, uint32_t epoch) {
  return {.manifest_hash = manifest_hash, .number = {.epoch = epoch}};
}

inline constexpr size_t kMaxPartBytes = size_t{2} << 20;

// The requests; each is answered by what its comment says. The order of the alternatives of
// RequestBody is that of the kinds in the format, from 1.
struct AwaitRequest {           // an Announcement, as soon as its revision is another one than
  uint64_t known_revision = 0;  // `known_revision`, or unchanged after 15 s
  uint64_t listed_from = 0;
  bool unmasking = false;  // also when a vote or an unmask share has arrived: for the committee
};
struct PutPartRequest {  // u64: how many bytes have arrived; an empty part only asks
  BulkName name;
  uint64_t total = 0;
  crypto::Digest digest{};  // SHA-256 of the whole
  uint64_t offset = 0;
  base::Bytes part = {};  // the content, which follows the signed head
};
struct FetchPartRequest {  // u64 total, then at most kMaxPartBytes from `offset` on
  BulkName name;
  uint32_t index = 0;  // of checkpoints, of which there are several
  uint64_t offset = 0;
};
struct PutVoteRequest {  // nothing
  secagg::Attempt attempt;
  base::Bytes vote = {};
};
struct FetchVotesRequest {  // u32 number, then blobs: votes; of a published attempt, or one that
                            // too few give data, also abstentions
  secagg::Attempt attempt;
};
struct PutVerdictRequest {  // nothing; from committee members
  secagg::Attempt attempt;
  bool confirmed = false;  // the aggregate decrypts and is sound; else it was refused
};
struct PutAttestationRequest {  // nothing
  base::Bytes attestation;      // attestation.h
};
struct FetchAttestationsRequest {  // u32 number, then blobs
  uint32_t round = 0;
};
struct PutOpeningRequest {  // nothing; from committee members
  base::Bytes statement;    // epoch_opening.h
};
struct FetchOpeningRequest {};  // u32 number, then blobs
struct PutAbstentionRequest {   // nothing
  base::Bytes abstention;       // abstention.h
};
struct PutObjectionRequest {  // nothing
  base::Bytes objection;      // objection.h
};
// u32 number, then blobs: this seat's copies of the key packets of the roster's members from `from`
// on, by member, as many as kMaxPacketsBytes hold. For committee members that may fetch the roster.
struct FetchPacketsRequest {
  secagg::Attempt attempt;
  uint64_t from = 0;
};
inline constexpr size_t kMaxPacketsBytes = size_t{1} << 20;
using RequestBody = std::variant<AwaitRequest, PutPartRequest, FetchPartRequest, PutVoteRequest,
                                 FetchVotesRequest, PutVerdictRequest, PutAttestationRequest,
                                 FetchAttestationsRequest, PutOpeningRequest, FetchOpeningRequest,
                                 PutAbstentionRequest, PutObjectionRequest, FetchPacketsRequest>;
inline constexpr size_t kRequestKinds = std::variant_size_v<RequestBody>;
// await, put-part, fetch-part, put-vote, fetch-votes, put-verdict, put-attestation,
// fetch-attestations, put-opening, fetch-opening, put-abstention, put-objection, fetch-packets; by
// RequestBody::index().
std::string_view RequestKindName(size_t index);
// Kind of a request as its first bytes say it; "unreadable" where they say none. Nothing else of
// the request is checked: for measurements.
std::string_view RequestKindIn(std::span<const uint8_t> request);

// Hash of what a request asks, without sender and time: SHA-256 of its kind and body as the format
// has them. A request with content asks nothing.
crypto::Digest QuestionOf(const RequestBody& body);
std::optional<crypto::Digest> QuestionIn(std::span<const uint8_t> request);

struct MemberRequest {
  uint64_t member = 0;
  uint64_t time = 0;  // Unix seconds of the sender's clock
  RequestBody body;
};

// Seconds by which a sender's clock may differ from the receiver's.
inline constexpr uint64_t kMaxClockDifference = 600;

// Time of a request that asks for nothing but its refusal: a site checks its path to the server.
inline constexpr uint64_t kCheckTime = 0;
// Whether it was refused as such: everything before its time was right.
bool IsCheckRefusal(const absl::Status& status);

// The head of a request; for a PutPartRequest `content` follows it, in place of the part in
// `request`. The signature covers the head, and the head the content's length and SHA-256: a
// receiver checks who sends, and may send, before it takes the content. A part that is the whole
// object is taken to have its digest.
base::Bytes WriteRequestHead(const MemberRequest& request, std::span<const uint8_t> content,
                             const agreement::SignedManifest& manifest,
                             const crypto::SigningKey& key);

// The longest head, and the longest request.
inline constexpr size_t kMaxHeadBytes = 4096;
inline constexpr size_t kMaxRequestBytes = kMaxHeadBytes + kMaxPartBytes;

// A head that was read. `request` has no part yet.
struct RequestHead {
  MemberRequest request;
  size_t head_bytes = 0;     // behind which the content begins
  size_t content_bytes = 0;  // at most kMaxPartBytes, 0 for all but a PutPartRequest
  crypto::Digest content_digest{};
};

// For a request's first bytes, all of them or at least kMaxHeadBytes; its time is for
// CheckRequestTime. DataLoss when cut short; FailedPrecondition when it is for another manifest or
// epoch; PermissionDenied when the member does not exist or did not sign it.
absl::StatusOr<RequestHead> ReadSignedHead(std::span<const uint8_t> bytes,
                                           const agreement::SignedManifest& manifest);
// Aborted when `time` is too far from `now`; both are told. Made once the clocks agree, the same
// request may be right.
absl::Status CheckRequestTime(uint64_t time, uint64_t now);

// DataLoss unless the content has the length, the digest, that the sender signed.
absl::Status CheckContentLength(const RequestHead& head, uint64_t bytes);
absl::Status CheckContent(const RequestHead& head, const crypto::Digest& digest);

// Answers.
struct FetchedPart {
  uint64_t total = 0;
  std::span<const uint8_t> part;  // of the bytes that were read
};
// The head that precedes the part.
base::Bytes WriteFetchedPartHead(uint64_t total, size_t part_bytes);
absl::StatusOr<FetchedPart> ReadFetchedPart(std::span<const uint8_t> bytes);
base::Bytes WriteArrived(uint64_t arrived);
absl::StatusOr<uint64_t> ReadArrived(std::span<const uint8_t> bytes);
base::Bytes WriteBlobs(std::span<const base::Bytes> blobs);
absl::StatusOr<std::vector<base::Bytes>> ReadBlobs(std::span<const uint8_t> bytes);

}  // namespace tacet::protocol

#endif  // TACET_PROTOCOL_MEMBER_REQUEST_H_
