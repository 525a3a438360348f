#include "tacet/crypto/hybrid_box.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <sodium.h>

#include "tacet/base/status.h"
#include "tacet/crypto/hash.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/sodium.h"

namespace tacet::crypto {
namespace {

constexpr std::string_view kLabel = "tacet/1/hybrid box";
constexpr size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
// A key encrypts a single message.
constexpr std::array<uint8_t, crypto_aead_xchacha20poly1305_ietf_NPUBBYTES> kNonce = {};

static_assert(kHybridBoxOverheadBytes ==
              sizeof(KemCiphertext) + sizeof(ExchangePublicKey) + kTagBytes);

// The transcript that both ends see of one box.
struct Transcript {
  std::span<const uint8_t> ciphertext;
  ExchangePublicKey sender{};
  SealingPublicKey sealing_key{};
  std::span<const uint8_t> kem_key;
  std::span<const uint8_t> context;
};

SecretBytes KeyOf(const SecretBytes& agreed, const SecretBytes& shared, const Transcript& bound) {
  SecretBytes secrets(agreed.size() + shared.size());
  std::ranges::copy(shared.Expose(),
                    std::ranges::copy(agreed.Expose(), secrets.Expose().begin()).out);
  Sha256Hasher hasher;
  hasher.Update(bound.ciphertext);
  hasher.Update(bound.sender);
  hasher.Update(bound.sealing_key);
  hasher.Update(bound.kem_key);
  hasher.Update(bound.context);
  base::ByteWriter info;
  info.Raw(kLabel);
  info.Raw(hasher.Finish());
  return HkdfSha256(secrets.Expose(), info.bytes(), crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
}

}  // namespace

absl::StatusOr<base::Bytes> HybridSeal(const SealingPublicKey& sealing_key,
                                       const KemPublicKey& kem_key,
                                       std::span<const uint8_t> message,
                                       std::span<const uint8_t> context, Entropy& entropy) {
  EnsureSodium();
  const ExchangeKey sender = ExchangeKey::Generate(entropy);
  const absl::StatusOr<SecretBytes> agreed = sender.Agree(sealing_key);
  if (!agreed.ok()) {
    return base::InvalidArgument("{} is not a sealing key", base::ToHex(sealing_key));
  }
  TACET_ASSIGN_OR_RETURN(const Encapsulated sent, Encapsulate(kem_key, entropy));
  const SecretBytes key = KeyOf(*agreed, sent.shared,
                                {.ciphertext = sent.ciphertext,
                                 .sender = sender.public_key(),
                                 .sealing_key = sealing_key,
                                 .kem_key = kem_key,
                                 .context = context});
  base::Bytes box(kHybridBoxOverheadBytes + message.size());
  const auto at = std::ranges::copy(sent.ciphertext, box.begin()).out;
  std::ranges::copy(sender.public_key(), at);
  crypto_aead_xchacha20poly1305_ietf_encrypt(box.data() + kHybridBoxOverheadBytes - kTagBytes,
                                             nullptr, message.data(), message.size(), nullptr, 0,
                                             nullptr, kNonce.data(), key.Expose().data());
  return box;
}

absl::StatusOr<SecretBytes> HybridOpen(std::span<const uint8_t> box, const SealingKey& sealing_key,
                                       const KemKey& kem_key, std::span<const uint8_t> context) {
  if (box.size() < kHybridBoxOverheadBytes) {
    return base::DataLoss("encrypted box has {} bytes, at least {} are needed", box.size(),
                          kHybridBoxOverheadBytes);
  }
  EnsureSodium();
  KemCiphertext ciphertext;
  std::ranges::copy(box.first(ciphertext.size()), ciphertext.begin());
  ExchangePublicKey sender;
  std::ranges::copy(box.subspan(ciphertext.size(), sender.size()), sender.begin());
  const std::span<const uint8_t> encrypted = box.subspan(ciphertext.size() + sender.size());
  const absl::StatusOr<SecretBytes> agreed = sealing_key.Agree(sender);
  SecretBytes message(encrypted.size() - kTagBytes);
  if (agreed.ok()) {
    const SecretBytes key = KeyOf(*agreed, kem_key.Decapsulate(ciphertext),
                                  {.ciphertext = ciphertext,
                                   .sender = sender,
                                   .sealing_key = sealing_key.public_key(),
                                   .kem_key = kem_key.public_key(),
                                   .context = context});
    if (crypto_aead_xchacha20poly1305_ietf_decrypt(message.Expose().data(), nullptr, nullptr,
                                                   encrypted.data(), encrypted.size(), nullptr, 0,
                                                   kNonce.data(), key.Expose().data()) == 0) {
      return message;
    }
  }
  return base::DataLoss(
      "encrypted box was altered, or was made for other keys or for another context");
}

}  // namespace tacet::crypto
