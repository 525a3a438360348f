// AES-256 in counter mode, 32 blocks at a time, on processors with vector AES.
//
// libcrypto 3.0 encrypts one block an instruction; this is about twice as fast.
// docs/design/cryptography.md ("Key stream") has the numbers that decided to keep it.
#ifndef TACET_CRYPTO_AES_CTR_VAES_H_
#define TACET_CRYPTO_AES_CTR_VAES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "tacet/crypto/secret.h"

namespace tacet::crypto {

// The key stream of AES-256-CTR. Only where base::HasTarget(kAvx512Vaes).
class VaesCtr {
 public:
  static constexpr size_t kBlockBytes = 16;

  // `key` has 32 bytes, `counter` 16 (a big-endian number, as in NIST SP 800-38A).
  VaesCtr(std::span<const uint8_t> key, std::span<const uint8_t> counter);

  // Writes the next bytes.size() bytes of the stream.
  void Fill(std::span<uint8_t> bytes);

 private:
  // Whole blocks.
  void FillBlocks(uint8_t* out, size_t blocks);

  SecretBytes round_keys_;  // 15 of 16 bytes
  SecretBytes last_;        // the block that was used in part
  size_t last_used_ = kBlockBytes;
  uint64_t counter_high_;
  uint64_t counter_low_;
};

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_AES_CTR_VAES_H_
