#include "tacet/agreement/manifest_member.h"

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"

namespace tacet::agreement {
namespace {

constexpr std::string_view kMemberLabel = "tacet/2/member";

base::Bytes SignedBytes(const ManifestMember& member) {
  base::ByteWriter writer;
  writer.Raw(kMemberLabel);
  writer.Blob(member.name);
  writer.Raw(member.sealing_key);
  writer.Raw(member.exchange_key);
  writer.Raw(member.kem_digest);
  return writer.Take();
}

}  // namespace

ManifestMember SignMember(std::string_view name, const crypto::SigningKey& signing_key,
                          const crypto::SealingPublicKey& sealing_key,
                          const ExchangePublicKeys& exchange_keys) {
  ManifestMember member =
      MemberWithKeys(name, signing_key.public_key(), sealing_key, exchange_keys);
  member.signature = signing_key.Sign(SignedBytes(member));
  return member;
}

ManifestMember MemberWithKeys(std::string_view name, const crypto::PublicKey& signing_key,
                              const crypto::SealingPublicKey& sealing_key,
                              const ExchangePublicKeys& exchange_keys,
                              const crypto::Signature& signature) {
  return {.name = std::string(name),
          .signing_key = signing_key,
          .sealing_key = sealing_key,
          .exchange_key = exchange_keys.exchange,
          .kem_digest = crypto::Sha256(exchange_keys.kem),
          .signature = signature,
          .kem_key = std::make_shared<const crypto::KemPublicKey>(exchange_keys.kem)};
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
