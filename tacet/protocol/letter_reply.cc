#include "tacet/protocol/letter_reply.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "tacet/agreement/labelled_signature.h"
#include "tacet/base/format_ids.h"
#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::protocol {
namespace {

constexpr std::string_view kReplyLabel = "tacet/1/letter reply";
constexpr std::string_view kOther = "other";
constexpr uint8_t kJoined = 1, kAsks = 2;

bool IsFieldName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxReplyFieldBytes &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
         });
}

}  // namespace

base::Bytes WriteLetterReply(const LetterReply& reply, const crypto::SigningKey& site) {
  base::ByteWriter writer;
  base::WritePreamble(base::format::kLetterReply, writer);
  writer.Raw(reply.federation);
  writer.U32(reply.epoch);
  writer.Raw(reply.manifest_hash);
  writer.Raw(reply.certificate);
  writer.Raw(reply.letter);
  writer.U8(reply.joined ? kJoined : kAsks);
  const size_t fields = std::min(reply.fields.size(), kMaxReplyFields);
  writer.U8(static_cast<uint8_t>(fields));
  for (size_t i = 0; i < fields; ++i) {
    writer.Blob(
        base::AsBytes(IsFieldName(reply.fields[i]) ? std::string_view(reply.fields[i]) : kOther));
  }
  agreement::AppendSignature(kReplyLabel, site, writer);
  return writer.Take();
}

absl::StatusOr<LetterReply> ReadLetterReply(std::span<const uint8_t> bytes,
                                            const crypto::PublicKey& site) {
  base::ByteReader reader(bytes, "reply to a letter");
  TACET_RETURN_IF_ERROR(base::ReadPreamble(base::format::kLetterReply, reader));
  LetterReply reply;
  TACET_ASSIGN_OR_RETURN(reply.federation, secagg::ReadArray<32>(reader, "federation"));
  TACET_ASSIGN_OR_RETURN(reply.epoch, reader.ReadU32("epoch"));
  TACET_ASSIGN_OR_RETURN(reply.manifest_hash, secagg::ReadArray<32>(reader, "manifest hash"));
  TACET_ASSIGN_OR_RETURN(reply.certificate, secagg::ReadArray<32>(reader, "certificate"));
  TACET_ASSIGN_OR_RETURN(reply.letter, secagg::ReadArray<32>(reader, "letter"));
  TACET_ASSIGN_OR_RETURN(const uint8_t verdict, reader.ReadU8("verdict"));
  TACET_ASSIGN_OR_RETURN(const uint8_t fields, reader.ReadU8("number of fields"));
  reply.joined = verdict == kJoined;
  if ((verdict != kJoined && verdict != kAsks) || fields > kMaxReplyFields ||
      (reply.joined && fields > 0)) {
    return base::DataLoss("reply to a letter: verdict {} with {} fields", verdict, fields);
  }
  for (uint8_t i = 0; i < fields; ++i) {
    TACET_ASSIGN_OR_RETURN(const auto name, reader.ReadBlob(kMaxReplyFieldBytes, "field"));
    reply.fields.emplace_back(base::AsText(name));
    if (!IsFieldName(reply.fields.back())) {
      return base::DataLoss("reply to a letter: field {} is no name of a key", i);
    }
  }
  TACET_ASSIGN_OR_RETURN(const bool is_signed,
                         agreement::ReadSignature(kReplyLabel, site, bytes, reader));
  if (is_signed) return reply;
  return base::PermissionDenied("reply to a letter: the site did not sign it");
}

}  // namespace tacet::protocol
