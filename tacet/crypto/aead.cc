#include "tacet/crypto/aead.h"

#include <cstdio>
#include <cstdlib>

#include <sodium.h>

#include "tacet/base/status.h"
#include "tacet/crypto/sodium.h"

namespace tacet::crypto {

static_assert(kAeadKeyBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
static_assert(kAeadNonceBytes == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES);
static_assert(kAeadOverheadBytes == kAeadNonceBytes + crypto_aead_xchacha20poly1305_ietf_ABYTES);

namespace {

void RequireKeyBytes(const SecretBytes& key) {
  if (key.size() != kAeadKeyBytes) {
    std::fprintf(stderr, "tacet: XChaCha20-Poly1305 needs a key of %zu bytes, got %zu\n",
                 kAeadKeyBytes, key.size());
    std::abort();
  }
}

}  // namespace

base::Bytes AeadSeal(const SecretBytes& key, std::span<const uint8_t> plaintext,
                     std::span<const uint8_t> associated_data, Entropy& entropy) {
  RequireKeyBytes(key);
  EnsureSodium();
  base::Bytes sealed(plaintext.size() + kAeadOverheadBytes);
  entropy.Fill(std::span(sealed).first(kAeadNonceBytes));
  unsigned long long written = 0;
  crypto_aead_xchacha20poly1305_ietf_encrypt(
      sealed.data() + kAeadNonceBytes, &written, plaintext.data(), plaintext.size(),
      associated_data.data(), associated_data.size(), nullptr, sealed.data(), key.Expose().data());
  return sealed;
}

absl::StatusOr<SecretBytes> AeadOpen(const SecretBytes& key, std::span<const uint8_t> sealed,
                                     std::span<const uint8_t> associated_data) {
  RequireKeyBytes(key);
  if (sealed.size() < kAeadOverheadBytes) {
    return base::DataLoss("encrypted message has {} bytes, at least {} are needed", sealed.size(),
                          kAeadOverheadBytes);
  }
  EnsureSodium();
  SecretBytes plaintext(sealed.size() - kAeadOverheadBytes);
  unsigned long long written = 0;
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          plaintext.Expose().data(), &written, nullptr, sealed.data() + kAeadNonceBytes,
          sealed.size() - kAeadNonceBytes, associated_data.data(), associated_data.size(),
          sealed.data(), key.Expose().data()) != 0) {
    return base::DataLoss(
        "encrypted message was altered, or was made with another key or for another context");
  }
  return plaintext;
}

}  // namespace tacet::crypto
