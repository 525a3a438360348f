// AES-256 on single blocks of 16 bytes: a pseudo-random function of a block, for callers that never
// encrypt the same block twice.
#ifndef TACET_CRYPTO_AES_BLOCKS_H_
#define TACET_CRYPTO_AES_BLOCKS_H_

#include <cstdint>
#include <span>

#include "tacet/crypto/secret.h"

namespace tacet::crypto {

inline constexpr size_t kAesBlockBytes = 16;

// Replaces each block of `blocks` by its encryption under `key`. Aborts unless the key has 32 bytes
// and blocks.size() is a multiple of 16.
void EncryptAesBlocks(std::span<const uint8_t> key, std::span<uint8_t> blocks);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_AES_BLOCKS_H_
