// X25519 key agreement between two members (RFC 7748).
#ifndef TACET_CRYPTO_KEY_EXCHANGE_H_
#define TACET_CRYPTO_KEY_EXCHANGE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "tacet/crypto/random.h"
#include "tacet/crypto/secret.h"

namespace tacet::crypto {

using ExchangePublicKey = std::array<uint8_t, 32>;

// InvalidArgument, with the reason, for a key with which no two owners of secrets can agree: it is
// not below 2^255 - 19, so the same key has another spelling, or it is a point of small order, with
// which everybody computes zeros.
absl::Status CheckExchangeKey(const ExchangePublicKey& key);

// Key pair of one member in one epoch.
class ExchangeKey {
 public:
  static constexpr size_t kSecretBytes = 32;

  // Made from 32 fresh secret bytes.
  static ExchangeKey Generate(Entropy& entropy);
  // Made from what secret() gave; InvalidArgument for another length.
  static absl::StatusOr<ExchangeKey> FromSecret(const SecretBytes& secret);

  const ExchangePublicKey& public_key() const { return public_key_; }
  // Secret to store, 32 bytes.
  const SecretBytes& secret() const { return secret_; }

  // The 32 bytes that both ends compute: the coordinate of a curve point, to be passed through
  // HKDF. InvalidArgument for a public key of small order, which would give a result that everybody
  // knows.
  absl::StatusOr<SecretBytes> Agree(const ExchangePublicKey& other) const;

 private:
  explicit ExchangeKey(SecretBytes secret);

  SecretBytes secret_;
  ExchangePublicKey public_key_{};
};

}  // namespace tacet::crypto

#endif  // TACET_CRYPTO_KEY_EXCHANGE_H_
