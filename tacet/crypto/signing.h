// Ed25519 signatures (libsodium), which are a site's identity.
#ifndef TACET_CRYPTO_SIGNING_H_
#define TACET_CRYPTO_SIGNING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/crypto/hash.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"

namespace tacet::crypto {

using PublicKey = std::array<uint8_t, 32>;
constexpr size_t kSignatureBytes = 64;
using Signature = std::array<uint8_t, kSignatureBytes>;

// InvalidArgument for 32 bytes that no secret belongs to: the point is not in Ed25519's group of
// prime order (RFC 8032, section 5.1), or it is written in another way than its own.
absl::Status CheckSigningKey(const PublicKey& key);

class SigningKey {
 public:
  static constexpr size_t kSeedBytes = 32;

  // A key pair from 32 fresh secret bytes.
  static SigningKey Generate(Entropy& entropy);
  // Made from what Seed() gave; InvalidArgument for another length.
  static absl::StatusOr<SigningKey> FromSeed(const SecretBytes& seed);

  // Secret to store: 32 bytes from which the pair follows.
  SecretBytes Seed() const;

  const PublicKey& public_key() const { return public_key_; }
  Signature Sign(std::span<const uint8_t> message) const;

 private:
  explicit SigningKey(const SecretBytes& seed);

  SecretBytes secret_;
  PublicKey public_key_{};
};

// Fingerprint by which people compare keys: SHA-256 of the public key, written as 64 hexadecimal
// digits.
std::string KeyFingerprint(const PublicKey& key);

// True when `signature` is that of `message` under `key`. A thread remembers the last 64 that held:
// a member reads each vote when it comes, when it answers it and when it decrypts.
bool VerifySignature(const PublicKey& key, std::span<const uint8_t> message,
                     const Signature& signature);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_SIGNING_H_
