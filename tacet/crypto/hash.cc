#include "tacet/crypto/hash.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <sodium.h>

#include "tacet/crypto/libcrypto.h"

namespace tacet::crypto {

struct Sha256Hasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256Hasher::Sha256Hasher() : state_(std::make_unique<State>()) {
  CheckLibcrypto(
      state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1,
      "SHA-256 initialisation");
}
Sha256Hasher::~Sha256Hasher() = default;

void Sha256Hasher::Update(std::span<const uint8_t> bytes) {
  CheckLibcrypto(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1,
                 "SHA-256 update");
}

Digest Sha256Hasher::Finish() {
  Digest digest;
  unsigned int size = 0;
  CheckLibcrypto(
      EVP_DigestFinal_ex(state_->context, digest.data(), &size) == 1 && size == digest.size(),
      "SHA-256 final");
  return digest;
}

Digest Sha256(std::span<const uint8_t> bytes) {
  Sha256Hasher hasher;
  hasher.Update(bytes);
  return hasher.Finish();
}

Digest HmacSha256(const SecretBytes& key, std::initializer_list<std::span<const uint8_t>> parts) {
  CheckLibcrypto(!key.empty(), "HMAC needs a key");
  static EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  CheckLibcrypto(mac != nullptr, "HMAC fetch");
  EVP_MAC_CTX* context = EVP_MAC_CTX_new(mac);
  CheckLibcrypto(context != nullptr, "HMAC context");
  char digest_name[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest_name, 0),
      OSSL_PARAM_construct_end()};
  bool done = EVP_MAC_init(context, key.Expose().data(), key.size(), params) == 1;
  for (const std::span<const uint8_t> part : parts) {
    done = done && EVP_MAC_update(context, part.data(), part.size()) == 1;
  }
  Digest digest;
  size_t written = 0;
  done = done && EVP_MAC_final(context, digest.data(), &written, digest.size()) == 1;
  EVP_MAC_CTX_free(context);
  CheckLibcrypto(done && written == digest.size(), "HMAC");
  return digest;
}

uint64_t KeyedHash64(const SecretBytes& key, std::span<const uint8_t> bytes) {
  CheckLibcrypto(key.size() == crypto_generichash_KEYBYTES, "BLAKE2b needs a 32-byte key");
  std::array<uint8_t, crypto_generichash_BYTES_MIN> digest;
  CheckLibcrypto(crypto_generichash(digest.data(), digest.size(), bytes.data(), bytes.size(),
                                    key.Expose().data(), key.size()) == 0,
                 "BLAKE2b");
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | digest[static_cast<size_t>(i)];
  return value;
}

SecretBytes HkdfSha256(std::span<const uint8_t> key, std::span<const uint8_t> info, size_t bytes) {
  // Kept for the life of the process: a search among the providers costs as much as the hash.
  static EVP_KDF* const kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  CheckLibcrypto(kdf != nullptr, "HKDF fetch");
  EVP_KDF_CTX* context = EVP_KDF_CTX_new(kdf);
  CheckLibcrypto(context != nullptr, "HKDF context");
  char digest_name[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest_name, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, const_cast<uint8_t*>(key.data()),
                                        key.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, const_cast<uint8_t*>(info.data()),
                                        info.size()),
      OSSL_PARAM_construct_end()};
  SecretBytes output(bytes);
  const int derived = EVP_KDF_derive(context, output.Expose().data(), bytes, params);
  EVP_KDF_CTX_free(context);
  CheckLibcrypto(derived == 1, "HKDF derive");
  return output;
}

std::array<uint8_t, 16> OneTimeHash(const SecretBytes& key, std::span<const uint8_t> bytes) {
  CheckLibcrypto(key.size() == 32, "GMAC needs a 32-byte key");
  static EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "GMAC", nullptr);
  CheckLibcrypto(mac != nullptr, "GMAC fetch");
  EVP_MAC_CTX* context = EVP_MAC_CTX_new(mac);
  CheckLibcrypto(context != nullptr, "GMAC context");
  char cipher[] = "AES-256-GCM";
  std::array<uint8_t, 12> nonce{};
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, cipher, 0),
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, nonce.data(), nonce.size()),
      OSSL_PARAM_construct_end()};
  std::array<uint8_t, 16> hash;
  size_t written = 0;
  const bool done = EVP_MAC_init(context, key.Expose().data(), key.size(), params) == 1 &&
                    EVP_MAC_update(context, bytes.data(), bytes.size()) == 1 &&
                    EVP_MAC_final(context, hash.data(), &written, hash.size()) == 1;
  EVP_MAC_CTX_free(context);
  CheckLibcrypto(done && written == hash.size(), "GMAC");
  return hash;
}

}  // namespace tacet::crypto
