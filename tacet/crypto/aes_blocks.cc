#include "tacet/crypto/aes_blocks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <openssl/evp.h>

namespace tacet::crypto {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "tacet: AES-256 on blocks: %s\n", what);
  std::abort();
}

}  // namespace

void EncryptAesBlocks(std::span<const uint8_t> key, std::span<uint8_t> blocks) {
  Require(key.size() == 32, "the key must have 32 bytes");
  Require(blocks.size() % kAesBlockBytes == 0, "the length is not a multiple of 16");
  EVP_CIPHER_CTX* const context = EVP_CIPHER_CTX_new();
  Require(context != nullptr &&
              EVP_EncryptInit_ex(context, EVP_aes_256_ecb(), nullptr, key.data(), nullptr) == 1 &&
              EVP_CIPHER_CTX_set_padding(context, 0) == 1,
          "libcrypto failed to begin");
  while (!blocks.empty()) {
    const int chunk = static_cast<int>(std::min<size_t>(blocks.size(), size_t{1} << 30));
    int written = 0;
    Require(EVP_EncryptUpdate(context, blocks.data(), &written, blocks.data(), chunk) == 1 &&
                written == chunk,
            "libcrypto failed");
    blocks = blocks.subspan(static_cast<size_t>(chunk));
  }
  EVP_CIPHER_CTX_free(context);
}

}  // namespace tacet::crypto
