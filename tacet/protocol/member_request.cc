#include "tacet/protocol/member_request.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tacet/agreement/labelled_signature.h"
#include "tacet/agreement/signed_manifest.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kRequestLabel = "tacet/1/member request";
constexpr size_t kMaxVoteBytes = 1024;
constexpr size_t kMaxAttestationBytes = 1024;
constexpr size_t kMaxOpeningBytes = 1024;
constexpr size_t kMaxAbstentionBytes = 1024;
constexpr size_t kMaxObjectionBytes = 1024;
constexpr size_t kMaxEntryBytes = 2048;  // a copy of a key packet has up to 1,842 bytes
constexpr size_t kMaxBlobs = 1 << 20;

constexpr std::array<std::string_view, kRequestKinds> kNames = {
    "await",          "put-part",        "fetch-part",         "put-vote",    "fetch-votes",
    "put-verdict",    "put-attestation", "fetch-attestations", "put-opening", "fetch-opening",
    "put-abstention", "put-objection",   "fetch-packets"};

void WriteName(const BulkName& name, base::ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(name.kind));
  secagg::WriteAttempt(name.attempt, writer);
}

absl::StatusOr<BulkName> ReadName(base::ByteReader& reader) {
  BulkName name;
  TACET_ASSIGN_OR_RETURN(const uint8_t kind, reader.ReadU8("object"));
  if ((kind < static_cast<uint8_t>(BulkKind::kUpload) ||
       kind > static_cast<uint8_t>(BulkKind::kCheckRow)) &&
      kind != static_cast<uint8_t>(BulkKind::kKeyPacket)) {
    return base::DataLoss("request: there is no object of kind {}", kind);
  }
  name.kind = static_cast<BulkKind>(kind);
  TACET_ASSIGN_OR_RETURN(name.attempt, secagg::ReadAttempt(reader));
  return name;
}

absl::StatusOr<base::Bytes> ReadBytesBlob(base::ByteReader& reader, size_t most,
                                          std::string_view field) {
  TACET_ASSIGN_OR_RETURN(const auto blob, reader.ReadBlob(most, field));
  return base::Bytes(blob.begin(), blob.end());
}

struct BodyWriter {
  base::ByteWriter& writer;

  void operator()(const AwaitRequest& body) {
    writer.U64(body.known_revision);
    writer.U64(body.listed_from);
    writer.U8(body.unmasking ? 1 : 0);
  }
  void operator()(const PutPartRequest& body) {
    WriteName(body.name, writer);
    writer.U64(body.total);
    writer.Raw(body.digest);
    writer.U64(body.offset);
  }
  void operator()(const FetchPartRequest& body) {
    WriteName(body.name, writer);
    writer.U32(body.index);
    writer.U64(body.offset);
  }
  void operator()(const PutVoteRequest& body) {
    secagg::WriteAttempt(body.attempt, writer);
    writer.Blob(body.vote);
  }
  void operator()(const FetchVotesRequest& body) { secagg::WriteAttempt(body.attempt, writer); }
  void operator()(const PutVerdictRequest& body) {
    secagg::WriteAttempt(body.attempt, writer);
    writer.U8(body.confirmed ? 1 : 0);
  }
  void operator()(const PutAttestationRequest& body) { writer.Blob(body.attestation); }
  void operator()(const FetchAttestationsRequest& body) { writer.U32(body.round); }
  void operator()(const PutOpeningRequest& body) { writer.Blob(body.statement); }
  void operator()(const FetchOpeningRequest&) {}
  void operator()(const PutAbstentionRequest& body) { writer.Blob(body.abstention); }
  void operator()(const PutObjectionRequest& body) { writer.Blob(body.objection); }
  void operator()(const FetchPacketsRequest& body) {
    secagg::WriteAttempt(body.attempt, writer);
    writer.U64(body.from);
  }
};

absl::Status ReadFlag(base::ByteReader& reader, std::string_view field, bool& flag) {
  TACET_ASSIGN_OR_RETURN(const uint8_t value, reader.ReadU8(field));
  if (value > 1) return base::DataLoss("request: `{}` is {}, expected 0 or 1", field, value);
  flag = value == 1;
  return absl::OkStatus();
}

absl::Status ReadBody(base::ByteReader& reader, AwaitRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.known_revision, reader.ReadU64("known revision"));
  TACET_ASSIGN_OR_RETURN(body.listed_from, reader.ReadU64("listed from"));
  return ReadFlag(reader, "unmasking", body.unmasking);
}

absl::Status ReadBody(base::ByteReader& reader, PutPartRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.name, ReadName(reader));
  TACET_ASSIGN_OR_RETURN(body.total, reader.ReadU64("total"));
  TACET_ASSIGN_OR_RETURN(body.digest, secagg::ReadArray<32>(reader, "digest"));
  TACET_ASSIGN_OR_RETURN(body.offset, reader.ReadU64("offset"));
  return absl::OkStatus();
}

absl::Status ReadBody(base::ByteReader& reader, FetchPartRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.name, ReadName(reader));
  TACET_ASSIGN_OR_RETURN(body.index, reader.ReadU32("index"));
  TACET_ASSIGN_OR_RETURN(body.offset, reader.ReadU64("offset"));
  return absl::OkStatus();
}

absl::Status ReadBody(base::ByteReader& reader, PutVoteRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.attempt, secagg::ReadAttempt(reader));
  TACET_ASSIGN_OR_RETURN(body.vote, ReadBytesBlob(reader, kMaxVoteBytes, "vote"));
  return absl::OkStatus();
}

absl::Status ReadBody(base::ByteReader& reader, FetchVotesRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.attempt, secagg::ReadAttempt(reader));
  return absl::OkStatus();
}

absl::Status ReadBody(base::ByteReader& reader, PutVerdictRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.attempt, secagg::ReadAttempt(reader));
  return ReadFlag(reader, "confirmed", body.confirmed);
}

absl::Status ReadBody(base::ByteReader& reader, PutAttestationRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.attestation,
                         ReadBytesBlob(reader, kMaxAttestationBytes, "attestation"));
  return absl::OkStatus();
}

absl::Status ReadBody(base::ByteReader& reader, FetchAttestationsRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.round, reader.ReadU32("round"));
  return absl::OkStatus();
}

absl::Status ReadBody(base::ByteReader& reader, PutOpeningRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.statement, ReadBytesBlob(reader, kMaxOpeningBytes, "statement"));
  return absl::OkStatus();
}

absl::Status ReadBody(base::ByteReader&, FetchOpeningRequest&) { return absl::OkStatus(); }

absl::Status ReadBody(base::ByteReader& reader, PutAbstentionRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.abstention, ReadBytesBlob(reader, kMaxAbstentionBytes, "abstention"));
  return absl::OkStatus();
}

absl::Status ReadBody(base::ByteReader& reader, PutObjectionRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.objection, ReadBytesBlob(reader, kMaxObjectionBytes, "objection"));
  return absl::OkStatus();
}

absl::Status ReadBody(base::ByteReader& reader, FetchPacketsRequest& body) {
  TACET_ASSIGN_OR_RETURN(body.attempt, secagg::ReadAttempt(reader));
  TACET_ASSIGN_OR_RETURN(body.from, reader.ReadU64("from"));
  return absl::OkStatus();
}

// The body of the kind with this index.
template <size_t kIndex = 0>
absl::StatusOr<RequestBody> ReadBodyOfKind(size_t index, base::ByteReader& reader) {
  if constexpr (kIndex == kRequestKinds) {
    return base::DataLoss("request: there is none of kind {}", index + 1);
  } else {
    if (index != kIndex) return ReadBodyOfKind<kIndex + 1>(index, reader);
    std::variant_alternative_t<kIndex, RequestBody> body;
    TACET_RETURN_IF_ERROR(ReadBody(reader, body));
    return RequestBody(std::move(body));
  }
}

absl::Status ReadContentFields(base::ByteReader& reader, RequestHead& head) {
  TACET_ASSIGN_OR_RETURN(head.content_bytes, reader.ReadU32("part length"));
  if (head.content_bytes > kMaxPartBytes) {
    return base::DataLoss("request: a part of {} bytes, at most {} are allowed", head.content_bytes,
                          kMaxPartBytes);
  }
  TACET_ASSIGN_OR_RETURN(head.content_digest, secagg::ReadArray<32>(reader, "digest of the part"));
  return absl::OkStatus();
}

// A part that is the whole object has the object's digest, which was computed before.
crypto::Digest ContentDigest(const PutPartRequest& put, std::span<const uint8_t> content) {
  return content.size() == put.total ? put.digest : crypto::Sha256(content);
}

std::string MadeAt(uint64_t sent) {
  return fmt::format("request: made at {} by the sender's clock", sent);
}

}  // namespace

absl::Status CheckRequestTime(uint64_t sent, uint64_t now) {
  const uint64_t difference = std::max(sent, now) - std::min(sent, now);
  if (difference <= kMaxClockDifference) return absl::OkStatus();
  return absl::AbortedError(
      fmt::format("{}, it is {} here (seconds since 1970): the two may differ by {} s",
                  MadeAt(sent), now, kMaxClockDifference));
}

bool IsCheckRefusal(const absl::Status& status) {
  return status.code() == absl::StatusCode::kAborted &&
         base::Message(status).starts_with(MadeAt(kCheckTime) + ",");
}

std::string_view BulkKindName(BulkKind kind) {
  switch (kind) {
    case BulkKind::kUpload:
      return "upload";
    case BulkKind::kClosedRound:
      return "closed-round";
    case BulkKind::kUnmaskShare:
      return "unmask-share";
    case BulkKind::kCheckpoint:
      return "checkpoint";
    case BulkKind::kRoster:
      return "roster";
    case BulkKind::kCheckRow:
      return "check-row";
    case BulkKind::kShares:
      return "shares";
    case BulkKind::kKeyPacket:
      return "key-packet";
  }
  return "unknown";
}

std::string_view RequestKindName(size_t index) { return kNames[index]; }

std::string_view RequestKindIn(std::span<const uint8_t> request) {
  base::ByteReader reader(request, "request");
  if (!base::ReadPreamble(base::format::kMemberRequest, reader).ok()) return "unreadable";
  const uint8_t kind = reader.ReadU8("kind").value_or(0);
  return kind >= 1 && kind <= kRequestKinds ? kNames[kind - 1] : "unreadable";
}

crypto::Digest QuestionOf(const RequestBody& body) {
  base::ByteWriter writer;
  writer.U8(static_cast<uint8_t>(body.index() + 1));
  std::visit(BodyWriter{writer}, body);
  return crypto::Sha256(writer.bytes());
}

std::optional<crypto::Digest> QuestionIn(std::span<const uint8_t> request) {
  // Preamble, kind; manifest hash, epoch, member, time; body; signature.
  constexpr size_t kKindAt = base::kPreambleBytes, kBodyAt = kKindAt + 1 + 32 + 4 + 8 + 8;
  constexpr uint8_t kPutPart = 2;
  if (request.size() < kBodyAt + sizeof(crypto::Signature)) return std::nullopt;
  if (request[kKindAt] == kPutPart) return std::nullopt;
  crypto::Sha256Hasher hasher;
  hasher.Update(request.subspan(kKindAt, 1));
  hasher.Update(request.subspan(kBodyAt, request.size() - kBodyAt - sizeof(crypto::Signature)));
  return hasher.Finish();
}

base::Bytes WriteRequestHead(const MemberRequest& request, std::span<const uint8_t> content,
                             const agreement::SignedManifest& manifest,
                             const crypto::SigningKey& key) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kMemberRequest, writer);
  writer.U8(static_cast<uint8_t>(request.body.index() + 1));
  writer.Raw(manifest.manifest().hash());
  writer.U32(manifest.epoch());
  writer.U64(request.member);
  writer.U64(request.time);
  std::visit(BodyWriter{writer}, request.body);
  if (const auto* const put = std::get_if<PutPartRequest>(&request.body); put != nullptr) {
    writer.U32(static_cast<uint32_t>(content.size()));
    writer.Raw(ContentDigest(*put, content));
  }
  agreement::AppendSignature(kRequestLabel, key, writer);
  return writer.Take();
}

absl::StatusOr<RequestHead> ReadSignedHead(std::span<const uint8_t> bytes,
                                           const agreement::SignedManifest& manifest) {
  base::ByteReader reader(bytes, "request");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kMemberRequest, reader));
  TACET_ASSIGN_OR_RETURN(const uint8_t kind, reader.ReadU8("kind"));
  TACET_ASSIGN_OR_RETURN(const auto hash, secagg::ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(const uint32_t epoch, reader.ReadU32("epoch"));
  RequestHead head;
  MemberRequest& request = head.request;
  TACET_ASSIGN_OR_RETURN(request.member, reader.ReadU64("member"));
  TACET_ASSIGN_OR_RETURN(request.time, reader.ReadU64("time"));
  TACET_ASSIGN_OR_RETURN(request.body, ReadBodyOfKind(size_t{kind} - 1, reader));
  if (std::holds_alternative<PutPartRequest>(request.body)) {
    TACET_RETURN_IF_ERROR(ReadContentFields(reader, head));
  }
  if (hash != manifest.manifest().hash() || epoch != manifest.epoch()) {
    return base::FailedPrecondition(
        "request: for manifest {} in epoch {}, this federation is in epoch {} under {}",
        base::ToHex(hash), epoch, manifest.epoch(), base::ToHex(manifest.manifest().hash()));
  }
  if (request.member >= manifest.members().size()) {
    return base::PermissionDenied("request: there is no member {}", request.member);
  }
  const size_t rest = std::min(reader.remaining(), sizeof(crypto::Signature));
  head.head_bytes = bytes.size() - reader.remaining() + rest;
  base::ByteReader signature(bytes.subspan(head.head_bytes - rest, rest), "request");
  TACET_ASSIGN_OR_RETURN(
      const bool is_signed,
      agreement::ReadSignature(kRequestLabel, manifest.members()[request.member].signing_key,
                               bytes.first(head.head_bytes), signature));
  if (!is_signed)
    return base::PermissionDenied("request: member {} did not sign it", request.member);
  return head;
}

absl::Status CheckContentLength(const RequestHead& head, uint64_t bytes) {
  if (bytes == head.content_bytes) return absl::OkStatus();
  return base::DataLoss("request: {} bytes follow its head, which says {}", bytes,
                        head.content_bytes);
}

absl::Status CheckContent(const RequestHead& head, const crypto::Digest& digest) {
  if (digest == head.content_digest) return absl::OkStatus();
  return base::DataLoss("request: its content does not have the digest that its sender signed");
}

base::Bytes WriteFetchedPartHead(uint64_t total, size_t part_bytes) {
  base::ByteWriter writer;
  writer.U64(total);
  writer.U32(static_cast<uint32_t>(part_bytes));
  return writer.Take();
}

absl::StatusOr<FetchedPart> ReadFetchedPart(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "fetched part");
  FetchedPart fetched;
  TACET_ASSIGN_OR_RETURN(fetched.total, reader.ReadU64("total"));
  TACET_ASSIGN_OR_RETURN(fetched.part, reader.ReadBlob(kMaxPartBytes, "part"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return fetched;
}

base::Bytes WriteArrived(uint64_t arrived) {
  base::ByteWriter writer;
  writer.U64(arrived);
  return writer.Take();
}

absl::StatusOr<uint64_t> ReadArrived(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "answer to a part");
  TACET_ASSIGN_OR_RETURN(const uint64_t arrived, reader.ReadU64("arrived"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return arrived;
}

base::Bytes WriteBlobs(std::span<const base::Bytes> blobs) {
  base::ByteWriter writer;
  writer.U32(static_cast<uint32_t>(blobs.size()));
  for (const base::Bytes& blob : blobs) writer.Blob(blob);
  return writer.Take();
}

absl::StatusOr<std::vector<base::Bytes>> ReadBlobs(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "list");
  TACET_ASSIGN_OR_RETURN(const uint32_t size, reader.ReadU32("number"));
  if (size > kMaxBlobs || size > reader.remaining() / 4) {
    return base::DataLoss("list: {} entries in {} bytes", size, reader.remaining());
  }
  std::vector<base::Bytes> blobs(size);
  for (base::Bytes& blob : blobs) {
    TACET_ASSIGN_OR_RETURN(blob, ReadBytesBlob(reader, kMaxEntryBytes, "entry"));
  }
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return blobs;
}

}  // namespace tacet::protocol
