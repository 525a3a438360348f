#include "tacet/agreement/labelled_signature.h"

#include "tacet/base/status.h"
#include "tacet/secagg/wire.h"

namespace tacet::agreement {
namespace {

base::Bytes WithLabel(std::string_view label, std::span<const uint8_t> body) {
  base::ByteWriter writer;
  writer.Reserve(label.size() + body.size());
  writer.Raw(label);
  writer.Raw(body);
  return writer.Take();
}

}  // namespace

void AppendSignature(std::string_view label, const crypto::SigningKey& key,
                     base::ByteWriter& writer) {
  writer.Raw(key.Sign(WithLabel(label, writer.bytes())));
}

absl::StatusOr<bool> ReadSignature(std::string_view label, const crypto::PublicKey& signer,
                                   std::span<const uint8_t> message, base::ByteReader& reader) {
  const auto body = message.first(message.size() - reader.remaining());
  TACET_ASSIGN_OR_RETURN(const auto signature, secagg::ReadArray<64>(reader, "signature"));
  TACET_RETURN_IF_ERROR(reader.ExpectEnd());
  return crypto::VerifySignature(signer, WithLabel(label, body), signature);
}

}  // namespace tacet::agreement
