#include "tacet/crypto/sealed_box.h"

#include <sodium.h>

#include "tacet/base/status.h"
#include "tacet/crypto/key_exchange.h"
#include "tacet/crypto/sodium.h"

namespace tacet::crypto {

static_assert(kSealedBoxOverheadBytes == crypto_box_SEALBYTES);
static_assert(SealingKey::kSeedBytes == crypto_box_SEEDBYTES);
static_assert(sizeof(SealingPublicKey) == crypto_box_PUBLICKEYBYTES);

SealingKey::SealingKey(SecretBytes seed)
    : seed_(std::move(seed)), secret_(crypto_box_SECRETKEYBYTES) {
  EnsureSodium();
  crypto_box_seed_keypair(public_key_.data(), secret_.Expose().data(), seed_.Expose().data());
}

SealingKey SealingKey::Generate(Entropy& entropy) { return SealingKey(entropy.Draw(kSeedBytes)); }

absl::StatusOr<SealingKey> SealingKey::FromSeed(const SecretBytes& seed) {
  if (seed.size() != kSeedBytes) {
    return base::InvalidArgument("a sealing key's seed has {} bytes, expected {}", seed.size(),
                                 kSeedBytes);
  }
  return SealingKey(SecretBytes::CopyOf(seed.Expose()));
}

absl::StatusOr<SecretBytes> SealingKey::Open(std::span<const uint8_t> box) const {
  if (box.size() < kSealedBoxOverheadBytes) {
    return base::DataLoss("sealed box has {} bytes, at least {} are needed", box.size(),
                          kSealedBoxOverheadBytes);
  }
  SecretBytes message(box.size() - kSealedBoxOverheadBytes);
  if (crypto_box_seal_open(message.Expose().data(), box.data(), box.size(), public_key_.data(),
                           secret_.Expose().data()) != 0) {
    return base::DataLoss("sealed box was altered, or was encrypted for another key");
  }
  return message;
}

absl::StatusOr<SecretBytes> SealingKey::Agree(const SealingPublicKey& other) const {
  TACET_ASSIGN_OR_RETURN(const ExchangeKey key, ExchangeKey::FromSecret(secret_));
  return key.Agree(other);
}

absl::StatusOr<base::Bytes> SealFor(const SealingPublicKey& reader,
                                    std::span<const uint8_t> message) {
  EnsureSodium();
  base::Bytes box(message.size() + kSealedBoxOverheadBytes);
  if (crypto_box_seal(box.data(), message.data(), message.size(), reader.data()) != 0) {
    return base::InvalidArgument("{} is not a sealing key", base::ToHex(reader));
  }
  return box;
}

}  // namespace tacet::crypto
