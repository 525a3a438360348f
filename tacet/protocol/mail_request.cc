#include "tacet/protocol/mail_request.h"

#include <algorithm>
#include <array>

#include "tacet/agreement/labelled_signature.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/protocol/letter.h"
#include "tacet/protocol/letter_reply.h"
#include "tacet/protocol/member_request.h"
#include "tacet/secagg/wire.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kMailLabel = "tacet/1/mail request";
constexpr size_t kMaxPrekeyBytes = 4096;
constexpr std::array<std::string_view, std::variant_size_v<MailBody>> kMailRequestNames = {
    "put-mail", "fetch-mail", "drop-mail"};

void WriteMailName(const MailName& name, base::ByteWriter& writer) {
  writer.U8(static_cast<uint8_t>(name.kind));
  writer.Raw(name.site);
}

absl::StatusOr<MailName> ReadMailName(base::ByteReader& reader) {
  TACET_ASSIGN_OR_RETURN(const uint8_t kind, reader.ReadU8("object"));
  if (kind < static_cast<uint8_t>(MailKind::kLetter) ||
      kind > static_cast<uint8_t>(MailKind::kServer)) {
    return base::DataLoss("mail request: there is no mail of kind {}", kind);
  }
  MailName name{.kind = static_cast<MailKind>(kind)};
  TACET_ASSIGN_OR_RETURN(name.site, secagg::ReadArray<32>(reader, "site"));
  const bool is_common = name.kind == MailKind::kEnclosure || name.kind == MailKind::kServer;
  if (is_common != (name.site == crypto::PublicKey{})) {
    return base::DataLoss("mail request: {} site is named", is_common ? "a" : "no");
  }
  return name;
}

struct MailBodyWriter {
  base::ByteWriter& writer;

  void operator()(const PutMail& body) const {
    WriteMailName(body.name, writer);
    writer.U64(body.total);
    writer.Raw(body.digest);
    writer.U64(body.offset);
  }
  void operator()(const FetchMail& body) const {
    WriteMailName(body.name, writer);
    writer.U64(body.offset);
  }
  void operator()(const DropMail& body) const {
    WriteMailName(body.name, writer);
    writer.Raw(body.digest);
  }
};

absl::StatusOr<MailBody> ReadPutMail(base::ByteReader& reader, MailHead& head) {
  PutMail put;
  TACET_ASSIGN_OR_RETURN(put.name, ReadMailName(reader));
  TACET_ASSIGN_OR_RETURN(put.total, reader.ReadU64("total"));
  TACET_ASSIGN_OR_RETURN(put.digest, secagg::ReadArray<32>(reader, "digest"));
  TACET_ASSIGN_OR_RETURN(put.offset, reader.ReadU64("offset"));
  TACET_ASSIGN_OR_RETURN(const uint32_t content, reader.ReadU32("content length"));
  TACET_ASSIGN_OR_RETURN(head.content_digest, secagg::ReadArray<32>(reader, "content digest"));
  if (put.total == 0 || put.total > MaxMailBytes(put.name.kind)) {
    return base::DataLoss("mail request: an object of {} bytes, 1 to {} are allowed", put.total,
                          MaxMailBytes(put.name.kind));
  }
  if (content > kMaxPartBytes || put.offset > put.total || content > put.total - put.offset) {
    return base::DataLoss("mail request: a part of {} bytes at byte {} of an object of {}", content,
                          put.offset, put.total);
  }
  head.content_bytes = content;
  return put;
}

absl::StatusOr<MailBody> ReadMailBody(uint8_t kind, base::ByteReader& reader, MailHead& head) {
  switch (kind) {
    case 1:
      return ReadPutMail(reader, head);
    case 2: {
      FetchMail fetch;
      TACET_ASSIGN_OR_RETURN(fetch.name, ReadMailName(reader));
      TACET_ASSIGN_OR_RETURN(fetch.offset, reader.ReadU64("offset"));
      return fetch;
    }
    case 3: {
      DropMail drop;
      TACET_ASSIGN_OR_RETURN(drop.name, ReadMailName(reader));
      TACET_ASSIGN_OR_RETURN(drop.digest, secagg::ReadArray<32>(reader, "digest"));
      return drop;
    }
    default:
      return base::DataLoss("mail request: there is no request of kind {}", kind);
  }
}

}  // namespace

std::string_view MailRequestName(size_t index) { return kMailRequestNames.at(index); }

size_t MaxMailBytes(MailKind kind) {
  switch (kind) {
    case MailKind::kLetter:
      return kMaxLetterBytes;
    case MailKind::kEnclosure:
      return kMaxEnclosureBytes;
    case MailKind::kPrekey:
      return kMaxPrekeyBytes;
    case MailKind::kReply:
      return kMaxReplyBytes;
    case MailKind::kServer:
      return kMaxEnclosureBytes;
  }
  return 0;
}

base::Bytes WriteServedEpoch(const ServedEpoch& served) {
  base::ByteWriter writer;
  writer.U32(served.epoch);
  writer.Raw(served.manifest_hash);
  writer.U32(served.finished);
  writer.U8(served.stopped ? 1 : 0);
  return writer.Take();
}

absl::StatusOr<ServedEpoch> ReadServedEpoch(std::span<const uint8_t> bytes) {
  base::ByteReader reader(bytes, "epoch of the server");
  ServedEpoch served;
  TACET_ASSIGN_OR_RETURN(served.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(served.manifest_hash, secagg::ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(served.finished, reader.ReadU32("finished"));
  TACET_ASSIGN_OR_RETURN(const uint8_t stopped, reader.ReadU8("stopped"));
  if (stopped > 1) return base::DataLoss("epoch of the server: stopped is {}", stopped);
  served.stopped = stopped == 1;
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return served;
}

bool IsMailRequest(std::span<const uint8_t> first) {
  const std::string_view magic = base::format::kMailRequest.magic;
  return first.size() >= magic.size() && std::equal(magic.begin(), magic.end(), first.begin());
}

base::Bytes WriteMailHead(const MailRequest& request, std::span<const uint8_t> content,
                          const crypto::Digest& federation, const crypto::SigningKey& key) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kMailRequest, writer);
  writer.U8(static_cast<uint8_t>(request.body.index() + 1));
  writer.Raw(federation);
  writer.Raw(key.public_key());
  writer.U64(request.time);
  std::visit(MailBodyWriter{writer}, request.body);
  if (std::holds_alternative<PutMail>(request.body)) {
    writer.U32(static_cast<uint32_t>(content.size()));
    writer.Raw(crypto::Sha256(content));
  }
  agreement::AppendSignature(kMailLabel, key, writer);
  return writer.Take();
}

absl::StatusOr<MailHead> ReadMailHead(std::span<const uint8_t> first,
                                      const crypto::Digest& federation) {
  base::ByteReader reader(first, "mail request");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kMailRequest, reader));
  TACET_ASSIGN_OR_RETURN(const uint8_t kind, reader.ReadU8("kind"));
  TACET_ASSIGN_OR_RETURN(const auto asked, secagg::ReadArray<32>(reader, "federation"));
  MailHead head;
  MailRequest& request = head.request;
  TACET_ASSIGN_OR_RETURN(request.sender, secagg::ReadArray<32>(reader, "sender"));
  TACET_ASSIGN_OR_RETURN(request.time, reader.ReadU64("time"));
  TACET_ASSIGN_OR_RETURN(request.body, ReadMailBody(kind, reader, head));
  if (asked != federation) {
    return base::FailedPrecondition("mail request: for the federation {}, this is the server of {}",
                                    base::ToHex(asked), base::ToHex(federation));
  }
  const size_t rest = std::min(reader.remaining(), sizeof(crypto::Signature));
  head.head_bytes = first.size() - reader.remaining() + rest;
  base::ByteReader signature(first.subspan(head.head_bytes - rest, rest), "mail request");
  TACET_ASSIGN_OR_RETURN(const bool is_signed,
                         agreement::ReadSignature(kMailLabel, request.sender,
                                                  first.first(head.head_bytes), signature));
  if (is_signed) return head;
  return base::PermissionDenied("mail request: its sender did not sign it");
}

}  // namespace tacet::protocol
