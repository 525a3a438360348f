// XChaCha20-Poly1305 (libsodium): encryption of results, checkpoints and key files.
#ifndef TACET_CRYPTO_AEAD_H_
#define TACET_CRYPTO_AEAD_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"

#include "tacet/base/bytes.h"
#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"

namespace tacet::crypto {

inline constexpr size_t kAeadKeyBytes = 32;
inline constexpr size_t kAeadNonceBytes = 24;
inline constexpr size_t kAeadOverheadBytes = kAeadNonceBytes + 16;

// nonce (24 fresh random bytes) ‖ ciphertext ‖ authenticator (16 bytes). Aborts unless `key` has
// 32 bytes: the caller derives it.
base::Bytes AeadSeal(const SecretBytes& key, std::span<const uint8_t> plaintext,
                     std::span<const uint8_t> associated_data, Entropy& entropy);

// The same with a nonce that follows from the key and all that is sealed: the same once more is the
// same bytes. Two messages show whether they are equal, and nothing else.
base::Bytes AeadSealRepeatably(const SecretBytes& key, std::span<const uint8_t> plaintext,
                               std::span<const uint8_t> associated_data);

// The plaintext; `key` as above. DataLoss when the bytes were altered, cut short, or belong to
// another key or associated data.
absl::StatusOr<SecretBytes> AeadOpen(const SecretBytes& key, std::span<const uint8_t> sealed,
                                     std::span<const uint8_t> associated_data);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_AEAD_H_
