// A hybrid box before a party that knows everything published, the format, and a guess of the two
// shared secrets: X25519 may be broken for it, or ML-KEM.
#ifndef TACET_CRYPTO_HALF_BROKEN_BOX_FOR_TEST_H_
#define TACET_CRYPTO_HALF_BROKEN_BOX_FOR_TEST_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tacet/base/bytes.h"
#include "tacet/crypto/aead.h"
#include "tacet/crypto/fixed_entropy_for_test.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/hybrid_box.h"
#include "tacet/crypto/key_exchange.h"

namespace tacet::crypto {

struct HalfBrokenBox {
  std::span<const uint8_t> box;
  SealingPublicKey sealing_key{};
  KemPublicKey kem_key{};
  base::Bytes context;

  KemCiphertext ciphertext() const {
    KemCiphertext bytes;
    std::copy_n(box.begin(), bytes.size(), bytes.begin());
    return bytes;
  }
  ExchangePublicKey sender() const {
    ExchangePublicKey key;
    std::copy_n(box.begin() + sizeof(KemCiphertext), key.size(), key.begin());
    return key;
  }

  // The message, if the secrets are `agreed` of X25519 and `shared` of ML-KEM.
  std::optional<SecretBytes> OpenWith(std::span<const uint8_t> agreed,
                                      std::span<const uint8_t> shared) const {
    // As AeadOpen has it: the nonce in front.
    base::Bytes sealed(kAeadNonceBytes);
    sealed.insert(sealed.end(), encrypted().begin(), encrypted().end());
    absl::StatusOr<SecretBytes> message = AeadOpen(KeyFrom(agreed, shared), sealed, {});
    if (!message.ok()) return std::nullopt;
    return *std::move(message);
  }

  // The text of decryption with these secrets, whether the authenticator fits or not.
  base::Bytes TextWith(std::span<const uint8_t> agreed, std::span<const uint8_t> shared) const {
    // The key stream: a message of zeros under the same nonce.
    base::Bytes text(encrypted().size() - (kAeadOverheadBytes - kAeadNonceBytes));
    FixedEntropy nonce((base::Bytes(kAeadNonceBytes)));
    const base::Bytes stream = AeadSeal(KeyFrom(agreed, shared), text, {}, nonce);
    for (size_t i = 0; i < text.size(); ++i) {
      text[i] = static_cast<uint8_t>(encrypted()[i] ^ stream[kAeadNonceBytes + i]);
    }
    return text;
  }

 private:
  std::span<const uint8_t> encrypted() const {
    return box.subspan(sizeof(KemCiphertext) + sizeof(ExchangePublicKey));
  }
  SecretBytes KeyFrom(std::span<const uint8_t> agreed, std::span<const uint8_t> shared) const {
    base::Bytes secrets(agreed.begin(), agreed.end());
    secrets.insert(secrets.end(), shared.begin(), shared.end());
    base::ByteWriter transcript;
    transcript.Raw(box.first(sizeof(KemCiphertext) + sizeof(ExchangePublicKey)));
    transcript.Raw(sealing_key);
    transcript.Raw(kem_key);
    transcript.Raw(context);
    base::ByteWriter info;
    info.Raw("tacet/1/hybrid box");
    info.Raw(Sha256(transcript.bytes()));
    return HkdfSha256(secrets, info.bytes(), kAeadKeyBytes);
  }
};

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_HALF_BROKEN_BOX_FOR_TEST_H_
