#include "tacet/crypto/key_exchange.h"

#include <algorithm>
#include <utility>

#include <sodium.h>

#include "tacet/base/bytes.h"
#include "tacet/base/status.h"
#include "tacet/crypto/sodium.h"

namespace tacet::crypto {

static_assert(ExchangeKey::kSecretBytes == crypto_scalarmult_SCALARBYTES);
static_assert(sizeof(ExchangePublicKey) == crypto_scalarmult_BYTES);

namespace {

// p = 2^255 - 19, little-endian as a key is.
constexpr ExchangePublicKey Prime() {
  ExchangePublicKey prime;
  prime.fill(0xff);
  prime.front() = 0xed;
  prime.back() = 0x7f;
  return prime;
}

}  // namespace

absl::Status CheckExchangeKey(const ExchangePublicKey& key) {
  EnsureSodium();
  const ExchangePublicKey prime = Prime();
  if (!std::ranges::lexicographical_compare(key.rbegin(), key.rend(), prime.rbegin(),
                                            prime.rend())) {
    return base::InvalidArgument("{} is not an exchange key: it is not below 2^255 - 19",
                                 base::ToHex(key));
  }
  // Every scalar of X25519 is a multiple of eight, so this one decides for all.
  constexpr ExchangePublicKey kScalar = {};
  ExchangePublicKey product;
  if (crypto_scalarmult(product.data(), kScalar.data(), key.data()) != 0) {
    return base::InvalidArgument("{} is not an exchange key: it is a point of small order",
                                 base::ToHex(key));
  }
  return absl::OkStatus();
}

ExchangeKey::ExchangeKey(SecretBytes secret) : secret_(std::move(secret)) {
  EnsureSodium();
  crypto_scalarmult_base(public_key_.data(), secret_.Expose().data());
}

ExchangeKey ExchangeKey::Generate(Entropy& entropy) {
  return ExchangeKey(entropy.Draw(kSecretBytes));
}

absl::StatusOr<ExchangeKey> ExchangeKey::FromSecret(const SecretBytes& secret) {
  if (secret.size() != kSecretBytes) {
    return base::InvalidArgument("an exchange key's secret has {} bytes, expected {}",
                                 secret.size(), kSecretBytes);
  }
  return ExchangeKey(SecretBytes::CopyOf(secret.Expose()));
}

absl::StatusOr<SecretBytes> ExchangeKey::Agree(const ExchangePublicKey& other) const {
  SecretBytes shared(crypto_scalarmult_BYTES);
  if (crypto_scalarmult(shared.Expose().data(), secret_.Expose().data(), other.data()) != 0) {
    return base::InvalidArgument("{} is not an exchange key", base::ToHex(other));
  }
  return shared;
}

}  // namespace tacet::crypto
