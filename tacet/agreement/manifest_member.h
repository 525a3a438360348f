// Member as a signed manifest lists it: name and public keys, under the member's own signature.
#ifndef TACET_AGREEMENT_MANIFEST_MEMBER_H_
#define TACET_AGREEMENT_MANIFEST_MEMBER_H_

#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"

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

// InvalidArgument names the owner and a key that no secret belongs to: `signing_key`, or one of
// `x25519_keys` (sealing or exchange keys).
absl::Status CheckKeys(std::string_view owner, const crypto::PublicKey& signing_key,
                       std::initializer_list<crypto::ExchangePublicKey> x25519_keys);

// Whether the signature is that of the member's signing key over the other fields.
bool IsSignedByMember(const ManifestMember& member);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_MANIFEST_MEMBER_H_
