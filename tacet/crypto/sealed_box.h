// Encrypted messages to one reader from a sender without a key of its own: libsodium's sealed boxes
// (X25519, XSalsa20-Poly1305). Processes of one simulation receive their tasks in them.
#ifndef TACET_CRYPTO_SEALED_BOX_H_
#define TACET_CRYPTO_SEALED_BOX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"

namespace tacet::crypto {

using SealingPublicKey = std::array<uint8_t, 32>;

inline constexpr size_t kSealedBoxOverheadBytes = 48;

// The reader's key pair.
class SealingKey {
 public:
  static constexpr size_t kSeedBytes = 32;

  // Made from 32 fresh secret bytes.
  static SealingKey Generate(Entropy& entropy);
  // Made from what seed() gave; InvalidArgument for another length.
  static absl::StatusOr<SealingKey> FromSeed(const SecretBytes& seed);

  const SealingPublicKey& public_key() const { return public_key_; }
  // Secret to store: 32 bytes from which the pair follows.
  const SecretBytes& seed() const { return seed_; }

  // DataLoss when the box was altered, cut short, or encrypted for another key.
  absl::StatusOr<SecretBytes> Open(std::span<const uint8_t> box) const;
  // X25519 with another party's key, as ExchangeKey::Agree.
  absl::StatusOr<SecretBytes> Agree(const SealingPublicKey& other) const;

 private:
  explicit SealingKey(SecretBytes seed);

  SecretBytes seed_;
  SecretBytes secret_;
  SealingPublicKey public_key_{};
};

// message.size() + kSealedBoxOverheadBytes bytes that only the owner of `reader` can open. Who
// sealed it is not shown: what depends on that must be signed next to it. InvalidArgument for a
// public key that is none (a point of small order).
absl::StatusOr<base::Bytes> SealFor(const SealingPublicKey& reader,
                                    std::span<const uint8_t> message);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_SEALED_BOX_H_
