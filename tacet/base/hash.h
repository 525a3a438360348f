// SHA-256 and HKDF-SHA256 (RFC 5869).
#ifndef TACET_BASE_HASH_H_
#define TACET_BASE_HASH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tacet/base/secret.h"

namespace tacet::base {

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

// HKDF-SHA256 with an empty salt: 1 <= bytes <= 255 * 32 bytes from a `key` that is not empty
// (aborts otherwise). `info` separates the uses of one key: two different `info` give independent
// outputs; all outputs of one (key, info) are prefixes of each other.
SecretBytes HkdfSha256(std::span<const uint8_t> key, std::span<const uint8_t> info, size_t bytes);

}  // namespace tacet::base

#endif  // TACET_BASE_HASH_H_
