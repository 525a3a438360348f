// SHA-256, HMAC-SHA256 (RFC 2104), HKDF-SHA256 (RFC 5869), keyed BLAKE2b (RFC 7693) and a fast hash
// under a one-time key.
#ifndef TACET_CRYPTO_HASH_H_
#define TACET_CRYPTO_HASH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

#include "tacet/crypto/secret.h"

namespace tacet::crypto {

using Digest = std::array<uint8_t, 32>;

Digest Sha256(std::span<const uint8_t> bytes);

// SHA-256 of a message that arrives in pieces.
class Sha256Hasher {
 public:
  Sha256Hasher();
  ~Sha256Hasher();
  Sha256Hasher(const Sha256Hasher&) = delete;
  Sha256Hasher& operator=(const Sha256Hasher&) = delete;

  void Update(std::span<const uint8_t> bytes);
  // The digest of everything so far; call it once.
  Digest Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// HMAC-SHA256 of the parts one after the other under a `key` that is not empty (aborts otherwise).
Digest HmacSha256(const SecretBytes& key, std::initializer_list<std::span<const uint8_t>> parts);

// The first 8 bytes, as a little-endian number, of BLAKE2b with 16 bytes of output and a `key` of
// 32 bytes (aborts otherwise): a pseudorandom function, for short inputs faster than HMAC-SHA256.
uint64_t KeyedHash64(const SecretBytes& key, std::span<const uint8_t> bytes);

// HKDF-SHA256 with an empty salt: 1 <= bytes <= 255 * 32 bytes from a `key` that is not empty
// (aborts otherwise). `info` separates the uses of one key: two different `info` give independent
// outputs; all outputs of one (key, info) are prefixes of each other.
SecretBytes HkdfSha256(std::span<const uint8_t> key, std::span<const uint8_t> info, size_t bytes);

// AES-256-GMAC of `bytes` under a `key` of 32 bytes (aborts otherwise) and a zero nonce: a
// universal hash. For a key that is used this once and that nobody who chose the messages knows,
// two different messages of n bytes agree with probability at most (n / 16 + 2) 2^-128 (McGrew and
// Viega 2004). To be called once a key; several times as fast as SHA-256, without its strength
// against anyone who knows the key.
std::array<uint8_t, 16> OneTimeHash(const SecretBytes& key, std::span<const uint8_t> bytes);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_HASH_H_
