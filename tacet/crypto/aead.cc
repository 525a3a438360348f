#include "tacet/crypto/aead.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <sodium.h>

#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
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

constexpr std::string_view kNonceLabel = "tacet/1/repeatable nonce";

// Room for the whole, with its nonce.
base::Bytes RoomFor(const SecretBytes& key, size_t plaintext_bytes) {
  RequireKeyBytes(key);
  EnsureSodium();
  return base::Bytes(plaintext_bytes + kAeadOverheadBytes);
}

base::Bytes SealUnderNonce(const SecretBytes& key, std::span<const uint8_t> plaintext,
                           std::span<const uint8_t> associated_data, base::Bytes sealed) {
  unsigned long long written = 0;
  crypto_aead_xchacha20poly1305_ietf_encrypt(
      sealed.data() + kAeadNonceBytes, &written, plaintext.data(), plaintext.size(),
      associated_data.data(), associated_data.size(), nullptr, sealed.data(), key.Expose().data());
  return sealed;
}

}  // namespace

base::Bytes AeadSeal(const SecretBytes& key, std::span<const uint8_t> plaintext,
                     std::span<const uint8_t> associated_data, Entropy& entropy) {
  base::Bytes sealed = RoomFor(key, plaintext.size());
  entropy.Fill(std::span(sealed).first(kAeadNonceBytes));
  return SealUnderNonce(key, plaintext, associated_data, std::move(sealed));
}

base::Bytes AeadSealRepeatably(const SecretBytes& key, std::span<const uint8_t> plaintext,
                               std::span<const uint8_t> associated_data) {
  base::Bytes sealed = RoomFor(key, plaintext.size());
  base::ByteWriter length;
  length.U64(associated_data.size());
  const Digest nonce =
      HmacSha256(HkdfSha256(key.Expose(), base::AsBytes(kNonceLabel), kAeadKeyBytes),
                 {length.bytes(), associated_data, plaintext});
  std::copy_n(nonce.begin(), kAeadNonceBytes, sealed.begin());
  return SealUnderNonce(key, plaintext, associated_data, std::move(sealed));
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
