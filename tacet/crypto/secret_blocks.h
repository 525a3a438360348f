// Memory of short secrets, in pages that hold nothing else.
#ifndef TACET_CRYPTO_SECRET_BLOCKS_H_
#define TACET_CRYPTO_SECRET_BLOCKS_H_

#include <cstddef>

namespace tacet::crypto {

// Every long-lived key is shorter. Longer secrets are the vectors of one update or one sum.
inline constexpr size_t kMaxSecretBlockBytes = 4096;

// Memory for 1 to kMaxSecretBlockBytes bytes with any content, 64-byte aligned; null when there is
// none. Core dumps leave its pages out. They are locked, so never in swap, as far as the system's
// limit (RLIMIT_MEMLOCK) goes. Thread-safe; a forked child may continue with it.
void* TakeSecretBlock(size_t bytes);
// The same number of bytes. The caller has wiped them.
void ReturnSecretBlock(void* block, size_t bytes);

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_SECRET_BLOCKS_H_
