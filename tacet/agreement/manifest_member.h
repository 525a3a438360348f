// Member as a signed manifest lists it: name and public keys, under the member's own signature.
#ifndef TACET_AGREEMENT_MANIFEST_MEMBER_H_
#define TACET_AGREEMENT_MANIFEST_MEMBER_H_

#include <string>
#include <string_view>

#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/sealed_box.h"
#include "tacet/crypto/signing.h"

namespace tacet::agreement {

struct ManifestMember {
  std::string name;
  crypto::PublicKey signing_key{};
  crypto::SealingPublicKey sealing_key{};
  crypto::ExchangePublicKey exchange_key{};
  crypto::Signature signature{};  // of the signing key, over name, sealing key and exchange key

  friend bool operator==(const ManifestMember&, const ManifestMember&) = default;
};

ManifestMember SignMember(std::string_view name, const crypto::SigningKey& signing_key,
                          const crypto::SealingPublicKey& sealing_key,
                          const crypto::ExchangePublicKey& exchange_key);

// Whether the signature is that of the member's signing key over the other fields.
bool IsSignedByMember(const ManifestMember& member);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_MANIFEST_MEMBER_H_
