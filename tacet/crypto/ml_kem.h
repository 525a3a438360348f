// ML-KEM-768 (FIPS 203): key encapsulation that a quantum computer is not known to break.
//
// Anyone who has a public key makes a shared secret and a ciphertext; the owner of the key computes
// the same secret from the ciphertext. Used next to X25519, never in its place
// (docs/design/cryptography.md#ml-kem).
#ifndef TACET_CRYPTO_ML_KEM_H_
#define TACET_CRYPTO_ML_KEM_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"

namespace tacet::crypto {

using KemPublicKey = std::array<uint8_t, 1184>;
using KemCiphertext = std::array<uint8_t, 1088>;

// InvalidArgument for a key with a coefficient that is not below q = 3329: the modulus check of
// FIPS 203, section 7.2. Each other key is that of some module.
absl::Status CheckKemKey(const KemPublicKey& key);

// Key pair. It is kept as its seed, and everything else follows from it.
class KemKey {
 public:
  static constexpr size_t kSeedBytes = 64;

  // Made from 64 fresh secret bytes, d ‖ z of FIPS 203.
  static KemKey Generate(Entropy& entropy);
  // Made from what seed() gave; InvalidArgument for another length.
  static absl::StatusOr<KemKey> FromSeed(const SecretBytes& seed);

  const KemPublicKey& public_key() const { return public_key_; }
  // Secret to store, 64 bytes.
  const SecretBytes& seed() const { return seed_; }

  // The shared secret, 32 bytes. An altered ciphertext, or one for another key, gives a secret that
  // nobody else has, so what is encrypted under it must be authenticated.
  SecretBytes Decapsulate(const KemCiphertext& ciphertext) const;

 private:
  explicit KemKey(SecretBytes seed);

  SecretBytes seed_;
  KemPublicKey public_key_;
};

struct Encapsulated {
  KemCiphertext ciphertext;
  SecretBytes shared;  // 32 bytes
};
// A fresh shared secret for the owner of `key`. Errors of CheckKemKey.
absl::StatusOr<Encapsulated> Encapsulate(const KemPublicKey& key, Entropy& entropy);
// The same from 32 secret bytes, which determine all of it: uniform, and for this one call.
absl::StatusOr<Encapsulated> EncapsulateFrom(const SecretBytes& coins, const KemPublicKey& key);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_ML_KEM_H_
