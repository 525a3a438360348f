#include "tacet/crypto/secret.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <openssl/crypto.h>

#include "tacet/crypto/secret_blocks.h"

namespace tacet::crypto {
namespace {
constexpr size_t kAlignment = 64;
}

// A plain store that the compiler keeps, at the speed of memory.
void Wipe(void* memory, size_t bytes) { ::explicit_bzero(memory, bytes); }

bool ConstantTimeEqual(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void* AllocateSecret(size_t count, size_t size) {
  size_t bytes = 0;
  size_t padded = 0;
  const bool overflow = __builtin_mul_overflow(count, size, &bytes) ||
                        __builtin_add_overflow(bytes, kAlignment - 1, &padded);
  const size_t rounded = padded / kAlignment * kAlignment;
  void* memory = nullptr;
  if (!overflow) {
    memory = bytes <= kMaxSecretBlockBytes ? TakeSecretBlock(bytes)
                                           : std::aligned_alloc(kAlignment, rounded);
  }
  if (memory == nullptr) {
    std::fprintf(stderr, "tacet: no memory for %zu secret values of %zu bytes\n", count, size);
    std::abort();
  }
  std::memset(memory, 0, bytes);
  return memory;
}

void FreeSecret(void* memory, size_t bytes) {
  Wipe(memory, bytes);
  if (bytes <= kMaxSecretBlockBytes) {
    ReturnSecretBlock(memory, bytes);
  } else {
    std::free(memory);
  }
}

}  // namespace tacet::crypto
