#include "tacet/agreement/manifest_member.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"

namespace tacet::agreement {
namespace {

constexpr std::string_view kMemberLabel = "tacet/1/member";

base::Bytes SignedBytes(const ManifestMember& member) {
  base::ByteWriter writer;
  writer.Raw(kMemberLabel);
  writer.Blob(member.name);
  writer.Raw(member.sealing_key);
  writer.Raw(member.exchange_key);
  return writer.Take();
}

}  // namespace

ManifestMember SignMember(std::string_view name, const crypto::SigningKey& signing_key,
                          const crypto::SealingPublicKey& sealing_key,
                          const crypto::ExchangePublicKey& exchange_key) {
  ManifestMember member{.name = std::string(name),
                        .signing_key = signing_key.public_key(),
                        .sealing_key = sealing_key,
                        .exchange_key = exchange_key};
  member.signature = signing_key.Sign(SignedBytes(member));
  return member;
}

absl::Status CheckKeys(std::string_view owner, const crypto::PublicKey& signing_key,
                       std::initializer_list<crypto::ExchangePublicKey> x25519_keys) {
  TACET_RETURN_IF_ERROR(base::Annotate(crypto::CheckSigningKey(signing_key), owner));
  for (const crypto::ExchangePublicKey& key : x25519_keys) {
    TACET_RETURN_IF_ERROR(base::Annotate(crypto::CheckExchangeKey(key), owner));
  }
  return absl::OkStatus();
}

bool IsSignedByMember(const ManifestMember& member) {
  return crypto::VerifySignature(member.signing_key, SignedBytes(member), member.signature);
}

}  // namespace tacet::agreement
