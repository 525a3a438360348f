// Encrypted messages to one reader from a sender without a key of its own, safe as long as one of
// X25519 and ML-KEM-768 is. Each member receives the epoch key in one.
//
// The key is HKDF-SHA256 of both shared secrets, bound to both public keys of the reader, to what
// the sender publishes and to the context (docs/formats/enrolment.md#hybrid-box).
#ifndef TACET_CRYPTO_HYBRID_BOX_H_
#define TACET_CRYPTO_HYBRID_BOX_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/ml_kem.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/sealed_box.h"
#include "tacet/crypto/secret.h"

namespace tacet::crypto {

// Ciphertext of ML-KEM, X25519 key of the sender, authenticator.
inline constexpr size_t kHybridBoxOverheadBytes = sizeof(KemCiphertext) + 32 + 16;

// message.size() + kHybridBoxOverheadBytes bytes that only the owner of both keys can open, with
// the same `context`. Who sealed it is not shown: what depends on that must be signed next to it.
// InvalidArgument for a public key that is none.
absl::StatusOr<base::Bytes> HybridSeal(const SealingPublicKey& sealing_key,
                                       const KemPublicKey& kem_key,
                                       std::span<const uint8_t> message,
                                       std::span<const uint8_t> context, Entropy& entropy);

// DataLoss when the box was altered, cut short, or encrypted for another key or context.
absl::StatusOr<SecretBytes> HybridOpen(std::span<const uint8_t> box, const SealingKey& sealing_key,
                                       const KemKey& kem_key, std::span<const uint8_t> context);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_HYBRID_BOX_H_
