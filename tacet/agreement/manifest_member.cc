#include "tacet/agreement/manifest_member.h"

#include "tacet/base/bytes.h"

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

bool IsSignedByMember(const ManifestMember& member) {
  return crypto::VerifySignature(member.signing_key, SignedBytes(member), member.signature);
}

}  // namespace tacet::agreement
