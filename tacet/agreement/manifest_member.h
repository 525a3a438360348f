// Member as a signed manifest lists it: name and public keys, under the member's own signature.
#ifndef TACET_AGREEMENT_MANIFEST_MEMBER_H_
#define TACET_AGREEMENT_MANIFEST_MEMBER_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "tacet/crypto/hash.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/sealed_box.h"
#include "tacet/crypto/signing.h"

namespace tacet::agreement {

// A member's public keys of one epoch.
struct ExchangePublicKeys {
  crypto::ExchangePublicKey exchange{};
  crypto::KemPublicKey kem{};

  friend bool operator==(const ExchangePublicKeys&, const ExchangePublicKeys&) = default;
};

struct ManifestMember {
  std::string name;
  crypto::PublicKey signing_key{};
  crypto::SealingPublicKey sealing_key{};
  crypto::ExchangePublicKey exchange_key{};
  crypto::Digest kem_digest{};    // SHA-256 of the KEM key
  crypto::Signature signature{};  // of the signing key, over name and the other keys
  // The key itself, to which clients encapsulate: a signed manifest has those of the committee.
  std::shared_ptr<const crypto::KemPublicKey> kem_key = nullptr;
};

ManifestMember SignMember(std::string_view name, const crypto::SigningKey& signing_key,
                          const crypto::SealingPublicKey& sealing_key,
                          const ExchangePublicKeys& exchange_keys);
// The line with these keys and a signature that is not verified.
ManifestMember MemberWithKeys(std::string_view name, const crypto::PublicKey& signing_key,
                              const crypto::SealingPublicKey& sealing_key,
                              const ExchangePublicKeys& exchange_keys,
                              const crypto::Signature& signature = {});

// InvalidArgument names the owner and a key that no secret belongs to: `signing_key`, or one of
// `x25519_keys` (sealing or exchange keys).
absl::Status CheckKeys(std::string_view owner, const crypto::PublicKey& signing_key,
                       std::initializer_list<crypto::ExchangePublicKey> x25519_keys);

// Whether the signature is that of the member's signing key over name, keys and digest.
bool IsSignedByMember(const ManifestMember& member);

}  // namespace tacet::agreement

#endif  // TACET_AGREEMENT_MANIFEST_MEMBER_H_
